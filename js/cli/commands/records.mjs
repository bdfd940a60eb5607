// `records`: what has happened, from the durable store.

import { errorMessage } from "../../lib/values.mjs";
import { usage, pause, runInterruptible } from "../exit.mjs";
import { withRecords } from "../gateway.mjs";
import { getEnvironment, getGatewayFiles, FOLLOW } from "../options.mjs";
import {
  parseConditions,
  MAX_PAGE_SIZE,
  newestRecords,
  newestSince,
  sessionCondition,
  parseTime,
} from "../record-query.mjs";
import { faint, Output } from "../../views/output.mjs";
import { showCollections, showRecord, showRows } from "../../views/records-view.mjs";

/** @typedef {import("../../link/control.mjs").Control} Control */
/** @typedef {import("../../views/records-view.mjs").StoredRecord} StoredRecord */
/**
 * @typedef {import("../options.mjs").CommandOptions & {of?: string, where?: string[], session?: string, since?: string,
 *   until?: string, last?: string, follow: boolean, jsonl: boolean, sql?: string}} RecordsOptions
 */

const POLL_MS = 500;
/** Of one look: what came beyond that is left out. */
const MAX_NEW_RECORDS = 50 * MAX_PAGE_SIZE;
const LEFT_OUT = "More rows were left out: add a LIMIT, or ask for less.";

/** @param {RecordsOptions} given */
function parseCount({ last = "20" }) {
  if (/^\d{1,9}$/.test(last)) return Number(last);
  throw usage(
    `--last must be a number of records (got "${last}")`,
    "copilot-tap records tool_call --last 100",
  );
}

/** Without a collection the first word is a condition. @param {RecordsOptions} given @returns {RecordsOptions} */
function readWords({ of, where = [], ...given }) {
  return of && /[=<>]/.test(of) ? { ...given, where: [of, ...where] } : { ...given, of, where };
}

/** Which options say which records are meant. @param {RecordsOptions} given @returns {string[]} */
function listFilters({ of, where = [], session, since, until, last, follow }) {
  const options = { session, since, until, last, follow: follow || undefined };
  const words = [...(of ? ["collection"] : []), ...(where.length > 0 ? ["condition"] : [])];
  const named = Object.entries(options).filter(([, value]) => value !== undefined);
  return [...words, ...named.map(([name]) => `--${name}`)];
}

/** @param {Control} control @param {RecordsOptions} given */
async function createQuery(control, given) {
  const { session, since, until } = given;
  const { of: collection, where: conditions = [] } = given;
  const where = parseConditions(conditions);
  return {
    collection,
    where: { ...where, ...(session && (await sessionCondition(control, session))) },
    ...(since && { since: parseTime(since, "--since") }),
    ...(until && { until: parseTime(until, "--until") }),
  };
}

/** Among others it says which collection it is of. @param {Output} output @param {RecordsOptions} given @param {StoredRecord} record */
function showText(output, { of }, record) {
  const { collection, body } = record;
  showRecord(output, of ? record : { ...record, body: { collection, ...body } });
}

/** @param {Output} output @param {RecordsOptions} given @param {StoredRecord} record */
function showOne(output, given, record) {
  if (given.jsonl) output.jsonLine(record);
  else output.item(record, () => showText(output, given, record));
}

/** What the store says while its file is damaged, or is not there: the next one may be. @param {unknown} error */
const isStoreError = (error) =>
  ["UNAVAILABLE", "INVALID"].includes(/** @type {{code?: string}} */ (error).code ?? "");

/**
 * What has come since the last look, of the newest so many that fit.
 * @param {Control} control @param {Awaited<ReturnType<typeof createQuery>>} query
 * @param {{last: import("../record-query.mjs").StorePosition}} seen @param {number} count
 */
async function readNewRecords(control, query, seen, count) {
  const { newest, isOther } = await newestSince(control, seen.last);
  const after = isOther ? 0 : seen.last.id;
  if (newest.id === after) return [];
  const where = { id: { gt: after, lt: newest.id + 1 }, ...query.where };
  const records = await newestRecords(control, { ...query, where }, count);
  seen.last = newest;
  return records.filter(({ id }) => id > after && id <= newest.id);
}

/**
 * @param {Control} control @param {Output} output @param {RecordsOptions} given
 * @param {{last: import("../record-query.mjs").StorePosition}} seen also by another gateway
 */
