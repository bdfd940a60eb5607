// copilot-tap sandbox, and what status says of it: where it works, where it does not, and what the user's config has.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { userConfigFile } from "../../../js/config/file.mjs";
import { DEFAULT_SANDBOX } from "../../../js/config/sandbox.mjs";
import { InTerminal, place, tap, tapJson } from "../../support/cli-process.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const WORKING = /^sandbox: bubblewrap \d+\.\d+/;
const CARELESS = 'while [ "$1" != -- ] && [ $# -gt 0 ]; do shift; done; shift; exec "$@"';

/** A PATH with nothing but this bwrap. @param {import("node:test").TestContext} t @param {string} [script] for sh */
function pathWith(t, script) {
  const folder = temporaryFolder(t);
  const file = path.join(folder, "bwrap");
  if (script !== undefined) fs.writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { PATH: folder };
}

/** @param {ReturnType<typeof place>} at @param {object} config */
function writeConfig(at, config) {
  const file = userConfigFile({ home: at.home });
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
}

describe("copilot-tap sandbox", () => {
  test("says what is enforced, and that it was tried out", async (t) => {
    const { code, out, err } = await tap(["sandbox"], place(t));
    assert.deepEqual([code, err], [0, ""], out);
    assert.match(out, WORKING);
    for (const title of ["writable", "read-only", "hidden", "network", "caches"])
      assert.match(out, new RegExp(`^ {2}${title} +\\S`, "m"));
    assert.match(out, /^✓ .*\/bwrap$/m);
    assert.match(out, /^ {2}nothing$/m);
  });

  test("has for programs what it found and what the config says", async (t) => {
    const { code, value } = await tapJson(["sandbox"], place(t));
    assert.deepEqual([code, value.works, value.state], [0, true, "ok"]);
    assert.ok(path.isAbsolute(value.program));
    assert.deepEqual(value.config, DEFAULT_SANDBOX);
    assert.ok(value.enforced.writable.length > 0);
  });

  for (const [wanted, reason, script] of /** @type {const} */ ([
    ["NO_SANDBOX", "not-installed", undefined],
    ["NO_SANDBOX", "unusable", "echo hello"],
    ["SANDBOX_BROKEN", "not-enforced", CARELESS],
  ])) {
    test(`fails with ${wanted} and what to do: ${reason}`, async (t) => {
      const at = place(t);
      const { code, value } = await tapJson(["sandbox"], at, pathWith(t, script));
      assert.deepEqual([code, value.works, value.code, value.reason], [1, false, wanted, reason]);
      assert.equal(value.enforced, undefined);
      const { code: exit, out } = await tap(["sandbox"], at, pathWith(t, script));
      assert.equal(exit, 1);
      assert.ok(out.includes(`\n  ${value.advice}\n`), out);
      assert.match(out, new RegExp(`^ {2}${wanted}$`, "m"));
      assert.doesNotMatch(out, /^ {2}writable/m);
    });
  }

  test("shows what the user's config grants", async (t) => {
    const at = place(t);
    const allow = { folders: ["/srv/a"], readFolders: ["/srv/b"], hosts: ["*.example.com"] };
    writeConfig(at, { sandbox: { fallback: "refuse", allow } });
    const { out } = await tap(["sandbox"], at);
    assert.match(out, /fallback refuse/);
    for (const one of ["/srv/a", "/srv/b", "*.example.com"]) assert.ok(out.includes(one), out);
    const { value } = await tapJson(["sandbox"], at);
    assert.deepEqual(value.config, { fallback: "refuse", allow: { ...allow, caches: [] } });
  });

  test("names a mistake of the config, and counts nothing of it", async (t) => {
    const at = place(t);
    writeConfig(at, { sandbox: { fallback: "none", allow: { folders: ["/"] } } });
    const { code, err } = await tap(["sandbox"], at);
    assert.equal(code, 0);
    assert.match(err, /config\.json:1:\d+: sandbox\.allow\.folders\[0\]: /);
    const { value } = await tapJson(["sandbox"], at);
    assert.equal(value.problems.length, 1);
    assert.deepEqual(value.config, DEFAULT_SANDBOX);
  });

  test("needs no gateway, and no port that is right", async (t) => {
    const { code } = await tap(["sandbox"], place(t), { TAP_GATEWAY_PORT: "x" });
    assert.equal(code, 0);
  });

  test("has colours in a terminal only", async (t) => {
    const terminal = new InTerminal(t, ["sandbox"], place(t), { cols: 120 });
    assert.equal(await terminal.end(), 0);
    assert.match(terminal.text, WORKING);
  });
});

describe("copilot-tap status", () => {
  test("has a line of the sandbox, without a gateway, too", async (t) => {
    const at = place(t);
    const nobody = { TAP_GATEWAY_PORT: "1" };
    const good = await tap(["status"], at, nobody);
    assert.match(good.out, new RegExp(WORKING.source, "m"));
    const { out } = await tap(["status"], at, { ...nobody, ...pathWith(t) });
    assert.match(out, /^sandbox: not available \(not installed\)/m);
    const { value } = await tapJson(["status"], at, { ...nobody, ...pathWith(t, CARELESS) });
    assert.deepEqual([value.sandbox.state, value.sandbox.code], ["unavailable", "SANDBOX_BROKEN"]);
  });
});
