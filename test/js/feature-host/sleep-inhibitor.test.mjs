// The machine stays awake while plans run: one program for all of them. It is a script here, which says when it began
// and when it ended, and otherwise does what the system's own does: it runs what it was given.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { SleepInhibitor } from "../../../js/feature-host/sleep-inhibitor.mjs";
import { isAlive } from "../../../js/lib/process-liveness.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { gate, setUp } from "../cli/plan-rig.mjs";
import { openControl } from "../../../js/link/control.mjs";

/** @param {import("node:test").TestContext} t @param {string} [fails] what it says before it ends at once */
function program(t, fails = "") {
  const folder = temporaryFolder(t);
  const log = path.join(folder, "log");
  const script = fails
    ? `echo begun $$ >> ${log}; echo '${fails}' >&2; exit 1`
    : `echo begun $$ "$@" >> ${log}
trap 'echo ended $$ >> ${log}; exit' TERM
while [ "\${1#--}" != "$1" ]; do shift; done
"$@"
echo ended $$ >> ${log}`;
  const file = path.join(folder, "systemd-inhibit");
  fs.writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  // A file that the shell has opened and not written yet has no line.
  const lines = () =>
    (fs.existsSync(log) ? fs.readFileSync(log, "utf8") : "").split("\n").filter(Boolean);
  return { PATH: `${folder}${path.delimiter}${process.env.PATH}`, lines };
}

const words = (/** @type {string[]} */ lines) => lines.map((line) => line.split(" ")[0]);
const onLinux = { skip: process.platform !== "linux" && "the program of Linux" };

describe("awake", onLinux, () => {
  test("one program for two plans, until the second has ended; another for a later one", async (t) => {
    const { PATH, lines } = program(t);
    const { plan, file, detached } = await setUp(t, { env: { PATH } });
    const gates = [gate(t), gate(t)];
    const ids = [];
    for (const { wait } of gates) {
      const nodes = [{ id: "a", work: wait, expectsNoChanges: true }];
      ids.push(await detached({ name: "x", nodes }));
    }
    await waitFor(() => lines().length > 0);
    assert.match(lines()[0], /--what=sleep:idle --mode=block --who=copilot-tap --why=.* cat$/);
    const ended = (/** @type {string} */ id) => async () =>
      / succeeded\n/.test((await plan("show", id)).out);
    gates[0].open();
    await waitFor(ended(ids[0]));
    assert.deepEqual(words(lines()), ["begun"]);
    gates[1].open();
    await waitFor(ended(ids[1]));
    await waitFor(() => lines().length === 2, { what: () => lines().join() });
    const nodes = [{ id: "a", work: "true", expectsNoChanges: true }];
    assert.equal((await plan("run", file({ name: "x", nodes }))).code, 0);
    await waitFor(() => lines().length === 4, { what: () => lines().join() });
    assert.deepEqual(words(lines()), ["begun", "ended", "begun", "ended"]);
  });

  test("it ends with a feature host that is killed", async (t) => {
    const { PATH, lines } = program(t);
    const { detached, host } = await setUp(t, { env: { PATH }, processes: true });
    const { wait } = gate(t);
    await detached({ name: "x", nodes: [{ id: "a", work: wait }] });
    await waitFor(() => lines().length > 0);
    const pid = Number(lines()[0].split(" ")[1]);
    assert.ok(isAlive(pid));
    const control = await openControl(host.files);
    t.after(() => control.close());
    process.kill((await control.request("features.report", {})).host.pid, "SIGKILL");
    await waitFor(() => !isAlive(pid));
  });

  test("one that is not permitted is told once, and plans run all the same", async (t) => {
    const { PATH, lines } = program(t, "Access denied");
    const { plan, file, host, repo } = await setUp(t, { env: { PATH } });
    const session = await host.session(t, { cwd: repo, cliPid: 4711 });
    const told = () =>
      session.events.filter(({ type, text }) => type === "timeline" && /sleep/.test(text));
    const nodes = [{ id: "a", work: "true", expectsNoChanges: true }];
    for (let i = 0; i < 2; ++i) {
      assert.equal((await plan("run", file({ name: "x", nodes }))).code, 0);
    }
    await waitFor(() => told().length > 0, { what: () => JSON.stringify(session.events) });
    assert.match(told()[0].text, /may go to sleep .*: systemd-inhibit ended with 1: Access denied/);
    assert.deepEqual([told().length, lines().length], [1, 1]);
  });

  test("one that is missing is told once", async (t) => {
    const env = { PATH: temporaryFolder(t) };
    /** @type {string[]} */
    const notes = [];
    const awake = new SleepInhibitor((text) => notes.push(text), env);
    awake.hold("a");
    await waitFor(() => notes.length > 0);
    awake.hold("b");
    awake.release("a");
    await awake.end();
    assert.deepEqual(notes, ["there is no systemd-inhibit"]);
    new SleepInhibitor((text) => notes.push(text), env, "plan9").hold("a");
    assert.match(notes[1], /plan9/);
  });
});
