// The parts of an agent's wall that need no CLI: its configuration, the program in front of bubblewrap, its gate.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { FileGate } from "../../../js/agents/file-gate.mjs";
import {
  closeWall,
  formatWallNotice,
  hasForeignInstructions,
  installShim,
  openWall,
  toSandboxConfig,
} from "../../../js/agents/sandbox.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** @param {import("node:test").TestContext} t @param {string} [name] of the worktree */
function makePlace(t, name = "a tree of 'one'") {
  const root = fs.realpathSync(temporaryFolder(t));
  const [checkout, server] = [path.join(root, "repo"), path.join(root, "server")];
  const common = path.join(checkout, ".git");
  const cwd = path.join(checkout, ".worktrees", name);
  const all = ["shared", "library", "package", "output", "bin"].map((one) => path.join(root, one));
  for (const one of [...all, server, common, cwd]) fs.mkdirSync(one, { recursive: true });
  const [shared, library, packageFolder, output, bin] = all;
  const repository = { checkout, common, admin: path.join(common, "worktrees", "one") };
  /** @type {import("../../../js/process/sandbox.mjs").Policy} */
  const policy = {
    ...{ cwd, repository, writable: [shared], readable: [library], caches: [], hosts: [] },
    sandbox: "on",
  };
  const session = { sessionId: "session", output, packageFolder, env: { PATH: process.env.PATH } };
  return { root, server, cwd, checkout, common, bin, policy, session, shared, library };
}

/** @param {ReturnType<typeof makePlace>} place */
function open({ server, policy, session }) {
  const wall = openWall(server, policy, session);
  assert.ok(wall);
  return wall;
}

describe("the CLI's configuration", () => {
  test("names what is writable and readable, and nothing else", (t) => {
    const place = makePlace(t);
    const wall = open(place);
    const config = toSandboxConfig(wall);
    const { readwritePaths, readonlyPaths } = config.userPolicy.filesystem;
    assert.deepEqual(readwritePaths, [place.cwd, place.shared, wall.temporary]);
    const { output, packageFolder } = place.session;
    for (const one of [place.library, place.checkout, place.common, output, packageFolder, "/usr"])
      assert.ok(readonlyPaths.includes(one), one);
    assert.ok(!readonlyPaths.includes("/") && !readonlyPaths.includes(place.root));
    assert.deepEqual(
      [config.enabled, config.addCurrentWorkingDirectory, config.allowDevToolAccess],
      [true, false, false],
    );
    assert.equal(config.allowBypass, false);
  });

  test("leaves the network to the wall, also for named hosts", (t) => {
    const wall = open(makePlace(t));
    const network = (/** @type {any} */ hosts) =>
      toSandboxConfig({ ...wall, policy: { ...wall.policy, hosts } }).userPolicy.network;
    const none = { allowOutbound: false, allowLocalNetwork: false };
    assert.deepEqual([[], ["*.example.com"], "*"].map(network), [none, none, none]);
  });

  test("the agent is told where it works, and whether it commits", (t) => {
    const place = makePlace(t);
    const wall = open(place);
    const lines = formatWallNotice(wall).split("\n");
    assert.equal(lines.length, 5);
    assert.ok(lines[0].includes(place.cwd) && lines[2].includes(place.shared));
    assert.match(lines[1], /do not commit/);
    const repository = { ...place.policy.repository, own: "/own" };
    const own = { ...wall, policy: { ...wall.policy, repository } };
    assert.match(formatWallNotice(own), /HEAD is detached/);
  });

  test("instructions that are links out of the worktree are not for the CLI", (t) => {
    const { root, cwd } = makePlace(t);
    fs.writeFileSync(path.join(root, "secret"), "");
    fs.writeFileSync(path.join(cwd, "CLAUDE.md"), "");
    fs.symlinkSync("CLAUDE.md", path.join(cwd, "AGENTS.md"));
    assert.equal(hasForeignInstructions(cwd), false);
    const rules = path.join(cwd, ".github", "instructions", "deep");
    fs.mkdirSync(rules, { recursive: true });
    fs.symlinkSync(path.join(root, "secret"), path.join(rules, "a.instructions.md"));
    assert.equal(hasForeignInstructions(cwd), true);
    fs.rmSync(path.join(cwd, ".github"), { recursive: true });
    fs.symlinkSync(root, path.join(cwd, ".github"));
    fs.writeFileSync(path.join(root, "copilot-instructions.md"), "");
    assert.equal(hasForeignInstructions(cwd), true);
    fs.rmSync(path.join(cwd, ".github"));
    execFileSync("mkfifo", [path.join(cwd, "GEMINI.md")]);
    assert.equal(hasForeignInstructions(cwd), true);
  });
});

