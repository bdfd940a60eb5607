// The slash commands, typed into the real CLI.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { callTool, say, toolNames } from "../support/model.mjs";
import { TestProvider } from "../support/provider.mjs";
import { startTap } from "../support/tap.mjs";

const TOOLS = { ping: { handler: () => "pong" } };

describe("in the terminal", { concurrency: 1 }, () => {
  test("/tap shows sessions, providers and calls, and the model does not see them", async (t) => {
    let requests = 0;
    const rig = await startTap(t, (request) => {
      requests += 1;
      if (request.body.messages.at(-1).role === "tool") return say("done");
      return toolNames(request).includes("ping") ? callTool("ping") : say("no ping");
    });
    const terminal = await rig.interactive({ rows: 60, cols: 100 });
    await rig.provide(TOOLS, { name: "echo" });
    await terminal.submit("/tap");
    await terminal.waitForScreen(/gateway \d+\.\d+\.\d+, pid \d+, port \d+/);
    await terminal.waitForScreen(/echo +\S.* token +1/);
    assert.equal(requests, 0);
    await terminal.prompt("call it", /done/);
    await terminal.submit("/tap");
    await terminal.waitForScreen(/ping +echo +1 +0/);
    await terminal.exit();
  });

  test("/tap-pair shows the code of a page that waits, once more", async (t) => {
    const rig = await startTap(t, () => say("hello"));
    const terminal = await rig.interactive({ rows: 60, cols: 100 });
    await terminal.submit("/tap-pair");
    await terminal.waitForScreen(/nobody asks to be paired/);
    const origin = "https://app.example.com";
    const page = await TestProvider.connect({ port: rig.port, origin });
    t.after(() => page.terminate());
    page.send({ type: "auth", mode: "pair", name: "Example App" });
    await terminal.waitForScreen(/Pairing code: \d{6}/);
    const [, code] = /Pairing code: (\d{6})/.exec(terminal.screenText()) ?? [];
    await terminal.submit("/tap-pair");
    const times = (/** @type {string} */ screen) =>
      screen.split(`Pairing code: ${code}`).length - 1;
    await terminal.waitForScreen((screen) => times(screen) === 2, "the code, twice");
    await terminal.exit();
  });

  test("/tap-doctor says that all is well, and names the fault of a tool", async (t) => {
    const rig = await startTap(t, () => say("hello"));
    const terminal = await rig.interactive({ rows: 70, cols: 110 });
    await rig.provide(TOOLS, { name: "echo" });
    await terminal.submit("/tap-doctor ping");
    await terminal.waitForScreen(/the model has ping|Tools work/);
    await terminal.submit("/tap-doctor pong");
    await terminal.waitForScreen(/No provider.*"pong"|TOOL_NOT_DECLARED/);
    await terminal.exit();
  });

  test("/tap-features switches a feature, and /tap-tools adds a group of tools", async (t) => {
    /** @type {boolean[]} */
    const offered = [];
    const rig = await startTap(t, (request) => {
      offered.push(toolNames(request).includes("tap_query_records"));
      return say(`answer ${offered.length}`);
    });
    const terminal = await rig.interactive({ rows: 70, cols: 110 });
    await terminal.submit("/tap-features");
    await terminal.waitForScreen(/builtin:records builtin, on/);
    await terminal.submit("/tap-features disable builtin:records");
    await terminal.waitForScreen(/builtin:records is disabled, as .*config\.json\s+says/);
    await terminal.submit("/tap-tools records");
    await terminal.waitForScreen(/There is no group "records"/);
    await terminal.submit("/tap-features enable builtin:records");
    await terminal.waitForScreen(/builtin:records is on/);
    await terminal.submit("/tap-tools");
    await terminal.waitForScreen(/Groups of tools:[^]*- records: Reads/);
    await terminal.prompt("before", /answer 1/);
    await terminal.submit("/tap-tools records");
    await terminal.waitForScreen(/The tools of records are here now: tap_query_records/);
    await terminal.prompt("after", /answer 2/);
    assert.deepEqual(offered, [false, true]);
    await terminal.exit();
  });
});
