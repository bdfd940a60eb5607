// How the extension lives in its process: imported twice, without Node, together with a second version.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, symlink } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { REPO_ROOT } from "../support/cli.mjs";
import { ScriptedModel, callTool, say, toolNames } from "../support/model.mjs";
import {
  copyOfProject,
  answering,
  onceOffered,
  resultOf,
  startTap,
  steps,
} from "../support/tap.mjs";
import { waitFor } from "../support/wait.mjs";

const TWICE = fileURLToPath(new URL("../support/fixtures/twice-extension", import.meta.url));

/** A PATH with git and no Node. */
async function pathWithoutNode(rig) {
  const folder = path.join(rig.cli.home, "bin");
  await mkdir(folder);
  for (const name of ["git", "sh", "bash"]) {
    await symlink(
      execFileSync("which", [name], { encoding: "utf8" }).trim(),
      path.join(folder, name),
    );
  }
  return folder;
}

/** Puts a second copy of the project in the place of the installed one, as an upgrade does. */
async function reinstall(rig, project) {
  const folder = rig.cli.extensionFolder;
  for (const name of await readdir(project)) {
    await rm(path.join(folder, name), { force: true });
    await symlink(path.join(project, name), path.join(folder, name));
  }
}

const callOnce = (rig, tool, pids) =>
  steps([
    async () => {
      for (const { pid } of await rig.cli.extensionProcesses()) pids.add(pid);
      await rig.provide({ [tool]: answering(`${tool} answer`) }, { name: "server" });
      return callTool("tap_status");
    },
    onceOffered(tool),
    say("bye"),
  ]);

describe("the extension's process", { concurrency: 1 }, () => {
  // shows: P-SYNC-8
  test("imported twice in one process: a single runtime and link, joined again", async (t) => {
    const rig = await startTap(t, undefined, {
      extension: TWICE,
      env: { TAP_REAL_EXTENSION: REPO_ROOT },
    });
    const pids = new Set();
    rig.model.script(callOnce(rig, "ping", pids));
    await rig.run();
    assert.equal(rig.result("ping"), "ping answer");
    assert.equal(toolNames(rig.model.last).filter((name) => name === "ping").length, 1);
    assert.equal(pids.size, 1);
    assert.equal(await rig.countInLog("extension.log", /linked to gateway/), 1);
    assert.equal(await rig.countInLog("host.log", /registered/), 1);
    assert.deepEqual(await rig.timeline(), ["tap: server is here: ping"]);
  });

  test("where there is no Node no gateway starts, and a line says so", async (t) => {
    const project = await copyOfProject(t);
    await rm(path.join(project, "build", "node-path.json"), { force: true });
    const rig = await startTap(t, undefined, { extension: project });
    rig.cli.env.PATH = await pathWithoutNode(rig);
    rig.model.script(steps([say("bye")]));
    await rig.run();
    assert.deepEqual(await rig.cli.gatewayHosts(), []);
    const lines = await rig.timeline();
    assert.equal(lines.length, 1, lines.join("\n"));
    assert.match(lines[0], /no Node\.js of at least [\d.]+ was found.*TAP_NODE/);
    await rig.cli.allGone();
    assert.ok(!existsSync(rig.cli.tokenFile));
  });

  test("TAP_NODE names the Node of the host if PATH has no Node", async (t) => {
    const project = await copyOfProject(t);
    await rm(path.join(project, "build", "node-path.json"), { force: true });
    const rig = await startTap(t, undefined, {
      extension: project,
      env: { TAP_NODE: process.execPath },
    });
    rig.cli.env.PATH = await pathWithoutNode(rig);
    rig.model.script(
      steps([
        async () => {
          const host = await rig.cli.gatewayHost();
          assert.equal(host.cmdline[0], process.execPath);
          return say("bye");
        },
      ]),
    );
    await rig.run();
    assert.deepEqual(await rig.timeline(), []);
  });
});

describe("two versions", { concurrency: 1 }, () => {
  /** A session of the first version with a provider that comes back, then a session of the second version. */
  async function versions(t, first, second) {
    const rig = await startTap(t, undefined, {
      extension: await copyOfProject(t, first),
      extensionMode: "entries",
    });
    const other = await ScriptedModel.start();
    t.after(() => other.close());
    /** @type {{name: string, session?: string}} */
    const served = { name: "server" };
    const { bindings } = rig.keepProviding({ ping: answering("pong") }, served);
    let over = false;
    rig.model.script(steps([onceOffered("ping"), () => over && callTool("ping"), say("bye")]));
    const older = rig.cli.startPrompt("first");
    await waitFor(() => rig.model.last && resultOf(rig.model.last, "ping"), {
      what: () => rig.report(),
    });
    served.session = bindings[0].sessionId; // it comes back to this session, whichever registers first
    const host = await rig.cli.gatewayHost();
    await reinstall(rig, await copyOfProject(t, second));
    const startSecond = (script) => {
      other.script(script);
      return rig.cli.startPrompt("second", { env: { COPILOT_PROVIDER_BASE_URL: other.url } });
    };
    const finish = async () => {
      over = true;
      await rig.ended(older);
    };
    return { rig, other, bindings, host, startSecond, finish };
  }

  // shows: P-HOST-6
  test("a newer extension takes over from an older host; sessions and providers follow", async (t) => {
    const { rig, other, bindings, host, startSecond, finish } = await versions(
      t,
      "0.0.1",
      "99.0.0",
    );
    const started = startSecond(
      steps([
        async () => {
          await waitFor(
            async () => (await rig.countInLog("host.log", /gateway 99\.0\.0 on port/)) === 1,
            { what: () => rig.report() },
          );
          await waitFor(
            async () => (await rig.countInLog("extension.log", /linked to gateway 99\.0\.0/)) >= 2,
            { what: () => rig.report() },
          );
          await waitFor(() => bindings.length >= 2, { what: () => rig.report() });
          return say("bye");
        },
      ]),
    );
    await rig.ended(started);
    const next = await rig.cli.gatewayHost();
    assert.notEqual(next.pid, host.pid);
    await finish();
    assert.equal(rig.result("ping"), "pong");
    assert.deepEqual(other.errors, []);
    assert.equal(bindings[0].closed.code, 1012);
    // The older sessions did not start their own kind again in between.
    assert.equal(
      await rig.countInLog("host.log", /gateway 0\.0\.1 on port/),
      1,
      await rig.report(),
    );
    const lines = await rig.timeline();
    assert.equal(
      lines.filter((line) =>
        /the gateway is tap 99\.0\.0, this session still runs 0\.0\.1/.test(line),
      ).length,
      1,
      lines.join("\n"),
    );
    assert.equal(lines.filter((line) => /server is here/.test(line)).length, 1, lines.join("\n"));
  });

  test("an older extension uses the newer host and says so", async (t) => {
    const { rig, host, startSecond, finish } = await versions(t, "99.0.0", "0.0.1");
    await rig.ended(startSecond([callTool("tap_status"), say("bye")]));
    assert.equal((await rig.cli.gatewayHost()).pid, host.pid);
    await finish();
    const lines = await rig.timeline();
    assert.equal(
      lines.filter((line) =>
        /the gateway is tap 99\.0\.0, this session still runs 0\.0\.1/.test(line),
      ).length,
      1,
      lines.join("\n"),
    );
  });
});
