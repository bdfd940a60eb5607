// The supervisor's decisions, with a clock and processes that the tests play.

import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { PassThrough } from "node:stream";
import { describe, test } from "node:test";
import { encodeName, OutputLog, providerLogFile } from "../../../js/process/log.mjs";
import { delayBefore, Supervisor } from "../../../js/process/supervisor.mjs";
import { FakeSystem, settled } from "./fake-system.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { PATIENCE_MS } from "../../support/wait.mjs";

/** @param {import("node:test").TestContext} t */
function supervised(t, fields = {}, options = {}) {
  const workspace = fs.realpathSync(temporaryFolder(t));
  const logs = path.join(workspace, "logs");
  const system = new FakeSystem();
  const messages = [];
  const tokens = [];
  const served = [];
  const provider = {
    name: "ci",
    command: "run",
    args: ["-x"],
    env: {},
    restart: { policy: "on-failure" },
  };
  const supervisor = new Supervisor({
    sessionId: "s-1",
    workspace,
    port: 9400,
    logs,
    providers: [{ ...provider, ...fields }],
    env: { PATH: "/bin", SECRET: "x", TAP_LOG_LEVEL: "info", TAP_PROVIDER_TOKEN: "another's" },
    onToken: (name) => {
      tokens.push(`${name}-${tokens.length + 1}`);
      return tokens[tokens.length - 1];
    },
    onEnded: (name, token) => served.push(token),
    onMessage: (level, text) => messages.push(`${level}: ${text}`),
    system,
    ...options,
  });
  const log = () => fs.readFileSync(providerLogFile(logs, provider.name), "utf8");
  return { supervisor, system, messages, tokens, served, workspace, logs, log };
}

describe("a start", () => {
  test("has its folder, the host's environment, its own variables and its token", (t) => {
    const { supervisor, system, workspace } = supervised(t, { env: { MODE: "x" } });
    supervisor.start();
    const { command, args, options } = system.last;
    assert.deepEqual([command, args], ["run", ["-x"]]);
    assert.equal(options.cwd, workspace);
    assert.equal(options.shell, undefined);
    assert.deepEqual(options.env, {
      PATH: "/bin",
      TAP_LOG_LEVEL: "info",
      MODE: "x",
      TAP_PROVIDER_TOKEN: "ci-1",
      TAP_SESSION_ID: "s-1",
      TAP_GATEWAY_PORT: "9400",
    });
    assert.deepEqual(supervisor.status(), [
      { name: "ci", state: "running", pid: 1000, restarts: 0 },
    ]);
  });

  test("may be in a folder of the workspace, but not out of it by a link", (t) => {
    const inside = supervised(t, { cwd: "tools" });
    fs.mkdirSync(path.join(inside.workspace, "tools"));
    inside.supervisor.start();
    assert.equal(inside.system.last.options.cwd, path.join(inside.workspace, "tools"));

    const outside = supervised(t, { cwd: "tools" });
    fs.symlinkSync("/", path.join(outside.workspace, "tools"));
    outside.supervisor.start();
    assert.equal(outside.system.starts.length, 0);
    assert.equal(outside.tokens.length, 0);
    assert.match(outside.messages[0], /^error: .*"ci" cannot be started.*outside of the workspace/);
  });

  test("without a token has no effect", (t) => {
    const { supervisor, system, messages } = supervised(
      t,
      {},
      {
        onToken: () => {
          throw new Error("no more tokens");
        },
      },
    );
    supervisor.start();
    assert.equal(system.starts.length, 0);
    assert.match(messages[0], /no more tokens/);
  });

  test("of a command that is not there is told once and not tried again", async (t) => {
    const { supervisor, system, messages, tokens, served } = supervised(t);
    system.failure = "ENOENT";
    supervisor.start();
    await system.clock.advance(600_000);
    assert.equal(system.starts.length, 1);
    assert.equal(messages.length, 1);
    assert.match(messages[0], /^error: .*its command was not found/);
    assert.deepEqual(served, tokens);
  });

  test("that fails for want of processes is tried again", async (t) => {
    const { supervisor, system } = supervised(t);
    system.failure = "EAGAIN";
    supervisor.start();
    await system.clock.advance(100);
    system.failure = undefined;
    await system.clock.advance(500);
    assert.equal(system.starts.length, 2);
    assert.equal(supervisor.status()[0].state, "running");
  });
});

