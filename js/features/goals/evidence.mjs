// What a goal needs before it can be closed: read from arguments, checked against files, streams and commands. Each
// answer says where it comes from: tap itself, or a record of tap. What the model says of a command is a comment.

import { matchAll, patternProblem } from "../../lib/timed-patterns.mjs";
import { redactLine } from "../../lib/redact.mjs";
import { shortenText } from "../../lib/visible.mjs";
import { ToolError } from "../../../sdk/node/errors.mjs";
import { readFacts, collapseSpaces, markStale, normalizeCommand } from "./facts.mjs";
import { queryRecords, findCommandResult } from "./ledger.mjs";

/** @typedef {import("./ledger.mjs").Evidence} Evidence */
/** @typedef {import("./ledger.mjs").FileEvidence} FileEvidence */
/** @typedef {import("./ledger.mjs").StreamEvidence} StreamEvidence */
/** @typedef {import("./ledger.mjs").CommandEvidence} CommandEvidence */
/** @typedef {import("./ledger.mjs").Goal} Goal */
/** @typedef {import("./facts.mjs").Fact} Fact */
/** @typedef {import("../../feature-host/service-access.mjs").Services} Services */
/**
 * @typedef {object} Finding
 * @property {number} n
 * @property {string} evidence in words
 * @property {boolean} met
 * @property {"checked by tap" | "recorded by tap" | "unknown" | "nothing"} source `unknown`: it is recorded that a
 *   command ran, and not how it ended
 * @property {number} [record] that shows it
 * @property {boolean} [changed] of a file: since the goal was set
 * @property {number} [exitCode] of a command
 * @property {string} [head] the commit that was checked out when a command ended; "" where there was none
 * @property {boolean} [clean] whether nothing differed from it
 * @property {string} [sha256] of a command's output
 * @property {boolean} [stale] what is checked out has changed since
 * @property {string} [comment] what the model says of a command
 * @property {string} [reason] why it is not met, or what is doubtful
 */

/** This feature. Its own records, and those of the gateway about it, do not count as evidence. */
const FEATURE_ID = "builtin:goals";
/** Of a stream, that are looked at. */
const MAX_ENTRIES = 200;
const KINDS = /** @type {const} */ (["file", "stream", "command"]);
/** @type {Record<string, {needs: string[], may: string[]}>} */
const FIELDS = {
  file: { needs: [], may: ["match", "sha256"] },
  stream: { needs: ["match"], may: [] },
  command: { needs: ["exitCode"], may: ["match"] },
};

const clipText = (/** @type {string} */ text) => shortenText(redactLine(text), 100);

/** @param {string} problem @returns {never} */
function refuse(problem) {
  throw new ToolError("INVALID_ARGUMENTS", problem);
}

/** Of tap_set_goal's arguments. @param {any} given @param {number} n @returns {Evidence} */
function parseEvidence(given, n) {
  const place = `evidence[${n}]`;
  const kinds = KINDS.filter((kind) => given[kind] !== undefined);
  if (kinds.length !== 1) refuse(`${place}: expected one of file, stream and command`);
  const [kind] = kinds;
  const { needs, may } = FIELDS[kind];
  for (const name of needs) {
    if (given[name] === undefined) refuse(`${place}: a ${kind} needs ${name}`);
  }
  const surplus = Object.keys(given).find((name) => ![kind, ...needs, ...may].includes(name));
  if (surplus) refuse(`${place}: a ${kind} has no ${surplus}`);
  if (/^goal:/.test(given.stream)) refuse(`${place}: the stream of a goal is no evidence`);
  const problem = given.match === undefined ? "" : patternProblem(given.match);
  if (problem) refuse(`${place}.match: ${problem}`);
  const sha256 = given.sha256?.toLowerCase();
  return { ...given, n, kind, ...(sha256 && { sha256 }), ...(kind === "file" && { before: "" }) };
}

/**
 * @param {Services} services @param {string} session @param {any[]} given
 * @returns {Promise<Evidence[]>} files with their present digest
 */
export async function readEvidence(services, session, given) {
  const all = given.map(parseEvidence);
  const files = all.filter(({ kind }) => kind === "file");
  const looks = await inspectFiles(services, session, /** @type {FileEvidence[]} */ (files));
  return all.map((one) => {
    const look = looks.get(one.n);
    if (one.kind !== "file" || !look) return one;
    if (look.problem) refuse(`evidence[${one.n}]: ${clipText(one.file)}: ${look.problem}`);
    return { ...one, before: look.sha256 ?? "" };
  });
}

