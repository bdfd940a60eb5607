// The declared tools, and the tools that the gateway knows.

import { TapError } from "./errors.mjs";
import { reported } from "./reported.mjs";
import { readParameters } from "./schema.mjs";

/**
 * @typedef {object} Tool
 * @property {{name: string, description: string, parameters?: object, timeout?: number, group?: string}} definition
 * @property {(args: any) => any} validate
 * @property {(args: any, call: import("./types.js").Call) => unknown} handler
 */

const STAYS = "They stay declared, and come with the session's next change of tools.";

/** @param {unknown} args */
const asTheyAre = (args) => args;

const OPTIONS = ["description", "parameters", "timeout", "inForce", "group"];

/**
 * A misspelled option would leave the tool without its description or its parameters.
 * @param {unknown} name @param {unknown} options @param {unknown} handler
 */
function checkDeclaration(name, options, handler) {
  const isComplete = typeof name === "string" && typeof options === "object" && options !== null;
  if (!isComplete || typeof handler !== "function") {
    const tool = typeof name === "string" ? `tool ${name}: ` : "";
    throw new TypeError(`${tool}expected tool(name, { description, parameters }, function)`);
  }
  const unknown = Object.keys(options).find((key) => !OPTIONS.includes(key));
  if (unknown === undefined) return;
  throw new TypeError(
    `tool ${name}: unknown option "${unknown}"; the options are ${OPTIONS.join(", ")}`,
  );
}

/** @param {string} name @param {import("./types.js").ToolOptions<any>} options @param {Tool["handler"]} handler @returns {Tool} */
export function makeTool(name, options, handler) {
  checkDeclaration(name, options, handler);
  const { description, parameters, timeout, group } = options;
  const read = readParameters(name, parameters);
  const definition = { name, description, parameters: read?.schema, timeout, group };
  return { definition, validate: read?.validate ?? asTheyAre, handler };
}

export class Tools {
  /** @type {Map<string, Tool>} */
  #declared = new Map();
  /** The tools that the gateway has. @type {Map<string, Tool>} */
  #known = new Map();
  #update;
  #onError;
  /** @type {Promise<any> | undefined} a change that is about to be sent; its ack */
  #soon;
  /** Whether its ack must wait until the session has the tools. */
  #inForce = false;
  /** @type {Promise<unknown>} the last update */
  #last = Promise.resolve();

  /**
   * @param {(delta: {tools: object[], remove: string[], inForce?: boolean}) => Promise<unknown> | undefined} update
   *   undefined: not bound
   * @param {(error: Error) => void} onError
   */
  constructor(update, onError) {
    this.#update = update;
    this.#onError = onError;
  }

  /** @param {string} name */
  get(name) {
    return this.#declared.get(name);
  }

  /** @param {Tool} tool @param {boolean} [inForce] */
  set(tool, inForce) {
    this.#declared.set(tool.definition.name, tool);
    return inForce ? this.#whenInForce() : this.sync();
  }

  /** @param {string} name @param {boolean} [inForce] */
  remove(name, inForce) {
    this.#declared.delete(name);
    return inForce ? this.#whenInForce() : this.sync();
  }

  /** @returns {Promise<void>} */
  #whenInForce() {
    this.#inForce = true;
    const work = this.sync().then((/** @type {any} */ ack) => {
      if (ack?.inForce !== false) return;
      throw new TapError("TIMEOUT", `the tools are not in force: ${ack.reason}`, {}, STAYS);
    });
    return reported(work, this.#onError);
  }

  /** For hello: all tools. */
  declare() {
    this.#known = new Map(this.#declared);
    return [...this.#declared.values()].map(({ definition }) => definition);
  }

  /** Sends the changes to the gateway; simultaneous changes are sent together. @returns {Promise<any>} */
  sync() {
    if (this.#soon) return this.#soon;
    const work = this.#last.then(() => this.#sendChanges());
    this.#soon = reported(work, this.#onError);
    this.#last = work.catch(() => {});
    return this.#soon;
  }

  async #sendChanges() {
    this.#soon = undefined;
    const inForce = this.#inForce;
    this.#inForce = false;
    const former = this.#known;
    const changed = [...this.#declared].filter(([name, tool]) => former.get(name) !== tool);
    const remove = [...former.keys()].filter((name) => !this.#declared.has(name));
    if (changed.length === 0 && remove.length === 0 && !inForce) return undefined;
    const tools = changed.map(([, { definition }]) => definition);
    const answer = this.#update({ tools, remove, ...(inForce && { inForce }) });
    if (!answer) return undefined;
    this.#known = new Map(this.#declared);
    try {
      return await answer;
    } catch (error) {
      if (/** @type {any} */ (error).code !== "DISCONNECTED")
        this.#restore(former, changed, remove);
      throw error;
    }
  }

  /** The gateway has refused a change: the former tools are in force. */
  #restore(
    /** @type {Map<string, Tool>} */ former,
    /** @type {[string, Tool][]} */ changed,
    /** @type {string[]} */ removed,
  ) {
    for (const name of [...changed.map(([changedName]) => changedName), ...removed]) {
      const before = former.get(name);
      if (before) this.#declared.set(name, before);
      else this.#declared.delete(name);
    }
    this.#known = former;
  }
}