async function follow(control, output, given, seen) {
  const query = await createQuery(control, given);
  const show = async (/** @type {number} */ count) => {
    const records = await readNewRecords(control, query, seen, count);
    records.forEach((record) => showOne(output, given, record));
  };
  let isAnswered = true;
  const poll = () =>
    show(MAX_NEW_RECORDS).then(
      () => void (isAnswered = true),
      (error) => {
        if (!isStoreError(error)) throw error;
        if (isAnswered) output.printError(errorMessage(error));
        isAnswered = false;
      },
    );
  await show(seen.last.id > 0 ? MAX_NEW_RECORDS : parseCount(given));
  await runInterruptible(async (ending) => {
    for (; !ending.aborted; await pause(POLL_MS, ending)) await poll();
  });
}

/** An object for each row. @param {Output} output @param {{columns: string[], rows: unknown[][], cut?: boolean}} answer */
function showLines(output, { columns, rows, cut }) {
  const twice = columns.find((name, at) => columns.indexOf(name) !== at);
  if (twice !== undefined) {
    throw usage(`two columns have the name "${twice}"`, "name one of them otherwise: … AS another");
  }
  for (const row of rows) {
    output.jsonLine(Object.fromEntries(columns.map((name, at) => [name, row[at]])));
  }
  if (cut) output.printError(LEFT_OUT);
}

/** @param {Control} control @param {Output} output @param {RecordsOptions} given */
async function runSql(control, output, { sql, jsonl }) {
  const answer = await control.request("records.sql", { sql });
  if (jsonl) return showLines(output, answer);
  output.result(answer, () => {
    showRows(output, answer);
    if (answer.cut) output.print(faint(LEFT_OUT));
  });
}

/** @param {Control} control @param {Output} output @param {RecordsOptions} given */
async function showLast(control, output, given) {
  const records = await newestRecords(
    control,
    await createQuery(control, given),
    parseCount(given),
  );
  if (given.jsonl) return records.forEach((record) => showOne(output, given, record));
  output.result(records, () => {
    if (records.length === 0)
      output.print(given.of ? `No record of ${given.of} fits.` : "No record fits.");
    records.forEach((record) => showText(output, given, record));
  });
}

/** @param {RecordsOptions} words */
async function run(words) {
  const given = readWords(words);
  const output = new Output(given);
  const isSql = given.sql !== undefined;
  const [first] = listFilters(given);
  if (isSql && first) {
    const what = first.startsWith("--") ? first : `a ${first}`;
    throw usage(`--sql does not go with ${what}`, 'copilot-tap records --sql "SELECT …"');
  }
  const seen = { last: { id: 0, at: 0 } };
  await withRecords(getGatewayFiles(given), getEnvironment(given), async (control) => {
    if (isSql) return runSql(control, output, given);
    if (!first && !given.jsonl) {
      const stats = await control.request("records.stats", {});
      return output.result(stats, () => showCollections(output, stats));
    }
    if (given.follow) return follow(control, output, given, seen);
    return showLast(control, output, given);
  });
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "records [of] [where..]",
  describe: "show what has happened: calls, gates, pushes, …",
  about:
    "Shows what tap has recorded, the newest last. Without a collection, it shows the " +
    "records of all of them. Without any argument or option, it lists the collections and how " +
    "many records each has. A condition is field=value, field!=value, " +
    "field<value, field>value or field^=beginning. Secrets were removed before the records " +
    "were written.",
  positionals: {
    of: { describe: "a collection: tool_call, gate, push, …" },
    where: { describe: "conditions; all must hold" },
  },
  options: {
    session: { describe: "only this session: its id or label" },
    since: { describe: "from this time on: 30m, 2h, 7d, or 2026-11-22T09:00" },
    until: { describe: "up to this time" },
    last: { short: "n", describe: "at most this many; default: 20" },
    follow: FOLLOW,
    jsonl: { describe: "one JSON object a line", type: "boolean" },
    sql: { describe: "run an SQL query, which can only read" },
  },
  examples: [
    ["$0 records", "which collections there are"],
    ["$0 records tool_call outcome=failed --since 1d", "the failed calls of a day"],
    ["$0 records gate -f", "each decision as it is made"],
    ["$0 records --session shop -f", "all that happens in a session"],
    ['$0 records --sql "SELECT count(*) FROM records"', "any query in SQL"],
  ],
  handler: run,
};
