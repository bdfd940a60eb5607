// Checks of the parts of the gateway's host: the user's own config, the feature host, features, holds, the record
// store, and plans. Problems with them do not affect providers' tools.

import fs from "node:fs";
import path from "node:path";
import { tapCommand } from "../lib/tap-command.mjs";
import { inLine, quoteWord } from "../lib/visible.mjs";
import { bytes, formatCount } from "../views/wording.mjs";
import { finding } from "./findings.mjs";

/** @typedef {import("./facts.mjs").Facts} Facts */
/** @typedef {import("./checks.mjs").Check} Check */
/** @typedef {import("../lib/inspection.mjs").HostParts} HostParts */

/** For messages of other programs, in characters. */
const MAX_TEXT = 500;
/** Problems that a finding names. */
const MAX_NAMED = 3;
const WARNING = /** @type {const} */ ("warning");

/** @param {string[]} all */
const nameSome = (all) =>
  all.slice(0, MAX_NAMED).join("; ").slice(0, MAX_TEXT) +
  (all.length > MAX_NAMED ? `; and ${all.length - MAX_NAMED} more` : "");

/** @param {Facts} place */
function userConfig({ userConfig: { file, problems, unsafe } }) {
  const [first, ...others] = problems;
  if (first === undefined) return undefined;
  if (unsafe) {
    const problem = `${file} is not a regular file of yours that only you can write, so tap ignores all of it. Read it first: it may have been changed.`;
    const command = `chmod 600 ${quoteWord(file)}`;
    return finding("FILE_UNSAFE", problem, { severity: WARNING, command });
  }
  const more = others.length > 0 ? ` (and ${formatCount(others.length, "more mistake")})` : "";
  const problem = `Your own config has a mistake, so tap does not apply it: ${first}${more}`;
  return finding("CONFIG_INVALID", problem, { severity: WARNING });
}

// ---- features ----------------------------------------------------------------------------------------

/** @param {Facts} place */
function featureHost({ parts, files, env }) {
  if (!parts) return undefined;
  const { state, trouble = "it gives no reason", restarts = 0 } = parts.featureHost;
  const isFailed = state === "failed" || (state === "idle" && parts.featureHost.trouble);
  if (state !== "waiting" && !isFailed) return undefined;
  const symptom =
    state === "waiting" ? `keeps ending (restart ${restarts} is next)` : "does not run";
  const problem = `The feature host ${symptom}: ${trouble}. ${files.logs}/feature-host.log has its output.`;
  return finding("FEATURE_HOST_FAILED", problem, { command: tapCommand(["stop"], env) });
}

/** Problems of an enabled feature. @param {HostParts["features"][number]} report @returns {string[]} */
function listTroubles({ id, enabled, runtime, tools, hooks, denied, skipped, diagnostics }) {
  if (!enabled) return [];
  // The project's check and the timeline report entries that wait for consent.
  const left = skipped.filter(({ what }) => what !== "the entry");
  // A program that ended may be running again.
  const isBack = runtime === "external-process" && tools.length + hooks.length > 0;
  const diagnostic = isBack ? undefined : diagnostics.at(-1)?.text;
  return [
    ...denied.map(({ capability, reason }) => `${id} was not granted ${capability} (${reason})`),
    ...left.map(({ what, reason }) => `${what} of ${id} was left out (${reason})`),
    ...(diagnostic === undefined || left.some(({ reason }) => reason === diagnostic)
      ? []
      : [`${id}: ${diagnostic}`]),
  ];
}

/** @param {Facts} place */
function features({ parts, env }) {
  // A feature host that does not run is a separate finding, and a diagnostic of each of its features.
  const { trouble } = parts?.featureHost ?? {};
  const troubles = (parts?.features ?? [])
    .flatMap(listTroubles)
    .filter((text) => !trouble || !text.endsWith(trouble));
  if (troubles.length === 0) return undefined;
  const problem = `Features have problems: ${nameSome(troubles)}`;
  return finding("FEATURE_TROUBLE", problem, { command: tapCommand(["features", "report"], env) });
}

