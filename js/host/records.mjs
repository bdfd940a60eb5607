// The record store of this host: its file, what the gateway writes into it, and the requests about it.

import path from "node:path";
import { addon } from "../base/addon.mjs";
import { messageOf } from "../base/errors.mjs";
import { makePrivateFolder } from "../base/host-files.mjs";
import { RequestError } from "./requests.mjs";

/** @typedef {import("../base/log.mjs").Log} Log */
/** @typedef {import("./requests.mjs").HostRequests} HostRequests */
/** @typedef {import("./requests.mjs").RequestOrigin} RequestOrigin */
/** @typedef {{collection: string, body: object, session?: string, source?: string, trace?: string}} GivenRecord */

/** What is not on the disk by then is lost at an exit. */
const FLUSH_MS = 500;

const COUNTS =
  "SELECT collection AS name, count(*) AS rows, min(at) AS oldest, max(at) AS newest FROM records GROUP BY collection";

/** @param {{home: string}} files */
export const recordsFile = ({ home }) => path.join(home, "tap", "records.sqlite");

export class HostRecords {
  #file;
  #gateway;
  #log;
  /** @type {import("../base/addon.js").Records | undefined} */
  #records;

  /**
   * @param {object} parts
   * @param {{home: string}} parts.files @param {import("../base/addon.js").Gateway} parts.gateway
   * @param {Log} parts.log @param {HostRequests} parts.requests
   */
  constructor({ files, gateway, log, requests }) {
    this.#file = recordsFile(files);
    this.#gateway = gateway;
    this.#log = log;
    requests.register("records.query", (query) => this.#ask("query", JSON.stringify(query)));
    requests.register("records.sql", ({ sql }, from) => {
      if (from !== "control") throw new RequestError("DENIED", "only the user may ask in SQL");
      if (typeof sql !== "string") throw new RequestError("INVALID", "sql: expected a text");
      return this.#ask("sql", sql);
    });
    requests.register("records.state", () => this.state());
    requests.register("records.stats", () => this.#stats());
    requests.register("records.append", (record, from) => this.#write("append", record, from));
    requests.register("records.commit", (record, from) => this.#write("commit", record, from));
  }

  /**
   * Opens the file; from now on the gateway records. A file that cannot be used costs the records and nothing else.
   * @param {{records?: boolean, spans?: boolean}} config the user's
   */
  open({ records = true, spans = true }) {
    try {
      makePrivateFolder(path.dirname(this.#file));
      this.#records = new addon.Records({
        file: this.#file,
        onDiagnostic: (code, text) => this.#log("warning", `records: ${text} (${code})`),
      });
      this.#gateway.setRecords(this.#records, records ? "all" : "notify", records && spans);
    } catch (error) {
      this.#log("warning", `nothing is recorded: ${messageOf(error)}`);
    }
  }

  /** Whether the file is open, and what is wrong with it. */
  state() {
    const stats = this.#records?.stats();
    return {
      file: this.#file,
      open: stats?.open ?? false,
      bytes: stats?.bytes ?? 0,
      rows: stats?.rows ?? 0,
      diagnostics: stats?.diagnostics ?? [],
    };
  }

  /** @returns {Promise<void>} once what was recorded is written */
  async close() {
    const records = this.#records;
    this.#records = undefined;
    if (!records) return;
    records.flush(FLUSH_MS);
    await records.close();
  }

  #open() {
    if (this.#records) return this.#records;
    throw new RequestError("UNAVAILABLE", `${this.#file} is not open; the gateway's log says why`);
  }

  /** @param {"query" | "sql"} method @param {string} text */
  async #ask(method, text) {
    const records = this.#open();
    try {
      return JSON.parse(await records[method](text));
    } catch (error) {
      throw new RequestError("INVALID", messageOf(error));
    }
  }

  /** @param {"append" | "commit"} method @param {GivenRecord} record @param {RequestOrigin} from */
  async #write(method, record, from) {
    if (from !== "feature") throw new RequestError("DENIED", "only features write records");
    const records = this.#open();
    const { collection, body, ...rest } = record;
    try {
      return await records[method](collection, { ...rest, body: JSON.stringify(body) });
    } catch (error) {
      throw new RequestError("INVALID", messageOf(error));
    }
  }

  async #stats() {
    const records = this.#open();
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
      .filter(([name]) => !written.some((one) => one.name === name))
      .map(([name, count]) => ({ name, rows: 0, oldest: 0, newest: 0, dropped: count }));
    return { ...stats, file: this.#file, collections: [...written, ...others] };
  }
}
