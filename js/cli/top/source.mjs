// What `copilot-tap top` shows, asked of the gateway again and again over one link. Where there is no gateway, the
// next look tries again.

import { probePort } from "../../lib/port-probe.mjs";
import { requestHostParts } from "../../lib/inspection.mjs";
import { COLLECTIONS } from "../../views/top/panels.mjs";
import { toFailure } from "../exit.mjs";
import { HOLDERS } from "../gateway.mjs";
import { newestRecords } from "../record-query.mjs";
import { formatCall } from "../format-call.mjs";

/** @typedef {import("../../link/control.mjs").Control} Control */
/** @typedef {import("../../views/top/panel.mjs").Snapshot} Snapshot */
/** @typedef {import("../../views/records-view.mjs").StoredRecord} StoredRecord */

/** Calls, and records of each collection, that are kept. */
const MAX_KEPT = 200;

/** @param {unknown} error @param {import("../../lib/paths.mjs").GatewayFiles} files */
async function describeTrouble(error, { port, homeHash }) {
  const holder = await probePort(port, homeHash);
  if (holder !== "ours") {
    const { text, advice } = HOLDERS[holder];
    return { message: `port ${port}: ${text}`, advice };
  }
  const { message, advice } = toFailure(error);
  return { message, advice };
}

export class Source {
  #files;
  /** @type {Control | undefined} */
  #control;
  /** @type {Snapshot} */
  #seen;
  #after = 0;
  /** Of the store when it was last asked. */
  #written = -1;

  /** @param {import("../../lib/paths.mjs").GatewayFiles} files */
  constructor(files) {
    this.#files = files;
    this.#seen = { at: Date.now(), port: files.port, calls: [], records: {} };
  }

  /** Never rejects. @returns {Promise<Snapshot>} with what was last seen where there is nothing newer */
  async poll() {
    try {
      const control = await this.#open();
      this.#seen = await this.#read(control);
    } catch (error) {
      this.close();
      this.#seen = { ...this.#seen, trouble: await describeTrouble(error, this.#files) };
    }
    return this.#seen;
  }

  async #open() {
    if (this.#control) return this.#control;
    const { openControl } = await import("../../link/control.mjs");
    const control = await openControl(this.#files);
    this.#control = control;
    // Another gateway counts its calls from one.
    this.#after = 0;
    this.#written = -1;
    this.#seen = { ...this.#seen, calls: [], records: {} };
    return control;
  }

  /** @param {Control} control @returns {Promise<Snapshot>} */
  async #read(control) {
    const gateway = await control.inspect();
    const labels = new Map(gateway.sessions.map(({ id, label }) => [id, label]));
    const news = await control.listCalls(this.#after);
    this.#after = news.at(-1)?.sequence ?? this.#after;
    const calls = [
      ...this.#seen.calls,
      ...news.slice(-MAX_KEPT).map((one) => formatCall(one, labels)),
    ];
    const parts = await requestHostParts(control);
    const records = await this.#records(control, parts?.records.written);
    const { port } = this.#files;
    return { at: Date.now(), port, gateway, parts, calls: calls.slice(-MAX_KEPT), records };
  }

  /** The store is asked only if it has written something. @param {Control} control @param {number} [written] */
  async #records(control, written) {
    const { records } = this.#seen;
    if (written === undefined || written === this.#written) return records;
    /** @type {Record<string, StoredRecord[]>} */
    const all = {};
    for (const collection of COLLECTIONS) {
      const known = records[collection] ?? [];
      // Of two records the later one has the larger id, whatever the clock said.
      const after = Math.max(0, ...known.map(({ id }) => id));
      const news = await this.#newest(control, collection, after);
      all[collection] = [...known, ...news].slice(-MAX_KEPT);
    }
    this.#written = written;
    return all;
  }

  /** Nothing where the store is not open, or has no such collection. @param {Control} control @param {string} collection @param {number} after */
  async #newest(control, collection, after) {
    const count = after === 0 ? MAX_KEPT : MAX_KEPT / 4;
    try {
      return await newestRecords(control, { collection, where: { id: { gt: after } } }, count);
    } catch (error) {
      if (/** @type {{code?: string}} */ (error).code === "NO_GATEWAY") throw error;
      return [];
    }
  }

  close() {
    this.#control?.close();
    this.#control = undefined;
  }
}
