// What tap has recorded of a session's work: calls of tools, commands of the CLI's shell, decisions of gates, runs of
// emitters. Calls of tap's own tools are left out: their arguments are the model's words.

import { redactLine } from "../../lib/redact.mjs";
import { shortenText } from "../../lib/visible.mjs";

/** @typedef {import("../../feature-host/service-access.mjs").Services} Services */
/** @typedef {import("../../feature-host/workspace.mjs").Tree} Tree */
/**
 * @typedef {object} Fact
 * @property {number} record its id
 * @property {number} at Unix ms
 * @property {"tool_call" | "command" | "gate" | "emitter_run"} kind
 * @property {string[]} names of the tool, gate or emitter
 * @property {string[]} commands
 * @property {boolean} good
 * @property {number} [exitCode]
 * @property {string} text of the result
 * @property {string} said in a few words
 * @property {{run: string, tree: Tree, sha256: string, failed?: boolean}} [shell] of a command of the CLI's shell: its
 *   id, what was checked out when it ended, the digest of its output, and whether the tool has failed
 * @property {string} [stale] why it says nothing about now
 */

/** Of each collection, the newest. */
const MAX_RECORDS = 1000;
const PAGE = 200;
const COMMAND_FIELDS = ["command", "cmd", "script", "shell"];
const LIST_FIELDS = ["argv", "args"];
const CODE_FIELDS = ["exitCode", "exit_code", "code"];
const EXITED = /\bexit(?:ed)?(?: with)?(?: code| status)?[ :=]+(\d{1,3})\b/i;

/** With single blanks. @param {string} text */
export const collapseSpaces = (text) => text.replace(/\s+/g, " ").trim();

const MAX_COMMAND = 1024;

/** As commands are recorded; what is longer than evidence can be is cut. @param {string} text */
export const normalizeCommand = (text) =>
  shortenText(redactLine(collapseSpaces(text)), MAX_COMMAND);

/** @param {unknown} value */
const toText = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

/** @param {any} given arguments as they were recorded @returns {string[]} */
function findCommands(given) {
  if (typeof given !== "object" || given === null) return [];
  const texts = COMMAND_FIELDS.flatMap((name) =>
    typeof given[name] === "string" ? [given[name]] : [],
  );
  const lists = LIST_FIELDS.flatMap((name) =>
    Array.isArray(given[name]) ? [given[name].map(String).join(" ")] : [],
  );
  const joined = texts.flatMap((text) => lists.map((list) => `${text} ${list}`));
  return [...texts, ...lists, ...joined].map(collapseSpaces).filter((text) => text !== "");
}

/** A result that is a text of JSON is that JSON. @param {unknown} result */
function parseResult(result) {
  if (typeof result !== "string" || !result.startsWith("{")) return result;
  try {
    return JSON.parse(result);
  } catch {
    return result; // such as one that was cut
  }
}

/** @param {unknown} given a result @returns {number | undefined} */
function findExitCode(given) {
  /** @type {any} */
  const result = parseResult(given);
  if (typeof result === "object" && result !== null) {
    const code = CODE_FIELDS.map((name) => result[name]).find((one) => Number.isInteger(one));
    if (code !== undefined) return code;
  }
  const [, said] = (typeof result === "string" && EXITED.exec(result)) || [];
  return said === undefined ? undefined : Number(said);
}

/** @param {import("./ledger.mjs").StoredRecord} record @returns {Fact[]} */
function readCallFacts({ id, at, body }) {
  const { tool = "", provider = "", outcome, result, message = "" } = body;
  if (/^tap[-_]/.test(tool) || /^tap(?:-|$)/.test(provider)) return [];
  const exitCode = findExitCode(result);
  const said = outcome === "ok" && exitCode !== undefined ? `exit code ${exitCode}` : outcome;
  return [
    {
      ...{
        record: id,
        at,
        kind: "tool_call",
        names: [tool],
        commands: findCommands(body.arguments),
      },
      ...{ good: outcome === "ok" && (exitCode ?? 0) === 0, exitCode },
      ...{ text: `${toText(result)} ${message}`, said: `the call of ${tool}: ${said}` },
    },
  ];
}

