// The findings of the doctor: every code, and whether it keeps tools from the model ("error") or does not
// ("warning"). docs/troubleshooting.md repeats the table.

/** @typedef {"error" | "warning"} Severity */
/**
 * @typedef {object} Finding
 * @property {string} code stable, for programs
 * @property {Severity} severity
 * @property {string} problem one sentence, with what was seen
 * @property {string} fix what the user can do
 * @property {string} [command] the same as a line for a shell, where it is one
 */

/** @satisfies {Record<string, Severity>} */
export const FINDINGS = /** @type {const} */ ({
  HOME_MISSING: "error",
  HOME_NOT_FOLDER: "error",
  HOME_UNWRITABLE: "error",
  LOGS_UNWRITABLE: "warning",
  PORT_INVALID: "error",
  LIMIT_IGNORED: "warning",
  NODE_NOT_FOUND: "error",
  NODE_TOO_OLD: "error",
  NODE_FAILS: "error",
  TAP_NODE_UNUSABLE: "warning",
  EXTENSION_MISSING: "error",
  EXTENSION_INCOMPLETE: "error",
  EXTENSION_DANGLING: "error",
  EXTENSION_REMOVED: "warning",
  EXTENSION_PROJECT_ONLY: "warning",
  EXTENSION_TWICE: "warning",
  EXTENSION_OTHER_VERSION: "warning",
  ADDON_MISSING: "error",
  ADDON_BROKEN: "error",
  CLI_NOT_FOUND: "error",
  CLI_FAILS: "error",
  CLI_SILENT: "warning",
  CLI_TOO_OLD: "error",
  CLI_UNTESTED: "warning",
  SETTINGS_UNREADABLE: "error",
  EXPERIMENTAL_OFF: "error",
  EXPERIMENTAL_UNKNOWN: "warning",
  EXTENSIONS_OFF: "error",
  EXTENSION_DISABLED: "error",
  EXTENSION_FAILED: "error",
  EXTENSION_NEVER_STARTED: "error",
  GIT_MISSING: "warning",
  GIT_OLD: "warning",
  NO_SANDBOX: "warning",
  SANDBOX_BROKEN: "warning",
  USER_CONFIG_INVALID: "warning",
  USER_CONFIG_UNSAFE: "warning",
  PORT_FOREIGN: "error",
  PORT_OTHER_HOME: "error",
  PORT_SILENT: "error",
  GATEWAY_BUSY: "error",
  GATEWAY_HUNG: "error",
  GATEWAY_DIED: "error",
  GATEWAY_OTHER_PORT: "error",
  GATEWAY_NOT_RUNNING: "error",
  DESCRIPTOR_MISSING: "error",
  DESCRIPTOR_UNSAFE: "error",
  DESCRIPTOR_UNREADABLE: "error",
  DESCRIPTOR_STALE: "error",
  LINK_MISSING: "error",
  LINK_UNSAFE: "error",
  GATEWAY_UNRESPONSIVE: "error",
  GATEWAY_OTHER_VERSION: "warning",
  GATEWAY_NODE_TOO_OLD: "warning",
  GATEWAY_DRAINING: "error",
  FEATURE_HOST_RESTARTS: "warning",
  FEATURE_HOST_FAILED: "warning",
  FEATURE_TROUBLE: "warning",
  HOLDS_UNREADABLE: "warning",
  HOLDS_ORPHANED: "warning",
  RECORDS_DISK_FULL: "warning",
  RECORDS_DISK_LOW: "warning",
  RECORDS_READ_ONLY: "warning",
  RECORDS_NEWER: "warning",
  RECORDS_NETWORK: "warning",
  RECORDS_UNUSABLE: "warning",
  RECORDS_SET_ASIDE: "warning",
  RECORDS_DROPPED: "warning",
  RECORDS_ROLLBACK: "warning",
  WORKERS_CLI_GONE: "warning",
  PLANS_STAND_STILL: "warning",
  PLANS_WAIT: "warning",
  PLAN_ORPHANS: "warning",
  NO_SESSION: "error",
  SESSION_LOST: "error",
  PROVIDER_HANGS: "error",
  PROVIDER_SLOW: "warning",
  SYNC_FAILED: "error",
  SYNC_PENDING: "warning",
  HOOKS_PENDING: "warning",
  HOOKS_DENIED: "warning",
  HOOKS_UNAVAILABLE: "warning",
  TOO_MANY_TOOLS: "warning",
  TOKEN_MISSING: "error",
  TOKEN_NOT_A_FILE: "error",
  TOKEN_OPEN: "warning",
  TOKEN_EMPTY: "error",
  TOKEN_WRONG: "error",
  TOKEN_OVERRIDDEN: "error",
  CONNECTION_REFUSED: "error",
  CONFIG_INVALID: "error",
  CONFIG_NOT_ALLOWED: "warning",
  PROVIDER_GIVEN_UP: "error",
  PROVIDER_CRASHES: "error",
  PROVIDER_UNAUTHENTICATED: "warning",
  PROVIDER_REFUSED: "error",
  PROVIDER_UNBOUND: "warning",
  NO_PROVIDER: "warning",
  TOOL_REFUSED: "error",
  TOOL_NAME_INVALID: "error",
  TOOL_OF_CLI: "error",
  TOOL_TAKEN: "error",
  TOOL_ELSEWHERE: "error",
  TOOL_GROUP_CLOSED: "error",
  TOOL_NOT_DECLARED: "error",
});

/** @typedef {keyof typeof FINDINGS} Code */

/**
 * @param {Code} code
 * @param {{problem: string, fix: string, command?: string, severity?: Severity}} said `severity`: where
 *   it depends on what was asked
 * @returns {Finding}
 */
export const finding = (code, { severity = FINDINGS[code], problem, fix, command }) => ({
  code,
  severity,
  problem,
  fix,
  ...(command !== undefined && { command }),
});