/** @param {Services} services @param {string} session @param {FileEvidence[]} files */
async function inspectFiles(services, session, files) {
  if (files.length === 0) return new Map();
  const wanted = files.map(({ file, match }) => ({ file, match }));
  const looks = await services.workspace.look({ session, files: wanted });
  return new Map(files.map(({ n }, at) => [n, looks[at]]));
}

/** @param {Evidence} one @returns {string} in words */
export function formatEvidence(one) {
  const match = one.match === undefined ? "" : ` that matches /${clipText(one.match)}/`;
  if (one.kind === "file") {
    const digest = one.sha256 ? `${match ? " and" : ""} with the SHA-256 ${one.sha256}` : "";
    return `the file ${clipText(one.file)}${match}${digest}`;
  }
  if (one.kind === "stream") return `an entry of the stream ${clipText(one.stream)}${match}`;
  const output = match.replace(" that", " and output that");
  return `the command ${clipText(one.command)} with the exit code ${one.exitCode}${output}`;
}

/** @param {FileEvidence} one @param {any} look of the service @returns {string} why it is not met; "": it is */
function fileProblem(one, look) {
  if (look.problem) return look.problem;
  if (!look.exists) return "there is no such file";
  if (one.sha256 && one.sha256 !== look.sha256) return `its SHA-256 is ${look.sha256}`;
  if (one.match === undefined || look.matched === "yes") return "";
  if (look.matched === "late") return "the pattern takes too long on it";
  return look.cut ? "the pattern does not match its first 1 MB" : "the pattern does not match it";
}

/** @param {FileEvidence} one @param {any} look @returns {Finding} */
function fileFinding(one, look) {
  const reason = fileProblem(one, look);
  const changed = (look.sha256 ?? "") !== one.before;
  return {
    ...{
      n: one.n,
      evidence: formatEvidence(one),
      met: reason === "",
      source: "checked by tap",
      changed,
    },
    ...(reason && { reason }),
  };
}

/** @param {unknown} event of a push or a stream */
const entryText = (event) => (typeof event === "string" ? event : (JSON.stringify(event) ?? ""));

/**
 * Entries since the goal was set, of this session or of none.
 * @param {Services} services @param {Goal} goal @param {string} stream
 */
async function readEntries(services, goal, stream) {
  const about = { since: goal.at, limit: MAX_ENTRIES };
  const { session } = goal;
  const found = await Promise.all([
    queryRecords(services, { ...about, collection: "push", where: { session, stream } }),
    queryRecords(services, { ...about, collection: "stream_entry", where: { session, stream } }),
    queryRecords(services, { ...about, collection: "stream_entry", where: { stream } }),
  ]);
  const [pushes, own, all] = found;
  const accepted = pushes.filter(({ body }) => !body.code && body.event !== undefined);
  const shared = all.filter((one) => one.session === undefined);
  return [...accepted, ...own, ...shared]
    .filter(({ source }) => source !== FEATURE_ID)
    .map(({ id, source, body }) => ({ id, source, text: entryText(body.event ?? body.text ?? "") }))
    .sort((a, b) => b.id - a.id);
}

/** @param {Services} services @param {Goal} goal @param {StreamEvidence} one @returns {Promise<Finding>} */
async function streamFinding(services, goal, one) {
  const entries = await readEntries(services, goal, one.stream);
  const about = {
    n: one.n,
    evidence: formatEvidence(one),
    source: /** @type {const} */ ("recorded by tap"),
  };
  const jobs = entries.map(({ text }) => ({ pattern: one.match, text }));
  const matched = await matchAll(jobs, { untilFirst: true });
  const at = matched.indexOf("yes");
  if (at >= 0) {
    const { id, source } = entries[at];
    return { ...about, met: true, record: id, reason: `said by ${clipText(source ?? "tap")}` };
  }
  const late = matched.includes("late");
  const many = entries.length === 1 ? "1 entry" : `${entries.length} entries`;
  const reason = late
    ? "the pattern takes too long on an entry"
    : `${many} since the goal was set, and none matches`;
  return { ...about, met: false, reason };
}