describe("a provider that ends", () => {
  test("is restarted after 0.5 s, then twice as long each time, up to 30 s", () => {
    assert.deepEqual(
      [1, 2, 3, 4, 5, 6, 7, 8, 100].map(delayBefore),
      [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000],
    );
  });

  test("is given up after ten restarts in a row, with one message for all of them", async (t) => {
    const { supervisor, system, messages, tokens, served } = supervised(t);
    supervisor.start();
    for (let i = 0; i < 100 && system.groups.size > 0; i += 1) {
      await system.exit(1, null, { stderr: "first\nno such module \u001b[1m\n" });
      await system.clock.advance(delayBefore(i + 1) - 1);
      assert.equal(system.groups.size, 0, "not before its time");
      await system.clock.advance(1);
    }
    assert.equal(system.starts.length, 11);
    assert.equal(new Set(tokens).size, 11);
    assert.deepEqual(served, tokens);
    assert.equal(supervisor.status()[0].state, "failed");
    assert.equal(messages.length, 2, messages.join("\n"));
    assert.match(
      messages[0],
      /^warning: tap: provider "ci" ended with exit code 1, saying "no such module \\x1b\[1m"; it is restarted in 0.5 s$/,
    );
    assert.match(messages[1], /^error: .*restarted 10 times in a row.*its log: .*ci\.log$/);
  });

  test("is given up after as many restarts as it may have", async (t) => {
    const { supervisor, system } = supervised(t, { restart: { policy: "always", maxRestarts: 1 } });
    supervisor.start();
    for (let i = 0; i < 3 && system.groups.size > 0; i += 1) {
      await system.exit(0);
      await system.clock.advance(60_000);
    }
    assert.equal(system.starts.length, 2);
  });

  test("after a good run of 60 s starts counting again; after 59 s it does not", async (t) => {
    const { supervisor, system } = supervised(t, {
      restart: { policy: "on-failure", maxRestarts: 2 },
    });
    supervisor.start();
    await system.clock.advance(59_000);
    await system.exit(1);
    await system.clock.advance(500);
    await system.clock.advance(59_000);
    await system.exit(1);
    assert.equal(supervisor.status()[0].restarts, 2);
    await system.clock.advance(1000);
    await system.clock.advance(60_000);
    await system.exit(1);
    assert.equal(supervisor.status()[0].restarts, 1);
    await system.clock.advance(500);
    assert.equal(supervisor.status()[0].state, "running");
  });

  test("well is restarted only where its policy is always", async (t) => {
    for (const [policy, starts] of /** @type {const} */ ([
      ["on-failure", 1],
      ["never", 1],
      ["always", 2],
    ])) {
      const { supervisor, system, messages } = supervised(t, { restart: { policy } });
      supervisor.start();
      await system.exit(0);
      await system.clock.advance(500);
      assert.equal(system.starts.length, starts, policy);
      if (starts === 1) assert.match(messages[0], /^info: .*is not restarted/);
    }
  });

  test("badly is not restarted where its policy is never", async (t) => {
    const { supervisor, system, messages } = supervised(t, { restart: { policy: "never" } });
    supervisor.start();
    await system.exit(null, "SIGSEGV");
    await system.clock.advance(60_000);
    assert.equal(system.starts.length, 1);
    assert.match(messages[0], /^error: .*was ended by SIGSEGV; its restart policy is "never"/);
  });

  test("takes what it has started with it before it is restarted", async (t) => {
    const { supervisor, system } = supervised(t);
    supervisor.start();
    await system.exit(1, null, { left: true });
    assert.deepEqual(system.signals, ["1000 SIGTERM"]);
    await system.clock.advance(2900);
    assert.deepEqual(system.signals, ["1000 SIGTERM"]);
    await system.clock.advance(200);
    assert.deepEqual(system.signals, ["1000 SIGTERM", "1000 SIGKILL"]);
    assert.equal(system.starts.length, 1);
    await system.clock.advance(500);
    assert.equal(system.starts.length, 2);
  });
});

