// The doctor's findings about plans: git, what waits and why, and what lies in worktrees.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { gate, setUp } from "../cli/plan-rig.mjs";
import { fakeProgram, Place, staged } from "./doctor-place.mjs";

const NODES = [{ id: "a", work: "true", expectsNoChanges: true }];

/** Plans in a home, and a doctor who looks at it. @param {import("node:test").TestContext} t @param {object} [session] more of its registration */
async function planned(t, session = {}) {
  const home = fs.realpathSync(temporaryFolder(t));
  const rig = await setUp(t, { home, processes: true });
  const joined = await rig.host.session(t, { cwd: rig.repo, cliPid: 4711, ...session });
  const at = await Place.create(t, { home, port: rig.host.files.port });
  /** The finding, once the doctor has it. @param {string} code */
  const found = (code) =>
    waitFor(async () => (await at.diagnose()).warnings.find((warning) => warning.code === code), {
      what: () => `${code}\n${rig.host.log}`,
    });
  const check = async (/** @type {string} */ id) =>
    (await at.diagnose()).value.checks.find((/** @type {any} */ one) => one.id === id);
  return { ...rig, session: joined, doctor: at, found, check };
}

describe("git", () => {
  test("that is missing is found, and nothing else fails for it", async (t) => {
    const at = await staged(t);
    const folder = temporaryFolder(t);
    fs.symlinkSync(process.execPath, path.join(folder, "node"));
    const bare = await at.diagnose([], { PATH: [at.bin, folder].join(path.delimiter) });
    const missing = bare.warnings.find(({ code }) => code === "GIT_MISSING");
    assert.match(missing?.problem ?? bare.text, /git cannot be started .*ENOENT/);
    assert.equal(bare.exit, 0);
    fakeProgram(at.bin, "git", 'echo "git version 2.30.2 (Apple Git-1)"');
    assert.equal((await at.diagnose()).warned.includes("GIT_MISSING"), false);
  });
});

describe("the sandbox", () => {
  const CARELESS = 'while [ "$1" != -- ] && [ $# -gt 0 ]; do shift; done; shift; exec "$@"';
  const find = async (/** @type {Place} */ at) =>
    (await at.diagnose()).value.checks.find((/** @type {any} */ { id }) => id === "sandbox");

  test("that works is shown with its program", async (t) => {
    const { status, seen } = await find(await staged(t));
    assert.equal(status, "passed");
    assert.match(seen, /^bubblewrap \d+\.\d+.*, \/.*bwrap$/);
  });

  for (const [code, script] of /** @type {const} */ ([
    ["NO_SANDBOX", 'echo "bwrap: no permissions" >&2; exit 1'],
    ["SANDBOX_BROKEN", CARELESS],
  ])) {
    test(`that does not is a warning: ${code}`, async (t) => {
      const at = await staged(t);
      fakeProgram(at.bin, "bwrap", script);
      const { exit, warnings } = await at.diagnose();
      const found = warnings.find((warning) => warning.code === code);
      assert.ok(found && found.fix !== "", JSON.stringify(warnings));
      assert.equal(exit, 0);
    });
  }
});

test("a tool in a group that the session has not opened is told with what opens it", async (t) => {
  const { session, doctor } = await planned(t);
  const asked = () => doctor.diagnose(["create_copilot_plan"]);
  const { code, first } = await asked();
  assert.equal(code, "TOOL_GROUP_CLOSED");
  assert.match(first.problem, /in the tool group "plans", which is not open in session "/);
  assert.match(first.problem, /\/tap-tools plans /);
  // As the fix says: opened.
  await session.call("tap_tools", { group: "plans" });
  await waitFor(async () => (await asked()).code === undefined);
});

describe("plans", () => {
  test("that wait are named with why, and what goes on with them", async (t) => {
    const { detached, found, plan, check, doctor } = await planned(t);
    assert.equal((await check("plans")).seen, "not needed yet");
    const id = await detached({ name: "mine", startPaused: true, nodes: NODES });
    const { problem, command } = await found("PLANS_WAIT");
    assert.match(problem, new RegExp(`${id} \\(mine\\): it is paused`));
    assert.match(command ?? "", new RegExp(` plan resume ${id}`));
    await plan("resume", id);
    await waitFor(async () => (await check("plans")).status === "passed");
    assert.equal((await check("plans")).seen, "1 plan");
    assert.match((await doctor.read()).out, /All is well|Tools work/);
  });

  test("whose journal cannot be written are told", async (t) => {
    const { detached, found, plan, host } = await planned(t);
    const { wait } = gate(t);
    const id = await detached({ name: "x", nodes: [{ id: "a", work: wait }] });
    const control = await openControl(host.files);
    t.after(() => control.close());
    const { pid } = (await control.request("features.report", {})).host;
    const limit = (/** @type {string} */ size) =>
      spawnSync("prlimit", ["--pid", String(pid), `--fsize=${size}`]).status === 0;
    if (!limit("1024:unlimited")) return t.skip("this system has no prlimit");
    const paused = plan("pause", id);
    const { problem } = await found("HOME_UNWRITABLE");
    assert.match(problem, /All plans have stopped, because their journal cannot be written: /);
    assert.match((await paused).err, /the journal of plans cannot be written/);
    limit("unlimited:unlimited");
    // The first request may have been carried out meanwhile.
    await waitFor(async () => {
      const { out, err } = await plan("pause", id);
      return /: paused|paused already/.test(out + err);
    });
  });
});

describe("worktrees and agents of plans", () => {
  test("folders of no plan are found, and the command removes them", async (t) => {
    const { detached, found, repo, check, doctor } = await planned(t);
    const { wait } = gate(t);
    await detached({ name: "x", nodes: [{ id: "a", work: wait }] });
    await waitFor(async () => /^1 worktree, /.test((await check("plan-worktrees")).seen));
    const lost = path.join(repo, ".worktrees", "lost");
    fs.mkdirSync(lost);
    fs.writeFileSync(path.join(lost, "mine.txt"), "mine\n");
    const { problem, command } = await found("PLAN_ORPHANS");
    assert.ok(problem.includes(`1 in ${repo}`), problem);
    await doctor.do(`${command} --yes`);
    assert.equal(fs.existsSync(lost), false);
    assert.equal((await check("plan-worktrees")).status, "passed");
  });

  test("a CLI that is not there any more is found", async (t) => {
    const runtime = { execPath: "/gone/copilot", sdkPath: "/gone/sdk" };
    const { detached, found } = await planned(t, { runtime });
    await detached({ name: "x", startPaused: true, nodes: NODES });
    assert.match(
      (await found("WORKERS_CLI_GONE")).problem,
      /\/gone\/copilot, which a session has named, does not exist/,
    );
  });
});
