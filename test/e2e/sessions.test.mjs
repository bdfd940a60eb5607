// Several sessions on the same gateway.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { ScriptedModel, callTool, say, toolNames } from "../support/model.mjs";
import { answering, onceOffered, resultOf, startTap, steps } from "../support/tap.mjs";
import { deferred, waitFor } from "../support/wait.mjs";

/** A second git folder next to the first. */
function secondFolder(rig) {
  const folder = path.join(path.dirname(rig.cli.workFolder), "other");
  mkdirSync(folder);
  execFileSync("git", ["init", "-q", "-b", "side"], { cwd: folder });
  return folder;
}

/** The model of a second CLI. */
async function secondModel(t, script) {
  const model = await ScriptedModel.start(script);
  t.after(() => model.close());
  return model;
}

describe("sessions", { concurrency: 1 }, () => {
  // shows: P-SESSION-4, P-SESSION-6, P-SESSION-9, P-HOST-1
  test("two CLIs share a host, each sees only its own providers' tools, and the list follows", async (t) => {
    const hold = deferred();
    const rig = await startTap(t, undefined, { env: { TAP_LINGER_MS: "2000" } });
    const other = await secondModel(t);
    const folder = secondFolder(rig);
    const wait = async () => {
      await hold.promise;
      return callTool("tap_status");
    };
    rig.model.script(steps([wait, onceOffered("mine"), say("bye")]));
    other.script(steps([wait, onceOffered("yours"), say("bye")]));

    const first = rig.cli.startPrompt("first job");
    await rig.model.waitForRequest();
    const { provider: watcher, sessions } = await rig.connect();
    assert.equal(sessions.active.length, 1);

    const second = rig.cli.startPrompt("second job", {
      cwd: folder,
      env: { COPILOT_PROVIDER_BASE_URL: other.url },
    });
    await other.waitForRequest();
    // Behind its folder and branch a label has the beginning of the prompt.
    const titled = (active) =>
      active
        .map(({ label }) => / · "(.+)"$/.exec(label)?.[1])
        .sort()
        .join() === "first job,second job";
    const listed = await watcher.waitFor(
      ({ type, active }) => type === "sessions.updated" && titled(active),
    );
    const byCwd = Object.fromEntries(listed.active.map((session) => [session.cwd, session]));
    const mine = byCwd[realpathSync(rig.cli.workFolder)];
    const yours = byCwd[realpathSync(folder)];
    assert.match(mine.label, / · "first job"$/);
    assert.equal(yours.label, 'other (side) · "second job"');
    assert.equal(mine.id, sessions.active[0].id);
    assert.equal((await rig.cli.gatewayHosts()).length, 1);

    await rig.provide({ mine: answering("for the first") }, { name: "p1", session: mine.id });
    await rig.provide({ yours: answering("for the second") }, { name: "p2", session: yours.id });
    hold.resolve();
    await Promise.all([rig.ended(first), rig.ended(second)]);
    assert.equal(resultOf(rig.model.last, "mine"), "for the first");
    assert.equal(resultOf(other.last, "yours"), "for the second");
    assert.ok(rig.model.requests.every((request) => !toolNames(request).includes("yours")));
    assert.ok(other.requests.every((request) => !toolNames(request).includes("mine")));
    await watcher.waitFor(({ type, active }) => type === "sessions.updated" && active.length === 0);
    assert.deepEqual(other.errors, []);
  });

  // shows: P-HOST-1
  test("two CLIs that start at once elect a single host, and both are served", async (t) => {
    const rig = await startTap(t, steps([onceOffered("shared"), say("bye")]));
    const other = await secondModel(t, steps([onceOffered("shared"), say("bye")]));
    const runs = [
      rig.cli.startPrompt("go"),
      rig.cli.startPrompt("go", { env: { COPILOT_PROVIDER_BASE_URL: other.url } }),
    ];
    const { provider, sessions } = await waitFor(() => rig.connect());
    const ids = new Set(sessions.active.map(({ id }) => id));
    await waitFor(
      () => {
        const latest = provider.received.findLast(({ active }) => active)?.active ?? [];
        for (const { id } of latest) ids.add(id);
        return ids.size === 2;
      },
      { what: () => rig.report() },
    );
    await rig.cli.gatewayHost(); // the host that was not elected leaves
    await Promise.all(
      [...ids].map((session) =>
        rig.provide({ shared: answering(`in ${session}`) }, { session, name: "p" }),
      ),
    );
    await Promise.all(runs.map((run) => rig.ended(run)));
    assert.deepEqual(
      new Set([rig.result("shared"), resultOf(other.last, "shared")]),
      new Set([...ids].map((id) => `in ${id}`)),
    );
    assert.equal(await rig.countInLog("host.log", /gateway \S+ on port/), 1);
  });
});
