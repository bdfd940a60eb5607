// The record store of this host: its file, the gateway's records, and the requests about it.

import path from "node:path";
import { addon } from "../lib/addon.mjs";
import { errorMessage } from "../lib/values.mjs";
import { makePrivateFolder } from "../lib/host-files.mjs";
import { reportText } from "../feature-host/report.mjs";
import { JsonText, RequestError } from "./requests.mjs";

/** @typedef {import("../lib/log.mjs").Log} Log */
/** @typedef {import("./requests.mjs").HostRequests} HostRequests */
/** @typedef {import("./requests.mjs").RequestOrigin} RequestOrigin */
/** @typedef {{collection: string, body: object, session?: string, source?: string, trace?: string}} RecordInput */

/**
 * The state of the store for people and the doctor.
 * @typedef {object} RecordsState
 * @property {string} file
 * @property {"all" | "notify" | "off"} recording `off`: the file cannot be used; `trouble` says why, also of a disk
 *   with room only for `notify`
 * @property {boolean} spans whether traces are recorded
 * @property {boolean} open
 * @property {number} bytes on the disk
 * @property {number} rows
 * @property {number} written since the gateway host started
 * @property {Record<string, number>} dropped by collection, only numbers above 0
 * @property {"wal" | "rollback"} [journal] of an open file
 * @property {"" | "sqlite" | "file-system" | "refused"} [rollbackReason]
 * @property {string} [sqlite] its version
 * @property {RecordsTrouble} [trouble] the present trouble
 * @property {RecordsTrouble[]} diagnostics the last diagnostics, oldest first
 *
 * @typedef {{at: number, code: string, text: string}} RecordsTrouble
 */

/** Records that are not on the disk by then are lost at an exit. */
const FLUSH_MS = 500;
/** Diagnostics of events; others last until `recovered`. */
const EVENTS = ["clock", "replaced", "corrupt", "recovered"];

/** With this trouble, texts of features for the model are still recorded. */
const NEARLY_FULL = "nearly-full";

/** Collections that only the gateway writes, since they are evidence. */
const GATEWAY_COLLECTIONS = ["session", "provider", "tool_call", "gate", "push", "sync", "notify"];

/** The records of copilot-tap itself: results of evals. */
const USER_RECORD = { collection: "eval", source: "copilot-tap" };
const USER_RECORD_FIELDS = ["collection", "body", "source"];

/** The user's record, without fields that the store sets itself. @param {RecordInput} record @returns {RecordInput} */
function parseUserRecord(record) {
  const other = Object.keys(record).find((field) => !USER_RECORD_FIELDS.includes(field));
  if (other !== undefined) {
    const wanted = USER_RECORD_FIELDS.join(", ");
    throw new RequestError(
      "INVALID",
      `${reportText(other)}: a record of yours may only have ${wanted}`,
    );
  }
  const { source, body } = record;
  if (source === undefined || source === USER_RECORD.source) return { ...USER_RECORD, body };
  throw new RequestError("INVALID", `source: expected "${USER_RECORD.source}"`);
}

/** @param {unknown} trace */
function checkTrace(trace) {
  if (trace === undefined || (typeof trace === "string" && /^[0-9a-f]{32}$/i.test(trace))) return;
  throw new RequestError("INVALID", "trace: expected 32 hexadecimal digits");
}

const COUNTS =
  "SELECT collection AS name, count(*) AS rows, min(at) AS oldest, max(at) AS newest FROM records GROUP BY collection";

/** @type {import("../lib/addon.js").RecordsStats} */
const NOT_OPEN = {
  ...{ open: false, rows: 0, bytes: 0, written: 0, dropped: {}, diagnostics: [] },
  ...{ journal: "rollback", rollbackReason: "", sqlite: "" },
};

/** The last problem that has not passed. @param {RecordsTrouble[]} diagnostics @returns {RecordsTrouble | undefined} */
function findLastingTrouble(diagnostics) {
  const last = diagnostics.findLast(({ code }) => code === "recovered" || !EVENTS.includes(code));
  return last?.code === "recovered" ? undefined : last;
}

