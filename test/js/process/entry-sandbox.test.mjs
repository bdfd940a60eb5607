// The sandbox of programs that an entry of a config starts, by the kernel's word.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { test } from "node:test";
import { openEntrySandbox, resolveEntryPolicy } from "../../../js/process/entry-sandbox.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const NOTHING = { writable: [], readFolders: [], allowedUrls: [], caches: [] };

/** A project in the home of a user. @param {import("node:test").TestContext} t */
function makePlace(t) {
  const home = fs.realpathSync(temporaryFolder(t));
  const [folder, data] = [path.join(home, "shop"), path.join(home, "data")];
  const copilot = path.join(home, ".copilot");
  const made = [".ssh", "data", "shop/tools", "shop/dist", "shop/.git/hooks", ".copilot/tap"];
  for (const one of made) fs.mkdirSync(path.join(home, one), { recursive: true });
  for (const one of [".ssh/id", "data/x", "shop/a.txt", ".copilot/tap/config.json"])
    fs.writeFileSync(path.join(home, one), "here\n");
  const user = { PATH: process.env.PATH, HOME: home, COPILOT_HOME: copilot };
  /** @param {Partial<typeof NOTHING>} sandbox @param {string} script @param {object} [more] options */
  const run = async (sandbox, script, more) => {
    const refused = /** @type {string[]} */ ([]);
    const onRefused = (/** @type {string} */ host) => void refused.push(host);
    const where = { folder, cwd: path.join(folder, "tools"), user, onRefused, ...more };
    const opened = await openEntrySandbox({ ...NOTHING, ...sandbox }, where);
    const { command, args, env } = opened.wrap({ command: "sh", args: ["-c", script], env: user });
    const child = spawn(command, args, { env, cwd: where.cwd });
    let out = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (out += text));
    const code = await new Promise((resolve) => child.on("close", resolve));
    await opened.close();
    return { code, out, refused, isSandboxed: opened.isSandboxed };
  };
  return { home, folder, data, copilot, user, run };
}

test("a program reads the system and the project, and writes nothing but its temporary folder", async (t) => {
  const { home, folder, data, copilot, run } = makePlace(t);
  const script = `cat ../a.txt && ls /usr/bin/env && echo x > "$TMPDIR/x" && cat "$TMPDIR/x"`;
  const { code, out } = await run({}, script);
  assert.deepEqual([code, out], [0, "here\n/usr/bin/env\nx\n"]);
  for (const place of [folder, path.join(folder, ".git", "hooks"), home, data, "/", "/etc"]) {
    assert.notEqual((await run({}, `echo x > '${place}/made'`)).code, 0, place);
    assert.equal(fs.existsSync(path.join(place, "made")), false, place);
  }
  for (const file of [`${home}/.ssh/id`, `${data}/x`, `${copilot}/tap/config.json`])
    assert.notEqual((await run({}, `cat '${file}'`)).code, 0, file);
});

test("what its entry names is there, from the project or the home, and git's folders stay as they are", async (t) => {
  const { folder, data, run } = makePlace(t);
  fs.mkdirSync(path.join(folder, "dist", ".git"));
  const sandbox = { writable: ["dist"], readFolders: ["~/data"] };
  const { code, out } = await run(sandbox, `echo x > ../dist/made && cat '${data}/x'`);
  assert.deepEqual([code, out], [0, "here\n"]);
  assert.equal(fs.readFileSync(path.join(folder, "dist", "made"), "utf8"), "x\n");
  assert.notEqual((await run(sandbox, `echo x > '${data}/made'`)).code, 0);
  assert.notEqual((await run(sandbox, "echo x > ../dist/.git/config")).code, 0);
});

test("a cache is made where there is none, and shared", async (t) => {
  const { home, run } = makePlace(t);
  assert.equal((await run({ caches: ["npm"] }, "echo x > ~/.npm/made")).code, 0);
  assert.equal(fs.existsSync(path.join(home, ".npm", "made")), true);
});