describe("the program in front of bubblewrap", { skip: process.platform !== "linux" }, () => {
  /** What bubblewrap would get. @param {import("node:test").TestContext} t */
  function start(t) {
    const place = makePlace(t);
    const printer = "#!/bin/sh\nfor word do printf '%s\\n' \"$word\"; done\n";
    fs.writeFileSync(path.join(place.bin, "bwrap"), printer, { mode: 0o700 });
    const folders = installShim(place.server, `${place.bin}:/usr/bin:/bin`);
    const call = (/** @type {string[]} */ args, env = {}) => {
      const { status, stdout } = spawnSync("bwrap", args, {
        env: { PATH: folders, ...env },
        encoding: "utf8",
      });
      return { status, words: stdout.split("\n").slice(0, -1) };
    };
    return { ...place, call };
  }

  test("puts the wall of the folder after the CLI's own options", (t) => {
    const place = start(t);
    const { cwd, call, shared } = place;
    open(place);
    const before = [
      "--tmpfs",
      "/tmp",
      "--chdir",
      cwd,
      "--setenv",
      "A",
      "--",
      "--setenv",
      "B",
      "$x",
    ];
    const after = ["--", "sh", "-c", "echo \"$HOME\" '--'", "--chdir", "/"];
    const { status, words } = call([...before, ...after]);
    assert.equal(status, 0);
    assert.deepEqual(words.slice(0, before.length), before);
    assert.deepEqual(words.slice(-after.length), after);
    const wall = words.slice(before.length, -after.length);
    assert.deepEqual(wall.slice(0, 2), ["--cap-drop", "ALL"]);
    assert.ok(wall.join(" ").includes(`--bind ${shared} ${shared}`));
    assert.ok(wall.join(" ").includes(`--bind ${cwd} ${cwd}`));
    assert.ok(wall.join(" ").includes("--ro-bind-try /proc/sys /proc/sys"));
    assert.ok(wall.includes("npm_config_cache") && wall.includes("TMPDIR"));
  });

  test("puts the way to named hosts before the command", (t) => {
    const place = start(t);
    const { cwd, call } = place;
    const ways = { proxy: path.join(place.root, "ways of it", "proxy") };
    open({ ...place, session: { ...place.session, ways } });
    const { words } = call(["--chdir", cwd, "--", "sh", "-c", "--"]);
    const [node, bridge, ...more] = words.slice(words.indexOf("--") + 1);
    assert.deepEqual([node, path.basename(bridge)], [process.execPath, "host-bridge.mjs"]);
    assert.deepEqual(more, [`proxy=${ways.proxy}`, "--", "sh", "-c", "--"]);
  });

  test("runs nothing where it knows no wall, and lets an agent's own call pass", async (t) => {
    const place = start(t);
    const { cwd, call, server } = place;
    const args = ["--chdir", cwd, "--", "true"];
    assert.deepEqual(call(args), { status: 1, words: [] });
    const wall = open(place);
    assert.equal(call(args).status, 0);
    assert.deepEqual(call(["--chdir", path.dirname(cwd), "--", "true"]), { status: 1, words: [] });
    assert.deepEqual(call(["--chdir", cwd, "true"]), { status: 1, words: [] });
    assert.deepEqual(call(["--version"]).words, ["--version"]);
    assert.deepEqual(call(args, { COPILOT_AGENT_SESSION_ID: "x" }).words, args);
    assert.equal(openWall(server, place.policy, place.session), undefined, "one at a time");
    await closeWall(server, wall);
    assert.deepEqual(call(args), { status: 1, words: [] });
  });
});

describe("tools for files, and commands", () => {
  const begin = (/** @type {string} */ toolCallId, /** @type {string} */ toolName) => ({
    type: "tool.execution_start",
    data: { toolCallId, toolName },
  });
  const end = (/** @type {string} */ toolCallId) => ({
    type: "tool.execution_complete",
    data: { toolCallId },
  });
  /** @param {Promise<unknown>} promise */
  const isPending = (promise) =>
    Promise.race([
      promise.then(() => false),
      new Promise((resolve) => setTimeout(resolve, 50, true)),
    ]);

  test("a command waits for the tools of its turn", async () => {
    const gate = new FileGate("/tree", { runs: () => false });
    for (const event of [begin("1", "bash"), begin("2", "view"), begin("3", "grep")])
      gate.handleEvent(event);
    assert.deepEqual(
      ["1", "2", "3", "4"].map((id) => gate.findKind(id)),
      [undefined, "files", "search", undefined],
    );
    assert.equal(await gate.enterTool("view"), "");
    const command = gate.enterCommand("1");
    assert.equal(await isPending(command), true);
    gate.handleEvent(end("2"));
    await command;
  });

  test("a tool waits for a command, and not for one in the background", async () => {
    let background = false;
    const gate = new FileGate("/tree", { runs: () => background, waitMs: 200 });
    gate.handleEvent(begin("1", "bash"));
    await gate.enterCommand("1");
    const tool = gate.enterTool("create");
    assert.equal(await isPending(tool), true);
    gate.handleEvent(end("1"));
    assert.equal(await tool, "");
    background = true;
    assert.notEqual(await gate.enterTool("create"), "");
    assert.equal(await gate.enterTool("grep"), "");
    background = false;
    assert.equal(await gate.enterTool("create"), "");
  });
});
