// The supervisor with real processes: those that end at once, those that will not, and their children.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { providerLogFile } from "../../../js/process/log.mjs";
import { deleteFolder } from "../../../js/process/run.mjs";
import { Supervisor } from "../../../js/process/supervisor.mjs";
import { isAlive } from "../../support/processes.mjs";
import { waitFor } from "../../support/wait.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const posix = { skip: process.platform === "win32" };
const linux = { skip: process.platform !== "linux" && "looks into /proc" };

/** A clock on which more time passes. @param {number} factor */
const fasterClock = (factor) => ({
  now: () => performance.now() * factor,
  setTimeout: (action, ms) => setTimeout(action, ms / factor),
  clearTimeout: (timer) => clearTimeout(timer),
});

/** The time of day, but nothing is waited for longer than this. */
const impatientClock = (mostMs) => ({
  ...fasterClock(1),
  setTimeout: (action, ms) => setTimeout(action, Math.min(ms, mostMs)),
});

/** One provider that runs this script. */
function supervised(t, script, { clock = fasterClock(1), restart = { policy: "never" } } = {}) {
  const workspace = temporaryFolder(t);
  const logs = path.join(workspace, "logs");
  fs.writeFileSync(path.join(workspace, "provider.mjs"), script);
  const messages = [];
  const provider = {
    name: "p",
    command: process.execPath,
    args: ["provider.mjs"],
    env: {},
    restart,
  };
  const supervisor = new Supervisor({
    sessionId: "s-1",
    workspace,
    port: 9400,
    logs,
    providers: [provider],
    onToken: () => "ptk-test",
    onMessage: (level, text) => messages.push(`${level}: ${text}`),
    system: { clock },
  });
  t.after(() => supervisor.stop());
  const file = providerLogFile(logs, "p");
  const log = () => fs.readFileSync(file, "utf8");
  const logged = (pattern) =>
    waitFor(() => fs.existsSync(file) && pattern.exec(log()), { what: `${pattern} in the log` });
  return { supervisor, messages, workspace, logs, log, logged };
}

/** Starts a child that ignores SIGTERM, and says its pid once it does. */
const WITH_CHILD = `
  import { spawn } from "node:child_process";
  const script = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("child", process.pid)';
  spawn(process.execPath, ["-e", script], { stdio: "inherit" });
`;

test("a provider that would end at once a hundred times is started eleven times", async (t) => {
  const script = 'import fs from "node:fs"; fs.appendFileSync("starts", "x"); process.exit(3);';
  const restart = /** @type {const} */ ({ policy: "always" });
  const { supervisor, messages, workspace } = supervised(t, script, {
    clock: impatientClock(10),
    restart,
  });
  supervisor.start();
  await waitFor(() => supervisor.status()[0].state === "failed", {
    what: "given up",
  });
  assert.equal(fs.readFileSync(path.join(workspace, "starts"), "utf8").length, 11);
  assert.equal(messages.length, 2, messages.join("\n"));
});

// shows: P-AUTH-9
test("a provider gets its token, session and port, and none of the host's secrets", async (t) => {
  process.env.SOME_API_KEY = "secret";
  t.after(() => delete process.env.SOME_API_KEY);
  const script = `
    const { TAP_PROVIDER_TOKEN, TAP_SESSION_ID, TAP_GATEWAY_PORT, SOME_API_KEY } = process.env;
    console.log([TAP_PROVIDER_TOKEN, TAP_SESSION_ID, TAP_GATEWAY_PORT, SOME_API_KEY].join("|"));
  `;
  const { supervisor, logged } = supervised(t, script);
  supervisor.start();
  await logged(/ptk-test\|s-1\|9400\|\n/);
});

test("a provider that ignores SIGTERM is killed", linux, async (t) => {
  const script =
    'process.on("SIGTERM", () => console.log("no")); setInterval(() => {}, 1000); console.log("ready");';
  const { supervisor, log, logged } = supervised(t, script, { clock: fasterClock(10) });
  supervisor.start();
  const { pid } = supervisor.status()[0];
  await logged(/ready/);
  await supervisor.stop();
  assert.equal(await isAlive(Number(pid)), false);
  assert.match(log(), / out no\n/);
  assert.match(log(), /was ended by SIGKILL/);
});

