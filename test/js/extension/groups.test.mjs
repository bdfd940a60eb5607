// The groups of tools that are on: a session tells them to the next gateway.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SessionRunner } from "../../../js/extension/session-runner.mjs";

test("a session registers with the groups that the last gateway has named", () => {
  const link = { send() {}, call() {}, cancel() {} };
  const options = { id: "s", cwd: "/", sync: "auto", ownTools: [], log() {} };
  const runner = new SessionRunner(/** @type {any} */ (link), /** @type {any} */ (options));
  assert.deepEqual(runner.registration().groups, []);
  runner.receive({ type: "groups", names: ["records"] });
  assert.deepEqual(runner.registration().groups, ["records"]);
});
