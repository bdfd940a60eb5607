// Reads a tap.config.json, which anybody may have made: bounded, every field checked, each problem with its place.

import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { isOurFile } from "../lib/host-files.mjs";
import { errorMessage } from "../lib/values.mjs";
import { nameProblem, visible } from "../lib/visible.mjs";
import { isAbsolute, TAP_VARIABLES, VARIABLE } from "./emitter-work.mjs";
import { parseEmitters } from "./emitters.mjs";
import { CONFIG_NAME, configFile, findConfigName } from "./file.mjs";
import { parseSandbox } from "./sandbox.mjs";
import {
  parsePositioned,
  problemAt,
  quoteInput,
  readNodeValue,
  StrictReader,
} from "./strict-reader.mjs";

/** @typedef {import("./strict-reader.mjs").Node} Node */
/** @typedef {import("./strict-reader.mjs").Problem} Problem */
/** @typedef {import("../process/supervisor.mjs").ProviderConfig} ProviderConfig */
/** @typedef {import("../process/supervisor.mjs").RestartPolicy} RestartPolicy */

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

// `workers` of the user's config: how the agents of plans reach a model (docs/workers.md).

/** @typedef {{env?: string[], model?: string, provider?: Record<string, any>}} WorkersConfig */

/**
 * What it holds is checked where agents are started (js/agents/environment.mjs).
 * @param {import("./strict-reader.mjs").StrictReader} reader @param {import("jsonc-parser").Node} node
 * @returns {WorkersConfig}
 */
export function parseWorkers(reader, node) {
  const fields = reader.fields(node, '"workers"', ["env", "model", "provider"]);
  const [env, model, provider] = ["env", "model", "provider"].map((name) => fields.get(name));
  if (provider) reader.members(provider, '"provider"');
  return {
    ...(env && { env: reader.list(env).map((item) => reader.string(item)) }),
    ...(model && { model: reader.string(model) }),
    ...(provider && { provider: /** @type {any} */ (readNodeValue(provider)) }),
  };
}

// `protectedBranches` of the user's config and of a project's: on them no plan lands (docs/configuration.md).

