// Removes secrets from recordings: by their names, and by their form. It is a net, not a proof:
// docs/tracing.md says what it catches.

export const REMOVED = "<removed>";

/** Words of a name under which a secret stands. */
const SECRET_WORDS = new Set(
  (
    "token tokens secret secrets password passwords passwd passphrase passcode pwd pass authorization " +
    "auth bearer jwt cookie cookies credential credentials otp apikey apikeys accesskey privatekey"
  ).split(" "),
);
/** Words that make a key a secret: api key, private key, … */
const KEY_KINDS = new Set("api access private secret encryption session signing ssh".split(" "));
const SECRET_ENDS = /(?:password|passwd|secret|token|apikey)s?$/;

/** @param {string} name @returns {string[]} its words: apiKey, api_key and API-KEY have the same */
const wordsOf = (name) =>
  name
    .slice(0, 200)
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);

/** @param {string[]} words */
const isSecret = (words) =>
  words.some(
    (word, at) =>
      SECRET_WORDS.has(word) ||
      SECRET_ENDS.test(word) ||
      (/^keys?$/.test(word) && KEY_KINDS.has(words[at - 1] ?? "")) ||
      (word === "string" && words[at - 1] === "connection"),
  );

/** How well-known secrets look. Every repetition is bounded, so a hostile text does not cost more than another. @type {[RegExp, string][]} */
const SECRET_TEXTS = [
  [/\b(?:ptk|tok|stk)-[0-9a-f]{16,128}/g, REMOVED],
  [/\bgh[opsur]_\w{20,255}/g, REMOVED],
  [/\bgithub_pat_\w{20,255}/g, REMOVED],
  [/\bglpat-[\w-]{16,64}/g, REMOVED],
  [/\b(?:npm|hf)_[A-Za-z0-9]{20,64}/g, REMOVED],
  [/\b[sr]k[-_][\w-]{20,255}/g, REMOVED],
  [/\bx(?:ox[abeprs]|app)-[\w-]{10,255}/g, REMOVED],
  [/\bhooks\.slack\.com\/services\/[\w/]{10,100}/g, `hooks.slack.com/services/${REMOVED}`],
  [/\bA(?:KIA|SIA)[0-9A-Z]{16}\b/g, REMOVED],
  [/\bAIza[\w-]{30,64}/g, REMOVED],
  [/(?<![\w-])eyJ[\w-]{10,2000}\.[\w-]{10,8000}\.[\w-]{1,2000}/g, REMOVED],
  [
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
    REMOVED,
  ],
  [/\b(Bearer|Basic) {1,4}[\w.~+/=-]{8,4000}/gi, `$1 ${REMOVED}`],
  [/(:\/\/[^\s/:@]{0,200}:)[^\s/@]{1,500}@/g, `$1${REMOVED}@`],
  [
    /\b((?:access_?|auth_?|api_?|id_?|refresh_?)?(?:token|key|secret|password|passwd|pwd|signature|sig)=)[^&\s"'<>]{1,4000}/gi,
    `$1${REMOVED}`,
  ],
  [/("code" {0,4}: {0,4}")\d{6}"/g, `$1${REMOVED}"`],
];

/** @param {string} text @returns {string} */
function redactText(text) {
  const json = redactJson(text);
  if (json !== undefined) return json;
  return SECRET_TEXTS.reduce((left, [pattern, by]) => left.replace(pattern, by), text);
}

/** Results are often JSON in a string. @param {string} text @returns {string | undefined} undefined if the text is not JSON */
function redactJson(text) {
  if (!/^\s{0,100}[[{]/.test(text)) return undefined;
  try {
    const value = JSON.parse(text);
    const clean = JSON.stringify(redact(value));
    return clean === JSON.stringify(value) ? text : clean;
  } catch {
    return undefined;
  }
}

/** A schema describes a secret and has none. @param {object} value */
const isSchema = (value) =>
  ["type", "description", "$ref", "properties", "anyOf", "oneOf", "enum"].some((name) =>
    Object.hasOwn(value, name),
  );

/** Redacts a value whose name suggests a secret. @param {string[]} words @param {any} value */
function redactNamed(words, value) {
  if (value === null || value === "" || typeof value === "boolean") return value;
  // A number of tokens used is not a secret.
  if (typeof value === "number") {
    const last = words.at(-1) ?? "";
    return last !== "tokens" && isSecret([last]) ? REMOVED : value;
  }
  return typeof value === "object" && !Array.isArray(value) && isSchema(value)
    ? redact(value)
    : REMOVED;
}

/** `{"name": "DB_PASSWORD", "value": …}`. @param {Record<string, any>} value */
function namedBy({ name, key }) {
  const telling = [name, key].find((text) => typeof text === "string" && isSecret(wordsOf(text)));
  return telling !== undefined;
}

/**
 * The value without secrets.
 * @param {any} value of JSON
 * @returns {any}
 */
export function redact(value) {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== "object" || value === null) return value;
  const paired = namedBy(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const words = wordsOf(name);
      if (isSecret(words) || (paired && name === "value")) return [name, redactNamed(words, inner)];
      return [name, redact(inner)];
    }),
  );
}
