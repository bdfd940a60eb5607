// tap.config.json: which providers a workspace wants started. Read strictly: a mistake that is
// skipped over is a provider that does not do what its author thinks.

import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { messageOf } from "../base/errors.mjs";
import { CONFIG_NAME, configFile } from "./config-file.mjs";
import { nameProblem, shortened, visible } from "../base/visible.mjs";
import { parsePositioned, pathTo, problemAt, valueOf } from "./json-positions.mjs";

/** @typedef {import("./json-positions.mjs").Node} Node */
/** @typedef {import("./json-positions.mjs").Problem} Problem */
/** @typedef {import("../process/supervisor.mjs").ProviderConfig} ProviderConfig */
/** @typedef {import("../process/supervisor.mjs").RestartPolicy} RestartPolicy */
/**
 * @typedef {{ok: true, providers: ProviderConfig[]} | {ok: false, problems: Problem[]}} ConfigResult
 */

export const MAX_CONFIG_BYTES = 256 * 1024;
export const MAX_PROVIDERS = 20;
export const MAX_NAME_BYTES = 128;
export const MAX_RESTARTS = 100;
const MAX_PROBLEMS = 20;

const POLICIES = ["on-failure", "always", "never"];
/** Nothing that could pass for another word of what the user is shown. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** What every started provider is given; a config cannot say otherwise. */
const GIVEN = ["TAP_PROVIDER_TOKEN", "TAP_SESSION_ID", "TAP_GATEWAY_PORT"];

/** @param {string} text */
export const digestOf = (text) => createHash("sha256").update(text, "utf8").digest("hex");

/**
 * @param {string} text the content @param {string} [fileName] as problems should name it
 * @returns {ConfigResult}
 */
export function readProjectConfig(text, fileName = CONFIG_NAME) {
  const file = visible(fileName);
  if (Buffer.byteLength(text) > MAX_CONFIG_BYTES) {
    return { ok: false, problems: [problemAt(file, "", 0, TOO_LARGE)] };
  }
  const json = text.replace(/^\ufeff/, "");
  const parsed = parsePositioned(json, file);
  if ("problem" in parsed) return { ok: false, problems: [parsed.problem] };
  const reader = new Reader(json, file);
  const providers = reader.config(parsed.root);
  return reader.problems.length > 0
    ? { ok: false, problems: reader.problems }
    : { ok: true, providers };
}

const TOO_LARGE = `expected at most ${MAX_CONFIG_BYTES / 1024} KB`;

/**
 * The config of a workspace, read once: what was consented to is what is run.
 * @typedef {{file: string, digest: string, result: ConfigResult}} LoadedConfig
 */

/**
 * @param {string} folder the workspace @param {string} [name]
 * @returns {LoadedConfig | undefined} undefined where there is no such file
 */
export function loadProjectConfig(folder, name = CONFIG_NAME) {
  const file = configFile(folder, name);
  try {
    const bytes = readBounded(file);
    if (!bytes) return undefined;
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { file, digest: digestOf(text), result: readProjectConfig(text, file) };
  } catch (error) {
    const why = error instanceof TypeError ? "expected UTF-8 text" : visible(messageOf(error));
    const problems = [problemAt(visible(file), "", 0, why)];
    return { file, digest: "", result: { ok: false, problems } };
  }
}

/** Never waits on a pipe and never reads more than it may. @param {string} file */
function readBounded(file) {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (!stat) return undefined;
  if (!stat.isFile()) throw new Error("expected a file");
  const handle = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  try {
    const buffer = Buffer.alloc(MAX_CONFIG_BYTES + 1);
    let length = 0;
    for (let read = 1; read > 0 && length < buffer.length; length += read) {
      read = fs.readSync(handle, buffer, length, buffer.length - length, null);
    }
    if (length > MAX_CONFIG_BYTES) throw new Error(TOO_LARGE);
    return buffer.subarray(0, length);
  } finally {
    fs.closeSync(handle);
  }
}

// ---- the strict reading ----------------------------------------------------------------------------

/** @param {string} a @param {string} b the least number of edits from one to the other */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const swap = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[b.length];
}

