// Checks of what plans need, and of plans that wait. None of them keeps a provider's tools from the model.

import fs from "node:fs";
import path from "node:path";
import { tapCommand } from "../lib/tap-command.mjs";
import { inLine, quoteWord } from "../lib/visible.mjs";
import { bytes, formatCount } from "../views/wording.mjs";
import { finding } from "./findings.mjs";

/** @typedef {import("./facts.mjs").Facts} Facts */
/** @typedef {import("./checks.mjs").Check} Check */

/** Of git: it merges without a checkout. */
const GIT_WANTED = [2, 38];
const MAX_NAMED = 3;

const WHY = {
  landing: "its result could not be landed",
  budget: "its budget is used up",
  pause: "it is paused",
  limit: "it waits for a limit of the model",
};
const ADVICE = {
  landing: ["land", ""],
  budget: ["resume", " Its --budget, or --tokens, must be larger than what it has used."],
  pause: ["resume", ""],
  limit: ["show", " It goes on by itself."],
};

/** @param {Facts} place */
function git({ git: { version, error, late } }) {
  if (version === undefined) {
    const why = error
      ? `cannot be started (${error})`
      : late
        ? "does not answer"
        : "says no version";
    return finding("GIT_MISSING", {
      problem: `git ${why}: plans do not work; everything else does.`,
      fix: "Install git, and see that it is on the PATH of the shell in which you start copilot.",
      command: "git --version",
    });
  }
  const [major, minor] = version.split(".").map(Number);
  const [wantedMajor, wantedMinor] = GIT_WANTED;
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return undefined;
  return finding("GIT_OLD", {
    problem: `git ${version} is older than ${GIT_WANTED.join(".")}: plans merge in a worktree of their own, which is slower.`,
    fix: "Nothing needs to be done. A newer git merges without one.",
  });
}

/** @param {Facts} place */
function sandbox({ sandbox: found }) {
  if (found.state === "ok") return undefined;
  const { code, message, advice, command } = found;
  const problem = `Plans have no sandbox: ${message}. Everything else works.`;
  return finding(code, { problem, fix: advice, command });
}

/** @param {Facts} place */
function sandboxSeen({ sandbox: found }) {
  return found.state === "ok" ? `bubblewrap ${found.version}, ${found.program}` : "";
}

/** @param {Facts} place */
function workers({ plans }) {
  const { cli, sdk } = plans?.cli ?? {};
  const gone = [cli, sdk && (sdk.endsWith(".js") ? sdk : path.join(sdk, "index.js"))].find(
    (file) => file !== undefined && !fs.existsSync(file),
  );
  if (gone === undefined) return undefined;
  return finding("WORKERS_CLI_GONE", {
    problem: `Agents of plans cannot start: ${gone}, which a session has named, does not exist.`,
    fix: "The CLI was probably updated: end the sessions and start one again. Then retry the nodes.",
  });
}

/** @param {Facts} place */
function waiting({ plans, env }) {
  if (!plans) return undefined;
  if (plans.trouble) {
    return finding("PLANS_STAND_STILL", {
      problem: `All plans have stopped, because their journal cannot be written: ${plans.trouble}`,
      fix: "Correct that, for example free space on the disk; the plans then continue.",
    });
  }
  const [first] = plans.waiting;
  if (!first) return undefined;
  const named = plans.waiting
    .slice(0, MAX_NAMED)
    .map(({ planId, name, why }) => `${planId} (${inLine(name)}): ${WHY[why]}`);
  const left = plans.waiting.length - MAX_NAMED;
  const more = left > 0 ? `; and ${left} more` : "";
  const [action, advice] = ADVICE[first.why];
  return finding("PLANS_WAIT", {
    problem: `Plans wait. ${named.join("; ")}${more}`,
    fix: `Resume it, or cancel it with copilot-tap plan cancel.${advice}`,
    command: tapCommand(["plan", action, first.planId], env),
  });
}

/** @param {Facts} place */
function orphans({ plans, env }) {
  const found = plans?.repositories.filter((one) => one.orphans > 0) ?? [];
  if (found.length === 0) return undefined;
  const named = found.slice(0, MAX_NAMED).map(({ repo, orphans: count }) => `${count} in ${repo}`);
  return finding("PLAN_ORPHANS", {
    problem: `Folders in .worktrees belong to no plan: ${named.join("; ")}.`,
    fix: "copilot-tap plan clean lists them, asks, saves their content and removes them.",
    command: `cd ${quoteWord(found[0].repo)} && ${tapCommand(["plan", "clean"], env)}`,
  });
}

/** @param {Facts} place */
function worktreesSeen({ plans }) {
  const all = plans?.repositories ?? [];
  const count = all.reduce((sum, { worktrees }) => sum + worktrees, 0);
  if (count === 0) return "none";
  const size = bytes(all.reduce((sum, one) => sum + one.bytes, 0));
  const more = all.some(({ complete }) => complete === false) ? "more than " : "";
  return `${formatCount(count, "worktree")}, ${more}${size}`;
}

/** @type {Check[]} */
export const PLAN_NEEDS = [
  { id: "git", title: "git, for plans", run: git, seen: ({ git: { version = "" } }) => version },
  { id: "sandbox", title: "the sandbox of plans", run: sandbox, seen: sandboxSeen },
];

/** @type {Check[]} */
export const PLANS = [
  {
    id: "workers",
    title: "the CLI for agents of plans",
    run: workers,
    seen: ({ plans, cli }) => plans?.cli?.cli ?? cli.file ?? "",
  },
  {
    id: "plans",
    title: "plans",
    run: waiting,
    seen: ({ plans }) => (plans ? formatCount(plans.plans, "plan") : "nothing has needed them"),
  },
  { id: "plan-worktrees", title: "worktrees of plans", run: orphans, seen: worktreesSeen },
];