/** @param {import("./ledger.mjs").StoredRecord} record @returns {Fact[]} */
function readGateFacts({ id, at, body }) {
  const { tool = "", gate = "", provider = "", outcome = "", reason = "" } = body;
  if (outcome !== "deny" && outcome !== "allow") return [];
  const who = gate || `a rule of ${provider}`;
  return [
    {
      ...{ record: id, at, kind: "gate", names: [tool, gate], commands: [] },
      ...{ good: outcome === "allow", text: toText(reason), said: `${who} on ${tool}: ${outcome}` },
    },
  ];
}

/** @param {import("./ledger.mjs").StoredRecord} record @returns {Fact[]} */
function readRunFacts({ id, at, body }) {
  const { emitter = "", name = "", command = "", outcome } = body;
  const exitCode = findExitCode(body);
  const good = exitCode === undefined ? outcome === "ok" : exitCode === 0;
  const called = toText(emitter || name);
  return [
    {
      ...{
        record: id,
        at,
        kind: "emitter_run",
        names: [called],
        commands: [collapseSpaces(toText(command))],
      },
      ...{ good, exitCode, text: toText(body) },
      said: `the run of ${called}: ${exitCode === undefined ? outcome : `exit code ${exitCode}`}`,
    },
  ];
}

/** @param {import("./ledger.mjs").StoredRecord} record @returns {Fact[]} */
function readCommandFacts({ id, at, body }) {
  const { command, exitCode, run, sha256, head, clean, changes, code, failed } = body;
  const said = exitCode === undefined ? "its exit code is unknown" : `exit code ${exitCode}`;
  return [
    {
      ...{ record: id, at, kind: "command", names: [], commands: [command], exitCode, text: "" },
      ...{ good: exitCode === undefined || exitCode === 0, said: `the CLI's shell: ${said}` },
      shell: { run, sha256, failed, tree: { head, clean, changes, code } },
    },
  ];
}

/** @type {[string, object, (record: import("./ledger.mjs").StoredRecord) => Fact[]][]} */
const READERS = [
  ["tool_call", {}, readCallFacts],
  ["gate", {}, readGateFacts],
  ["emitter_run", {}, readRunFacts],
  ["goal", { event: "command" }, readCommandFacts],
];

/**
 * @param {Services} services @param {string} session @param {number} [since] Unix ms
 * @returns {Promise<Fact[]>} newest first
 */
export async function readFacts(services, session, since) {
  /** @type {Fact[]} */
  const facts = [];
  for (const [collection, only, read] of READERS) {
    let cursor;
    for (let seen = 0; seen < MAX_RECORDS; seen += PAGE) {
      const query = { collection, where: { session, ...only }, limit: PAGE };
      const page = await services.records.query({
        ...query,
        ...(since !== undefined && { since }),
        ...(cursor && { cursor }),
      });
      facts.push(...page.records.flatMap(read));
      cursor = page.cursor;
      if (!cursor) break;
    }
  }
  return facts.sort((a, b) => b.record - a.record);
}

/**
 * Never rejects.
 * @param {Services} services @param {string} session @returns {Promise<Tree>}
 */
export const readTree = (services, session) =>
  services.workspace.tree({ session }).catch(() => ({ code: "UNAVAILABLE" }));

/**
 * Whether what is checked out is still what a command has seen.
 * @param {Tree} then @param {Tree} now
 * @returns {string} why its end says nothing about now; "": it does
 */
export function staleReason(then, now) {
  const unknown = [then.code, now.code].find((code) => code && code !== "NOT_A_REPOSITORY");
  if (unknown) return `stale: tap could not see what is checked out (${unknown}): run it again`;
  if (then.code !== now.code) return "stale: the folder has become, or was, a repository";
  if (then.head !== now.head) {
    const [from, to] = [then, now].map(({ head }) => (head ? head.slice(0, 12) : "no commit"));
    return `stale: it ran on ${from}, and ${to} is checked out: run it again`;
  }
  if (then.clean !== now.clean || then.changes !== now.changes) {
    return "stale: files have changed since it ended: run it again";
  }
  return "";
}

/**
 * Marks those whose tree is no longer the one that is checked out. git runs only where there are some.
 * @param {Services} services @param {string} session @param {Fact[]} facts
 */
export async function markStale(services, session, facts) {
  if (!facts.some(({ shell }) => shell)) return facts;
  const now = await readTree(services, session);
  return facts.map((fact) => {
    const stale = fact.shell && staleReason(fact.shell.tree, now);
    return stale ? { ...fact, stale } : fact;
  });
}
