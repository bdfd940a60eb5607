// Processes that die without a word: the host, the extension's process, the CLI. Calls settle, sessions go on.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import { callTool, say, toolNames, toolResults } from "../support/model.mjs";
import { isAlive } from "../support/processes.mjs";
import { answering, onceOffered, resultOf, startTap, steps } from "../support/tap.mjs";
import { waitFor } from "../support/wait.mjs";

/** A tool whose first call hangs; the later ones say where they ran. */
function hangsOnce() {
  let calls = 0;
  return {
    handler: () => {
      calls += 1;
      return calls === 1 ? new Promise(() => {}) : `answer ${calls}`;
    },
  };
}

/** A session with a call in flight; the model then tries again until it has an answer. */
async function withCallInFlight(t, env = {}) {
  const rig = await startTap(t, undefined, { env });
  const { bindings } = rig.keepProviding({ work: hangsOnce() }, { name: "worker" });
  rig.model.script(
    steps([
      onceOffered("work"),
      // The last step repeats: it is asked until there is an answer.
      async (request) => {
        if (!/^answer/.test(resultOf(request, "work"))) return callTool("work");
        // The new host knows the reserved names, too.
        await assert.rejects(rig.provide({ view: answering("mine") }, { name: "bad" }), {
          code: "TOOL_CONFLICT",
        });
        return say("bye");
      },
    ]),
  );
  const started = rig.cli.startPrompt("go");
  await waitFor(() => bindings[0]?.received.some(({ type }) => type === "tool.call"), {
    what: () => rig.report(),
  });
  return {
    rig,
    bindings,
    started,
    host: await rig.cli.gatewayHost(),
    extension: (await rig.cli.extensionProcesses())[0],
  };
}

/** The session has lost its host and has a new host, in the same process, with the same tools. */
async function assertReplaced({ rig, bindings, started, host, extension }) {
  const extensions = new Set();
  const sample = setInterval(async () => {
    for (const { pid } of await rig.cli.extensionProcesses()) extensions.add(pid);
  }, 100);
  await rig.ended(started).finally(() => clearInterval(sample));
  const results = toolResults(rig.model.last).filter(({ name }) => name === "work");
  assert.match(results[0].text, /DISCONNECTED/);
  assert.match(results.at(-1).text, /^answer \d+$/);
  assert.deepEqual([...extensions], [extension.pid]);
  assert.equal(bindings.length, 2);
  assert.ok(!(await isAlive(host.pid)));
  assert.equal(await rig.countInLog("host.log", /gateway \S+ on port/), 2);
  // The tools were not taken away while the provider was on its way back.
  const since = rig.model.requests.findIndex((request) => toolNames(request).includes("work"));
  assert.ok(
    rig.model.requests.slice(since).every((request) => toolNames(request).includes("work")),
  );
}

describe("crashes", { concurrency: 1 }, () => {
  // shows: P-HOST-7
  test("kill -9 of the host: the call fails with a text, a new host serves the same session", async (t) => {
    const busy = await withCallInFlight(t);
    process.kill(busy.host.pid, "SIGKILL");
    await assertReplaced(busy);
  });

  // shows: P-HOST-8
  test("a host that hangs is killed and replaced; the call does not hang with it", async (t) => {
    const busy = await withCallInFlight(t, { TAP_PING_MS: "300", TAP_LINK_DEAD_MS: "1500" });
    process.kill(busy.host.pid, "SIGSTOP");
    await assertReplaced(busy);
  });

  // shows: P-HOST-7
  test("kill -9 of the host with two sessions: a single new host for both", async (t) => {
    const rig = await startTap(t, undefined, {
      env: { TAP_GRACE_MS: "1000", TAP_LINGER_MS: "1000" },
    });
    let open = false;
    rig.model.script(steps([() => open && say("bye")]));
    const runs = [rig.cli.startPrompt("one"), rig.cli.startPrompt("two")];
    await waitFor(async () => (await rig.countInLog("extension.log", /linked to gateway/)) === 2);
    const host = await rig.cli.gatewayHost();
    process.kill(host.pid, "SIGKILL");
    await waitFor(async () => (await rig.countInLog("extension.log", /linked to gateway/)) === 4, {
      what: () => rig.report(),
    });
    const next = await rig.cli.gatewayHost();
    assert.notEqual(next.pid, host.pid);
    assert.equal(await rig.countInLog("host.log", /gateway \S+ on port/), 2);
    const { sessions } = await rig.connect();
    assert.equal(sessions.active.length, 2);
    open = true;
    await Promise.all(runs.map((run) => rig.ended(run)));
  });

  // shows: P-HOST-5
  test("kill -9 of the extension: its call is cancelled, its session ends after the linger time, then the host", async (t) => {
    const env = { TAP_LINGER_MS: "1000", TAP_SHUTDOWN_MS: "500", TAP_GRACE_MS: "500" };
    const rig = await startTap(t, undefined, { env });
    let provider;
    rig.model.script(
      steps([
        async () => {
          provider = await rig.provide({ work: hangsOnce() }, { name: "worker" });
          return callTool("tap_status");
        },
        onceOffered("work"),
        async (request) => {
          assert.ok(!toolNames(request).includes("work"));
          await provider.waitForClose();
          return say("bye");
        },
      ]),
    );
    const started = rig.cli.startPrompt("go");
    const call = await waitFor(() => provider?.waitFor("tool.call"));
    const [{ pid }] = await rig.cli.extensionProcesses();
    process.kill(pid, "SIGKILL");
    assert.equal((await provider.waitFor("tool.cancel")).id, call.id);
    await provider.waitFor(({ state }) => state === "shutdown.pending");
    await rig.ended(started);
    assert.match(rig.result("work"), /disconnected/i);
    assert.ok(
      provider.received.some(
        ({ type, active }) => type === "sessions.updated" && active.length === 0,
      ),
    );
    await rig.cli.allGone();
    assert.ok(!existsSync(rig.cli.tokenFile));
  });

  test("kill -9 of the CLI leaves no process behind", async (t) => {
    const rig = await startTap(t, () => new Promise(() => {}), {
      env: { TAP_LINGER_MS: "500", TAP_GRACE_MS: "500" },
    });
    const { child } = rig.cli.startPrompt("go");
    await rig.model.waitForRequest();
    await rig.cli.gatewayHost();
    child.kill("SIGKILL");
    await rig.cli.allGone();
    assert.ok(!existsSync(rig.cli.tokenFile));
  });
});
