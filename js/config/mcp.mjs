// `mcpServers` of the user's own config, and the secrets that its entries name.

import fs from "node:fs";
import path from "node:path";
import { isOurFile, makePrivateFolder, writePrivate } from "../lib/host-files.mjs";
import { checkVariable, createFolder } from "./emitter-spec.mjs";
import {
  choice,
  duration,
  either,
  integer,
  list,
  named,
  object,
  quoteText,
  refine,
  text,
  usually,
} from "./schema.mjs";

/**
 * An MCP server as an entry names it. `command` or `url` is given; `env` and `headers` may have `${secret:NAME}`.
 * @typedef {object} McpServerConfig
 * @property {string} name
 * @property {string} [command] @property {string[]} args @property {string} [cwd] from the user's home
 * @property {Record<string, string>} env
 * @property {{policy: import("../process/supervisor.mjs").RestartPolicy, maxRestarts?: number}} restart
 * @property {string} [url] @property {Record<string, string>} headers
 * @property {string[]} tools globs of the server's own names @property {string} prefix
 * @property {number} startTimeout ms @property {number} timeout ms, of a call
 */

export const MAX_SERVERS = 20;
export const SERVER_NAME = /^(?!tap)[a-zA-Z0-9_-]{1,32}$/i;
const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const MAX_SECRET_BYTES = 64 * 1024;
const MAX_PREFIX = 32;
const MAX_GLOB = 200;
const MINUTE_MS = 60_000;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
/** The transport sets these. */
const OWN_HEADERS = /^(accept|content-type|content-length|host|connection|last-event-id|mcp-.*)$/i;
const REFERENCE = /\$\{([^}]*)\}/g;

/** @param {string} value @returns {string[]} names of secrets */
const listReferences = (value) =>
  [...value.matchAll(REFERENCE)].map(([, inner]) => inner.replace(/^secret:/, ""));

/** @param {string} value @returns {string} why a reference in it cannot be resolved; "": all can */
function findReferenceProblem(value) {
  for (const [whole, inner] of value.matchAll(REFERENCE)) {
    if (inner.startsWith("secret:") && SECRET_NAME.test(inner.slice(7))) continue;
    const name = inner.replace(/^(env|secret):/, "");
    return (
      `expected \${secret:NAME}, found ${quoteText(whole)}: the gateway has no variables of your shell. ` +
      `Store the value with: copilot-tap mcp secret set ${SECRET_NAME.test(name) ? name : "NAME"}`
    );
  }
  return "";
}

