// Checks of the parts of the gateway's host: the user's own config, the feature host, features, holds, and the record
// store. None of them keeps a provider's tools from the model.

import { tapCommand } from "../lib/tap-command.mjs";
import { quoteWord } from "../lib/visible.mjs";
import { bytes, formatCount } from "../views/wording.mjs";
import { finding } from "./findings.mjs";

/** @typedef {import("./facts.mjs").Facts} Facts */
/** @typedef {import("./checks.mjs").Check} Check */
/** @typedef {import("../lib/inspection.mjs").HostParts} HostParts */
/** @typedef {HostParts["features"][number]} Report */
/** @typedef {HostParts["records"]} RecordsState */

/** Of what others say, in characters. */
const MAX_TEXT = 500;
/** Problems of features that one finding names. */
const MAX_NAMED = 3;

/** @param {Facts} place */
function userConfig({ userConfig: { file, problems, unsafe } }) {
  const [first, ...others] = problems;
  if (first === undefined) return undefined;
  if (unsafe) {
    return finding("USER_CONFIG_UNSAFE", {
      problem: `${file} is not a regular file of yours that only you can write, so tap ignores all of it.`,
      fix: "Read it, because somebody else may have changed it. Then make it accessible to your user only; tap then applies it within two seconds.",
      command: `chmod 600 ${quoteWord(file)}`,
    });
  }
  const more = others.length > 0 ? ` (and ${formatCount(others.length, "more mistake")})` : "";
  return finding("USER_CONFIG_INVALID", {
    problem: `Your own config has a mistake, so tap does not apply it: ${first}${more}`,
    fix: "Correct it. A running gateway applies the corrected file within two seconds.",
  });
}

// ---- features ----------------------------------------------------------------------------------------

/** @param {Facts} place */
function featureHost({ parts, files, env }) {
  if (!parts) return undefined;
  const { state, trouble, restarts = 0 } = parts.featureHost;
  const log = `${files.logs}/feature-host.log`;
  if (state === "waiting") {
    return finding("FEATURE_HOST_RESTARTS", {
      problem: `The feature host keeps ending (restart ${restarts} is next): ${trouble ?? "it gives no reason"}`,
      fix: `${log} has its output. Until it runs, the tools of its features are missing.`,
    });
  }
  if (state !== "failed" && !(state === "idle" && trouble)) return undefined;
  return finding("FEATURE_HOST_FAILED", {
    problem: `The feature host does not run: ${trouble ?? "it gives no reason"}`,
    fix: `${log} has what it wrote. Correct the cause, end the sessions, and stop the gateway: the next one starts the feature host again.`,
    command: tapCommand(["stop"], env),
  });
}

/** What of an enabled feature is not as it should be. @param {Report} report @returns {string[]} */
function listTroubles({ id, enabled, runtime, tools, hooks, denied, skipped, diagnostics }) {
  if (!enabled) return [];
  // The project's check and the timeline tell of entries that wait for consent.
  const left = skipped.filter(({ what }) => what !== "the entry");
  // A program that has ended may be back.
  const isBack = runtime === "external-process" && tools.length + hooks.length > 0;
  const said = isBack ? undefined : diagnostics.at(-1)?.text;
  return [
    ...denied.map(({ capability, reason }) => `${id} was not granted ${capability} (${reason})`),
    ...left.map(({ what, reason }) => `${what} of ${id} was left out (${reason})`),
    ...(said === undefined || left.some(({ reason }) => reason === said) ? [] : [`${id}: ${said}`]),
  ];
}

/** @param {Facts} place */
function features({ parts, env }) {
  // That the feature host does not run is a finding of its own, and each of its features has it as a diagnostic.
  const { trouble } = parts?.featureHost ?? {};
  const troubles = (parts?.features ?? [])
    .flatMap(listTroubles)
    .filter((text) => !trouble || !text.endsWith(trouble));
  if (troubles.length === 0) return undefined;
  const named = troubles.slice(0, MAX_NAMED).join("; ");
  const left = troubles.length - MAX_NAMED;
  const more = left > 0 ? `; and ${left} more` : "";
  return finding("FEATURE_TROUBLE", {
    problem: `Features have problems: ${named.slice(0, MAX_TEXT)}${more}`,
    fix: "Read the reports of the features. One that you do not need can be disabled.",
    command: tapCommand(["features", "report"], env),
  });
}

/** @param {Facts} place */
function holds({ parts, files, env }) {
  if (!parts) return undefined;
  const { ignoredHolds: ignored, holds: there, features: reports } = parts;
  const file = `${files.home}/tap/holds.json`;
  if (ignored?.problem !== undefined) {
    return finding("HOLDS_UNREADABLE", {
      problem: `${file} cannot be used: ${ignored.problem}. The work of features that it names does not continue.`,
      fix: "Delete it. The features write it again when they have such work.",
      command: `rm -rf ${quoteWord(file)}`,
    });
  }
  if (ignored?.unwritten !== undefined) {
    return finding("HOLDS_UNREADABLE", {
      problem: `${file} cannot be written: ${ignored.unwritten}. It names work that has ended; a gateway that follows starts the feature host for it.`,
      fix: "Make room on the disk, or let yourself write that file and its folder. The gateway tries again every second.",
    });
  }
  const isOff = (/** @type {string} */ id) =>
    reports.some((report) => report.id === id && !report.enabled);
  const orphan = there.find(({ feature }) => isOff(feature));
  if (orphan) {
    return finding("HOLDS_ORPHANED", {
      problem: `"${orphan.what}" keeps the gateway for ${orphan.feature}, which is disabled, so this work does not continue.`,
      fix: "Enable the feature, or end the sessions and stop the gateway, which releases the hold.",
      command: tapCommand(["features", "enable", orphan.feature], env),
    });
  }
  if (!ignored?.features) return undefined;
  const names = ignored.features.join(", ") || "no feature that there is";
  return finding("HOLDS_ORPHANED", {
    problem: `${file} has holds that tap ignores, because it has no such feature, or the feature may not hold (${names}).`,
    fix: "Delete the file. The features write it again when they have work that continues without a session.",
    command: `rm ${quoteWord(file)}`,
  });
}

