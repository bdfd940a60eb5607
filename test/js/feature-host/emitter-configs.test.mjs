// Emitters of configs, as the feature that runs them sees them: a real gateway host, feature host and session.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { userConfigFile } from "../../../js/config/file.mjs";
import { loadProjectConfig } from "../../../js/config/load.mjs";
import { allow, consentFile, listEntries, revoke } from "../../../js/config/consent.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { TEST_FEATURES } from "../../support/fixtures/features/list.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { waitFor } from "../../support/wait.mjs";

/** A session in a folder of its own, and what a feature gets there. @param {import("node:test").TestContext} t */
async function setUp(t) {
  const host = await LocalHost.elected(t, {}, TEST_FEATURES);
  const folder = fs.realpathSync(temporaryFolder(t));
  const session = await host.session(t, { cwd: folder });
  const offers = () =>
    session.events.some(
      ({ type, set = [] }) =>
        type === "tools" &&
        set.some(({ definitions }) => definitions.some(({ name }) => name === "ask_emitters")),
    );
  await waitFor(offers, { what: () => `the tool of the feature\n${host.log}` });
  const ask = async (/** @type {string} */ method, params = {}) =>
    JSON.parse(await session.call("ask_emitters", { method, params }));
  return { host, folder, session, ask, file: path.join(folder, "tap.config.json") };
}

test("a feature saves an emitter, and it is not allowed before the user says so", async (t) => {
  const { host, folder, ask, file } = await setUp(t);
  const none = await ask("configured");
  assert.deepEqual([none.emitters, none.streams, none.problems], [[], [], []]);
  assert.deepEqual(await ask("configured", { stamp: none.stamp }), {
    stamp: none.stamp,
    same: true,
  });

  const entry = { name: "build", command: "make watch", env: { A: "1" } };
  const saved = await ask("save", { file: "project", entry });
  assert.equal(saved.path, file);
  assert.ok(saved.allow.includes(` allow ${file}`), saved.allow);
  const now = await ask("configured", { stamp: none.stamp });
  assert.equal(now.emitters.length, 1);
  const [build] = now.emitters;
  assert.deepEqual(
    [build.name, build.file, build.path, build.allowed, build.digest, build.spec.command],
    ["build", "project", file, false, saved.digest, "make watch"],
  );

  const loaded = loadProjectConfig(folder);
  assert.ok(loaded?.result.ok);
  allow(consentFile(host.files), file, listEntries(loaded.result));
  assert.equal((await ask("configured", { stamp: now.stamp })).emitters[0].allowed, true);
  await ask("save", { file: "project", entry: { ...entry, every: "5m" } });
  assert.equal((await ask("configured")).emitters[0].allowed, false, "another entry");

  assert.deepEqual(await ask("remove", { file: "project", name: "build" }), { path: file });
  assert.deepEqual((await ask("configured")).emitters, []);
});

test("the user's own config needs no question", async (t) => {
  const { host, ask, file } = await setUp(t);
  const own = userConfigFile(host.files);
  const entry = { name: "mine", prompt: "Look.", every: "5m" };
  assert.equal((await ask("save", { file: "user", entry })).allow, undefined);
  const { emitters } = await ask("configured");
  assert.deepEqual(
    emitters.map((one) => [one.name, one.file, one.path, one.allowed]),
    [["mine", "user", own, true]],
  );
  assert.equal(fs.existsSync(file), false);
});

test("what is refused says why", async (t) => {
  const { ask, folder } = await setUp(t);
  const refused = async (
    /** @type {string} */ method,
    /** @type {object} */ params,
    /** @type {RegExp} */ why,
  ) => {
    const { error, type } = await ask(method, params);
    assert.match(error, why);
    assert.equal(type, "RangeError");
  };
  const good = { name: "a", command: "x" };
  await refused("configured", { session: "other" }, /no such session/);
  await refused("configured", { session: null }, /no such session/);
  await refused("save", { file: "../x", entry: good }, /"project" or "user"/);
  await refused("save", { file: "project" }, /expected an emitter as "entry"/);
  await refused("save", { file: "project", entry: { command: "x" } }, /the name of an emitter/);
  await refused("save", { file: "project", entry: { name: "a" } }, /command: is missing/);
  await refused(
    "save",
    { file: "project", entry: { ...good, command: "x".repeat(70_000) } },
    /64 KB/,
  );
  await refused("remove", { file: "project", name: "a" }, /there is no emitter "a"/);
  await refused("remove", { file: "user", name: "a" }, /there is no emitter "a"/);
  assert.deepEqual(fs.readdirSync(folder), []);
});

test("the session's timeline asks for consent, and tells of its end", async (t) => {
  const { host, ask, folder } = await setUp(t);
  await ask("save", { file: "project", entry: { name: "build", command: "make watch" } });
  const told = (/** @type {any} */ session, /** @type {RegExp} */ wanted) => {
    const lines = () =>
      session.events.filter(({ type }) => type === "timeline").map(({ text }) => text);
    return waitFor(() => lines().find((line) => wanted.test(line)), {
      what: () => `${wanted} in ${JSON.stringify(lines())}`,
    });
  };
  const second = await host.session(t, { cwd: folder, sessionId: "second" });
  const notice = await told(second, /names an emitter that this session would start/);
  assert.match(notice, /build: runs in a shell: make watch/);

  const loaded = loadProjectConfig(folder);
  assert.ok(loaded?.result.ok);
  allow(consentFile(host.files), loaded.file, listEntries(loaded.result));
  const third = await host.session(t, { cwd: folder, sessionId: "third" });
  // The host has looked at the third session when it answers a later request.
  assert.equal((await ask("configured")).emitters[0].allowed, true);
  revoke(consentFile(host.files), loaded.file);
  await told(third, /is no longer allowed: its entries are stopped/);
});

test("only the feature host may ask", async (t) => {
  const { host, session } = await setUp(t);
  const control = await openControl(host.files);
  t.after(() => control.close());
  for (const method of ["configured", "save", "remove"]) {
    const { code } = await control
      .request(`emitters.${method}`, { session: session.id })
      .catch((error) => error);
    assert.equal(code, "DENIED", method);
  }
});
