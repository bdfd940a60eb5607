// An engine of plans as a developer would write it in JavaScript: a timer looks every 200 ms for nodes that are
// ready, and each transition writes the whole plan as JSON. It stands for the extension whose plans tap's follow.

import fs from "node:fs";

const PUMP_MS = 200;

/**
 * @typedef {{id: string, dependencies: string[], status: string, [field: string]: any}} JsNode
 * @typedef {{name: string, maxParallel: number, nodes: JsNode[]}} JsPlan
 */

/** Three passes: the nodes, their dependencies, and that these form no circle. @param {string} text @returns {JsPlan} */
export function readPlan(text) {
  const plan = JSON.parse(text);
  /** @type {Map<string, JsNode>} */
  const byId = new Map();
  for (const node of plan.nodes) {
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(node.id) || byId.has(node.id)) throw new Error(node.id);
    byId.set(node.id, node);
    node.status = "pending";
  }
  /** @type {Map<string, string[]>} */
  const dependents = new Map(plan.nodes.map((/** @type {JsNode} */ { id }) => [id, []]));
  /** @type {Map<string, number>} */
  const open = new Map();
  for (const { id, dependencies = [] } of plan.nodes) {
    for (const other of dependencies) {
      const list = dependents.get(other);
      if (!list || other === id) throw new Error(`${id} depends on ${other}`);
      list.push(id);
    }
    open.set(id, dependencies.length);
  }
  const order = plan.nodes.filter((/** @type {JsNode} */ { id }) => open.get(id) === 0);
  for (const node of order) node.status = "ready";
  for (let i = 0; i < order.length; ++i) {
    for (const next of dependents.get(order[i].id) ?? []) {
      const left = Number(open.get(next)) - 1;
      open.set(next, left);
      if (left === 0) order.push(byId.get(next));
    }
  }
  if (order.length !== plan.nodes.length) throw new Error("a circle");
  return plan;
}

export class PollingEngine {
  #file;
  #plan;
  /** @type {Map<string, JsNode>} */
  #byId;
  #running = 0;

  /** @param {JsPlan} plan of readPlan @param {string} file */
  constructor(plan, file) {
    this.#plan = plan;
    this.#file = file;
    this.#byId = new Map(plan.nodes.map((node) => [node.id, node]));
  }

  /** @param {JsNode} node @param {string} status */
  move(node, status) {
    node.status = status;
    fs.writeFileSync(`${this.#file}.new`, JSON.stringify(this.#plan));
    fs.renameSync(`${this.#file}.new`, this.#file);
  }

  /** @param {(node: JsNode) => Promise<void>} work @returns {Promise<void>} once all have succeeded */
  run(work) {
    return new Promise((resolve, reject) => {
      const pump = setInterval(() => {
        const { nodes, maxParallel } = this.#plan;
        for (const node of nodes) {
          if (node.status !== "ready" || this.#running >= maxParallel) continue;
          this.#running += 1;
          this.move(node, "scheduled");
          this.move(node, "running");
          work(node).then(() => this.#succeeded(node), reject);
        }
        if (nodes.some(({ status }) => status !== "succeeded")) return;
        clearInterval(pump);
        resolve();
      }, PUMP_MS);
    });
  }

  /** @param {JsNode} node */
  #succeeded(node) {
    this.#running -= 1;
    this.move(node, "succeeded");
    for (const next of this.#plan.nodes) {
      if (next.status !== "pending") continue;
      const isReady = (next.dependencies ?? []).every(
        (id) => this.#byId.get(id)?.status === "succeeded",
      );
      if (!isReady) continue;
      next.readyAt = performance.now();
      this.move(next, "ready");
    }
  }
}
