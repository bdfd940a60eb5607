// The doctor's findings about the parts of the gateway's host: each is brought about for real, as far as a test can.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { addon } from "../../../js/lib/addon.mjs";
import { PARTS } from "../../../js/doctor/checks-parts.mjs";
import { tap } from "../../support/cli-process.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";
import { Place, staged } from "./doctor-place.mjs";

const MAIN = fileURLToPath(
  new URL("../../support/fixtures/features/gateway-host.mjs", import.meta.url),
);

/**
 * A gateway host with the features of tests and a session, in a home that a test has prepared.
 * @param {import("node:test").TestContext} t
 * @param {{files?: Record<string, string | Buffer | null>, env?: Record<string, string>, main?: string, home?: string}} [options]
 *   files of <COPILOT_HOME>/tap; null: a folder
 */
async function hosted(t, { files = {}, env = {}, main, home: given } = {}) {
  const home = given ?? fs.realpathSync(temporaryFolder(t));
  const folder = path.join(home, "tap");
  fs.mkdirSync(folder, { mode: 0o700 });
  for (const [name, content] of Object.entries(files)) {
    if (content === null) fs.mkdirSync(path.join(folder, name));
    else fs.writeFileSync(path.join(folder, name), content, { mode: 0o600 });
  }
  const host = await Host.elected(
    t,
    { COPILOT_HOME: home, TAP_TEST_FOLDER: home, ...env },
    main ?? MAIN,
  );
  const session = await host.withToken(t);
  const at = await Place.create(t, { home, port: host.files.port });
  /** The finding, once the doctor has it. @param {string} code */
  const found = (code) =>
    waitFor(async () => (await at.diagnose()).warnings.find((warning) => warning.code === code), {
      what: () => `${code}\n${host.log}`,
    });
  return Object.assign(at, { host, session, folder, found });
}

/** The gateway host as it is. */
const REAL = fileURLToPath(new URL("../../../js/gateway-host/main.mjs", import.meta.url));

describe("your own config", () => {
  for (const [what, content, problem] of [
    ["that is not JSON", "{", /expected|end/],
    ["with an unknown key", '{"recrods": true}', /"recrods"/],
  ]) {
    test(`${what} is found, with its place`, async (t) => {
      const at = await staged(t);
      const file = path.join(at.home, "tap", "config.json");
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, content, { mode: 0o600 });
      const { warnings } = await at.diagnose();
      const finding = warnings.find(({ code }) => code === "CONFIG_INVALID");
      assert.ok(finding?.problem.includes(`${file}:1:`), finding?.problem);
      assert.match(finding.problem, /** @type {RegExp} */ (problem));
      fs.writeFileSync(file, "{}", { mode: 0o600 });
    });
  }

  test("that others can write is found, and its command makes it yours", async (t) => {
    const at = await staged(t);
    const file = path.join(at.home, "tap", "config.json");
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, '{"records": true}');
    fs.chmodSync(file, 0o666);
    const { warnings } = await at.diagnose();
    const finding = warnings.find(({ code }) => code === "FILE_UNSAFE");
    assert.ok(finding);
    await at.do(finding.command);
    const { warned } = await at.diagnose();
    assert.ok(!warned.includes("FILE_UNSAFE"));
  });
});

describe("the feature host", () => {
  /** A program that ends at once. @param {import("node:test").TestContext} t */
  const broken = (t) => {
    const main = path.join(temporaryFolder(t), "broken.mjs");
    fs.writeFileSync(main, 'console.error("no library"); process.exit(3);');
    return main;
  };

  test("that has given up is found, with the reason", async (t) => {
    const at = await hosted(t, { env: { TAP_TEST_MAIN: broken(t), TAP_TEST_RESTARTS: "0" } });
    const { problem } = await at.found("FEATURE_HOST_FAILED");
    assert.match(problem, /ended with exit code 3, saying "no library"/);
    assert.match(problem, /feature-host\.log/);
    const { warned } = await at.diagnose();
    assert.ok(!warned.includes("FEATURE_TROUBLE"), "its features have no other trouble");
  });

  test("that keeps ending is found", async (t) => {
    const at = await hosted(t, { env: { TAP_TEST_MAIN: broken(t) } });
    const { problem } = await at.found("FEATURE_HOST_FAILED");
    assert.match(problem, /keeps ending \(restart \d+ is next\): .*exit code 3/);
  });

  test("with features that have problems: they are named", async (t) => {
    const at = await hosted(t);
    const { problem, command } = await at.found("FEATURE_TROUBLE");
    assert.match(problem, /builtin:throws was left out \(install failed: no database\)/);
    assert.match(command ?? "", / features report( --home .*)?$/);
    const { value } = await at.diagnose();
    const check = value.checks.find(({ id }) => id === "feature-host");
    assert.match(check.seen, /^running, pid \d+$/);
  });
});