/** @param {RecordsTrouble | undefined} trouble @param {"all" | "notify"} mode @returns {"all" | "notify" | "off"} */
function resolveRecording(trouble, mode) {
  if (!trouble) return mode;
  return trouble.code === NEARLY_FULL ? "notify" : "off";
}

export class HostRecords {
  #file;
  #gateway;
  #log;
  /** @type {import("../lib/addon.js").Records | undefined} */
  #records;
  /** @type {"all" | "notify"} */
  #mode = "all";
  #spans = true;
  /** Why the file could not be opened. @type {RecordsTrouble | undefined} */
  #failure;

  /**
   * @param {object} parts
   * @param {{home: string, records: string}} parts.files @param {import("../lib/addon.js").Gateway} parts.gateway
   * @param {Log} parts.log @param {HostRequests} parts.requests
   */
  constructor({ files, gateway, log, requests }) {
    this.#file = files.records;
    this.#gateway = gateway;
    this.#log = log;
    requests.register("records.query", (query) => this.#query("query", JSON.stringify(query)));
    requests.register("records.sql", ({ sql }, from) => {
      if (from !== "control") throw new RequestError("DENIED", "only the user may query in SQL");
      if (typeof sql !== "string") throw new RequestError("INVALID", "sql: expected a text");
      return this.#query("sql", sql);
    });
    requests.register("records.state", () => this.state());
    requests.register("records.stats", () => this.#stats());
    requests.register("records.append", (record, from) => this.#write("append", record, from));
    requests.register("records.lines", (rows, from) => this.#writeLines(rows, from));
    requests.register("records.commit", (record, from) => this.#write("commit", record, from));
  }

  /**
   * Opens the file and starts recording. If the file is unusable, only records are lost.
   * @param {{records?: boolean, spans?: boolean}} config the user's
   */
  open(config) {
    this.#read(config);
    try {
      makePrivateFolder(path.dirname(this.#file));
      this.#records = new addon.Records({
        file: this.#file,
        onDiagnostic: (code, text) => this.#log("warning", `records: ${text} (${code})`),
      });
      this.#apply(this.#records);
    } catch (error) {
      const text = `recording is off: ${errorMessage(error)}`;
      this.#failure = { at: Date.now(), code: "failed", text };
      this.#log("warning", text);
    }
  }

  /** @param {{records?: boolean, spans?: boolean}} config */
  #read({ records = true, spans = true }) {
    this.#mode = records ? "all" : "notify";
    this.#spans = records && spans;
  }

  /** Changes the recording. @param {{records?: boolean, spans?: boolean}} config the user's present config */
  configure(config) {
    const former = [this.#mode, this.#spans].join();
    this.#read(config);
    if (!this.#records || [this.#mode, this.#spans].join() === former) return;
    this.#apply(this.#records);
  }

  /** Features also write only records of the mode. @param {import("../lib/addon.js").Records} records */
  #apply(records) {
    records.keepOnlyNotify(this.#mode === "notify");
    this.#gateway.setRecords(records, this.#mode, this.#spans);
  }

  /** @returns {RecordsState} */
  state() {
    const stats = this.#records?.stats() ?? NOT_OPEN;
    const { open, bytes, rows, written, dropped, diagnostics } = stats;
    const trouble = this.#failure ?? findLastingTrouble(diagnostics);
    const recording = !open ? "off" : resolveRecording(trouble, this.#mode);
    const { journal, rollbackReason, sqlite } = stats;
    return {
      ...{ file: this.#file, recording, spans: this.#spans && recording === "all", open },
      ...{ bytes, rows, written, dropped },
      ...(open && { journal, rollbackReason, sqlite }),
      ...(trouble && { trouble }),
      diagnostics,
    };
  }

  /** @returns {Promise<void>} when all records are written */
  async close() {
    const records = this.#records;
    this.#records = undefined;
    if (!records) return;
    records.flush(FLUSH_MS);
    await records.close();
  }

  #requireOpen() {
    if (this.#records) return this.#records;
    throw new RequestError(
      "UNAVAILABLE",
      `${this.#file} is not open; the gateway's log has the reason`,
    );
  }

  /** @param {"query" | "sql"} method @param {string} text */
  async #query(method, text) {
    const records = this.#requireOpen();
    try {
      return new JsonText(await records[method](text));
    } catch (error) {
      const message = errorMessage(error);
      const isRefused = method === "sql" || message.startsWith("The query is refused");
      throw new RequestError(isRefused ? "INVALID" : "UNAVAILABLE", message);
    }
  }

  /** @param {"append" | "commit"} method @param {RecordInput} record @param {RequestOrigin} from */
  async #write(method, record, from) {
    const ofUser = from === "control" && record?.collection === USER_RECORD.collection;
    if (from !== "feature" && !ofUser) {
      const own = USER_RECORD.collection;
      throw new RequestError(
        "DENIED",
        `only features write records; the user may write those of ${own}`,
      );
    }
    const records = this.#requireOpen();
    const { collection, body, ...rest } = ofUser ? parseUserRecord(record) : record;
    checkTrace(rest.trace);
    if (collection === "span" && !this.#spans) return undefined;
    if (GATEWAY_COLLECTIONS.includes(collection)) {
      throw new RequestError("DENIED", `records of ${collection} are only written by the gateway`);
    }
    try {
      return await records[method](collection, { ...rest, body: JSON.stringify(body) });
    } catch (error) {
      throw new RequestError("INVALID", errorMessage(error));
    }
  }

  /**
   * Writes lines of a stream, in the format of native/lines.
   * @param {{stream: string, lines: string, session?: string, source?: string, trace?: string,
   *   traces?: Record<string, string>, more?: object}} rows `lines`: an array as JSON text; `traces`: of the runs that
   *   lines name; `more`: fields of each body
   * @param {RequestOrigin} from
   */
  #writeLines({ stream, lines, more, traces = {}, ...rest }, from) {
    if (from !== "feature") throw new RequestError("DENIED", "only features write records");
    for (const trace of [rest.trace, ...Object.values(traces)]) checkTrace(trace);
    const records = this.#requireOpen();
    if (this.#mode === "notify") return;
    try {
      for (const { at, ...line } of JSON.parse(lines)) {
        const body = JSON.stringify({ stream, ...line, ...more });
        const trace = traces[line.run];
        records.append("stream_entry", { ...rest, ...(trace && { trace }), at, body });
      }
    } catch (error) {
      throw new RequestError("INVALID", errorMessage(error));
    }
  }

  /**
   * Writes a record of the gateway host itself, unless recording is off.
   * @param {string} collection @param {{session: string, source: string, body: object}} record
   */
  note(collection, { body, ...rest }) {
    if (this.#mode !== "all") return;
    try {
      this.#records?.append(collection, { ...rest, body: JSON.stringify(body) });
    } catch (error) {
      this.#log("warning", `a record of ${collection} was not written: ${errorMessage(error)}`);
    }
  }

  async #stats() {
    const records = this.#requireOpen();
    const { dropped, ...stats } = records.stats();
    /** @type {{rows: [string, number, number, number][]}} */
    const counts = JSON.parse(await records.sql(COUNTS));
    const written = counts.rows.map(([name, rows, oldest, newest]) => ({
      name,
      rows,
      oldest,
      newest,
      dropped: dropped[name] ?? 0,
    }));
    const others = Object.entries(dropped)
      .filter(([name]) => !written.some((row) => row.name === name))
      .map(([name, count]) => ({ name, rows: 0, oldest: 0, newest: 0, dropped: count }));
    return { ...stats, file: this.#file, collections: [...written, ...others] };
  }
}
