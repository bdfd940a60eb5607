// The findings of the doctor: each code has its own advice. `copilot-tap doctor --codes` lists them.

/** @typedef {"error" | "warning"} Severity */
/**
 * @typedef {object} Finding
 * @property {string} code stable, for programs
 * @property {Severity} severity
 * @property {string} problem a single sentence, with the observation
 * @property {string} fix the next step for the user
 * @property {string} [command] the fix as a line for a shell, if there is such a line
 */

/** Findings that keep tools from the model, and the fix for each. */
const ERRORS = {
  HOME_MISSING:
    "Install tap, which creates the folder; or name a different home with --home or COPILOT_HOME.",
  HOME_UNWRITABLE:
    "Make it a folder that your user can write, or free space on the disk. tap then continues on its own.",
  VARIABLE_INVALID: "Correct the variable or unset it, here and in the terminal of the CLI.",
  NODE_NOT_FOUND:
    "Where you start copilot, install a later Node.js, or set TAP_NODE to its path. End a gateway on an old Node.js; the sessions then start a new gateway.",
  EXTENSION_MISSING: "Install tap. For a clone, a link there is enough.",
  ADDON_BROKEN: "Build it for this machine.",
  CLI_NOT_FOUND: "Install the newest GitHub Copilot CLI, or add its folder to PATH.",
  EXPERIMENTAL_OFF:
    "Start the CLI once with --experimental; the CLI then saves the setting in that file. Correct or move away a file that it cannot read.",
  EXTENSION_DISABLED: "Type /extensions in copilot and enable it, or remove it from that file.",
  EXTENSION_FAILED: "Follow the message, then restart the CLI.",
  PORT_FOREIGN:
    "Give tap a different port: set TAP_GATEWAY_PORT in the terminal of the CLI and in those of your providers, and restart the CLI. Or stop that program yourself, if you do not need it.",
  PORT_OTHER_HOME:
    "Name that home with --home, or set a different TAP_GATEWAY_PORT for either of the two and restart its CLI.",
  GATEWAY_OTHER_PORT:
    "Use the same port in this terminal and in those of the CLI and of your provider.",
  GATEWAY_BUSY:
    "Wait a second and run the doctor again. If this does not change, end providers that are not needed, or set TAP_MAX_CONNECTIONS higher and restart the CLI.",
  GATEWAY_UNRESPONSIVE: "End the process that has the port; the sessions then start a gateway.",
  FILE_UNSAFE: "Make it accessible to your user only.",
  TOKEN_WRONG:
    "Delete it; the gateway rewrites the file within seconds. Use a different port for each COPILOT_HOME.",
  NO_SESSION:
    "Start copilot, and say that you trust the folder. If the CLI is already open, type /clear in it.",
  NOT_READY: "Wait a few seconds, and run the doctor again.",
  CONFIG_INVALID:
    "Correct the file. tap applies your own within two seconds; allow the new entries of a project's with copilot-tap allow.",
  PROVIDER_CRASHES: "Correct the cause, then type /clear in the CLI.",
  PROVIDER_REFUSED:
    "Change the provider as the message says, and restart it; the SDKs send auth and hello themselves, and docs/protocol.md explains the codes.",
  PROVIDER_HANGS:
    "Restart it, or if it was stopped, continue it with kill -CONT and its pid. Until then the model waits, at most until the call's timeout.",
  TOOL_REFUSED:
    "Rename the tool that the message names, and restart its provider. If it names no tool, type /clear in the CLI.",
  TOOL_ELSEWHERE:
    'Bind the provider to the session that should have it, or let it bind to "all" to serve every session.',
  TOOL_GROUP_CLOSED:
    'Open the group in that session. The model can do so with tap_tools; "toolGroups" in your config opens it in every session.',
  TOOL_NOT_DECLARED:
    "Ask for a tool that is offered, let the provider declare it, or start the provider that has it.",
};

/** Other findings, and the fix for each. */
const WARNINGS = {
  EXTENSION_TWICE: "Keep a single copy and remove the others.",
  EXTENSION_OTHER_VERSION: "Use the command of the installed tap.",
  CLI_SILENT: "Run it yourself, then the doctor again.",
  GIT_MISSING:
    "Install git, and see that it is on the PATH of the shell in which you start copilot.",
  NO_SANDBOX: "",
  SANDBOX_BROKEN: "",
  GATEWAY_OTHER_VERSION: "Restart the CLI, or type /clear in each of its sessions.",
  FEATURE_HOST_FAILED:
    "Correct the cause. If it has given up, end the sessions and stop the gateway: the next gateway starts the feature host again.",
  FEATURE_TROUBLE:
    "Read the reports of the features. You can disable a feature that you do not need.",
  HOLDS_UNREADABLE:
    "Delete it. The features write it again when they have work that continues without a session.",
  HOLDS_ORPHANED:
    "Enable the feature, or end the sessions and stop the gateway, which releases the hold.",
  RECORDS_NETWORK: "Move COPILOT_HOME to a folder on a local disk, and restart the CLI.",
  RECORDS_UNUSABLE:
    "Correct that. If you cannot, move the file away while no gateway runs; tap then creates a new file.",
  WORKERS_CLI_GONE:
    "The CLI was probably updated: end the sessions and start a new session. Then retry the nodes.",
  PLANS_WAIT: "Resume it, or cancel it with copilot-tap plan cancel.",
  PLAN_ORPHANS: "copilot-tap plan clean lists them, asks, saves their content and removes them.",
  HOOKS_UNAVAILABLE:
    'Answer the CLI\'s question about "elevated permissions" with "always allow". After a denial or a failure, type /clear, and it asks again.',
  TOO_MANY_TOOLS: "End providers that are not needed, or let them offer fewer tools.",
  CONFIG_NOT_ALLOWED: "Read its commands, and allow them in a terminal.",
  NO_PROVIDER:
    "Start yours, e.g. `npm start`, and read its output. (In a container, localhost is the container.)",
  PROVIDER_SLOW: "Wait for it, press Esc in the CLI, or find out why the provider waits.",
};

/** @typedef {keyof typeof ERRORS | keyof typeof WARNINGS} Code */

const FIXES = /** @type {Record<Code, string>} */ ({ ...ERRORS, ...WARNINGS });

/** The usual severity of each. @type {Record<string, Severity>} */
export const FINDINGS = Object.fromEntries(
  Object.keys(FIXES).map((code) => [code, code in ERRORS ? "error" : "warning"]),
);

/** For people and programs that meet a code. @returns {{code: string, severity: Severity, fix: string}[]} */
export const listCodes = () =>
  Object.entries(FIXES).map(([code, fix]) => ({ code, severity: FINDINGS[code], fix }));

/**
 * @param {Code} code @param {string} problem
 * @param {{fix?: string, command?: string, severity?: Severity}} [more] `severity`: if it differs from the usual
 * @returns {Finding}
 */
export const finding = (code, problem, more = {}) => ({
  code,
  severity: more.severity ?? FINDINGS[code],
  problem,
  fix: more.fix ?? FIXES[code],
  ...(more.command !== undefined && { command: more.command }),
});