const MAX_PROTECTED_BRANCHES = 100;
const MAX_BRANCH_NAME_LENGTH = 200;
/** No name of a branch has these. */
const INVALID_BRANCH_NAME = /[\u0000-\u0020\u007f~^:?[\\]|\.\./; // eslint-disable-line no-control-regex

/**
 * @param {import("./strict-reader.mjs").StrictReader} reader @param {import("jsonc-parser").Node} node
 * @returns {string[]} names, in which `*` and `**` may stand
 */
export function parseProtectedBranches(reader, node) {
  const items = reader.list(node);
  if (items.length > MAX_PROTECTED_BRANCHES) {
    reader.problem(
      items[MAX_PROTECTED_BRANCHES],
      `expected at most ${MAX_PROTECTED_BRANCHES} branches, found ${items.length}`,
    );
    return [];
  }
  return items.map((item) => {
    const name = reader.string(item);
    if (item.type !== "string") return name;
    if (
      name === "" ||
      name.length > MAX_BRANCH_NAME_LENGTH ||
      INVALID_BRANCH_NAME.test(name) ||
      name.startsWith("refs/")
    ) {
      const wanted = 'expected a branch such as "main" or "release/*", without refs/heads/';
      reader.problem(item, `${wanted}, found ${quoteInput(name)}`);
    }
    return name;
  });
}

// `plans` of the user's config: what plans may take of the machine, and what each worktree gets (docs/plans.md).

const PLAN_COUNTS = ["maxWorkers", "maxAgents"];
const PLAN_LISTS = ["copy", "link"];
const WORKTREE_PLACES = ["inside", "beside"];
const PLAN_FIELDS = [
  ...PLAN_COUNTS,
  "workerMemory",
  "worktrees",
  ...PLAN_LISTS,
  "setup",
  "gitignore",
];
const MAX_WORKERS = 256;
const MAX_WORKER_MEMORY = 2 ** 50;

/**
 * @typedef {object} PlansConfig
 * @property {number} [maxWorkers] nodes of all plans at a time @property {number} [maxAgents] agents among them
 * @property {number} [workerMemory] bytes that must be free for one agent more
 * @property {string} [worktrees] inside or beside the repository
 * @property {string[]} [copy] @property {string[]} [link] @property {string} [setup] @property {boolean} [gitignore]
 *   for plans that do not say it
 */

/**
 * @param {import("./strict-reader.mjs").StrictReader} reader @param {import("jsonc-parser").Node} node
 * @returns {PlansConfig}
 */
export function parsePlans(reader, node) {
  /** @type {any} */
  const plans = {};
  for (const [name, value] of reader.fields(node, '"plans"', PLAN_FIELDS)) {
    const most = PLAN_COUNTS.includes(name)
      ? MAX_WORKERS
      : name === "workerMemory"
        ? MAX_WORKER_MEMORY
        : 0;
    if (PLAN_LISTS.includes(name))
      plans[name] = reader.list(value).map((item) => reader.string(item));
    else if (most === 0 && name !== "gitignore") plans[name] = reader.string(value);
    else plans[name] = value.value;
    const isCount = Number.isInteger(value.value) && value.value >= 1 && value.value <= most;
    if (most > 0 && !isCount) reader.mustBe(value, `a whole number from 1 to ${most}`);
    if (name === "gitignore" && value.type !== "boolean") reader.mustBe(value, "true or false");
    if (name === "worktrees" && !WORKTREE_PLACES.includes(value.value))
      reader.mustBe(value, WORKTREE_PLACES.join(" or "));
  }
  return plans;
}

// tap.config.json: which providers a workspace wants started. Read strictly: a mistake that is
// skipped over is a provider that does not do what its author thinks.

/**
 * Rules and context without a program.
 * @typedef {{name: string, deny: {match: Record<string, string>, reason: string}[], context?: string}} DeclarativeConfig
 *
 * @typedef {object} Config
 * @property {ProviderConfig[]} providers
 * @property {DeclarativeConfig[]} declarative
 * @property {string[]} toolGroups that are there from the start
 * @property {Record<string, boolean>} features by id: whether each is on
 * @property {import("./emitters.mjs").EmitterEntry[]} emitters
 * @property {import("./emitters.mjs").StreamEntry[]} streams without an emitter
 * @property {string[]} [protectedBranches] on which no plan lands
 * @property {boolean} [records] of the user's file
 * @property {boolean} [spans] of the user's file
 * @property {{gate: string[]}} [goals] of the user's file
 * @property {{mode: "ask" | "allow" | "deny"}} [session] of the user's file
 * @property {{env?: string[], model?: string, provider?: Record<string, any>}} [workers] of the user's file
 * @property {PlansConfig} [plans] of the user's file
 * @property {import("./sandbox.mjs").SandboxConfig} [sandbox] of the user's file; without it: DEFAULT_SANDBOX
 *
 * @typedef {(Config & {ok: true}) | {ok: false, problems: Problem[], isUnread?: boolean}} ConfigResult isUnread: the
 *   system did not let it be read, which says nothing of what is in it
 * @typedef {"user" | "project"} Owner
 */

export const MAX_CONFIG_BYTES = 256 * 1024;
export const MAX_PROVIDERS = 20;
export const MAX_NAME_BYTES = 128;
export const MAX_RESTARTS = 100;
/** Of a reason or a context. */
const MAX_TEXT = 4000;

const FIELDS = [
  ...["providers", "declarative", "toolGroups", "features"],
  ...["emitters", "streams", "protectedBranches", "$schema"],
];
const USER_FIELDS = ["records", "spans", "goals", "session", "workers", "plans", "sandbox"];
/** What an open goal can gate. */
const GATES = ["push", "task_complete"];
const MODE_POLICIES = ["ask", "allow", "deny"];
const FEATURE_ID = /^(?:builtin|user|project|mcp):[^\u0000-\u001f]{1,128}$/; // eslint-disable-line no-control-regex

const NO_ASK =
  'a rule cannot make the CLI ask you: leave out "ask", and the CLI asks as its own permissions say ' +
  '(start it without --allow-tool for that tool); or use "deny" with a "reason" that tells the model to ask you';

const POLICIES = ["on-failure", "always", "never"];

/** @param {string} text */
export const hashText = (text) => createHash("sha256").update(text, "utf8").digest("hex");

/**
 * @param {string} text the content @param {string} [fileName] as problems should name it @param {Owner} [owner]
 * @returns {ConfigResult}
 */
export function parseConfig(text, fileName = CONFIG_NAME, owner = "project") {
  const file = visible(fileName);
  if (Buffer.byteLength(text) > MAX_CONFIG_BYTES) {
    return { ok: false, problems: [problemAt(file, "", 0, TOO_LARGE)] };
  }
  const json = text.replace(/^\ufeff/, "");
  const parsed = parsePositioned(json, file);
  if ("problem" in parsed) return { ok: false, problems: [parsed.problem] };
  const reader = new Reader(json, file, owner);
  const config = reader.config(parsed.root);
  return reader.problems.length > 0
    ? { ok: false, problems: reader.problems }
    : { ok: true, ...config };
}

const TOO_LARGE = `expected at most ${MAX_CONFIG_BYTES / 1024} KB`;

/**
 * The config of a workspace, read once: what was consented to is what is run.
 * @typedef {{file: string, folder?: string, digest: string, result: ConfigResult}} LoadedConfig `folder`: the workspace,
 *   of a project's
 */

/**
 * @param {string} folder the workspace @param {string} [name] from there; default: the first name that is there
 * @returns {LoadedConfig | undefined} undefined where there is no such file
 */
export function loadProjectConfig(folder, name = findConfigName(folder)) {
  const loaded = name && loadConfig(configFile(folder, name), "project");
  return loaded ? { ...loaded, folder: path.dirname(configFile(folder)) } : undefined;
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

/** @param {string} file @param {Owner} owner @returns {LoadedConfig | undefined} */
function loadConfig(file, owner) {
  try {
    const bytes = readBounded(file, MAX_CONFIG_BYTES, TOO_LARGE);
    if (!bytes) return undefined;
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { file, digest: hashText(text), result: parseConfig(text, file, owner) };
  } catch (error) {
    const why = error instanceof TypeError ? "expected UTF-8 text" : visible(errorMessage(error));
    const problems = [problemAt(visible(file), "", 0, why)];
    const isUnread = typeof (/** @type {any} */ (error).code) === "string";
    return { file, digest: "", result: { ok: false, problems, isUnread } };
  }
}

class Reader extends StrictReader {
  #owner;

  /** @param {string} text @param {string} file @param {Owner} owner */
  constructor(text, file, owner) {
    super(text, file);
    this.#owner = owner;
  }

  /** @param {Node} root @returns {Config} */
  config(root) {
    const known = this.#owner === "user" ? [...FIELDS, ...USER_FIELDS] : FIELDS;
    const fields = this.fields(root, "the config", known);
    const [providers, declarative, toolGroups, features, emitters, streams, protectedBranches] =
      FIELDS.map((name) => fields.get(name));
    const [records, spans, goals, session, workers, plans, sandbox] = USER_FIELDS.map((name) =>
      fields.get(name),
    );
    const taken = new Set();
    return {
      providers: this.#entries(providers, "providers", (node) => this.#provider(node, taken)),
      declarative: this.#entries(declarative, "declarative", (node) => this.#rules(node, taken)),
      toolGroups: toolGroups ? this.#words(toolGroups) : [],
      features: features ? this.#features(features) : {},
      ...parseEmitters(this, this.#owner, emitters, streams),
      ...(protectedBranches && {
        protectedBranches: parseProtectedBranches(this, protectedBranches),
      }),
      ...(records && { records: this.#boolean(records) }),
      ...(spans && { spans: this.#boolean(spans) }),
      ...(goals && { goals: this.#goals(goals) }),
      ...(session && { session: this.#session(session) }),
      ...(workers && { workers: parseWorkers(this, workers) }),
      ...(plans && { plans: parsePlans(this, plans) }),
      ...(sandbox && { sandbox: parseSandbox(this, sandbox) }),
    };
  }

  /**
   * @template T @param {Node | undefined} node @param {string} what @param {(node: Node) => T} read
   * @returns {T[]}
   */
  #entries(node, what, read) {
    const nodes = node ? this.list(node) : [];
    if (nodes.length <= MAX_PROVIDERS) return nodes.map(read);
    const surplus = nodes[MAX_PROVIDERS];
    this.problem(surplus, `expected at most ${MAX_PROVIDERS} ${what}, found ${nodes.length}`);
    return [];
  }

  /** @param {Node} node @returns {string[]} */
  #words(node) {
    return this.list(node).map((item) => {
      const word = this.string(item);
      if (item.type === "string" && !/^[a-z0-9][a-z0-9_-]{0,63}$/.test(word)) {
        this.problem(item, `expected the name of a tool group, found ${quoteInput(word)}`);
      }
      return word;
    });
  }

  /** @param {Node} node */
  #boolean(node) {
    if (node.type !== "boolean") this.mustBe(node, "true or false");
    return node.value === true;
  }

  /** @param {Node} node @returns {{gate: string[]}} */
  #goals(node) {
    const gate = this.fields(node, '"goals"', ["gate"]).get("gate");
    return { gate: gate ? this.list(gate).map((item) => this.#parseChoice(item, GATES)) : [] };
  }

  /** @param {Node} node @returns {{mode: "ask" | "allow" | "deny"}} */
  #session(node) {
    const mode = this.fields(node, '"session"', ["mode"]).get("mode");
    return { mode: mode ? /** @type {any} */ (this.#parseChoice(mode, MODE_POLICIES)) : "ask" };
  }

  /** @param {Node} node @param {string[]} words */
  #parseChoice(node, words) {
    const word = this.string(node);
    if (node.type === "string" && !words.includes(word)) {
      this.problem(node, `expected one of ${words.join(", ")}, found ${quoteInput(word)}`);
    }
    return word;
  }

  /** Which features are on. @param {Node} node @returns {Record<string, boolean>} */
  #features(node) {
    const members = [...this.members(node, '"features"')];
    return Object.fromEntries(
      members.map(([id, { key, value }]) => {
        if (!FEATURE_ID.test(id)) {
          this.problem(
            key,
            `expected a feature's id such as "builtin:records", found ${quoteInput(id)}`,
          );
        } else if (this.#owner === "project" && !id.startsWith("project:")) {
          this.problem(
            key,
            `${quoteInput(id)} is not a feature of this project: only your own config may name it`,
          );
        }
        return [id, this.#boolean(value)];
      }),
    );
  }

  /** @param {Node} node @param {Set<string>} taken @returns {DeclarativeConfig} */
  #rules(node, taken) {
    const fields = this.fields(node, "an entry", ["name", "deny", "context", "ask"]);
    const [name, deny, context, ask] = ["name", "deny", "context", "ask"].map((one) =>
      fields.get(one),
    );
    if (node.type === "object" && !name)
      this.problem(node, 'expected a field "name" in this entry');
    if (node.type === "object" && !deny && !context && !ask) {
      this.problem(node, 'expected "deny" or "context" in this entry');
    }
    if (ask) this.problem(ask, NO_ASK);
    return {
      name: name ? this.#name(name, taken) : "",
      deny: deny ? this.#entries(deny, "rules", (rule) => this.#rule(rule)) : [],
      ...(context && { context: this.#bounded(context) }),
    };
  }

  /** @param {Node} node @returns {DeclarativeConfig["deny"][number]} */
  #rule(node) {
    const fields = this.fields(node, "a rule", ["match", "reason"]);
    const [match, reason] = ["match", "reason"].map((one) => fields.get(one));
    if (node.type === "object" && !(match && reason)) {
      this.problem(node, 'expected the fields "match" and "reason" in this rule');
    }
    return {
      match: match ? this.#match(match) : {},
      reason: reason ? this.#bounded(reason) : "",
    };
  }

  /** @param {Node} node @returns {Record<string, string>} */
  #match(node) {
    const fields = this.fields(node, '"match"', ["tool", "args", "file", "provider"]);
    if (node.type === "object" && fields.size === 0) {
      this.problem(node, 'expected one of tool, args, file and provider in "match"');
    }
    return Object.fromEntries([...fields].map(([name, value]) => [name, this.string(value)]));
  }

  /** @param {Node} node */
  #bounded(node) {
    const text = this.string(node);
    const most = `expected at most ${MAX_TEXT} characters`;
    if (text.length > MAX_TEXT) this.problem(node, most);
    if (node.type === "string" && text.trim() === "") this.problem(node, "expected a text");
    return text;
  }

  /** @param {Node} node @param {Set<string>} taken @returns {ProviderConfig} */
  #provider(node, taken) {
    const known = ["name", "command", "args", "env", "cwd", "restart"];
    const fields = this.fields(node, "a provider", known);
    for (const name of ["name", "command"]) {
      if (node.type === "object" && !fields.has(name)) {
        this.problem(node, `expected a field "${name}" in this provider`);
      }
    }
    const [name, command, args, env, cwd, restart] = known.map((key) => fields.get(key));
    return {
      name: name ? this.#name(name, taken) : "",
      command: command ? this.#command(command) : "",
      args: args ? this.list(args).map((arg) => this.string(arg)) : [],
      env: env ? this.#env(env) : {},
      ...(cwd && { cwd: this.#cwd(cwd) }),
      restart: restart ? this.#restart(restart) : { policy: "on-failure" },
    };
  }

  /** @param {Node} node @param {Set<string>} taken */
  #name(node, taken) {
    const name = this.string(node);
    if (node.type !== "string") return name;
    const problem = nameProblem(name);
    if (problem !== "") {
      this.problem(node, `expected "name" to be ${problem}`);
    } else if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
      this.problem(node, `expected "name" to have at most ${MAX_NAME_BYTES} bytes`);
    } else if (taken.has(name)) {
      this.problem(node, `expected another name: there is a provider ${quoteInput(name)} already`);
    }
    taken.add(name);
    return name;
  }

  /** @param {Node} node */
  #command(node) {
    const command = this.string(node);
    if (node.type === "string" && command.trim() === "") {
      this.problem(node, 'expected "command" not to be empty');
    }
    return command;
  }

  /** @param {Node} node @returns {Record<string, string>} */
  #env(node) {
    const entries = [...this.members(node, '"env"')].map(([name, { key, value }]) => {
      if (!VARIABLE.test(name)) {
        const rule = "letters, digits and _, not a digit first";
        this.problem(key, `expected the name of a variable (${rule}), found ${quoteInput(name)}`);
      } else if (TAP_VARIABLES.includes(name.toUpperCase())) {
        this.problem(key, `${quoteInput(name)} is set by tap itself and cannot be given`);
      }
      return [name, this.string(value)];
    });
    return Object.fromEntries(entries);
  }

  /** @param {Node} node */
  #cwd(node) {
    const cwd = this.string(node);
    const outside = path.normalize(cwd).split(/[\\/]/)[0] === "..";
    if (node.type === "string" && (cwd === "" || outside || isAbsolute(cwd))) {
      this.problem(node, 'expected "cwd" to be a folder inside the workspace, such as "tools"');
    }
    return cwd;
  }

  /** @param {Node} node @returns {ProviderConfig["restart"]} */
  #restart(node) {
    if (node.type === "string") return { policy: this.#policy(node) };
    const fields = this.fields(node, '"restart"', ["policy", "maxRestarts"]);
    const policy = fields.get("policy");
    const most = fields.get("maxRestarts");
    return {
      policy: policy ? this.#policy(policy) : "on-failure",
      ...(most && { maxRestarts: this.#maxRestarts(most) }),
    };
  }

  /** @param {Node} node @returns {RestartPolicy} */
  #policy(node) {
    const value = readNodeValue(node);
    if (POLICIES.some((policy) => policy === value)) return /** @type {RestartPolicy} */ (value);
    const choice = POLICIES.map((policy) => `"${policy}"`).join(", ");
    this.problem(node, `expected the restart policy to be one of ${choice}`);
    return "on-failure";
  }

  /** @param {Node} node */
  #maxRestarts(node) {
    const value = Number(readNodeValue(node));
    const good = node.type === "number" && Number.isInteger(value);
    if (good && value >= 0 && value <= MAX_RESTARTS) return value;
    this.problem(node, `expected "maxRestarts" to be a whole number from 0 to ${MAX_RESTARTS}`);
    return 0;
  }
}
