// Results that are in files, with real files: what is read, and above all what is not.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { temporaryFolder, TestGateway } from "../../support/harness.mjs";

const MB = 1024 * 1024;
const PNG = Buffer.from("iVBORw0KGgo=", "base64");

/**
 * A provider whose tool `read` answers with the file that its arguments describe.
 * @param {import("node:test").TestContext} t
 * @param {{way?: "attached" | "linked", limits?: Record<string, string>}} [options]
 */
async function setUp(t, { way = "attached", limits } = {}) {
  const root = temporaryFolder(t);
  const gateway = new TestGateway(t, { limits, persistRoot: path.join(root, "home", "providers") });
  const session = await gateway.session(way);
  const provider = await gateway.stranger();
  provider.onMessage((message) => {
    if (message.type !== "tool.call") return;
    provider.send({ type: "tool.result", id: message.id, file: message.args });
  });
  const tools = [{ name: "read", description: "", parameters: {} }];
  const { persistDir } = await provider.hello({ name: "files", session: session.id, tools });
  const write = (name, content) => {
    const file = path.join(persistDir, name);
    fs.writeFileSync(file, content);
    return file;
  };
  /** Calls the tool; size and ttl fit where they are not given. */
  const answer = (file, mimeType, more = {}) =>
    session.call("read", {
      path: file,
      mimeType,
      size: more.size ?? fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0,
      ttl: 60,
      ...more,
    });
  const refused = async (code, pattern, ...args) => {
    const outcome = await answer(...args);
    assert.equal(outcome.code, code, JSON.stringify(outcome).slice(0, 300));
    assert.match(outcome.text, pattern);
    const error = await provider.waitFor("error");
    assert.deepEqual([error.code, error.replyTo], [code, "tool.result"]);
  };
  return { root, gateway, session, provider, persistDir, write, answer, refused };
}

for (const way of /** @type {const} */ (["attached", "linked"])) {
  // shows: P-RUN-9
  test(`files become text, JSON and bytes, ${way}`, async (t) => {
    const { write, answer } = await setUp(t, { way });
    assert.equal(await answer(write("a.txt", "12 °C\n"), "text/plain; charset=utf-8"), "12 °C\n");
    assert.equal(await answer(write("a.json", '{ "a": 1 }'), "application/json"), '{ "a": 1 }');
    assert.equal(await answer(write("empty", ""), "text/plain"), "");
    assert.deepEqual(await answer(write("a.png", PNG), "image/png"), {
      text: "",
      mimeType: "image/png",
      data: PNG.toString("base64"),
    });
  });

  // shows: P-RUN-10
  test(`a file of 50 MB arrives whole, several at once do too, ${way}`, async (t) => {
    const { write, answer } = await setUp(t, { way });
    const bytes = Buffer.alloc(50 * MB, "0123456789abcdef");
    const file = write("large.bin", bytes);
    const wanted = bytes.toString("base64");
    const answers = await Promise.all([1, 2, 3].map(() => answer(file, "application/pdf")));
    for (const { data, mimeType } of answers) {
      assert.equal(mimeType, "application/pdf");
      assert.ok(data === wanted, `differs, length ${data?.length}`);
    }
    const text = await answer(file, "text/plain");
    assert.ok(text === bytes.toString(), `differs, length ${text.length}`);
  });
}

// shows: P-HELLO-8
test("the folder is there, for this user only, when the provider hears of it", async (t) => {
  const { persistDir, gateway, session } = await setUp(t);
  assert.equal(fs.statSync(persistDir).mode & 0o777, 0o700);
  const odd = await gateway.stranger();
  const ack = await odd.hello({ name: "../../über", session: session.id });
  assert.equal(path.dirname(ack.persistDir), path.dirname(persistDir));
  assert.ok(fs.statSync(ack.persistDir).isDirectory());
});

test("a folder that cannot be made costs the files only", async (t) => {
  const root = temporaryFolder(t);
  fs.writeFileSync(path.join(root, "providers"), "a file is in the way");
  const gateway = new TestGateway(t, { persistRoot: path.join(root, "providers") });
  const session = await gateway.session();
  const { check } = await gateway.echo(session);
  await check();
  assert.match(gateway.log.join("\n"), /warning cannot make the folder/);
});

