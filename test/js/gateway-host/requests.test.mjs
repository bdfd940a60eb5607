// host.request: the host's table of methods, and its clients over the link (docs/session-link.md).

import assert from "node:assert/strict";
import { test } from "node:test";
import { Control, NoGateway } from "../../../js/link/control.mjs";
import { GatewayRequests } from "../../../js/feature-host/gateway-requests.mjs";
import { HostRequests, JsonText, RequestError } from "../../../js/gateway-host/requests.mjs";
import { waitFor } from "../../support/wait.mjs";
import { TestGateway } from "../../support/harness.mjs";

/** @param {HostRequests} requests @param {string} method @param {object} [params] */
async function ask(requests, method, params = {}) {
  const text = await requests.answer({ method, params: JSON.stringify(params), from: "control" });
  return JSON.parse(text);
}

test("a method gets its parameters and gives its result", async () => {
  const requests = new HostRequests();
  requests.register("sum.of", ({ a, b }, from) => ({ sum: a + b, from }));
  assert.deepEqual(await ask(requests, "sum.of", { a: 1, b: 2 }), {
    result: { sum: 3, from: "control" },
  });
  requests.register("nothing", async () => {});
  assert.deepEqual(await ask(requests, "nothing"), { result: null });
});

test("a result that is JSON text already goes on as it is", async () => {
  const requests = new HostRequests();
  requests.register("some.text", () => new JsonText('{"a":  1}'));
  const answer = await requests.answer({ method: "some.text", params: "{}", from: "control" });
  assert.equal(answer, '{"result":{"a":  1}}');
});

test("an unknown method names those there are", async () => {
  const requests = new HostRequests();
  assert.match(
    (await ask(requests, "a.b")).error.message,
    /no method "a\.b"; there are: \(empty\)/,
  );
  const remove = requests.register("holds.list", () => []);
  requests.register("features.report", () => []);
  for (const method of ["a.b", "constructor", "__proto__"]) {
    const { error } = await ask(requests, method);
    assert.equal(error.code, "UNKNOWN_METHOD");
    assert.match(error.message, /there are: features\.report, holds\.list$/);
  }
  remove();
  assert.equal((await ask(requests, "holds.list")).error.code, "UNKNOWN_METHOD");
});

test("a method is registered once, under a plain name", () => {
  const requests = new HostRequests();
  requests.register("a", () => 1);
  assert.throws(() => requests.register("a", () => 2), /"a" is registered already/);
  for (const name of ["", "A", "a b", "a".repeat(65)]) {
    assert.throws(() => requests.register(name, () => 1), TypeError);
  }
});

test("a method that fails says why, with its own code if it has one", async () => {
  const requests = new HostRequests();
  requests.register("breaks", () => {
    throw new Error("out of paper");
  });
  requests.register("refuses", async () => {
    throw new RequestError("DENIED", "not you");
  });
  requests.register("circular", () => {
    const self = {};
    return Object.assign(self, { self });
  });
  assert.deepEqual(await ask(requests, "breaks"), {
    error: { code: "INTERNAL", message: "out of paper" },
  });
  assert.deepEqual(await ask(requests, "refuses"), {
    error: { code: "DENIED", message: "not you" },
  });
  assert.equal((await ask(requests, "circular")).error.code, "INTERNAL");
});

test("a method that does not finish is given up", async (t) => {
  // A gateway has sockets, for as long as it answers.
  const alive = setInterval(() => {}, 1000);
  t.after(() => clearInterval(alive));
  const requests = new HostRequests(20);
  requests.register("hangs", () => new Promise(() => {}));
  const { error } = await ask(requests, "hangs");
  assert.deepEqual([error.code, error.message], ["TIMEOUT", "hangs was not done within 0.02 s"]);
});

/** A gateway whose host answers requests. @param {import("node:test").TestContext} t */
async function place(t) {
  const requests = new HostRequests();
  /** @type {Map<number, AbortController>} */
  const asked = new Map();
  const gateway = new TestGateway(t, {
    onRequest: async (number, request) => {
      const left = new AbortController();
      asked.set(number, left);
      gateway.addon.answerRequest(number, await requests.answer(request, left.signal));
    },
    onRequestDropped: (number) => asked.get(number)?.abort(),
  });
  const link = gateway.listenLink();
  const control = await Control.open({
    link,
    secret: gateway.secret,
    pid: 0,
    port: 0,
    version: "",
  });
  t.after(() => control.close());
  const feature = new GatewayRequests({ link, token: gateway.addon.issueFeatureToken() });
  t.after(() => feature.close());
  return { requests, gateway, control, feature };
}

test("the command and a feature ask over the link, each by its own name", async (t) => {
  const { requests, control, feature } = await place(t);
  requests.register("who", (params, from) => ({ from, ...params }));
  assert.deepEqual(await control.request("who", { a: "é" }), { from: "control", a: "é" });
  assert.deepEqual(await feature.request("who"), { from: "feature" });
  await assert.rejects(control.request("nobody"), { code: "UNKNOWN_METHOD" });
  await assert.rejects(feature.request("nobody"), { code: "UNKNOWN_METHOD" });
});

test("several requests wait at once, and other questions do not wait for them", async (t) => {
  const { requests, control } = await place(t);
  const done = [];
  requests.register("wait", ({ n }) => new Promise((resolve) => (done[n] = () => resolve(n))));
  const answers = [0, 1, 2].map((n) => control.request("wait", { n }));
  assert.equal((await control.inspect()).version, "1.2.3");
  for (const n of [2, 0, 1]) done[n]();
  assert.deepEqual(await Promise.all(answers), [0, 1, 2]);
});

test("a method hears that its client has left, once and of no other client", async (t) => {
  const { requests, control, feature } = await place(t);
  const left = /** @type {string[]} */ ([]);
  requests.register("waits", (_params, from, signal) => {
    signal.addEventListener("abort", () => left.push(from));
    return new Promise(() => {});
  });
  requests.register("quick", (_params, _from, signal) => {
    signal.addEventListener("abort", () => left.push("answered already"));
    return 1;
  });
  void feature.request("waits").catch(() => {});
  const waiting = control.request("waits");
  waiting.catch(() => {});
  assert.equal(await control.request("quick"), 1);
  control.close();
  await waitFor(() => left.length > 0, { what: "word of the client's end" });
  await feature.request("quick"); // all that was said before has arrived
  assert.deepEqual(left, ["control"]);
});

test("a request that is not answered ends in time, or with the link", async (t) => {
  const { requests, gateway, control, feature } = await place(t);
  requests.register("hangs", () => new Promise(() => {}));
  await assert.rejects(control.request("hangs", {}, { timeoutMs: 20 }), { code: "TIMEOUT" });
  await assert.rejects(feature.request("hangs", {}, { timeoutMs: 20 }), { code: "TIMEOUT" });
  const waiting = [
    assert.rejects(control.request("hangs"), NoGateway),
    assert.rejects(feature.request("hangs"), { code: "DISCONNECTED" }),
  ];
  await control.inspect();
  gateway.addon.close();
  await Promise.all(waiting);
  await assert.rejects(control.request("hangs"), NoGateway);
});