/** @param {Facts} place */
function holds({ parts, files, env }) {
  if (!parts) return undefined;
  const { ignoredHolds: ignored, holds: there, features: reports } = parts;
  const file = `${files.home}/tap/holds.json`;
  const remove = { command: `rm -rf ${quoteWord(file)}` };
  if (ignored?.problem !== undefined) {
    const problem = `${file} cannot be used: ${ignored.problem}. The work of features that it names does not continue.`;
    return finding("HOLDS_UNREADABLE", problem, remove);
  }
  if (ignored?.unwritten !== undefined) {
    const problem = `${file} cannot be written: ${ignored.unwritten}. It names work that has ended; the next gateway will start the feature host for it.`;
    return finding("HOME_UNWRITABLE", problem, { severity: WARNING });
  }
  const isOff = (/** @type {string} */ id) =>
    reports.some((report) => report.id === id && !report.enabled);
  const orphan = there.find(({ feature }) => isOff(feature));
  if (orphan) {
    const problem = `"${orphan.what}" keeps the gateway for ${orphan.feature}, which is disabled, so this work does not continue.`;
    const command = tapCommand(["features", "enable", orphan.feature], env);
    return finding("HOLDS_ORPHANED", problem, { command });
  }
  if (!ignored?.features) return undefined;
  const names = ignored.features.join(", ") || "no feature that there is";
  const problem = `${file} has holds that tap ignores, because it has no such feature, or the feature may not hold (${names}).`;
  return finding("HOLDS_UNREADABLE", problem, remove);
}

/** Lost records, and a damaged file that was set aside, are lines of `copilot-tap status`. @param {Facts} place */
function records({ parts, env }) {
  if (!parts) return undefined;
  const { file, trouble, rollbackReason } = parts.records;
  const problem = (trouble?.text ?? "").slice(0, MAX_TEXT);
  switch (trouble?.code) {
    case undefined:
      break;
    case "full":
    case "nearly-full":
    case "read-only": {
      const tool = trouble.code === "read-only" ? "ls -ld" : "df -h";
      const command = `${tool} ${quoteWord(path.dirname(file))}`;
      return finding("HOME_UNWRITABLE", problem, { severity: WARNING, command });
    }
    case "newer":
      return finding("RECORDS_UNUSABLE", problem, { command: tapCommand(["update"], env) });
    case "network":
      return finding("RECORDS_NETWORK", problem);
    default:
      return finding("RECORDS_UNUSABLE", problem);
  }
  // With an old library the journal is only slower, and as durable.
  if (rollbackReason === "file-system") {
    const slow = `The file system of ${file} does not support a write-ahead log, or is too small for it, so writing records takes longer.`;
    return finding("RECORDS_NETWORK", slow);
  }
  if (rollbackReason !== "refused") return undefined;
  const open = `SQLite has refused a write-ahead log for ${file}, which a different program may have open, so writing records takes longer.`;
  return finding("RECORDS_UNUSABLE", open);
}

/** @param {Facts} place */
function recordsSeen({ parts }) {
  if (!parts) return "";
  const { recording, rows, bytes: size, journal, sqlite } = parts.records;
  const scope = recording === "notify" ? "texts for the model only, " : "";
  const how = journal === "wal" ? "write-ahead log" : "rollback journal";
  return `${scope}${formatCount(rows, "record")}, ${bytes(size)}, ${how}, SQLite ${sqlite}`;
}

/** @param {Facts} place */
const featureHostSeen = ({ parts }) => {
  if (!parts) return "";
  const { state, pid } = parts.featureHost;
  return pid === undefined ? "not needed yet" : `${state}, pid ${pid}`;
};

// ---- plans -------------------------------------------------------------------------------------------

const WHY = {
  landing: "its result could not be landed",
  budget: "its budget is used up, so a larger --budget or --tokens is needed",
  pause: "it is paused",
  limit: "it has reached a limit of the model, and resumes automatically",
};
const ACTIONS = { landing: "land", budget: "resume", pause: "resume", limit: "show" };

/** @param {Facts} place */
function git({ git: { version, error, late } }) {
  if (version !== undefined) return undefined;
  const why = error
    ? `cannot be started (${error})`
    : late
      ? "does not answer"
      : "prints no version";
  const problem = `git ${why}: plans do not work; all other features do.`;
  return finding("GIT_MISSING", problem, { command: "git --version" });
}

