// The user sees without asking that tap is ready, and which providers serve the session and which do not.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { provider } from "../../sdk/node/provider.mjs";
import { REPO_ROOT } from "../support/cli.mjs";
import { say } from "../support/model.mjs";
import { startTap } from "../support/tap.mjs";
import { deferred } from "../support/wait.mjs";

const CLI = path.join(REPO_ROOT, "js", "cli", "cli.mjs");

/** A provider of the SDK that follows the session last used. @param {import("node:test").TestContext} t @param {import("../support/tap.mjs").TapRig} rig */
async function die(t, rig) {
  const tap = provider("die", { home: rig.cli.home, port: rig.port });
  tap.tool("roll", { description: "Rolls a die." }, () => 4);
  t.after(() => tap.close());
  await tap.connect();
  return tap;
}

describe("in the terminal", { concurrency: 1 }, () => {
  test("a session says once that tap is ready, also after /clear", async (t) => {
    const rig = await startTap(t, () => say("hello"));
    const terminal = await rig.interactive();
    await terminal.waitForScreen(
      (screen) =>
        new RegExp(`tap \\d+\\.\\d+\\.\\d+ ready, port ${rig.port} \\(/tap\\)`).test(screen),
      "that tap is ready",
    );
    await terminal.clear();
    await terminal.waitForScreen(/ready, port \d+ \(\/tap\)/);
    assert.equal(terminal.screenText().split("ready, port").length, 2);
    await terminal.exit();
  });

  test("TAP_QUIET=1 leaves that line out", async (t) => {
    const rig = await startTap(t, [say("bye")], { env: { TAP_QUIET: "1" } });
    const { stdout } = await rig.run();
    assert.doesNotMatch(stdout, /ready, port/);
  });

  // shows: P-SESSION-7
  test("a session that a provider does not serve says so, and /tap-use brings it there", async (t) => {
    const [asked, hold] = [deferred(), deferred()];
    let held = false;
    const rig = await startTap(t, async () => {
      if (held) {
        asked.resolve();
        await hold.promise;
      }
      return say("bye");
    });
    const terminal = await rig.interactive({ rows: 60, cols: 120 });
    const tap = await die(t, rig);
    await terminal.waitForScreen(/tap: die is here: roll/);
    const { stdout } = await rig.run();
    assert.match(stdout, /tap: die serves another session \(.+\); \/tap-use die brings it here/);
    held = true;
    const second = rig.cli.startPrompt("hold");
    await asked.promise;
    const env = { ...process.env, COPILOT_HOME: rig.cli.home, TAP_GATEWAY_PORT: String(rig.port) };
    await promisify(execFile)(process.execPath, [CLI, "use", "die"], { env });
    const [former] = tap.sessions;
    await terminal.waitForScreen(/tap: die serves another session/);
    await terminal.submit("/tap-use die");
    await terminal.waitForScreen(
      (screen) => screen.split("die is here: roll").length === 3,
      "die, again",
    );
    assert.ok(!tap.sessions.has(former));
    hold.resolve();
    await second.done;
    await terminal.exit();
  });
});