test("stop ends what a provider has started", linux, async (t) => {
  const { supervisor, logged } = supervised(t, `${WITH_CHILD}; setInterval(() => {}, 1000);`, {
    clock: fasterClock(10),
  });
  supervisor.start();
  const [, child] = await logged(/child (\d+)/);
  assert.equal(await isAlive(Number(child)), true);
  await supervisor.stop();
  assert.equal(await isAlive(Number(child)), false);
});

test(
  "a provider that crashes takes its children with it before it is restarted",
  linux,
  async (t) => {
    const script = `${WITH_CHILD}; process.on("SIGUSR2", () => process.exit(1)); setInterval(() => {}, 1000);`;
    const restart = /** @type {const} */ ({ policy: "on-failure" });
    const { supervisor, logged } = supervised(t, script, { clock: fasterClock(10), restart });
    supervisor.start();
    const [, child] = await logged(/child (\d+)/);
    process.kill(Number(supervisor.status()[0].pid), "SIGUSR2");
    await logged(/child \d+[^]*child \d+/);
    assert.equal(await isAlive(Number(child)), false);
  },
);

/** A host that has started a provider with a child, and ends itself like this. @returns {Promise<number[]>} their pids */
async function endedHost(t, ending) {
  const workspace = temporaryFolder(t);
  const script = `${WITH_CHILD}; process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);`;
  fs.writeFileSync(path.join(workspace, "provider.mjs"), script);
  const url = (file) => JSON.stringify(pathToFileURL(path.resolve(file)).href);
  const host = `
    import { Supervisor } from ${url("js/process/supervisor.mjs")};
    import { waitFor } from ${url("test/support/wait.mjs")};
    import fs from "node:fs";
    const provider = { name: "p", command: process.execPath, args: ["provider.mjs"], env: {}, restart: { policy: "never" } };
    const supervisor = new Supervisor({
      sessionId: "s", workspace: process.cwd(), port: 1, logs: "logs", providers: [provider],
      onToken: () => "t", onMessage: () => {},
    });
    supervisor.start();
    const [, child] = await waitFor(() => /child (\\d+)/.exec(fs.readFileSync("logs/providers/p.log", "utf8")));
    fs.writeFileSync("pids", JSON.stringify([supervisor.status()[0].pid, Number(child)]));
    ${ending}
  `;
  const args = ["--input-type=module", "-e", host];
  await promisify(execFile)(process.execPath, args, { cwd: workspace }).catch(() => {});
  const pids = JSON.parse(fs.readFileSync(path.join(workspace, "pids"), "utf8"));
  assert.equal(pids.length, 2);
  return pids;
}

for (const [how, ending] of Object.entries({
  "the host's own exit": "process.exit(0);",
  "an error that nothing catches": 'throw new Error("oops");',
  "kill -9 of the host": 'process.kill(process.pid, "SIGKILL");',
})) {
  test(`no provider outlives ${how}, nor does what it has started`, linux, async (t) => {
    for (const pid of await endedHost(t, ending)) {
      await waitFor(async () => !(await isAlive(pid)), { what: `${pid} gone` });
    }
  });
}

test("the log of a provider that never stops talking stays within 3 MB", async (t) => {
  const script = `
    const line = "x".repeat(999) + "\\n";
    for (let i = 0; i < 6000; i += 1) {
      if (!process.stdout.write(line)) await new Promise((resolve) => process.stdout.once("drain", resolve));
    }
  `;
  const { supervisor, logs } = supervised(t, script);
  supervisor.start();
  await waitFor(() => supervisor.status()[0].state === "ended", {
    what: "the end",
  });
  await supervisor.stop();
  const folder = path.join(logs, "providers");
  const sizes = fs.readdirSync(folder).map((name) => fs.statSync(path.join(folder, name)).size);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(total > 1_000_000 && total < 3.5 * 1024 * 1024, `${sizes}`);
});

test("a folder that its owner may not write is deleted with what is in it", posix, async (t) => {
  const folder = temporaryFolder(t);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) fs.chmodSync(folder, 0o777);
  if (isRoot) process.seteuid?.(65_534); // root may write everywhere
  try {
    const module = path.join(folder, "go-mod", "module");
    fs.mkdirSync(module, { recursive: true });
    fs.writeFileSync(path.join(module, "go.mod"), "x");
    fs.chmodSync(module, 0o555);
    await assert.rejects(fs.promises.rm(path.join(folder, "go-mod"), { recursive: true }));
    await deleteFolder(path.join(folder, "go-mod"));
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
  assert.deepEqual(fs.readdirSync(folder), []);
});
