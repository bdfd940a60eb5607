// Reads a tap.config.json, which anybody may have made: bounded, every field checked, each problem with its place.

import { createHash } from "node:crypto";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { isOurFile } from "../lib/host-files.mjs";
import { isInside } from "../lib/paths.mjs";
import { errorMessage } from "../lib/values.mjs";
import { visible } from "../lib/visible.mjs";
import {
  checkVariable,
  createEmitterEntries,
  createFolder,
  createWatchEntries,
  streamEntries,
  withInjector,
} from "./emitter-spec.mjs";
import { CONFIG_NAME, configFile, findConfigName } from "./file.mjs";
import { problemAt, readJsonc } from "./jsonc.mjs";
import { mcpServers, restart } from "./mcp.mjs";
import { entrySandbox, sandbox } from "./sandbox.mjs";
import {
  anything,
  choice,
  either,
  flag,
  integer,
  label,
  list,
  named,
  object,
  quoteText,
  refine,
  required,
  text,
  usually,
} from "./schema.mjs";

/** @typedef {import("./jsonc.mjs").Problem} Problem */
/** @typedef {import("./schema.mjs").Place} Place */
/** @typedef {import("./emitter-spec.mjs").EmitterEntry} EmitterEntry */
/** @typedef {import("../process/supervisor.mjs").ProviderConfig} ProviderConfig */

/**
 * Never waits on a pipe and never reads more than it may.
 * @param {string} file @param {number} most bytes @param {string} tooLarge for the error
 * @returns {Buffer | undefined} undefined where there is no such file
 */
export function readBounded(file, most, tooLarge) {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (!stat) return undefined;
  if (!stat.isFile()) throw new Error("expected a file");
  const handle = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  try {
    const buffer = Buffer.alloc(most + 1);
    let length = 0;
    for (let read = 1; read > 0 && length < buffer.length; length += read) {
      read = fs.readSync(handle, buffer, length, buffer.length - length, null);
    }
    if (length > most) throw new Error(tooLarge);
    return buffer.subarray(0, length);
  } finally {
    fs.closeSync(handle);
  }
}

/**
 * `plans` of the user's config: what plans may take of the machine, and what each worktree gets (docs/plans.md).
 * @typedef {object} PlansConfig
 * @property {number} [maxWorkers] nodes of all plans at a time @property {number} [maxAgents] agents among them
 * @property {number} [workerMemory] bytes that must be free for one agent more
 * @property {string} [worktrees] inside or beside the repository
 * @property {string[]} [copy] @property {string[]} [link] @property {string} [setup] @property {boolean} [gitignore]
 *   for plans that do not say it
 */

// tap.config.json: which providers a workspace wants started. Read strictly: a mistake that is
// skipped over is a provider that does not do what its author thinks.

/**
 * Rules and context without a program.
 * @typedef {{name: string, deny: {match: import("../../sdk/node/types.js").Match, reason: string}[], context?: string}} DeclarativeConfig
 *
 * An entry as js/tools has them; what is wrong with it is said where it is used (js/watch/entries.mjs).
 * @typedef {{file: string, given?: unknown, reason?: string}} ToolEntry `reason`: why its file could not be read
 *
 * @typedef {object} Config
 * @property {ProviderConfig[]} providers
 * @property {DeclarativeConfig[]} declarative
 * @property {string[]} toolGroups that are there from the start
 * @property {Record<string, boolean>} features by id: whether each is on
 * @property {import("./emitter-spec.mjs").EmitterEntry[]} emitters
 * @property {import("./emitter-spec.mjs").EmitterEntry[]} watch emitters with a state
 * @property {ToolEntry[]} tools how the output of further tools is read
 * @property {import("./emitter-spec.mjs").StreamEntry[]} streams without an emitter
 * @property {string[]} [protectedBranches] on which no plan lands
 * @property {boolean} [records] of the user's file
 * @property {boolean} [spans] of the user's file
 * @property {{gate: string[]}} [goals] of the user's file
 * @property {{mode: "ask" | "allow" | "deny"}} [session] of the user's file
 * @property {{env?: string[], model?: string, provider?: Record<string, any>}} [workers] of the user's file
 * @property {PlansConfig} [plans] of the user's file
 * @property {import("./mcp.mjs").McpServerConfig[]} [mcpServers] of the user's file
 * @property {import("./sandbox.mjs").SandboxConfig} [sandbox] of the user's file; without it: DEFAULT_SANDBOX
 *
 * @typedef {(Config & {ok: true}) | {ok: false, problems: Problem[], isUnread?: boolean}} ConfigResult isUnread: the
 *   system did not let it be read, which says nothing of what is in it
 * @typedef {"user" | "project"} Owner
 */

