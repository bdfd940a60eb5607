// A repository that brings its provider along, on the real CLI: no program runs before the user has
// allowed it, and then it runs as long as the session does.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { say } from "../support/model.mjs";
import { isAlive } from "../support/processes.mjs";
import { onceOffered, startTap, steps } from "../support/tap.mjs";
import { waitFor } from "../support/wait.mjs";

const PROVIDER = fileURLToPath(
  new URL("../support/fixtures/project-provider.mjs", import.meta.url),
);

/** Its only provider is named `name`. */
async function writeConfig(rig, name) {
  const provider = { name, command: process.execPath, args: [PROVIDER, name] };
  const file = path.join(rig.cli.workFolder, "tap.config.json");
  await writeFile(file, JSON.stringify({ providers: [provider] }));
  return file;
}

/** The timeline line that fits. @param {RegExp} pattern */
const lineOf = (rig, pattern) =>
  waitFor(async () => (await rig.timeline()).find((text) => pattern.test(text)), {
    what: () => rig.report(),
  });

/** Types the command that a timeline line proposes. @param {string} notice */
async function followNotice(rig, notice) {
  const command = /run in a terminal: (.*)$/m.exec(notice)?.[1];
  const env = { ...process.env };
  delete env.COPILOT_HOME;
  delete env.COPILOT_AGENT_SESSION_ID;
  const { stdout } = await promisify(execFile)("sh", ["-c", `${command} --yes`], { env });
  return stdout;
}

describe("project providers", { concurrency: 1 }, () => {
  // shows: P-PROJECT-1
  test("are asked about, allowed, started, called, and end with the session", async (t) => {
    const rig = await startTap(t);
    const file = await writeConfig(rig, "ci");
    rig.model.script(steps([onceOffered("ci_who"), say("bye")]));
    const started = rig.cli.startPrompt("go");
    const notice = await lineOf(rig, /needs your consent/);
    assert.ok(notice.includes(file), notice);
    assert.match(await followNotice(rig, notice), /Allowed, until one of these entries changes/);
    await rig.ended(started);
    const [, pid, session] = /^ci (\d+) for (.+)$/.exec(rig.result("ci_who")) ?? [];
    assert.ok(session, rig.result("ci_who"));
    assert.match((await rig.timeline()).join("\n"), /^tap: ci is here: ci_\w+, ci_\w+/m);
    await waitFor(async () => !(await isAlive(Number(pid))), {
      what: () => `the end of ${pid}`,
    });
  });

  // shows: P-PROJECT-1
  test("run at once in the next session, and again for each after a /clear", async (t) => {
    const rig = await startTap(t);
    await writeConfig(rig, "ci");
    const first = rig.cli.startPrompt("go");
    await followNotice(rig, await lineOf(rig, /needs your consent/));
    await rig.ended(first);

    rig.model.script(steps([onceOffered("ci_who"), say("one"), onceOffered("ci_who"), say("two")]));
    const terminal = await rig.interactive();
    await terminal.prompt("who?", /one/);
    const before = rig.result("ci_who");
    await terminal.clear();
    await terminal.prompt("who now?", /two/);
    const after = rig.result("ci_who");
    assert.match(after, /^ci \d+ for /);
    assert.notEqual(after, before);
    const pid = Number(/^ci (\d+)/.exec(before)?.[1]);
    await waitFor(async () => !(await isAlive(pid)), { what: `end of ${pid}` });
  });
});