// shows: P-RUN-10
test("what lies outside is not read, however it is reached", async (t) => {
  const { root, persistDir, gateway, session, write, answer, refused } = await setUp(t);
  const secret = path.join(root, "secret.txt");
  fs.writeFileSync(secret, "secret");
  const outside = /UNAUTHORIZED.*persistDir/;
  await refused("UNAUTHORIZED", outside, secret, "text/plain");
  await refused("UNAUTHORIZED", outside, `${persistDir}../../../secret.txt`, "text/plain");
  fs.symlinkSync(secret, path.join(persistDir, "link"));
  await refused("UNAUTHORIZED", outside, path.join(persistDir, "link"), "text/plain");
  fs.symlinkSync(root, path.join(persistDir, "folder"));
  const below = path.join(persistDir, "folder", "secret.txt");
  await refused("UNAUTHORIZED", outside, below, "text/plain");
  // A folder whose name only begins like the provider's own.
  const other = await gateway.stranger();
  const ack = await other.hello({ name: "files-2", session: session.id });
  const theirs = path.join(ack.persistDir, "theirs.txt");
  fs.writeFileSync(theirs, "theirs");
  await refused("UNAUTHORIZED", outside, theirs, "text/plain");
  await refused("UNAUTHORIZED", outside, persistDir, "text/plain");
  // A link that stays inside is fine.
  fs.symlinkSync(write("real.txt", "real"), path.join(persistDir, "inner"));
  assert.equal(await answer(path.join(persistDir, "inner"), "text/plain"), "real");
});

test("a folder that has become a link is not the provider's", async (t) => {
  const { root, persistDir, refused } = await setUp(t);
  fs.writeFileSync(path.join(root, "secret.txt"), "secret");
  fs.rmSync(persistDir, { recursive: true });
  fs.symlinkSync(root, persistDir.replace(/[/]$/, ""));
  const file = path.join(persistDir, "secret.txt");
  await refused("UNAUTHORIZED", /persistDir/, file, "text/plain");
});

// shows: P-RUN-10
test("only a regular file is read, and no pipe is waited for", async (t) => {
  const { persistDir, refused } = await setUp(t);
  const fifo = path.join(persistDir, "fifo");
  execFileSync("mkfifo", [fifo]);
  await refused("INTERNAL", /not a regular file/, fifo, "text/plain");
  const folder = path.join(persistDir, "folder");
  fs.mkdirSync(folder);
  await refused("INTERNAL", /not a regular file/, folder, "text/plain");
});

// shows: P-RUN-10
test("a file that is not as it was said to be fails the call", async (t) => {
  const { persistDir, write, refused } = await setUp(t);
  const file = write("a.txt", "12345");
  for (const size of [0, 4, 6]) {
    await refused("INTERNAL", /has 5 bytes, not/, file, "text/plain", { size });
  }
  await refused("NOT_FOUND", /ttl/, file, "text/plain", { ttl: 0 });
  await refused("NOT_FOUND", /no such file/, path.join(persistDir, "none"), "text/plain");
  await refused("NOT_FOUND", /not a directory/, path.join(file, "below"), "text/plain", {
    size: 0,
  });
  await refused("INTERNAL", /UTF-8/, write("latin1", Buffer.from([0x41, 0xe9])), "text/plain");
});

test("links that lead in a circle are an error like any other", async (t) => {
  const { persistDir, refused } = await setUp(t);
  const loop = path.join(persistDir, "loop");
  fs.symlinkSync(loop, loop);
  await refused("INTERNAL", /cannot be read.*symbolic links/, loop, "text/plain", { size: 1 });
});

test("a file over the limit is not opened", async (t) => {
  const { write, answer, refused } = await setUp(t, { limits: { TAP_MAX_FILE_BYTES: "100" } });
  for (const size of [99, 100]) {
    assert.equal((await answer(write("fits", "x".repeat(size)), "text/plain")).length, size);
  }
  await refused("PAYLOAD_TOO_LARGE", /at most 100/, write("more", "x".repeat(101)), "text/plain");
});

test("a session that goes while its files are read harms nobody else", async (t) => {
  const { gateway, write, answer, session } = await setUp(t, { way: "linked" });
  const file = write("large.bin", Buffer.alloc(20 * MB));
  const answers = [1, 2, 3, 4].map(() => answer(file, "application/pdf"));
  session.close();
  for (const outcome of await Promise.all(answers)) assert.equal(outcome.code, "DISCONNECTED");
  const other = await gateway.session();
  const { check } = await gateway.echo(other);
  await check();
});