export const MAX_CONFIG_BYTES = 256 * 1024;
const MAX_PROVIDERS = 20;
/** Of a reason or a context. */
const MAX_TEXT = 4000;

const MAX_TOOLS = 100;
const MAX_TOOL_BYTES = 64 * 1024;
const MAX_PATH = 1000;
const MAX_BRANCHES = 100;
const MAX_BRANCH_NAME = 200;
/** No name of a branch has these. */
const NO_BRANCH = /^$|^refs\/|[\u0000-\u0020\u007f~^:?[\\]|\.\./; // eslint-disable-line no-control-regex
const MAX_WORKERS = 256;
const MAX_WORKER_MEMORY = 2 ** 50;
/** What an open goal can gate. */
const GATES = ["push", "task_complete"];
const MODE_POLICIES = ["ask", "allow", "deny"];
const FEATURE_ID = /^(?:builtin|user|project|mcp):[^\u0000-\u001f]{1,128}$/; // eslint-disable-line no-control-regex

const NO_ASK =
  'a rule cannot make the CLI ask you: leave out "ask", and the CLI asks as its own permissions say ' +
  '(start it without --allow-tool for that tool); or use "deny" with a "reason" that tells the model to ask you';

const word = text({ blank: true });
const words = list(word);
const bounded = text({ most: MAX_TEXT });

const provider = object("a provider", {
  name: required(label),
  command: required(text({ what: "a program" })),
  args: usually([], words),
  env: usually({}, named(word, { checkName: checkVariable })),
  cwd: createFolder(),
  restart,
  sandbox: entrySandbox,
});

const pointer = refine(word, (given, place) =>
  /^(\/([^~/]|~[01])*)+$/.test(given)
    ? given
    : place.expected('a JSON Pointer such as "/command"', given),
);
const argument = object('"args"', { path: required(pointer), pattern: required(word) });

const rule = object("a rule", {
  match: required(
    object(
      '"match"',
      { tool: word, args: either("object", argument, word), file: word, provider: word },
      {
        some: ["tool", "args", "file", "provider"],
        // In the order of the file, which a consent is to.
        finish: (read, _place, given) =>
          Object.fromEntries(Object.keys(given).map((one) => [one, read[one]])),
      },
    ),
  ),
  reason: required(bounded),
});

const rules = object(
  "an entry",
  {
    name: required(label),
    deny: usually([], list(rule, { most: MAX_PROVIDERS, what: "rules" })),
    context: bounded,
    ask: { read: (_value, place) => place.problem(NO_ASK) },
  },
  {
    finish(read, place, { deny, context, ask }) {
      if (deny === undefined && context === undefined && ask === undefined)
        place.problem('expected "deny" or "context" in this entry');
      return read;
    },
  },
);

const group = refine(text(), (given, place) =>
  /^[a-z0-9][a-z0-9_-]{0,63}$/.test(given)
    ? given
    : place.expected("the name of a tool group", given),
);

const branch = refine(word, (given, place) =>
  NO_BRANCH.test(given) || given.length > MAX_BRANCH_NAME
    ? place.expected('a branch such as "main" or "release/*", without refs/heads/', given)
    : given,
);

/** Files, or entries as they are in such a file. */
const toolEntries = list(
  either("string", text({ most: MAX_PATH, what: "a file" }), named(anything)),
  { most: MAX_TOOLS, what: "tools" },
);

/** @param {Owner} owner @returns {Record<string, import("./schema.mjs").Schema<any>>} */
const createFields = (owner) => ({
  providers: usually([], list(provider, { most: MAX_PROVIDERS, what: "providers" })),
  declarative: usually([], list(rules, { most: MAX_PROVIDERS, what: "declarative" })),
  toolGroups: usually([], list(group)),
  features: usually(
    {},
    named(flag, {
      checkName(id) {
        if (!FEATURE_ID.test(id))
          return `expected a feature's id such as "builtin:records", found ${quoteText(id)}`;
        if (owner === "user" || id.startsWith("project:")) return "";
        return `${quoteText(id)} is not a feature of this project: only your own config may name it`;
      },
    }),
  ),
  emitters: usually([], createEmitterEntries(owner)),
  watch: usually([], createWatchEntries(owner)),
  tools: usually([], toolEntries),
  streams: usually([], streamEntries),
  protectedBranches: list(branch, { most: MAX_BRANCHES, what: "branches" }),
  $schema: { read: () => undefined },
});

/** What only the user's config has. @type {Record<string, import("./schema.mjs").Schema<any>>} */
const USER_FIELDS = {
  records: flag,
  spans: flag,
  goals: object('"goals"', { gate: usually([], list(choice(GATES))) }),
  session: object('"session"', { mode: usually("ask", choice(MODE_POLICIES)) }),
  // How the agents of plans reach a model (docs/workers.md); js/agents/environment.mjs checks what it holds.
  workers: object('"workers"', { env: words, model: word, provider: named(anything) }),
  plans: object('"plans"', {
    maxWorkers: integer(1, MAX_WORKERS),
    maxAgents: integer(1, MAX_WORKERS),
    workerMemory: integer(1, MAX_WORKER_MEMORY),
    worktrees: choice(["inside", "beside"]),
    copy: words,
    link: words,
    setup: word,
    gitignore: flag,
  }),
  mcpServers,
  sandbox,
};

/** Each name once in these lists. @param {any} given @param {Place} place @param {string[]} lists @param {string} what */
function checkNames(given, place, lists, what) {
  const taken = new Set();
  for (const one of lists) {
    for (const [at, entry] of (Array.isArray(given[one]) ? given[one] : []).entries()) {
      const message = `expected another name: there is ${what} ${quoteText(String(entry?.name))} already`;
      if (taken.has(entry?.name)) place.at(one).at(at).at("name").problem(message);
      if (typeof entry?.name === "string") taken.add(entry.name);
    }
  }
}

/** @param {Owner} owner @returns {import("./schema.mjs").Schema<Config>} */
const createSchema = (owner) =>
  object(
    "the config",
    { ...createFields(owner), ...(owner === "user" && USER_FIELDS) },
    {
      finish(read, place, given) {
        checkNames(given, place, ["providers", "declarative"], "a provider");
        checkNames(given, place, ["emitters"], "an emitter");
        checkNames(given, place, ["streams"], "a stream");
        const { emitters = [], watch = [], streams: all = [], tools = [] } = read;
        const inject = (/** @type {EmitterEntry} */ one) => withInjector(one, all);
        const names = emitters.map((/** @type {EmitterEntry} */ one) => one.name);
        for (const one of watch.filter((/** @type {EmitterEntry} */ each) =>
          names.includes(each.name),
        ))
          place.at("watch").at(one.name).problem("expected another name: it is one of an emitter");
        return {
          ...{ ...read, emitters: emitters.map(inject), watch: watch.map(inject) },
          tools: tools.map((/** @type {unknown} */ one) => ({ file: "", given: one })),
        };
      },
    },
  );

const SCHEMAS = { user: createSchema("user"), project: createSchema("project") };

/** @param {string} content */
export const hashText = (content) => createHash("sha256").update(content, "utf8").digest("hex");

/**
 * @param {string} content @param {string} [fileName] as problems should name it @param {Owner} [owner]
 * @returns {ConfigResult}
 */
export function parseConfig(content, fileName = CONFIG_NAME, owner = "project") {
  const file = visible(fileName);
  if (Buffer.byteLength(content) > MAX_CONFIG_BYTES) {
    return { ok: false, problems: [problemAt(file, "", 0, TOO_LARGE)] };
  }
  const read = readJsonc(SCHEMAS[owner], content.replace(/^\ufeff/, ""), file);
  return read.ok === false ? read : { ok: true, ...read.value };
}

const TOO_LARGE = `expected at most ${MAX_CONFIG_BYTES / 1024} KB`;

/**
 * The config of a workspace, read once: what was consented to is what is run.
 * @typedef {{file: string, folder?: string, digest: string, result: ConfigResult}} LoadedConfig `folder`: the workspace,
 *   of a project's
 */

/**
 * @param {string} workspace its folder @param {string} [file] from there; default: the first name that is there
 * @returns {LoadedConfig | undefined} undefined where there is no such file
 */
export function loadProjectConfig(workspace, file = findConfigName(workspace)) {
  const loaded = file && loadConfig(configFile(workspace, file), "project");
  return loaded ? { ...loaded, folder: path.dirname(configFile(workspace)) } : undefined;
}

/**
 * The user's own. One that others can write, or that is not his, is not read.
 * @param {string} file @returns {LoadedConfig | undefined} undefined where there is no such file
 */
export function loadUserConfig(file) {
  try {
    if (fs.existsSync(file) && !isOurFile(file)) {
      const why = "expected a file of yours that nobody else can write";
      const problems = [problemAt(visible(file), "", 0, why)];
      return { file, digest: "", result: { ok: false, problems } };
    }
  } catch {
    // It has gone meanwhile, or cannot be looked at: the reading says so.
  }
  return loadConfig(file, "user");
}

/**
 * An entry that is in a file of its own. That of a project is in the project.
 * @param {ToolEntry} entry @param {string} config its file @param {Owner} owner @returns {ToolEntry}
 */
function readToolFile({ given }, config, owner) {
  if (typeof given !== "string") return { file: config, given };
  const folder = path.dirname(config);
  const file = path.resolve(folder, given);
  try {
    const isHere = owner === "user" || isInside(fs.realpathSync(file), fs.realpathSync(folder));
    if (!isHere) throw new Error("expected a file in the folder of the config");
    const bytes = readBounded(file, MAX_TOOL_BYTES, `expected at most ${MAX_TOOL_BYTES / 1024} KB`);
    const { parse } = createRequire(import.meta.url)("yaml");
    const content = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { file, given: parse(content, { maxAliasCount: 0, logLevel: "error" }) };
  } catch (error) {
    return { file, reason: visible(errorMessage(error).split("\n")[0]) };
  }
}

/** @param {string} file @param {Owner} owner @returns {LoadedConfig | undefined} */
function loadConfig(file, owner) {
  try {
    const bytes = readBounded(file, MAX_CONFIG_BYTES, TOO_LARGE);
    if (!bytes) return undefined;
    const content = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const result = parseConfig(content, file, owner);
    const tools = result.ok ? result.tools.map((one) => readToolFile(one, file, owner)) : [];
    return { file, digest: hashText(content), result: result.ok ? { ...result, tools } : result };
  } catch (error) {
    const why = error instanceof TypeError ? "expected UTF-8 text" : visible(errorMessage(error));
    const problems = [problemAt(visible(file), "", 0, why)];
    const isUnread = typeof (/** @type {any} */ (error).code) === "string";
    return { file, digest: "", result: { ok: false, problems, isUnread } };
  }
}
