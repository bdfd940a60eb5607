// Values of unknown type and form: what was thrown, numbers as text, JSON that is nested, names of hosts.

/** @param {unknown} thrown @returns {string} as it was said: visible() makes it safe to print */
export const errorMessage = (thrown) => (thrown instanceof Error ? thrown.message : String(thrown));

/**
 * What the CLI says without a login: of its server's sessions, and with -p.
 * @param {string} message @returns {boolean}
 */
export const isLoginMissing = (message) =>
  /No GitHub OAuth token|No authentication information found/.test(message);

/**
 * Whether an agent does the work of a phase. Of a text the engine decides in the same way (native/plan/work_reader.cc):
 * any other one is a command, which the user is asked about.
 * @param {any} work not checked yet
 */
export const isAgentWork = (work) =>
  typeof work === "string" ? /^@agent(?: |$)/.test(work) : work?.type === "agent";

// Numbers that come as text.

/**
 * Decimal digits and nothing else: no blank, no sign, no "1e3", no "0x10".
 * @param {string | undefined} text @param {number} least @param {number} most
 * @returns {number | undefined} nothing where it is not such a number
 */
export function parseWholeNumber(text, least, most) {
  if (text === undefined || !/^\d{1,15}$/.test(text)) return undefined;
  const number = Number(text);
  return number >= least && number <= most ? number : undefined;
}

// How deep a value of JSON is nested. JSON.parse reads any depth; JSON.stringify, and what walks through a value, end
// with the stack.

/** Of a file that was exported: more than what native/base/json.h takes of a plan or an entry in it. */
export const MAX_JSON_LEVELS = 160;

/** @param {unknown} value @param {number} most levels @returns {boolean} */
export const isDeeperThan = (value, most) =>
  typeof value === "object" &&
  value !== null &&
  (most === 0 || Object.values(value).some((one) => isDeeperThan(one, most - 1)));

/**
 * @param {string} pattern a name, `*.example.com` for those below one, or `*`
 * @param {string} host a name, or such a pattern, of which all has to match
 */
export function matchesHost(pattern, host) {
  const [wanted, name] = [pattern, host].map((one) => one.toLowerCase().replace(/\.$/, ""));
  if (wanted === "*" || wanted === name) return true;
  return wanted.startsWith("*.") && name.endsWith(wanted.slice(1)) && !/[\\\s@]/.test(name);
}
