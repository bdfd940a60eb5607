// The shell that ends process groups once the process that started them is gone (js/process/reaper.mjs).

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { unregisterGroup, registerGroup } from "../../../js/process/reaper.mjs";
import { isAlive } from "../../support/processes.mjs";
import { PATIENCE_MS, waitFor } from "../../support/wait.mjs";

const SCRIPT = fileURLToPath(new URL("../../../js/process/reaper.sh", import.meta.url));
const linux = { skip: process.platform !== "linux" && "looks into /proc" };

/** A process that leads a group of its own. @param {import("node:test").TestContext} t @returns {number} */
function leader(t) {
  const script = "setInterval(() => {}, 1000)";
  const child = spawn(process.execPath, ["-e", script], { detached: true, stdio: "ignore" });
  t.after(() => child.kill("SIGKILL"));
  return Number(child.pid);
}

/** @param {string} pid @param {string} file */
const procText = (pid, file) => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
};

/** The shells of this process. @returns {number[]} */
const shells = () =>
  readdirSync("/proc")
    .filter((pid) => procText(pid, "cmdline").includes(SCRIPT))
    .filter((pid) => new RegExp(`^PPid:\\t${process.pid}$`, "m").test(procText(pid, "status")))
    .map(Number);

/** @param {number} pid */
const gone = (pid) => waitFor(async () => !(await isAlive(pid)), { what: `the end of ${pid}` });

/** With one group. @param {import("node:test").TestContext} t */
async function trusted(t) {
  const group = leader(t);
  registerGroup(group);
  const shell = await waitFor(() => shells()[0], { what: "the shell" });
  t.after(async () => {
    unregisterGroup(group);
    await gone(shell);
  });
  return { shell, group };
}

test("it runs while there is a group, and no longer", linux, async (t) => {
  assert.deepEqual(shells(), []);
  const [one, other] = [leader(t), leader(t)];
  registerGroup(one);
  registerGroup(other);
  await waitFor(() => shells().length === 1, { what: "one shell for both" });
  unregisterGroup(one);
  const [shell] = shells();
  assert.equal(await isAlive(shell), true);
  unregisterGroup(other);
  await gone(shell);
  assert.equal(await isAlive(one), true, "it is no business of the shell's any more");
  assert.equal(await isAlive(other), true);
});

test(
  "has none of the environment, and is no member of the process's own group",
  linux,
  async (t) => {
    const one = leader(t);
    registerGroup(one);
    t.after(() => unregisterGroup(one));
    const shell = await waitFor(() => shells()[0], { what: "the shell" });
    const environment = procText(String(shell), "environ").split("\0").filter(Boolean);
    assert.deepEqual(
      environment.filter((entry) => !/^(PATH|PWD|OLDPWD|SHLVL|_)=/.test(entry)),
      [],
    );
    const group = execFileSync("ps", ["-o", "pgid=", "-p", String(shell)], { encoding: "utf8" });
    assert.equal(Number(group), shell);
  },
);

test("one that is killed is replaced", linux, async (t) => {
  const { shell, group } = await trusted(t);
  process.kill(shell, "SIGKILL");
  const next = await waitFor(() => shells().find((pid) => pid !== shell), {
    what: "another shell",
  });
  unregisterGroup(group);
  await gone(next);
});

/** The script's actions once its starter is gone. @param {string} told @param {number} tenths */
const run = (told, tenths) =>
  execFileSync("/bin/sh", [SCRIPT, String(tenths)], { input: told, timeout: PATIENCE_MS });

test(
  "at the end of its input it ends the groups that are left, and those alone",
  linux,
  async (t) => {
    const [left, over, again] = [leader(t), leader(t), leader(t)];
    run(`+ ${left}\n+ ${over}\n+ ${again}\n- ${over}\n- ${again}\n+ ${again}\n`, 20);
    await gone(left);
    await gone(again);
    assert.equal(await isAlive(over), true);
  },
);

test("a group that is gone is no reason to wait", linux, () => {
  run("+ 4194305\n", 36_000); // above the greatest pid that Linux gives; an hour is not waited for
});
