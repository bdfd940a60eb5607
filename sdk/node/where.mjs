// The gateway's address, and the token for it (docs/protocol.md, "Connecting").

import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/**
 * A port in decimal digits. Any other text is an error: a silent default would connect to the wrong place.
 * @param {string} text
 */
function parsePort(text) {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port > 0 && port < 65536) return port;
  throw new RangeError(
    `TAP_GATEWAY_PORT is "${text.slice(0, 32)}", which is not a port (1 to 65535)`,
  );
}

/**
 * @param {{url?: string, port?: number, home?: string, token?: string}} options
 * @param {NodeJS.ProcessEnv} env
 */
export function whereabouts(options, env = process.env) {
  const home = options.home ?? (env.COPILOT_HOME || path.join(os.homedir(), ".copilot"));
  const url =
    options.url ?? `ws://localhost:${options.port ?? parsePort(env.TAP_GATEWAY_PORT || "9400")}`;
  const tokenFile = path.join(home, "extensions", "tap", ".provider-token");
  const given = options.token ?? env.TAP_PROVIDER_TOKEN;
  return {
    url,
    tokenFile,
    /** Given tokens do not change: a new gateway will refuse this token. */
    given: Boolean(given),
    /** Every gateway has its own token, so it is read again for each connection. @returns {string | undefined} */
    token() {
      if (given) return given;
      try {
        return readFileSync(tokenFile, "utf8").trim() || undefined;
      } catch {
        return undefined;
      }
    },
  };
}
