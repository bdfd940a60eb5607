// The text of tap_status, of inspections as the gateway makes them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { statusText } from "../../../js/features/status/status-text.mjs";

const HEAD = "tap 1.2.3: gateway on port 9400, 1 session(s), Node.js 22.20.0.\n";

/** @param {string} name @param {object} [fields] */
const provider = (name, fields) => ({
  connection: 1,
  id: `prv-${name}`,
  name,
  instance: "",
  trust: "project",
  callsInFlight: 0,
  waitedMs: 0,
  bindings: [{ session: "s", tools: [{ name: "greet" }], refused: [] }],
  ...fields,
});

/** @param {string[]} tools @param {string[]} [refused] */
const binding = (tools, refused = []) => ({
  session: "s",
  tools: tools.map((name) => ({ name })),
  refused,
});

/** @param {object[]} providers @param {object} [session] */
const status = (providers, session) =>
  statusText(
    /** @type {any} */ ({
      version: "1.2.3",
      node: "22.20.0",
      port: 9400,
      sessions: [
        { id: "s", ending: false, settled: true, ...session },
        { id: "t", ending: true, settled: true },
      ],
      providers,
    }),
    "s",
  );

test("the status names providers, their tools, and the port", () => {
  const two = provider("p", { bindings: [binding(["greet", "other"])] });
  assert.equal(
    status([provider("z"), two]),
    `${HEAD}Providers of this session:\n- p (prv-p): greet, other\n- z (prv-z): greet\n`,
  );
});

test("the status leaves out tap itself and providers of other sessions", () => {
  const elsewhere = provider("far", { bindings: [{ ...binding(["a"]), session: "t" }] });
  const own = provider("tap", { trust: "internal" });
  assert.equal(
    status([own, elsewhere]),
    `${HEAD}No provider is connected to this session. A provider connects to the gateway over ` +
      "WebSocket and declares its tools in hello.\n",
  );
});

test("the status of a session that does not exist is empty", () => {
  assert.equal(statusText(/** @type {any} */ ({ sessions: [], providers: [] }), "s"), "");
});

test("the status says which tools the CLI has not accepted", () => {
  const refused = provider("p", { bindings: [binding(["a", "b"], ["a"])] });
  assert.match(status([refused]), /: a \(not accepted by the CLI\), b\n/);
  assert.match(status([provider("p", { bindings: [binding([])] })]), /\): no tools\n/);
});

test("the status says that a change of tools is on its way", () => {
  assert.match(status([provider("p")], { settled: false }), /greet\nA change of tools is on its/);
});

// shows: P-TEXT-11
test("the status puts the name of a paired provider in quotes", () => {
  const page = provider('page "x": fine', { instance: "tab", trust: "external", id: "prv-5" });
  assert.match(status([page]), /^- "page \\"x\\": fine" \["tab"\] \(paired, prv-5\): greet$/m);
  assert.match(status([provider("p", { instance: "tab" })]), /^- p \[tab\] \(prv-p\): greet$/m);
});

test("the status says how long a call has waited, and whether the provider hangs", () => {
  const waiting = (/** @type {number} */ waitedMs, /** @type {number | undefined} */ noPongMs) =>
    status([provider("p", { callsInFlight: 1, waitedMs, noPongMs })]);
  assert.match(waiting(4999, undefined), /greet; 1 call in flight\n/);
  assert.match(waiting(7000, undefined), /; 1 call in flight; no answer for 7 s\n/);
  assert.match(
    waiting(7000, 2000),
    /; no answer for 7 s, not even to a ping: it is stopped, or hangs\n/,
  );
  assert.match(status([provider("p", { callsInFlight: 2 })]), /greet; 2 calls in flight\n/);
});
