// When sessions are looked at while what runs their providers is still being imported, or cannot be.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { gatewayFiles } from "../../../js/lib/paths.mjs";
import { ProjectSessions } from "../../../js/gateway-host/project-sessions.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** What has been asked for so far has happened. */
const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

/** Sessions whose import is in the hands of the test. @param {import("node:test").TestContext} t */
function rig(t) {
  /** @type {string[]} */
  const done = [];
  /** @type {{arrive: () => void, fail: (error: Error) => void}[]} */
  const imports = [];
  class ProjectProviders {
    scan = ({ id, cwd }) => done.push(`look ${id} ${path.basename(cwd)}`);
    endSession = ({ id }) => done.push(`ended ${id}`);
    waitForStops = async () => done.push("stopped");
  }
  const load = () =>
    new Promise((resolve, reject) => {
      imports.push({ arrive: () => resolve({ ProjectProviders }), fail: reject });
    });
  const gateway = { tellTimeline: (id, level, text) => done.push(`${level} for ${id}: ${text}`) };
  const log = [];
  const home = temporaryFolder(t);
  const sessions = new ProjectSessions(
    /** @type {any} */ (gateway),
    gatewayFiles({ COPILOT_HOME: home, TAP_GATEWAY_PORT: "9400" }),
    (level, text) => log.push(`${level} ${text}`),
    { declare: () => async () => {}, setGroups: () => {} },
    /** @type {any} */ (load),
  );
  t.after(() => sessions.stop());
  /** @param {string} name @param {boolean} [configured] */
  const folder = (name, configured = true) => {
    const made = path.join(home, name);
    fs.mkdirSync(made, { recursive: true });
    if (configured) fs.writeFileSync(path.join(made, "tap.config.json"), "{}");
    return made;
  };
  return { sessions, done, imports, log, folder };
}

test("nothing is imported for folders without a config, once for all that have one", async (t) => {
  const { sessions, done, imports, folder } = rig(t);
  sessions.openSession("none", folder("none", false));
  sessions.openSession("relative", "none");
  await turn();
  assert.equal(imports.length, 0);
  sessions.openSession("a", folder("a"));
  sessions.openSession("b", folder("b"));
  await turn();
  assert.equal(imports.length, 1);
  assert.deepEqual(done, []);
  imports[0].arrive();
  await turn();
  sessions.openSession("c", folder("c"));
  await turn();
  assert.equal(imports.length, 1);
  assert.deepEqual(done, ["look a a", "look b b", "look c c"]);
});

test("a config that is a link to nothing counts as missing; one that cannot be read is reported", async (t) => {
  const { sessions, imports, folder } = rig(t);
  const loose = folder("loose", false);
  fs.symlinkSync("nowhere", path.join(loose, "tap.config.json"));
  sessions.openSession("loose", loose);
  await turn();
  assert.equal(imports.length, 0);
  const endless = folder("endless", false);
  fs.symlinkSync("tap.config.json", path.join(endless, "tap.config.json"));
  sessions.openSession("endless", endless);
  await turn();
  assert.equal(imports.length, 1);
});

test("a session that ends while the import is under way is not looked at", async (t) => {
  const { sessions, done, imports, folder } = rig(t);
  sessions.openSession("a", folder("a"));
  sessions.openSession("b", folder("b"));
  await turn();
  sessions.endSession("a");
  imports[0].arrive();
  await turn();
  sessions.endSession("b");
  assert.deepEqual(done, ["look b b", "ended b"]);
});

test("one that ends and comes back meanwhile is looked at once, where it is now", async (t) => {
  const { sessions, done, imports, folder } = rig(t);
  sessions.openSession("a", folder("before"));
  await turn();
  sessions.endSession("a");
  sessions.openSession("a", folder("after"));
  await turn();
  imports[0].arrive();
  await turn();
  assert.deepEqual(done, ["look a after"]);
});

test("a stop while the import is under way waits for nothing, and nothing starts after it", async (t) => {
  const { sessions, done, imports, folder } = rig(t);
  sessions.openSession("a", folder("a"));
  await turn();
  await sessions.stop();
  imports[0].arrive();
  await turn();
  sessions.openSession("b", folder("b"));
  await turn();
  assert.deepEqual(done, []);
});

test("a stop after it ends the sessions, and waits for what they had running", async (t) => {
  const { sessions, done, imports, folder } = rig(t);
  sessions.openSession("a", folder("a"));
  await turn();
  imports[0].arrive();
  await turn();
  await sessions.stop();
  assert.deepEqual(done, ["look a a", "ended a", "stopped"]);
});

test("an import that fails is logged and told, and tried again for the next session", async (t) => {
  const { sessions, done, imports, log, folder } = rig(t);
  sessions.openSession("a", folder("a"));
  sessions.openSession("gone", folder("gone"));
  await turn();
  sessions.endSession("gone");
  imports[0].fail(new Error("Cannot find package 'jsonc-parser'"));
  await turn();
  const told =
    "error for a: tap: the providers of this folder are not started: Cannot find package 'jsonc-parser'. " +
    "Run npm install --omit=dev in the folder of the extension, then /clear";
  assert.deepEqual(done, [told]);
  assert.match(log[0], /^error project providers cannot be loaded: Cannot find package/);
  sessions.openSession("b", folder("b"));
  await turn();
  assert.equal(imports.length, 2);
  imports[1].arrive();
  await turn();
  assert.deepEqual(done, [told, "look b b"]);
});
