// What tap has recorded of a session's work: calls of tools, decisions of gates, runs of emitters. Calls of tap's own
// tools are left out: their arguments are the model's words.

/**
 * @typedef {object} Fact
 * @property {number} record its id
 * @property {number} at Unix ms
 * @property {"tool_call" | "gate" | "emitter_run"} kind
 * @property {string[]} names of the tool, gate or emitter
 * @property {string[]} commands
 * @property {boolean} good
 * @property {number} [exitCode]
 * @property {string} text of the result
 * @property {string} said in a few words
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

const READERS = { tool_call: readCallFacts, gate: readGateFacts, emitter_run: readRunFacts };

/**
 * @param {import("../../feature-host/service-access.mjs").Services} services @param {string} session @param {number} [since] Unix ms
 * @returns {Promise<Fact[]>} newest first
 */
export async function readFacts(services, session, since) {
  /** @type {Fact[]} */
  const facts = [];
  for (const [collection, read] of Object.entries(READERS)) {
    let cursor;
    for (let seen = 0; seen < MAX_RECORDS; seen += PAGE) {
      const query = { collection, where: { session }, limit: PAGE };
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
