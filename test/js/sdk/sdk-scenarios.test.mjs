// The scenarios that both SDKs go through, test/sdk/scenarios.json: the Node.js SDK over a WebSocket, and
// in process. sdk/python/tests/test_scenarios.py drives the Python SDK.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { inProcess } from "../../../js/gateway-host/in-process.mjs";
import { startTap } from "../../../js/develop/testing.mjs";
import { provider, ToolError } from "../../../sdk/node/provider.mjs";
import { TestGateway } from "../../support/harness.mjs";
import { waitFor } from "../../support/wait.mjs";

const scenarios = JSON.parse(
  readFileSync(new URL("../../sdk/scenarios.json", import.meta.url), "utf8"),
);

/** Declares the tools that the scenarios call. */
function make(options) {
  const tap = provider("scenario", options);
  const parameters = {
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
  };
  tap.tool("echo", { description: "Says it again", parameters }, ({ text }) => text);
  tap.tool("fail", { description: "Finds nothing" }, () => {
    throw new ToolError("NOT_FOUND", "nothing here");
  });
  tap.tool("crash", { description: "Breaks" }, () => {
    throw new Error("broken");
  });
  tap.tool("trace", { description: "Passes its trace on" }, async (_, { traceparent }) => {
    const receipt = await tap.push("log", "traced", { traceparent });
    return `${traceparent.slice(0, 2)} ${traceparent.length} ${receipt.outcome}`;
  });
  tap.on("error", () => {});
  return tap;
}

/** A gateway in a process of its own, over a WebSocket. */
async function overWebSocket(t) {
  const kit = await startTap();
  t.after(() => kit.stop());
  return {
    options: kit.where,
    call: async (tool, args) => {
      await kit.tool(tool);
      return kit.call(tool, args);
    },
    check: (tool, args) => kit.session.check(tool, args),
    killGateway: () => kit.killGateway(),
    restartGateway: () => kit.restartGateway(),
  };
}

/** A gateway in this process. */
async function inThisProcess(t) {
  const gateway = new TestGateway(t);
  const session = await gateway.session("attached");
  return {
    options: { transport: inProcess(gateway.addon) },
    async call(tool, args) {
      const outcome = await session.call(tool, args);
      if (typeof outcome === "object") throw outcome;
      return outcome;
    },
    async check(tool, args) {
      const { revision } = await session.waitFor("hooks", ({ guards }) => guards.length > 0);
      session.send({ type: "hooks.state", revision, hooks: "in-force", sections: "in-force" });
      session.send({ type: "hook.check", checkId: "check", tool, args });
      const { deny } = await session.waitFor("hook.verdict");
      return { deny };
    },
  };
}

/** What each step does. */
function stepsOf(place, tap) {
  const stream = tap.stream("log");
  let bound = 0;
  tap.on("bound", () => (bound += 1));
  return {
    connect: () => tap.connect(),
    connectTwin: () => make(place.options).connect(),
    async connectAndClose({ session }) {
      const other = make({ ...place.options, session });
      const connecting = other.connect();
      connecting.catch(() => {});
      await other.close();
      await connecting;
    },
    declare: ({ tool }) =>
      tap.tool(tool, { description: "Comes later", inForce: true }, () => "here"),
    close: () => tap.close(),
    async call({ tool, args = {}, result }) {
      assert.equal(await place.call(tool, args), result);
    },
    async push({ event, level, key, outcome, replaced }) {
      const receipt = await stream.push(event, { level, key });
      assert.deepEqual([receipt.outcome, receipt.replaced], [outcome, replaced]);
    },
    async withdraw({ key, withdrawn }) {
      assert.equal(await tap.withdraw(key), withdrawn);
    },
    filter: ({ match }) => stream.filter([{ match, outcome: "drop" }]),
    async history({ last, events }) {
      const history = await stream.history({ last });
      assert.deepEqual(
        history.map(({ event }) => event),
        events,
      );
    },
    deny: ({ match, reason }) => void tap.deny(match, reason),
    async check({ tool, args, denied }) {
      assert.ok((await place.check(tool, args)).deny.includes(denied));
    },
    async killGateway() {
      const lost = new Promise((resolve) => tap.on("unbound", resolve));
      await place.killGateway();
      await lost;
    },
    async restartGateway() {
      const before = bound;
      await place.restartGateway();
      await waitFor(() => bound > before, { what: "the provider is bound again" });
    },
  };
}

for (const [what, start, can] of /** @type {const} */ ([
  ["over a WebSocket", overWebSocket, ["restart"]],
  ["in process", inThisProcess, []],
])) {
  describe(what, () => {
    // A gateway in this process cannot be restarted without this process.
    const possible = scenarios.filter(({ needs }) => !needs || can.includes(needs));
    for (const { name, steps } of possible) {
      test(name, async (t) => {
        const place = await start(t);
        const tap = make(place.options);
        t.after(() => tap.close());
        const perform = stepsOf(place, tap);
        for (const step of steps) {
          const done = (async () => perform[step.do](step))();
          if (step.fails) await assert.rejects(done, { code: step.fails });
          else await done;
        }
      });
    }
  });
}

test("in process: a deadline is counted from when JavaScript asks, however long it has run", async (t) => {
  const place = await inThisProcess(t);
  const tap = make(place.options);
  t.after(() => tap.close());
  await tap.connect();
  const end = performance.now() + 2500;
  while (performance.now() < end); // a session has to confirm its tools within 2 s
  await tap.tool("late", { description: "Comes late", inForce: true }, () => "here");
  assert.equal(await place.call("late", {}), "here");
});
