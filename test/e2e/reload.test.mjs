// The specified way to change tools: the extension's process is replaced, the provider stays.

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { describe, test } from "node:test";
import { callTool, say, toolNames } from "../support/model.mjs";
import { answering, onceOffered, startTap, steps } from "../support/tap.mjs";
import { REPO_ROOT } from "../support/cli.mjs";

const NO_LIVE = fileURLToPath(new URL("../support/fixtures/no-live-extension", import.meta.url));

/** Notes every pid of an extension process that a step of the script sees. */
function watchProcesses(rig) {
  const pids = new Set();
  return {
    pids,
    look: async () => {
      for (const { pid } of await rig.cli.extensionProcesses()) pids.add(pid);
    },
  };
}

describe("tools by reload", { concurrency: 1 }, () => {
  // shows: P-SYNC-6, P-HOST-2
  test("TAP_TOOL_SYNC=reload: a single reload, the provider stays connected and is called after it", async (t) => {
    const rig = await startTap(t, undefined, {
      env: { TAP_TOOL_SYNC: "reload", TAP_RELOAD_WAIT_MS: "500" },
    });
    const { pids, look } = watchProcesses(rig);
    let provider;
    rig.model.script(
      steps([
        async () => {
          await look();
          provider = await rig.provide(
            { one: answering("first"), two: answering("second") },
            { name: "steady" },
          );
          return callTool("tap_status");
        },
        onceOffered("one"),
        async () => {
          await look();
          return callTool("two");
        },
        say("bye"),
      ]),
    );
    await rig.run();
    assert.equal(rig.result("one"), "first");
    assert.equal(rig.result("two"), "second");
    assert.equal(pids.size, 2);
    assert.equal(await rig.countInLog("extension.log", /reloading to change/), 1);
    assert.equal(await rig.countInLog("extension.log", /linked to gateway/), 2);
    // The provider heard of a single binding and of no end before the session's own.
    const types = provider.received.map(({ type, state }) => state ?? type);
    assert.equal(types.filter((type) => type === "hello.ack").length, 1);
    assert.ok(!types.slice(0, types.lastIndexOf("tool.call")).includes("shutdown.pending"));
    assert.equal(await rig.countInLog("host.log", /"steady" .*bound to session/), 1);
  });

  // shows: P-SYNC-3
  test("two providers that come together cost a single reload", async (t) => {
    const rig = await startTap(t, undefined, {
      env: { TAP_TOOL_SYNC: "reload", TAP_RELOAD_WAIT_MS: "500" },
    });
    rig.model.script(
      steps([
        async () => {
          await Promise.all([
            rig.provide({ one: answering("first") }, { name: "left" }),
            rig.provide({ two: answering("second") }, { name: "right" }),
          ]);
          return callTool("tap_status");
        },
        onceOffered("one"),
        callTool("two"),
        say("bye"),
      ]),
    );
    await rig.run();
    assert.equal(rig.result("one"), "first");
    assert.equal(rig.result("two"), "second");
    assert.equal(await rig.countInLog("extension.log", /reloading to change/), 1);
  });

  // shows: P-SYNC-6
  test("a CLI without the way to swap tools live gets a reload, and the user sees no trouble", async (t) => {
    const rig = await startTap(t, undefined, {
      extension: NO_LIVE,
      env: { TAP_REAL_EXTENSION: REPO_ROOT, TAP_RELOAD_WAIT_MS: "500" },
    });
    const { pids, look } = watchProcesses(rig);
    rig.model.script(
      steps([
        async (request) => {
          assert.ok(toolNames(request).includes("tap_status"));
          await look();
          await rig.provide({ one: answering("first") }, { name: "steady" });
          return callTool("tap_status");
        },
        onceOffered("one"),
        async () => {
          await look();
          return say("bye");
        },
      ]),
    );
    const { stdout } = await rig.run();
    assert.equal(rig.result("one"), "first");
    assert.equal(pids.size, 2);
    assert.equal(await rig.countInLog("extension.log", /reloading to change/), 1);
    const lines = stdout.split("\n").filter((line) => /tap:/.test(line));
    assert.deepEqual(
      lines.map((line) => line.replace(/^\W+/, "").trim()),
      ["tap: steady is here: one"],
      stdout,
    );
  });
});
