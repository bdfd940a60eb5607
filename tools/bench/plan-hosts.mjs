// Two hosts of the engine: a host that starts programs and has no repository, and `copilot-tap plan run`, which has
// it all: the gateway, the feature host, git, logs.

import { execFile, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { addon } from "../../js/lib/addon.mjs";
import { findFreePort } from "../../test/support/cli.mjs";
import { CommandFailed, root } from "../commands.mjs";

const execute = promisify(execFile);
const command = path.join(root, "js", "cli", "cli.mjs");
const PLAN = "pbench";

/** @param {string} program @param {string[]} [args] @param {string} [cwd] @returns {Promise<void>} */
export const ended = (program, args = [], cwd) =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
    child.on("error", reject);
    child.on("exit", (code) => {
      if (code === 0) resolve();
      else reject(new CommandFailed(`${program} ended with ${code}`));
    });
  });

/**
 * Only scheduling: the start and the commit of a node take no time.
 * @param {object} plan @param {string} file of the journal @param {(node: any) => Promise<void>} work
 * @returns {Promise<void>} once the plan has succeeded
 */
export async function runScheduled(plan, file, work) {
  /** @type {(value?: unknown) => void} */
  let resolve;
  const done = new Promise((given) => (resolve = given));
  const submit = async (/** @type {object} */ input) => {
    const entry = { planId: PLAN, ...input };
    const refused = await plans.input(JSON.stringify(entry), Date.now(), 2 ** 40);
    if (refused) throw new CommandFailed(refused);
  };
  /** @param {any} effect */
  const carryOut = async ({ effect, kind, node, phase, current, first }) => {
    if (effect === "notice" && kind === "ended") resolve();
    if (effect !== "run") return;
    const of = { nodeId: node.id, attempt: current.attempt };
    if (first) await submit({ input: "began", ...of });
    if (phase === "work") await work(node);
    await submit({ input: "phase-ended", ...of, phase, outcome: "succeeded" });
  };
  const plans = new addon.Plans({
    ...{ file, maxWorkers: 64, maxAgents: 1 },
    onEffect: (json) => void carryOut(JSON.parse(json)),
    onTrouble: (why) => {
      if (why) throw new CommandFailed(why);
    },
  });
  plans.open();
  await submit({ input: "create", plan, facts: {} });
  await done;
  plans.close();
}

/** A home of its own, and the commands that run there. */
export class Home {
  /** @param {string} folder @returns {Promise<Home>} */
  static async make(folder) {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    return new Home(folder, await findFreePort());
  }

  /** @param {string} folder @param {number} port */
  constructor(folder, port) {
    this.folder = folder;
    this.env = { ...process.env, COPILOT_HOME: folder, TAP_GATEWAY_PORT: String(port) };
  }

  /** @param {string[]} words @returns {Promise<string>} the output */
  async type(...words) {
    const { stdout } = await execute(process.execPath, [command, ...words], {
      ...{ env: this.env, maxBuffer: 1 << 28 },
    });
    return stdout;
  }

  /** From the command to its end, the hosts' start included. @param {object} plan @returns {Promise<string>} its id */
  async run(plan) {
    const file = path.join(this.folder, "plan.json");
    fs.writeFileSync(file, JSON.stringify(plan));
    const [first] = (await this.type("plan", "run", file, "--json")).split("\n");
    return JSON.parse(first).planId;
  }

  /**
   * From the journal's entry with which a node may work until its program ran: that prints the time in nanoseconds.
   * @param {string} planId @returns {Promise<number[]>} ms of each node
   */
  async untilStarted(planId) {
    const { journal: entries } = JSON.parse(await this.type("plan", "export", planId));
    const ofPhase = (/** @type {string} */ phase) =>
      entries.filter((/** @type {any} */ entry) => entry.phase === phase && entry.status);
    const readyAt = new Map(
      ofPhase("merge-fi").map((/** @type {any} */ { node, at }) => [node, at]),
    );
    return ofPhase("work").map((/** @type {any} */ { node, detail }) => {
      const log = path.join(this.folder, "tap", "plans", planId, `${detail.log}.log`);
      return Number(fs.readFileSync(log, "utf8")) / 1e6 - readyAt.get(node);
    });
  }
}