describe("holds", () => {
  const hold = {
    id: "plan-1",
    feature: "builtin:good",
    what: "a plan",
    at: "2026-11-22T09:00:00Z",
  };
  const holdsOf = (/** @type {object[]} */ ...holds) => JSON.stringify({ version: 1, holds });

  test("that cannot be read are found, and the command deletes them", async (t) => {
    const at = await hosted(t, { files: { "holds.json": '{"version": 1, "holds": [' } });
    const { problem, command } = await at.found("HOLDS_UNREADABLE");
    assert.match(problem, /holds\.json cannot be used: .*JSON/);
    await at.do(command);
    assert.equal(fs.existsSync(path.join(at.folder, "holds.json")), false);
  });

  test("of a feature that is not there, or is disabled, are found", async (t) => {
    const strange = { ...hold, feature: "builtin:gone" };
    const first = await hosted(t, { files: { "holds.json": holdsOf(strange) } });
    assert.match((await first.found("HOLDS_UNREADABLE")).problem, /no such feature.*builtin:gone/);
    const files = {
      "holds.json": holdsOf(hold),
      "config.json": '{"features": {"builtin:good": false}}',
    };
    const second = await hosted(t, { files });
    const { problem, command } = await second.found("HOLDS_ORPHANED");
    assert.match(problem, /"a plan" keeps the gateway for builtin:good, which is disabled/);
    await second.do(command);
  });
});

describe("the record store", () => {
  test("that was damaged is a line of status, with the file that was set aside", async (t) => {
    const files = { "records.sqlite": "garbage".repeat(1000) };
    const at = await hosted(t, { files, main: REAL });
    const shown = async () =>
      /was damaged\. It is now .*corrupt-/.test((await tap(["status"], at)).out);
    await waitFor(shown, { what: () => at.host.log });
  });

  test("that cannot be written is found", async (t) => {
    const at = await hosted(t, { files: { "records.sqlite": null }, main: REAL });
    assert.match((await at.found("HOME_UNWRITABLE")).problem, /cannot be written/);
    const { code, out } = await at.read();
    assert.equal(code, 0, out);
  });

  test("of a newer version is found", async (t) => {
    const file = path.join(temporaryFolder(t), "records.sqlite");
    const records = new addon.Records({ file });
    assert.equal(await records.commit("notify", { body: "{}" }), true);
    await records.close();
    const newer = fs.readFileSync(file);
    newer.writeUInt32BE(99, 60); // user_version: https://sqlite.org/fileformat.html#user_version
    const at = await hosted(t, { files: { "records.sqlite": newer }, main: REAL });
    const { problem, command } = await at.found("RECORDS_UNUSABLE");
    assert.match(problem, /newer version of tap \(schema 99/);
    assert.match(command ?? "", / update( --home .*)?$/);
  });

  test("without room on the disk is found, and the records that were lost", async (t) => {
    const at = await hosted(t, { main: REAL });
    const limit = ["--pid", String(at.host.process.pid), "--fsize=16384"];
    if (spawnSync("prlimit", limit).status !== 0) return t.skip("this system has no prlimit");
    for (let i = 0; i < 50; i += 1) await at.session.call("tap_status");
    const { problem, command } = await at.found("HOME_UNWRITABLE");
    assert.match(problem, /no room for records/);
    await at.do(command);
    assert.match((await tap(["status"], at)).out, /\n {2}dropped: .*\d+ of \w+/);
  });

  test("on a disk that is nearly full is found, until there is room", async (t) => {
    const home = fs.realpathSync(temporaryFolder(t));
    const disk = ["-t", "tmpfs", "-o", "size=24m,mode=700", "tap-test", home];
    if (spawnSync("mount", disk).status !== 0) return t.skip("this process may not mount");
    t.after(() => spawnSync("umount", ["--lazy", home]));
    const at = await hosted(t, { main: REAL, home });
    const ballast = path.join(home, "ballast");
    fs.writeFileSync(ballast, Buffer.alloc(20_000_000));
    for (let i = 0; i < 3; i += 1) await at.session.call("tap_status");
    const { problem, command } = await at.found("HOME_UNWRITABLE");
    assert.match(problem, /has \d\.\d MB left\. Until it has 7\.\d MB, only what features put/);
    await at.do(command);
    const { out } = await tap(["status"], at);
    assert.match(out, /, only texts of features for the model {2}.*\n {2}The disk of "/);
    assert.match(out, /\n {2}dropped: .*\b3 of tool_call/);
    fs.rmSync(ballast);
    const passes = async () =>
      !(await at.diagnose()).warnings.some((warning) => warning.code === "HOME_UNWRITABLE");
    await waitFor(passes, { what: () => at.host.log });
  });

  /** A finding for a state that a test cannot bring about: the store's own tests do. */
  const findingFor = (/** @type {object} */ records) => {
    const state = { file: "/h/records.sqlite", dropped: {}, diagnostics: [], ...records };
    const place = /** @type {any} */ ({ parts: { records: state }, env: {} });
    return PARTS.filter(({ id }) => id.startsWith("records"))
      .map(({ run }) => run(place))
      .find((finding) => finding);
  };
  const trouble = (/** @type {string} */ code) => ({
    trouble: { at: 0, code, text: `it is ${code}` },
  });

  test("on a network, locked, and with a rollback journal has findings of its own", () => {
    for (const [code, records] of /** @type {const} */ ([
      ["RECORDS_NETWORK", trouble("network")],
      ["RECORDS_UNUSABLE", trouble("locked")],
      ["RECORDS_NETWORK", { journal: "rollback", rollbackReason: "file-system" }],
      ["RECORDS_UNUSABLE", { rollbackReason: "refused" }],
    ])) {
      assert.equal(findingFor(records)?.code, code);
    }
    assert.equal(findingFor({ rollbackReason: "sqlite" }), undefined);
  });

  test("says which journal it has, and why", async (t) => {
    const at = await hosted(t, { main: REAL });
    const seen = await waitFor(
      async () => (await at.diagnose()).value.checks.find(({ id }) => id === "records").seen,
      { what: "a journal" },
    );
    assert.match(seen, /, (write-ahead log|rollback journal), SQLite 3\.\d+/);
  });
});