describe("stop", () => {
  test("ends a provider that listens, and tells nobody", async (t) => {
    const { supervisor, system, messages, served } = supervised(t);
    supervisor.start();
    const stopped = supervisor.stop();
    assert.deepEqual(system.signals, ["1000 SIGTERM"]);
    await system.exit(null, "SIGTERM");
    await system.clock.advance(100);
    await stopped;
    assert.deepEqual([messages, served], [[], ["ci-1"]]);
    assert.equal(supervisor.status()[0].state, "stopped");
    await system.clock.advance(60_000);
    assert.equal(system.starts.length, 1);
  });

  test("resolves even where a killed group does not go away", async (t) => {
    const { supervisor, system } = supervised(t);
    system.immortal = true;
    supervisor.start();
    const stopped = supervisor.stop();
    await system.clock.advance(5000);
    await stopped;
    assert.deepEqual(system.signals, ["1000 SIGTERM", "1000 SIGKILL"]);
  });

  test("while a restart is awaited calls it off", async (t) => {
    const { supervisor, system } = supervised(t);
    supervisor.start();
    await system.exit(1);
    assert.equal(supervisor.status()[0].state, "waiting");
    await supervisor.stop();
    await system.clock.advance(60_000);
    assert.equal(system.starts.length, 1);
  });

  // shows: P-HOOK-25
  test("of a revoked one voids its token before it is ended, also between two runs", async (t) => {
    const ended = [];
    const onEnded = (...args) => ended.push(args);
    const running = supervised(t, {}, { onEnded });
    running.supervisor.start();
    const stopped = running.supervisor.stop({ revoked: true });
    assert.deepEqual(ended, [["ci", "ci-1", true]]);
    await running.system.exit(null, "SIGTERM");
    await running.system.clock.advance(100);
    await stopped;
    assert.deepEqual(ended.splice(0), [
      ["ci", "ci-1", true],
      ["ci", "ci-1"],
    ]);

    const waiting = supervised(t, {}, { onEnded });
    waiting.supervisor.start();
    await waiting.system.exit(1);
    assert.deepEqual(ended, [["ci", "ci-1"]]);
    await waiting.supervisor.stop({ revoked: true });
    assert.deepEqual(ended[1], ["ci", "ci-1", true]);
  });

  test("of a revoked one voids the tokens of former runs whose rules may still be held", async (t) => {
    const ended = [];
    const onEnded = (...args) => ended.push(args);
    const { supervisor, system } = supervised(t, {}, { onEnded });
    supervisor.start();
    await system.exit(1);
    await system.clock.advance(500);
    const stopped = supervisor.stop({ revoked: true });
    assert.deepEqual(ended.splice(0), [
      ["ci", "ci-1"],
      ["ci", "ci-1", true],
      ["ci", "ci-2", true],
    ]);
    await system.exit(null, "SIGTERM");
    await system.clock.advance(100);
    await stopped;

    const later = supervised(t, {}, { onEnded });
    ended.splice(0);
    later.supervisor.start();
    await later.system.exit(1);
    await later.system.clock.advance(500);
    await later.system.clock.advance(60_000);
    await later.system.exit(1);
    await later.supervisor.stop({ revoked: true });
    assert.deepEqual(ended.slice(2), [["ci", "ci-2", true]], "nothing of the first is held");
  });

  test("before the start, or twice, is fine", async (t) => {
    const { supervisor, system } = supervised(t);
    await Promise.all([supervisor.stop(), supervisor.stop()]);
    supervisor.start();
    assert.equal(system.starts.length, 0);
  });
});

describe("the log", () => {
  test("has what was said, with control characters shown", async (t) => {
    const { supervisor, system, log } = supervised(t);
    supervisor.start();
    system.last.child.stdout.write("hello \u001b]0;x\u0007\r\nno end");
    await system.exit(0, null, { stderr: "trouble\n" });
    await supervisor.stop();
    assert.match(log(), /1000 out hello \\x1b\]0;x\\x07\n/);
    assert.match(log(), /1000 out no end\n/);
    assert.match(log(), /1000 err trouble\n/);
    assert.match(log(), /tap ended with exit code 0\n/);
    assert.doesNotMatch(log(), /ci-1/, "no token");
  });

  test("cuts a line without end", async (t) => {
    const { supervisor, system, log } = supervised(t);
    supervisor.start();
    system.last.child.stdout.write("x".repeat(20_000));
    await settled();
    await system.exit(0);
    await supervisor.stop();
    const lengths = log()
      .split("\n")
      .filter((line) => line.includes(" out "))
      .map((line) => line.length);
    assert.equal(lengths.length, 3);
    assert.ok(lengths.every((length) => length < 8300));
  });

  test("that cannot be written costs no provider", async (t) => {
    const { supervisor, system } = supervised(t, {}, { logs: "/dev/null/x" });
    supervisor.start();
    system.last.child.stdout.write("x".repeat(1_000_000));
    await system.exit(0);
    await supervisor.stop();
    assert.equal(system.starts.length, 1);
  });

  test("has a name that stays in its folder", () => {
    const names = {
      ci: "ci",
      "a/b": "a%2Fb",
      ".": "%2E",
      "..": "%2E%2E",
      "...": "...",
      é: "%C3%A9",
      "a%": "a%25",
    };
    for (const [name, encoded] of Object.entries(names)) assert.equal(encodeName(name), encoded);
    const long = [encodeName("é".repeat(64)), encodeName(`${"é".repeat(63)}è`)];
    assert.ok(long.every((name) => name.length <= 200));
    assert.notEqual(long[0], long[1]);
  });
});

test("a disk that gets full while a program is held up for its log lets it go on", async (t) => {
  const folder = temporaryFolder(t);
  const full = Object.assign(new Error("no space"), { code: "ENOSPC" });
  t.mock.method(fs, "write", (_fd, _bytes, done) => setImmediate(done, full));
  const log = OutputLog.open(path.join(folder, "a.log"));
  const output = new PassThrough();
  log.attach(output, "1 out");
  for (let i = 0; i < 50; i += 1) output.write(`${"x".repeat(7000)}\n`);
  output.end();
  await once(output, "end", { signal: AbortSignal.timeout(PATIENCE_MS) });
  await log.close();
});
