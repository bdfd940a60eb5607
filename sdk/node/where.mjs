// Where the gateway is, and what lets us in (docs/protocol.md, "Connecting").

import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/**
 * @param {{url?: string, port?: number, home?: string, token?: string}} options
 * @param {NodeJS.ProcessEnv} env
 */
export function whereabouts(options, env = process.env) {
  const home = options.home ?? (env.COPILOT_HOME || path.join(os.homedir(), ".copilot"));
  const port = options.port ?? (env.TAP_GATEWAY_PORT || 9400);
  const tokenFile = path.join(home, "extensions", "tap", ".provider-token");
  const given = options.token ?? env.TAP_PROVIDER_TOKEN;
  return {
    url: options.url ?? `ws://localhost:${port}`,
    tokenFile,
    /** One that does not change: a new gateway will not take it. */
    given: Boolean(given),
    /** Every gateway has its own token: read anew for each connection. @returns {string | undefined} */
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
