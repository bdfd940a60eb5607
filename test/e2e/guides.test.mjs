// The gate of docs/how-to/gate-git-push.md on the real CLI: the commands of the agent, and the answers that it reads
// instead.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { pythonForSdk } from "../../tools/setup.mjs";
import { REPO_ROOT } from "../support/cli.mjs";
import { callTool, say } from "../support/model.mjs";
import { resultOf, startTap } from "../support/tap.mjs";

const programs = {
  "gate.mjs": { command: process.execPath, env: {} },
  "gate.py": {
    command: (await pythonForSdk()) ?? "python3",
    env: { PYTHONPATH: path.join(REPO_ROOT, "sdk", "python") },
  },
};
const bash = (command) => callTool("bash", { command, description: "a push" });

describe("examples/sdk/gate with the real CLI", { concurrency: 1 }, () => {
  for (const [file, { command, env: own }] of Object.entries(programs)) {
    test(`${file}: a push waits for CI`, async (t) => {
      const rig = await startTap(t);
      const ci = path.join(rig.cli.home, "ci");
      const pushed = path.join(rig.cli.workFolder, "pushed");
      writeFileSync(ci, "red");
      const where = { COPILOT_HOME: rig.cli.home, TAP_GATEWAY_PORT: String(rig.port) };
      const env = { ...process.env, ...own, ...where, TAP_PROVIDER_TOKEN: "", CI_FILE: ci };
      const program = path.join(REPO_ROOT, "examples", "sdk", file);
      const child = spawn(command, [program], { env, stdio: "inherit" });
      t.after(() => child.kill("SIGKILL"));

      /** Harmless, and a push to the rule: repeated until the rule is in force. */
      const attempt = bash("true # git push");
      let denied;
      rig.model.script((request) => {
        const last = resultOf(request, "bash");
        if (denied)
          return last?.includes("Denied") ? bash(`touch ${pushed} # git push`) : say("bye");
        if (!last?.includes("Denied")) return attempt;
        denied = last;
        assert.ok(!existsSync(pushed));
        writeFileSync(ci, "green");
        return bash(`touch ${pushed} # git push`);
      });
      await rig.run();
      assert.equal(
        denied,
        'Denied by preToolUse hook: tap provider "ci-gate": CI is red. Repair the tests first.',
      );
      assert.ok(existsSync(pushed), "it runs once CI is green");
    });
  }
});