/** @param {Facts} place */
function sandbox({ sandbox: found }) {
  if (found.state === "ok") return undefined;
  const { code, message, advice, command } = found;
  const problem = `Plans have no sandbox: ${message}. All other features work.`;
  return finding(code, problem, { fix: advice, command });
}

/** @param {Facts} place */
function workers({ plans }) {
  const { cli, sdk } = plans?.cli ?? {};
  const gone = [cli, sdk && (sdk.endsWith(".js") ? sdk : path.join(sdk, "index.js"))].find(
    (file) => file !== undefined && !fs.existsSync(file),
  );
  if (gone === undefined) return undefined;
  const problem = `Agents of plans cannot start: ${gone}, which a session has named, does not exist.`;
  return finding("WORKERS_CLI_GONE", problem);
}

/** @param {Facts} place */
function waitingPlans({ plans, env }) {
  if (!plans) return undefined;
  if (plans.trouble) {
    const problem = `All plans have stopped, because their journal cannot be written: ${plans.trouble}`;
    return finding("HOME_UNWRITABLE", problem, { severity: WARNING });
  }
  const [first] = plans.waiting;
  if (!first) return undefined;
  const named = plans.waiting.map(
    ({ planId, name, why }) => `${planId} (${inLine(name)}): ${WHY[why]}`,
  );
  const command = tapCommand(["plan", ACTIONS[first.why], first.planId], env);
  return finding("PLANS_WAIT", `Plans wait. ${nameSome(named)}`, { command });
}

/** @param {Facts} place */
function orphans({ plans, env }) {
  const found = plans?.repositories.filter((repository) => repository.orphans > 0) ?? [];
  if (found.length === 0) return undefined;
  const named = found.map(({ repo, orphans: count }) => `${count} in ${repo}`);
  const command = `cd ${quoteWord(found[0].repo)} && ${tapCommand(["plan", "clean"], env)}`;
  const problem = `Folders in .worktrees belong to no plan: ${nameSome(named)}.`;
  return finding("PLAN_ORPHANS", problem, { command });
}

/** @param {Facts} place */
function worktreesSeen({ plans }) {
  const all = plans?.repositories ?? [];
  const count = all.reduce((sum, { worktrees }) => sum + worktrees, 0);
  if (count === 0) return "no worktrees";
  const size = bytes(all.reduce((sum, repository) => sum + repository.bytes, 0));
  const more = all.some(({ complete }) => complete === false) ? "more than " : "";
  return `${formatCount(count, "worktree")}, ${more}${size}`;
}

/** Checks that need no gateway. @type {Check[]} */
export const NEEDS = [
  { id: "git", title: "git, for plans", run: git, seen: ({ git: { version = "" } }) => version },
  {
    id: "sandbox",
    title: "the sandbox of plans",
    run: sandbox,
    seen: ({ sandbox: found }) =>
      found.state === "ok" ? `bubblewrap ${found.version}, ${found.program}` : "",
  },
  {
    id: "user-config",
    title: "your own config",
    run: userConfig,
    seen: ({ userConfig: { file } }) => file,
  },
];

/** @type {Check[]} */
export const PARTS = [
  { id: "feature-host", title: "feature host", run: featureHost, seen: featureHostSeen },
  {
    id: "features",
    title: "features",
    run: features,
    seen: ({ parts }) => formatCount(parts?.features.length ?? 0, "feature"),
  },
  {
    id: "holds",
    title: "holds",
    run: holds,
    seen: ({ parts }) => parts?.holds.map(({ what }) => what).join(", ") ?? "",
  },
  { id: "records", title: "record store", run: records, seen: recordsSeen },
  {
    id: "workers",
    title: "the CLI for agents of plans",
    run: workers,
    seen: ({ plans, cli }) => plans?.cli?.cli ?? cli.file ?? "",
  },
  {
    id: "plans",
    title: "plans",
    run: waitingPlans,
    seen: ({ plans }) => (plans ? formatCount(plans.plans, "plan") : "not needed yet"),
  },
  { id: "plan-worktrees", title: "worktrees of plans", run: orphans, seen: worktreesSeen },
];
