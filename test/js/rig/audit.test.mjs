// What lint makes of npm audit's answers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeAudit } from "../../../tools/audit.mjs";

/** As npm prints it, with its warnings around it. @param {object} report */
const printed = (report) =>
  `npm warn x\n${JSON.stringify(report, undefined, 2)}\nnpm error A complete log is in a file\n`;

test("a known weakness fails, with the package, the versions and how bad it is", () => {
  const leftPad = { name: "left-pad", severity: "high", range: "<1.3.0" };
  const report = { vulnerabilities: { "left-pad": leftPad }, metadata: {} };
  assert.deepEqual(judgeAudit(printed(report)), { ok: false, text: "left-pad <1.3.0 (high)" });
});

test("without one it passes", () => {
  const report = { vulnerabilities: {}, metadata: {} };
  assert.deepEqual(judgeAudit(printed(report)), { ok: true, text: "no known weakness" });
});

test("a registry that cannot be asked is said, and fails nothing", () => {
  const refused = { message: "405 Method Not Allowed", error: { summary: "", detail: "" } };
  assert.deepEqual(judgeAudit(printed(refused)), {
    ok: true,
    text: "not possible: 405 Method Not Allowed",
  });
  const offline = judgeAudit("npm error network request failed\n");
  assert.deepEqual(offline, {
    ok: true,
    text: "not possible: npm printed npm error network request failed",
  });
});