test("variables of the command itself open nothing", async (t) => {
  const { home, user, folder } = makePlace(t);
  const onRefused = () => {};
  const opened = await openEntrySandbox(NOTHING, { folder, cwd: folder, user, onRefused });
  const forged = { PATH: `${home}/.ssh:${user.PATH}`, HOME: "/var", COPILOT_HOME: "/var" };
  const script = `cat '${home}/.ssh/id' '${home}/.copilot/tap/config.json'`;
  const asked = { command: "/bin/sh", args: ["-c", script], env: forged };
  const { command, args, env } = opened.wrap(asked);
  const child = spawn(command, args, { env, cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  let out = "";
  child.stdout.on("data", (text) => (out += text));
  assert.notEqual(await new Promise((resolve) => child.on("close", resolve)), 0);
  assert.equal(out, "");
});

test("without hosts there is no network but the gateway's port, and a host that is not named is refused", async (t) => {
  const server = net.createServer((socket) => socket.end("gateway\n"));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  t.after(() => void server.close());
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  const provider = { name: "ci", port };
  const { run, copilot } = makePlace(t);
  const script = `exec 3<> /dev/tcp/127.0.0.1/${port} && cat <&3`;
  const connect = `bash -c '${script}'`;
  assert.notEqual((await run({}, connect)).code, 0);
  assert.deepEqual((await run({}, connect, { provider })).out, "gateway\n");
  assert.notEqual((await run({ allowedUrls: ["good.test"] }, connect)).code, 0);
  assert.equal((await run({ allowedUrls: ["*"] }, connect)).out, "gateway\n");
  const bad = await run({ allowedUrls: ["good.test"] }, "curl -sS http://bad.test/", { provider });
  assert.deepEqual(bad.refused, ["bad.test"]);
  // A provider has its own folder, too, and none of another's.
  const write = `echo x > '${copilot}/providers/ci/made'`;
  assert.equal((await run({}, write, { provider })).code, 0);
  assert.notEqual((await run({}, write, { provider: { name: "ci 2", port } })).code, 0);
});

test("folders that no program may have, that lead elsewhere or are not there, are refused", (t) => {
  const { home, folder, copilot, user } = makePlace(t);
  fs.symlinkSync(path.join(home, "data"), path.join(folder, "link"));
  const check = (/** @type {string} */ name, /** @type {string} */ code) => {
    for (const field of ["writable", "readFolders"])
      assert.throws(
        () => resolveEntryPolicy({ ...NOTHING, [field]: [name] }, { folder, cwd: folder, user }),
        { code },
        name,
      );
  };
  for (const name of ["gone", "a.txt", "../gone", "~/gone"]) check(name, "NO_FOLDER");
  const others = ["link", "link/", ".", "..", "/", "~", home, copilot, `${copilot}/tap`, ".git"];
  for (const name of [...others, ".git/hooks", path.dirname(home), "/proc", "/sys/kernel", "/dev"])
    check(name, "NOT_ALLOWED");
});

test("where there is no sandbox it does not start, unless the user's config says so", async (t) => {
  const { user, run } = makePlace(t);
  const tools = fs.realpathSync(temporaryFolder(t));
  for (const name of ["sh", "cat"]) fs.symlinkSync(`/bin/${name}`, path.join(tools, name));
  const without = { user: { ...user, PATH: tools } };
  for (const fallback of [undefined, "ask", "refuse"])
    await assert.rejects(run({}, "cat ../a.txt", { ...without, fallback }), { code: "NO_SANDBOX" });
  const ran = await run({}, "cat ../a.txt", { ...without, fallback: "none" });
  assert.deepEqual([ran.code, ran.out, ran.isSandboxed], [0, "here\n", false]);
});

test("a program that is not there fails as it does without a sandbox", async (t) => {
  const { folder, user } = makePlace(t);
  const where = { folder, cwd: folder, user, onRefused: () => {} };
  const opened = await openEntrySandbox(NOTHING, where);
  const asked = { command: "no-such-program", args: [], env: user };
  assert.throws(() => opened.wrap(asked), { code: "ENOENT" });
});