// ---- records -----------------------------------------------------------------------------------------

const RECORDS_HOME = "Move COPILOT_HOME to a folder on a local disk, and restart the CLI.";

/** @param {RecordsState} state @param {NodeJS.ProcessEnv} env @returns {import("./findings.mjs").Finding} */
function storeTrouble({ file, trouble }, env) {
  const { code = "", text = "" } = trouble ?? {};
  const problem = text.slice(0, MAX_TEXT);
  switch (code) {
    case "full":
      return finding("RECORDS_DISK_FULL", {
        problem,
        fix: "Free space on that disk; tap then continues within 5 s.",
        command: `df -h ${quoteWord(file.replace(/[\\/][^\\/]*$/, ""))}`,
      });
    case "nearly-full":
      return finding("RECORDS_DISK_LOW", {
        problem,
        fix: "Free space on that disk; tap then continues.",
        command: `df -h ${quoteWord(file.replace(/[\\/][^\\/]*$/, ""))}`,
      });
    case "read-only":
      return finding("RECORDS_READ_ONLY", {
        problem,
        fix: "Make the file and its folder writable for your user; tap then continues within 5 s.",
        command: `ls -ld ${quoteWord(file)}`,
      });
    case "newer":
      return finding("RECORDS_NEWER", {
        problem,
        fix: "Update tap, or move the file away, and tap creates a new one. Then restart the CLI.",
        command: tapCommand(["update"], env),
      });
    case "network":
      return finding("RECORDS_NETWORK", { problem, fix: RECORDS_HOME });
    default:
      return finding("RECORDS_UNUSABLE", {
        problem,
        fix: "Correct that. If you cannot, move the file away while no gateway runs; tap then creates a new one.",
      });
  }
}

/** @param {Facts} place */
function records({ parts, env }) {
  if (!parts) return undefined;
  const { records: state } = parts;
  if (state.trouble) return storeTrouble(state, env);
  const damaged = state.diagnostics.findLast(({ code }) => code === "corrupt");
  if (!damaged) return undefined;
  return finding("RECORDS_SET_ASIDE", {
    problem: damaged.text.slice(0, MAX_TEXT),
    fix: "Look at the disk if it happens again. Older records are in the renamed file; delete it if you do not need them.",
    command: `ls -l ${quoteWord(state.file)}.corrupt-*`,
  });
}

/** @param {Facts} place */
function dropped({ parts }) {
  const lost = Object.entries(parts?.records.dropped ?? {});
  if (!parts || lost.length === 0) return undefined;
  const counts = lost.map(([name, count]) => `${count} of ${name}`).join(", ");
  const why = parts.records.trouble
    ? "See the finding about the record store."
    : "The disk was not fast enough, or did not take them for a time: the gateway's log says which.";
  return finding("RECORDS_DROPPED", {
    problem: `Records were lost since the gateway started: ${counts}.`,
    fix: `${why} Calls were not affected.`,
  });
}

/** A library that is too old is no trouble: its journal is slower and as durable. @param {Facts} place */
function journal({ parts }) {
  switch (parts?.records.rollbackReason) {
    case "file-system":
      return finding("RECORDS_ROLLBACK", {
        problem: `The file system of ${parts.records.file} may lack what a write-ahead log needs, or is too small for one, so writing records takes longer.`,
        fix: RECORDS_HOME,
      });
    case "refused":
      return finding("RECORDS_ROLLBACK", {
        problem: `SQLite has refused a write-ahead log for ${parts.records.file}, so writing records takes longer.`,
        fix: "End other programs that have the file open, and restart the CLI.",
      });
    case "sqlite":
    case "":
    case undefined:
      return undefined;
  }
}

/** @param {Facts} place */
function journalSeen({ parts }) {
  const { journal: kind, rollbackReason, sqlite } = parts?.records ?? {};
  if (kind === "wal") return `write-ahead log, SQLite ${sqlite}`;
  if (rollbackReason !== "sqlite") return "";
  return `rollback journal: a write-ahead log is not safe with SQLite ${sqlite}, which this build uses`;
}

/** @param {Facts} place */
function recordsSeen({ parts }) {
  if (!parts) return "";
  const { recording, rows, bytes: size } = parts.records;
  const what = recording === "notify" ? "texts for the model only, " : "";
  return `${what}${formatCount(rows, "record")}, ${bytes(size)}`;
}

/** @param {Facts} place */
const featureHostSeen = ({ parts }) => {
  if (!parts) return "";
  const { state, pid } = parts.featureHost;
  return pid === undefined ? "nothing has needed it" : `${state}, pid ${pid}`;
};

/** @type {Check[]} */
export const OWN_CONFIG = [
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
  { id: "records-dropped", title: "no record lost", run: dropped },
  { id: "records-journal", title: "journal of the record store", run: journal, seen: journalSeen },
];
