// What a gateway may say to `copilot-tap top`, made by hand, and its screens as text.

import { visible } from "../../../js/lib/visible.mjs";
import { renderFrame } from "../../../js/views/top/frame.mjs";
import { FIRST, applyKey } from "../../../js/views/top/state.mjs";

export const NOW = Date.parse("2026-11-23T09:00:00");

let lastId = 0;
/** @param {string} collection @param {object} body @param {object} [fields] */
export const record = (collection, body, fields = {}) => ({
  ...{ id: (lastId += 1), collection, at: NOW - 5000, session: "s-1", source: "ci" },
  ...{ trace: "a".repeat(32), v: 1, body, ...fields },
});

/** @param {object} [fields] */
export const sessionOf = (fields = {}) => ({
  ...{ id: "0d6f7c1e-6a3b", label: "shop (main)", cwd: "/shop", cliPid: 12, linked: true },
  ...{ ending: false, mode: "live", activity: "busy", inUse: 1, tools: 2, settled: true },
  ...{ callsInFlight: 1, hooksWanted: true, hooks: "in-force", groups: [], held: [] },
  ...fields,
});

/** @param {object} [fields] */
export const bindingOf = (fields = {}) => ({
  ...{ session: "0d6f7c1e-6a3b", tools: [], refused: [], rules: [], context: 0 },
  ...{ startupContext: 0, sections: [], ...fields },
});

/** @param {object} [fields] */
export const providerOf = (fields = {}) => ({
  ...{ connection: 4, id: "p-4", name: "ci", instance: "", trust: "project", onlySession: "" },
  ...{ all: false, callsInFlight: 0, waitedMs: 0, bindings: [bindingOf()], ...fields },
});

/** @param {object} [fields] of the inspection */
export const gatewayOf = (fields = {}) => ({
  ...{ version: "0.1.0", pid: 4711, node: "20.19.0", port: 9400, startedAt: NOW - 90_000 },
  ...{ now: NOW, draining: false, sessions: [sessionOf()], providers: [providerOf()] },
  ...{ tools: [], failures: [], limits: [], complete: true, ...fields },
});

/** @param {object} [fields] */
export const seenOf = (fields = {}) =>
  /** @type {any} */ ({
    ...{ at: NOW, port: 9400, gateway: gatewayOf(), calls: [], records: {} },
    ...fields,
  });

const SIZE = { columns: 80, rows: 23 };

/** @param {string} name of a key, or the character */
const keyOf = (name) =>
  name.length === 1 ? { name: name.toLowerCase(), sequence: name } : { name, sequence: "" };

/** A user in front of the screen. */
export class User {
  state = FIRST;

  /** @param {any} seen @param {{columns: number, rows: number}} [size] */
  constructor(seen, size = SIZE) {
    this.seen = seen;
    this.size = size;
  }

  get frame() {
    return renderFrame(this.state, this.seen, this.size);
  }

  /** @param {import("../../../js/views/top/state.mjs").Key} key */
  pressKey(key) {
    this.state = applyKey(this.state, key, this.frame);
    return this;
  }

  /** @param {...string} keys */
  press(...keys) {
    for (const key of keys) this.pressKey(keyOf(key));
    return this;
  }

  /** @param {string} place */
  goTo(place) {
    this.state = { ...this.state, place };
    return this;
  }

  /** @returns {string[]} */
  get lines() {
    return this.frame.lines.map((parts) =>
      parts.map((part) => visible(typeof part === "string" ? part : part.text)).join(""),
    );
  }

  get text() {
    return this.lines.map((line) => line.trimEnd()).join("\n");
  }
}
