// The doctor with the real CLI: a session that is well, and a tool that the CLI has itself.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { callTool, say } from "../support/model.mjs";
import { REPO_ROOT } from "../support/cli.mjs";
import { answering, copyOfProject, onceOffered, startTap, steps } from "../support/tap.mjs";

const CLI = path.join(REPO_ROOT, "js", "cli", "cli.mjs");

/**
 * The doctor in the CLI's folder and environment.
 * @param {import("../support/tap.mjs").TapRig} rig @param {string} tool
 * @returns {Promise<any>} with the findings that it has, warnings included
 */
function diagnose(rig, tool) {
  const folders = [path.join(REPO_ROOT, "node_modules", ".bin"), process.env.PATH];
  const env = rig.cli.environment({ PATH: folders.join(path.delimiter) });
  const options = { cwd: rig.cli.workFolder, env: /** @type {any} */ (env) };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [CLI, "doctor", tool, "--json"], options, (error, out, err) => {
      if (!out) return reject(error ?? new Error(err));
      const { well, checks } = JSON.parse(out);
      const findings = checks.flatMap(({ finding }) => finding ?? []);
      resolve({ well, findings, codes: findings.map(({ code }) => code), checks });
    });
  });
}

/** The gateway ends soon after its last session. */
const QUICK_END = { TAP_GRACE_MS: "100", TAP_LINGER_MS: "500", TAP_SHUTDOWN_MS: "500" };

describe("copilot-tap doctor", { concurrency: 1 }, () => {
  test("says that all is well of a tool that the model has, and why it lacks a second tool", async (t) => {
    const rig = await startTap(t);
    /** @type {Record<string, any>} */
    const found = {};
    rig.model.script(
      steps([
        async () => {
          await rig.provide({ roll_die: answering("4") }, { name: "die" });
          return callTool("tap_status");
        },
        onceOffered("roll_die"),
        async () => {
          found.well = await diagnose(rig, "roll_die");
          await assert.rejects(rig.provide({ bash: answering("mine") }, { name: "shell" }), {
            code: "TOOL_CONFLICT",
          });
          found.bash = await diagnose(rig, "bash");
          return say("bye");
        },
      ]),
    );
    await rig.run();
    assert.equal(rig.result("roll_die"), "4");
    assert.deepEqual(found.well.codes, []);
    assert.equal(found.well.well, true);
    assert.deepEqual(found.bash.codes, ["TOOL_REFUSED"]);
    assert.match(found.bash.findings[0].problem, /"bash" is a tool of the CLI itself/);
  });

  test("names the state of a home of the real CLI: no flag, no start, no session", async (t) => {
    const rig = await startTap(t, [say("bye")], { env: QUICK_END });
    assert.deepEqual((await diagnose(rig, "roll_die")).codes, ["EXPERIMENTAL_OFF"]);
    await rig.run(); // with --experimental, which the CLI keeps
    await rig.cli.allGone();
    const { codes, checks } = await diagnose(rig, "roll_die");
    assert.deepEqual(codes, ["NO_SESSION"]);
    assert.equal(checks.find(({ id }) => id === "start").status, "passed");
  });

  for (const [settings, code] of /** @type {const} */ ([
    [{ extensions: { mode: "disabled" } }, "EXTENSION_DISABLED"],
    [{ extensions: { disabledExtensions: ["user:tap"] } }, "EXTENSION_DISABLED"],
  ])) {
    test(`says ${code} where the real CLI does not start tap for it`, async (t) => {
      const rig = await startTap(t, [say("bye")], {
        settings: { experimental: true, ...settings },
        env: QUICK_END,
      });
      await rig.run();
      assert.equal(await rig.log("extension.log"), "");
      assert.deepEqual((await diagnose(rig, "roll_die")).codes, [code]);
    });
  }

  test("repeats the extension's error to the real CLI when it could not start", async (t) => {
    const program = await copyOfProject(t);
    const planted = 'throw new Error("a planted fault");\n';
    await writeFile(path.join(program, "js", "extension", "runtime.mjs"), planted);
    const rig = await startTap(t, [say("bye")], { extension: program, extensionMode: "link" });
    await rig.run();
    const { codes, findings } = await diagnose(rig, "roll_die");
    assert.deepEqual(codes, ["EXTENSION_FAILED"]);
    assert.match(findings.at(-1).problem, /ended at once: a planted fault/);
  });
});
