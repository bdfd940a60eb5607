// copilot-tap plan in a repository, with a gateway of its own.

import fs from "node:fs";
import path from "node:path";
import { tap, tapJson } from "../../support/cli-process.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { makeRepository } from "../features/plans-rig.mjs";

/** Where nodes and their test say something to each other: nodes may write there. */
export const FLAGS = fs.realpathSync(temporaryFolder());

/** @param {object} plan or anything else */
function allowFlags(plan) {
  const isPlan = "nodes" in plan && !JSON.stringify(plan).includes("agent");
  return isPlan ? { allowedFolders: [FLAGS], ...plan } : plan;
}

/**
 * @param {import("node:test").TestContext} t
 * @param {{home?: string, env?: Record<string, string>, config?: object, processes?: boolean}} [given] config: of the
 *   user; processes: the hosts are processes of their own
 */
export async function setUp(t, given = {}) {
  const { repo, git } = makeRepository(t);
  const { home = temporaryFolder(t), config } = given;
  if (config) {
    fs.mkdirSync(path.join(home, "tap"), { recursive: true, mode: 0o700 });
    const file = path.join(home, "tap", "config.json");
    fs.writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  }
  const hosts = given.processes ? Host : LocalHost;
  const host = await hosts.elected(t, { COPILOT_HOME: home, ...given.env });
  const { COPILOT_AGENT_SESSION_ID: _, ...own } = host.env;
  const env = { ...own, NO_COLOR: "1" };
  const at = { env, workspace: repo };
  const folder = temporaryFolder(t);
  /** @param {object | string} plan @returns {string} a file with it */
  const file = (plan, name = "plan.json") => {
    const place = path.join(folder, name);
    fs.writeFileSync(place, typeof plan === "string" ? plan : JSON.stringify(allowFlags(plan)));
    return place;
  };
  const plan = (/** @type {string[]} */ ...args) => tap(["plan", ...args], at);
  /** @param {object} written @returns {Promise<string>} the id of a plan that goes on */
  const detached = async (written) => {
    const { value } = await tapJson(["plan", "run", file(written), "--detach"], at);
    return value.planId;
  };
  return { repo, git, home, host, at, file, plan, detached };
}

/** A gate in the file system: a node that waits until it is open. */
export function gate() {
  const place = path.join(FLAGS, crypto.randomUUID());
  return {
    wait: `until test -f ${place}; do sleep 0.05; done`,
    open: () => fs.writeFileSync(place, ""),
  };
}