/** @param {string} name @param {readonly string[]} known */
function suggestion(name, known) {
  const word = name.slice(0, 64).toLowerCase();
  const [nearest] = known
    .map((candidate) => ({ candidate, edits: distance(word, candidate.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits);
  return nearest.edits <= Math.max(2, nearest.candidate.length / 3)
    ? `did you mean "${nearest.candidate}"?`
    : `known are ${known.join(", ")}`;
}

/** @param {string} text */
const shown = (text) => `"${visible(shortened(text, 60))}"`;

/** @param {Node | undefined} node */
function kindOf(node) {
  if (node?.type === "null") return "null";
  return `${/^[ao]/.test(node?.type ?? "") ? "an" : "a"} ${node?.type}`;
}

/** As a program would write it: providers[0].args[1]. @param {Node} node */
function placeOf(node) {
  const steps = pathTo(node).map((step) => {
    if (typeof step === "number") return `[${step}]`;
    return /^[A-Za-z_]\w{0,59}$/.test(step) ? `.${step}` : `[${shown(step)}]`;
  });
  return steps.join("").replace(/^\./, "") || "the config";
}

class Reader {
  /** @type {Problem[]} */
  problems = [];
  #text;
  #file;

  /** @param {string} text @param {string} file */
  constructor(text, file) {
    this.#text = text;
    this.#file = file;
  }

  /** @param {Node} node @param {string | (() => string)} message a function where it takes time to make */
  #problem(node, message) {
    if (this.problems.length >= MAX_PROBLEMS) return;
    const text = typeof message === "string" ? message : message();
    this.problems.push(problemAt(this.#file, this.#text, node.offset, text));
  }

  /** @param {Node} node @param {string} kind */
  #mustBe(node, kind) {
    this.#problem(node, () => `${placeOf(node)} must be ${kind}, not ${kindOf(node)}`);
  }

  /**
   * The fields of an object, each known and given once.
   * @param {Node} node @param {string} what @param {readonly string[]} known
   * @returns {Map<string, Node>}
   */
  #fields(node, what, known) {
    const fields = this.#members(node, what);
    for (const [name, { key }] of fields) {
      if (known.includes(name)) continue;
      this.#problem(key, `unknown field ${shown(name)} in ${what}: ${suggestion(name, known)}`);
    }
    return new Map([...fields].map(([name, { value }]) => [name, value]));
  }

  /** @param {Node} node @param {string} what @returns {Map<string, {key: Node, value: Node}>} */
  #members(node, what) {
    const members = new Map();
    if (node.type !== "object") {
      this.#mustBe(node, "an object");
      return members;
    }
    for (const { children: [key, value] = [] } of node.children ?? []) {
      const name = String(key.value);
      if (members.has(name)) this.#problem(key, `${shown(name)} is given twice in ${what}`);
      members.set(name, { key, value });
    }
    return members;
  }

  /** @param {Node} root @returns {ProviderConfig[]} */
  config(root) {
    const fields = this.#fields(root, "the config", ["providers", "$schema"]);
    const list = fields.get("providers");
    if (!list) {
      if (root.type === "object") this.#problem(root, 'expected a list "providers"');
      return [];
    }
    const nodes = this.#list(list);
    if (nodes.length > MAX_PROVIDERS) {
      const surplus = nodes[MAX_PROVIDERS];
      this.#problem(surplus, `expected at most ${MAX_PROVIDERS} providers, found ${nodes.length}`);
      return [];
    }
    const taken = new Set();
    return nodes.map((node) => this.#provider(node, taken));
  }

  /** @param {Node} node @returns {Node[]} */
  #list(node) {
    if (node.type === "array") return node.children ?? [];
    this.#mustBe(node, "a list");
    return [];
  }

  /**
   * A text without the zero byte, which would end it early for the system.
   * @param {Node} node
   */
  #string(node) {
    if (node.type !== "string") {
      this.#mustBe(node, "a string");
      return "";
    }
    if (node.value.includes("\0")) {
      this.#problem(node, () => `${placeOf(node)} must not contain a zero byte`);
    }
    return /** @type {string} */ (node.value);
  }

  /** @param {Node} node @param {Set<string>} taken @returns {ProviderConfig} */
  #provider(node, taken) {
    const known = ["name", "command", "args", "env", "cwd", "restart"];
    const fields = this.#fields(node, "a provider", known);
    for (const name of ["name", "command"]) {
      if (node.type === "object" && !fields.has(name)) {
        this.#problem(node, `expected a field "${name}" in this provider`);
      }
    }
    const [name, command, args, env, cwd, restart] = known.map((key) => fields.get(key));
    return {
      name: name ? this.#name(name, taken) : "",
      command: command ? this.#command(command) : "",
      args: args ? this.#list(args).map((arg) => this.#string(arg)) : [],
      env: env ? this.#env(env) : {},
      ...(cwd && { cwd: this.#cwd(cwd) }),
      restart: restart ? this.#restart(restart) : { policy: "on-failure" },
    };
  }

  /** @param {Node} node @param {Set<string>} taken */
  #name(node, taken) {
    const name = this.#string(node);
    if (node.type !== "string") return name;
    const problem = nameProblem(name);
    if (problem !== "") {
      this.#problem(node, `expected "name" to be ${problem}`);
    } else if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
      this.#problem(node, `expected "name" to have at most ${MAX_NAME_BYTES} bytes`);
    } else if (taken.has(name)) {
      this.#problem(node, `expected another name: there is a provider ${shown(name)} already`);
    }
    taken.add(name);
    return name;
  }

  /** @param {Node} node */
  #command(node) {
    const command = this.#string(node);
    if (node.type === "string" && command.trim() === "") {
      this.#problem(node, 'expected "command" not to be empty');
    }
    return command;
  }

  /** @param {Node} node @returns {Record<string, string>} */
  #env(node) {
    const entries = [...this.#members(node, '"env"')].map(([name, { key, value }]) => {
      if (!VARIABLE.test(name)) {
        const rule = "letters, digits and _, not a digit first";
        this.#problem(key, `expected the name of a variable (${rule}), found ${shown(name)}`);
      } else if (GIVEN.includes(name.toUpperCase())) {
        this.#problem(key, `${shown(name)} is set by tap itself and cannot be given`);
      }
      return [name, this.#string(value)];
    });
    return Object.fromEntries(entries);
  }

  /** @param {Node} node */
  #cwd(node) {
    const cwd = this.#string(node);
    const outside = path.normalize(cwd).split(/[\\/]/)[0] === "..";
    if (node.type === "string" && (cwd === "" || outside || isAbsolute(cwd))) {
      this.#problem(node, 'expected "cwd" to be a folder inside the workspace, such as "tools"');
    }
    return cwd;
  }

  /** @param {Node} node @returns {ProviderConfig["restart"]} */
  #restart(node) {
    if (node.type === "string") return { policy: this.#policy(node) };
    const fields = this.#fields(node, '"restart"', ["policy", "maxRestarts"]);
    const policy = fields.get("policy");
    const most = fields.get("maxRestarts");
    return {
      policy: policy ? this.#policy(policy) : "on-failure",
      ...(most && { maxRestarts: this.#maxRestarts(most) }),
    };
  }

  /** @param {Node} node @returns {RestartPolicy} */
  #policy(node) {
    const value = valueOf(node);
    if (POLICIES.some((policy) => policy === value)) return /** @type {RestartPolicy} */ (value);
    const choice = POLICIES.map((policy) => `"${policy}"`).join(", ");
    this.#problem(node, `expected the restart policy to be one of ${choice}`);
    return "on-failure";
  }

  /** @param {Node} node */
  #maxRestarts(node) {
    const value = Number(valueOf(node));
    const good = node.type === "number" && Number.isInteger(value);
    if (good && value >= 0 && value <= MAX_RESTARTS) return value;
    this.#problem(node, `expected "maxRestarts" to be a whole number from 0 to ${MAX_RESTARTS}`);
    return 0;
  }
}

/** On any system: a config is shared between them. @param {string} folder */
const isAbsolute = (folder) =>
  path.posix.isAbsolute(folder) || path.win32.isAbsolute(folder) || /^[a-z]:/i.test(folder);
