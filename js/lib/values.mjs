// Values of unknown type and form: errors, numbers as text, nested JSON, host names.

/** @param {unknown} thrown @returns {string} unescaped: use visible() before printing */
export const errorMessage = (thrown) => (thrown instanceof Error ? thrown.message : String(thrown));

/**
 * Whether the CLI reports a missing login, in its server's sessions or with -p.
 * @param {string} message @returns {boolean}
 */
export const isLoginMissing = (message) =>
  /No GitHub OAuth token|No authentication information found/.test(message);

/**
 * Whether an agent does the work of a phase. The engine decides the same for a text (native/plan/work_reader.cc):
 * other texts are commands, which need the user's consent.
 * @param {any} work before validation
 */
export const isAgentWork = (work) =>
  typeof work === "string" ? /^@agent(?: |$)/.test(work) : work?.type === "agent";

// Numbers as text.

/**
 * Only decimal digits: no blank, no sign, no "1e3", no "0x10".
 * @param {string | undefined} text @param {number} least @param {number} most
 * @returns {number | undefined} undefined if it is not such a number
 */
export function parseWholeNumber(text, least, most) {
  if (text === undefined || !/^\d{1,15}$/.test(text)) return undefined;
  const number = Number(text);
  return number >= least && number <= most ? number : undefined;
}

// The depth of a JSON value. JSON.parse reads any depth, but JSON.stringify, and code that walks through a value,
// overflow the stack.

/** Of an exported file: more than native/base/json.h accepts for a plan or an entry in it. */
export const MAX_JSON_LEVELS = 160;

/** @param {unknown} value @param {number} most levels @returns {boolean} */
export const isDeeperThan = (value, most) =>
  typeof value === "object" &&
  value !== null &&
  (most === 0 || Object.values(value).some((child) => isDeeperThan(child, most - 1)));

/**
 * @param {string} pattern a name, `*.example.com` for subdomains, or `*`
 * @param {string} host a name, or such a pattern, of which all has to match
 */
export function matchesHost(pattern, host) {
  const [wanted, name] = [pattern, host].map((text) => text.toLowerCase().replace(/\.$/, ""));
  if (wanted === "*" || wanted === name) return true;
  return wanted.startsWith("*.") && name.endsWith(wanted.slice(1)) && !/[\\\s@]/.test(name);
}
