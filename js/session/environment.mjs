// What tap tells the gateway of the CLI's environment, for programs that it starts for this session.

const MOST_PATH = 32_768;
const MOST_TEXT = 4096;
const CONTROL = /[\u0000-\u001f\u007f]/; // eslint-disable-line no-control-regex

/** Of the CLI, by what the registration calls it. */
const RUNTIME = {
  sdkPath: "COPILOT_SDK_PATH",
  cliVersion: "COPILOT_CLI_BINARY_VERSION",
  copilotHome: "COPILOT_HOME",
  distDir: "COPILOT_CLI_DIST_DIR",
};

/** The gateway refuses a registration with other texts. @param {string | undefined} text @param {number} most bytes */
const isGood = (text, most) =>
  text !== undefined && text !== "" && Buffer.byteLength(text) <= most && !CONTROL.test(text);

/**
 * @param {Record<string, string | undefined>} env @param {string} execPath the CLI's own binary, which also runs as Node.js
 * @returns {{path?: string, runtime?: Record<string, string>}} fields of `register`
 */
export function sessionEnvironment(env, execPath) {
  const known = Object.entries(RUNTIME).map(([field, name]) => [field, env[name]]);
  const all = [["execPath", execPath], ...known].filter(([, text]) => isGood(text, MOST_TEXT));
  return {
    ...(isGood(env.PATH, MOST_PATH) && { path: env.PATH }),
    ...(all.length > 0 && { runtime: Object.fromEntries(all) }),
  };
}