/**
 * What a command's end lacks.
 * @param {CommandEvidence} one @param {{exitCode?: number, output: string, cut?: boolean}} given
 * @returns {Promise<string>} why it is not what is needed; "": it is
 */
export async function commandProblem(one, { exitCode, output, cut }) {
  if (exitCode === undefined) return "its exit code is unknown: run it again, in the foreground";
  if (exitCode !== one.exitCode) return `its exit code was ${exitCode}`;
  if (one.match === undefined) return "";
  const [matched] = await matchAll([{ pattern: one.match, text: output }]);
  if (matched === "yes") return "";
  if (matched === "late") return "the pattern takes too long on its output";
  return cut
    ? "the pattern does not match the beginning of its output, and the CLI has told no more"
    : "the pattern does not match its output";
}

/** @param {Services} services @param {Goal} goal @param {CommandEvidence} one @param {Fact} fact */
async function factProblem(services, goal, one, { exitCode, text, shell }) {
  if (!shell || exitCode === undefined || one.match === undefined) {
    return commandProblem(one, { exitCode, output: text });
  }
  // Its output was matched when it ended, and is not kept.
  const ran = await findCommandResult(services, goal, one.n, "ran");
  return ran?.run === shell.run ? ran.reason : "its output was not looked at: run it again";
}

/**
 * The latest record of a call or run with that command decides, whatever the model says.
 * @param {Services} services @param {Goal} goal @param {CommandEvidence} one @param {Fact[]} facts
 * @returns {Promise<Finding>}
 */
async function commandFinding(services, goal, one, facts) {
  const supplied = await findCommandResult(services, goal, one.n, "supplied");
  const said = supplied && `the model says: ${supplied.reason || "it ended as required"}`;
  const about = { n: one.n, evidence: formatEvidence(one), ...(said && { comment: said }) };
  const names = [collapseSpaces(one.command), normalizeCommand(one.command)];
  const fact = facts.find(({ commands }) => commands.some((name) => names.includes(name)));
  if (!fact) {
    const reason = "tap has seen no run of it: run it as it stands here, in the CLI's shell";
    return { ...about, met: false, source: "nothing", reason };
  }
  const { exitCode, record, shell, stale } = fact;
  const problem = await factProblem(services, goal, one, fact);
  const reason = [problem, stale].filter((part) => part).join("; ");
  const { head, clean } = shell?.tree ?? {};
  return {
    ...{ ...about, met: reason === "", record },
    source: exitCode === undefined ? "unknown" : "recorded by tap",
    ...(exitCode !== undefined && { exitCode }),
    ...(head !== undefined && { head, clean }),
    ...(shell && { sha256: shell.sha256 }),
    ...(stale && { stale: true }),
    ...(reason && { reason }),
  };
}

/**
 * Checks an open goal now.
 * @param {Services} services @param {Goal} goal @returns {Promise<Finding[]>} in the order of its evidence
 */
export async function checkGoal(services, goal) {
  const selectKind = (/** @type {Evidence["kind"]} */ kind) =>
    goal.evidence.filter((one) => one.kind === kind);
  const files = /** @type {FileEvidence[]} */ (selectKind("file"));
  const looks = await inspectFiles(services, goal.session, files);
  const commands = selectKind("command").length > 0;
  const found = commands ? await readFacts(services, goal.session, goal.at) : [];
  const facts = await markStale(services, goal.session, found);
  /** @type {Finding[]} */
  const findings = [];
  for (const one of goal.evidence) {
    if (one.kind === "file") findings.push(fileFinding(one, looks.get(one.n)));
    else if (one.kind === "stream") findings.push(await streamFinding(services, goal, one));
    else findings.push(await commandFinding(services, goal, one, facts));
  }
  return [...findings, ...goalFindings(goal)];
}

/** What is wrong with the goal itself. @param {Goal} goal @returns {Finding[]} */
function goalFindings({ evidence, prohibited, parts }) {
  const about = { n: evidence.length, met: false, source: /** @type {const} */ ("nothing") };
  if (evidence.length + prohibited.length < parts) {
    const reason = "records of it are gone: the store was cleaned; the user can drop the goal";
    return [{ ...about, evidence: "all that the goal was set with", reason }];
  }
  if (evidence.length > 0) return [];
  const reason = "call tap_set_goal with the same statement and the evidence";
  return [{ ...about, evidence: "some evidence: the goal has none yet", reason }];
}
