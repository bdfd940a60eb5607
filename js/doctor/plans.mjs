// How plans stand: git, and what the feature host says where it runs. Facts only; the checks judge them.

import fs from "node:fs";
import path from "node:path";
import { ask, within } from "./bounded.mjs";

const GIT_MS = 3000;
const ASK_MS = 3000;

/**
 * @typedef {object} PlanHealth
 * @property {number} plans
 * @property {string} trouble why none goes on; ""
 * @property {{planId: string, name: string, why: "landing" | "budget" | "pause" | "limit", waitsUntil?: number}[]} waiting
 * @property {{repo: string, worktrees: number, bytes: number, complete?: boolean, orphans: number, trouble?: string}[]} repositories
 * @property {{cli: string, sdk: string}} [cli] of which a session has told
 */

/** @param {NodeJS.ProcessEnv} env */
export async function gitFacts(env) {
  const { out, error, late } = await ask("git", ["--version"], { env, ms: GIT_MS });
  const [, version] = /git version (\d+\.\d+(?:\.\d+)?)/.exec(out) ?? [];
  return { version, late, error };
}

/** @param {import("../base/paths.mjs").GatewayFiles} files @returns {Promise<PlanHealth | undefined>} */
async function askHost(files) {
  const { openControl } = await import("../base/control.mjs"); // with the addon, which may be missing
  const control = await openControl(files);
  try {
    const asked = { name: "tap-plan", arguments: '{"do":"health"}', cwd: path.resolve(files.home) };
    const limits = { ...asked, patienceMs: ASK_MS };
    const { text } = await control.request("features.command", limits, { timeoutMs: ASK_MS });
    return JSON.parse(text).answer;
  } finally {
    control.close();
  }
}

/**
 * Nothing is started for it: where no feature host runs, or no plan was ever made, there is nothing to tell.
 * @param {import("../base/paths.mjs").GatewayFiles} files @param {import("../base/host-parts.mjs").HostParts | undefined} parts
 * @returns {Promise<PlanHealth | undefined>}
 */
export async function planFacts(files, parts) {
  if (parts?.featureHost.pid === undefined) return undefined;
  if (!fs.existsSync(path.join(files.home, "tap", "plans.sqlite"))) return undefined;
  return within(
    askHost(files).catch(() => undefined),
    ASK_MS,
    undefined,
  );
}