const word = text({ blank: true });
const withSecrets = refine(word, (given, place) => {
  const problem = findReferenceProblem(given);
  return problem === "" ? given : place.problem(problem);
});
/** Other programs see a command line, so that no secret may be in it. */
const withoutSecrets = refine(word, (given, place) =>
  /\$\{(secret|env):/.test(given)
    ? place.problem(`expected no secret here: only env and headers may have \${secret:NAME}`)
    : given,
);

const headerValue = refine(withSecrets, (given, place) =>
  /[\r\n]/.test(given) ? place.problem("expected a value of one line") : given,
);

/** @param {string} name */
function checkHeader(name) {
  if (!HEADER_NAME.test(name)) return `expected the name of a header, found ${quoteText(name)}`;
  return OWN_HEADERS.test(name) ? `leave it out: ${quoteText(name)} is set by tap itself` : "";
}

/** @param {string} given @returns {string} why it is no address of a server; "": it is */
export function findUrlProblem(given) {
  if (!URL.canParse(given)) return "an address such as https://example.com/mcp";
  const { protocol, hostname, username, password } = new URL(given);
  if (username || password) return "an address without a password: use headers";
  const isLoopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
  if (protocol === "https:" || (protocol === "http:" && isLoopback)) return "";
  return "an address with https:, or with http: on this machine";
}

const url = refine(withoutSecrets, (given, place) => {
  const problem = findUrlProblem(given);
  return problem === "" ? given : place.expected(problem, given);
});

const command = refine(withoutSecrets, (given, place) => {
  if (given.trim() === "") return place.expected("a program", given);
  return path.basename(given) === "copilot-tap"
    ? place.problem("expected another program: tap would be a server of itself")
    : given;
});

const TYPES = /** @type {const} */ ({
  stdio: "command",
  local: "command",
  http: "url",
  "streamable-http": "url",
});
const type = refine(word, (given, place) => {
  if (given === "sse")
    return place.problem(
      "expected another type: leave it to the CLI: copilot mcp add --transport sse",
    );
  return Object.hasOwn(TYPES, given)
    ? /** @type {keyof typeof TYPES} */ (given)
    : place.expected(`one of ${Object.keys(TYPES).join(", ")}`, given);
});

const glob = text({ most: MAX_GLOB, what: "a name or a glob" });
const prefix = refine(word, (given, place) =>
  given.length <= MAX_PREFIX && /^[a-zA-Z0-9_-]*$/.test(given)
    ? given
    : place.expected(`at most ${MAX_PREFIX} letters, digits, _ and -`, given),
);

/** What only one of both kinds has. */
const KIND_FIELDS = { command: ["args", "cwd", "env", "restart"], url: ["headers"] };
const MAX_RESTARTS = 100;
/** @typedef {import("../process/supervisor.mjs").RestartPolicy} RestartPolicy */
const policy = choice(/** @type {RestartPolicy[]} */ (["on-failure", "always", "never"]));

/** Of a program of a config. */
export const restart = usually(
  { policy: "on-failure" },
  either(
    "string",
    refine(policy, (one) => ({ policy: one })),
    object('"restart"', {
      policy: usually("on-failure", policy),
      maxRestarts: integer(0, MAX_RESTARTS),
    }),
  ),
);

const server = object(
  "an MCP server",
  {
    type,
    command,
    args: usually([], list(withoutSecrets)),
    cwd: createFolder(),
    env: usually({}, named(withSecrets, { checkName: checkVariable })),
    restart,
    url,
    headers: usually({}, named(headerValue, { checkName: checkHeader })),
    tools: usually(["*"], list(glob, { most: 100, what: "globs" })),
    prefix,
    startTimeout: usually(MINUTE_MS, duration(1000, 10 * MINUTE_MS)),
    timeout: usually(5 * MINUTE_MS, duration(1000, 60 * MINUTE_MS)),
    description: { read: () => undefined },
    $schema: { read: () => undefined },
  },
  {
    one: ["command", "url"],
    finish({ type: kind, ...read }, place, given) {
      const own = given.url === undefined ? "command" : "url";
      const other = own === "url" ? "command" : "url";
      if (kind !== undefined && TYPES[/** @type {keyof typeof TYPES} */ (kind)] !== own)
        place.at("type").problem(`leave it out: this entry has "${own}"`);
      for (const field of KIND_FIELDS[other])
        if (given[field] !== undefined)
          place.at(field).problem(`leave it out: it is of a server with "${other}"`);
      return read;
    },
  },
);

/** @type {import("./schema.mjs").Schema<McpServerConfig[]>} */
export const mcpServers = refine(
  named(server, {
    most: MAX_SERVERS,
    what: "servers",
    checkName: (name) =>
      SERVER_NAME.test(name)
        ? ""
        : `expected a name of 1 to 32 letters, digits, _ and - that does not begin with "tap", found ${quoteText(name)}`,
  }),
  (read) => Object.entries(read).map(([name, config]) => ({ prefix: `${name}_`, ...config, name })),
);

// ---- secrets -------------------------------------------------------------------------------------

/** @typedef {Record<string, string>} Secrets by name */

/** @param {string} home <COPILOT_HOME> */
const secretsFile = (home) => path.join(home, "tap", "mcp", "secrets.json");

/** @param {string} name @throws {RangeError} */
function requireSecretName(name) {
  if (!SECRET_NAME.test(name)) {
    throw new RangeError("a secret's name has letters, digits and _, at most 64");
  }
}

/** Whether others can read it: its values are for this user alone. @param {string} file */
const isPrivate = (file) =>
  isOurFile(file) && (process.platform === "win32" || (fs.statSync(file).mode & 0o077) === 0);

/**
 * @param {string} home <COPILOT_HOME> @returns {Secrets}
 * @throws where others can read or write the file, or it cannot be read
 */
export function readSecrets(home) {
  const file = secretsFile(home);
  if (!fs.existsSync(file)) return {};
  if (!isPrivate(file)) throw new Error(`${file} can be read by others: chmod 600 it`);
  /** @type {unknown} */
  let value;
  try {
    value = JSON.parse(fs.readFileSync(file, "utf8"));
  } catch {
    throw new Error(`${file} is not JSON: remove it, and set the secrets again`);
  }
  const entries = Object.entries(value ?? {}).filter(([, one]) => typeof one === "string");
  return Object.fromEntries(entries);
}

/** @param {string} home @param {Secrets} secrets */
function writeSecrets(home, secrets) {
  const file = secretsFile(home);
  makePrivateFolder(path.dirname(file));
  writePrivate(file, `${JSON.stringify(secrets, null, 2)}\n`);
}

/** @param {string} home @param {string} name @param {string} value @throws */
export function setSecret(home, name, value) {
  requireSecretName(name);
  if (value === "" || Buffer.byteLength(value) > MAX_SECRET_BYTES || value.includes("\0")) {
    throw new RangeError(`expected a value of 1 to ${MAX_SECRET_BYTES} bytes, without zero bytes`);
  }
  writeSecrets(home, { ...readSecrets(home), [name]: value });
}

/** @param {string} home @param {string} name @returns {boolean} whether it was there */
export function removeSecret(home, name) {
  const { [name]: former, ...others } = readSecrets(home);
  if (former !== undefined) writeSecrets(home, others);
  return former !== undefined;
}

/** @param {Pick<McpServerConfig, "env" | "headers">} config @returns {string[]} names */
export const listSecretNames = ({ env, headers }) => [
  ...new Set([...Object.values(env), ...Object.values(headers)].flatMap(listReferences)),
];

/**
 * @param {McpServerConfig} config @param {Secrets} secrets
 * @returns {{env: Record<string, string>, headers: Record<string, string>, mask: (text: string) => string}}
 *   with the values; `mask` puts the names of secrets in place of their values
 * @throws {RangeError} which names a secret that is missing
 */
export function resolveSecrets(config, secrets) {
  const names = listSecretNames(config);
  const missing = names.find((name) => !Object.hasOwn(secrets, name));
  if (missing !== undefined) {
    throw new RangeError(`needs the secret ${missing}: copilot-tap mcp secret set ${missing}`);
  }
  const fill = (/** @type {Record<string, string>} */ values) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        value.replaceAll(REFERENCE, (_, inner) => secrets[inner.slice("secret:".length)]),
      ]),
    );
  const used = names.toSorted((a, b) => secrets[b].length - secrets[a].length);
  const mask = (/** @type {string} */ shown) =>
    used.reduce((all, name) => all.replaceAll(secrets[name], `\${secret:${name}}`), shown);
  return { env: fill(config.env), headers: fill(config.headers), mask };
}
