// The environment of workers, built from scratch: variables that programs need, and variables from the user's config.

import path from "node:path";

/**
 * `workers` of the user's config. `model`: for jobs that name no model.
 * @typedef {{env?: string[], provider?: Record<string, any>, model?: string}} WorkersConfig
 */
/** @typedef {{variables: Record<string, string>, home: string, ownHome: boolean, token?: string}} AgentEnvironment */

const REQUIRED_VARIABLES =
  /^(PATH|HOME|USER|LOGNAME|USERPROFILE|APPDATA|LOCALAPPDATA|SystemRoot|ComSpec|PATHEXT|SHELL|LANG|LC_\w+|TZ|TMPDIR|TEMP|TMP|XDG_\w+|(HTTPS?|NO)_PROXY|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|COPILOT_CACHE_HOME)$/i;
/** Variables of the session that started this process, and variables that change the behaviour of its shells. */
const BLOCKED_VARIABLES =
  /^(EXTENSION_PATH|SESSION_ID|COPILOT_EXTENSION_PARENT_PID|COPILOT_ALLOW_ALL|COPILOT_HOME|GIT_CONFIG_\w+|TAP_\w+)$/;
/** In the CLI's order. They go to the CLI and not to the shells of its agents. */
const TOKENS = ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];
const PROVIDER_TYPES = ["openai", "azure", "anthropic"];

/** @param {WorkersConfig} config @returns {string} the problem with it; "" if it is valid */
export function findConfigProblem({ env = [], provider }) {
  const bad = env.find((name) => !/^[A-Za-z_]\w*$/.test(name) || BLOCKED_VARIABLES.test(name));
  if (bad !== undefined) return `workers.env: ${JSON.stringify(bad)} is not passed to workers`;
  if (provider === undefined) return "";
  if (typeof provider.baseUrl !== "string" || !/^https?:\/\//.test(provider.baseUrl)) {
    return "workers.provider.baseUrl: expected a URL that begins with http:// or https://";
  }
  if (!PROVIDER_TYPES.includes(provider.type ?? "openai")) {
    return `workers.provider.type: expected ${PROVIDER_TYPES.join(" or ")}`;
  }
  return "";
}

/**
 * @param {WorkersConfig} config @param {string} userHome COPILOT_HOME of the user
 * @param {NodeJS.ProcessEnv} env from which the variables come
 * @param {string} owner identifies this process, so that processes that outlive it can be found
 * @returns {AgentEnvironment} with a separate home if workers do not need the user's login
 */
export function createEnvironment(config, userHome, env, owner) {
  const names = new Set(config.env ?? []);
  const passed = Object.entries(env).filter(
    ([name, value]) =>
      value !== undefined &&
      !TOKENS.includes(name) &&
      !BLOCKED_VARIABLES.test(name) &&
      (REQUIRED_VARIABLES.test(name) || names.has(name)),
  );
  const token = TOKENS.filter((name) => names.has(name))
    .map((name) => env[name])
    .find(Boolean);
  const ownHome = config.provider !== undefined || token !== undefined;
  const home = ownHome ? path.join(userHome, "tap", "workers") : userHome;
  const variables = /** @type {Record<string, string>} */ ({
    ...Object.fromEntries(passed),
    COPILOT_HOME: home,
    COPILOT_AUTO_UPDATE: "false",
    TAP_WORKER: "1",
    TAP_WORKER_OWNER: owner,
  });
  return { variables, home, ownHome, token };
}
