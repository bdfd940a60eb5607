// A secret behind a tab, or where a line begins. These are shown as escapes, behind which it has no form by which it is
// found: it is removed before.

import assert from "node:assert/strict";
import { test } from "node:test";
import { lineView } from "../../../js/features/emitters/views.mjs";
import { note } from "../../../js/features/goals/ledger.mjs";
import { parseEvidence } from "../../../js/features/plans/phases.mjs";
import { formatLastLines } from "../../../js/features/plans/errors.mjs";
import { HANDLERS } from "../../../js/features/plans/tools.mjs";
import { changeMode } from "../../../js/features/session/mode.mjs";
import { Progress } from "../../../js/agents/progress.mjs";

const TOKEN = `ghp_${"a1b2c3d4".repeat(5)}`;
const TEXT = `one\t${TOKEN}\ntwo\n\tpassword: hunter2hunter2\npassword: hunter2hunter2`;

/** @param {string} text */
async function ofLogs(text) {
  const plans = /** @type {any} */ ({
    view: () => ({ id: "n", attempt: 1, attempts: [{ attempt: 1, phases: [{ phase: "work" }] }] }),
    readLog: async (/** @type {any} */ { most }) => {
      const from = Math.max(0, text.length - most);
      return { text: text.slice(from), from, next: text.length, size: text.length };
    },
  });
  const whole = await HANDLERS.get_copilot_node_logs(plans, { planId: "p", nodeId: "n" });
  const asked = { planId: "p", nodeId: "n", phase: "work" };
  return [whole, await HANDLERS.get_copilot_node_logs(plans, asked)];
}

/** @param {string} text */
async function ofMode(text) {
  const did = /** @type {any[]} */ ([]);
  const sessions = {
    policy: async () => ({ mode: "ask" }),
    ask: async (/** @type {any} */ question) => (did.push(question), { answer: "yes" }),
    state: async () => ({ mode: "interactive" }),
    setMode: async (/** @type {any} */ change) => (did.push(change), { applied: true }),
  };
  await changeMode(/** @type {any} */ ({ sessions }), "s", { mode: "autopilot", reason: text });
  return did;
}

/** @param {string} text */
async function ofLedger(text) {
  const lines = /** @type {any[]} */ ([]);
  const append = async (/** @type {any} */ { body }) => void lines.push(body);
  await note(/** @type {any} */ ({ records: { append } }), "s", "g-1", text);
  return lines;
}

/** @param {string} content */
function ofAgent(content) {
  const progress = new Progress({}, 0);
  progress.begin();
  return [
    progress.handleEvent({ type: "assistant.message", data: { content } }, 0),
    progress.summary,
  ];
}

/** @type {Record<string, (text: string) => unknown>} */
const SHOWN = {
  "a stream's history": (text) =>
    lineView(/** @type {any} */ ({ number: 1, at: 1, run: 1, line: 1, outcome: "keep", text })),
  "the ledger of a goal": ofLedger,
  "the reason for a mode": ofMode,
  "the last lines of a phase": formatLastLines,
  "the logs of a node": ofLogs,
  "the evidence of a node": (text) =>
    parseEvidence(JSON.stringify({ summary: text, findings: [{ text }] })),
  "what an agent says": ofAgent,
};

for (const [what, shown] of Object.entries(SHOWN)) {
  test(`${what} has no secret, whatever stands before it`, async () => {
    const said = JSON.stringify(await shown(TEXT));
    assert.match(said, /one/);
    assert.match(said, /<removed>/);
    assert.doesNotMatch(said, /ghp_|hunter2/);
  });
}

test("the logs of a node have no rest of a secret that begins before them", async () => {
  const key = `-----BEGIN PRIVATE KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0BAQEF\n".repeat(60)}-----END PRIVATE KEY-----\n`;
  const text = `begin\n${key}${"a line\n".repeat(2250)}end\n`;
  for (const log of await ofLogs(text)) {
    assert.ok(log.text.length <= 16_000, `${log.text.length}`);
    assert.ok(log.text.endsWith("end\n"));
    assert.doesNotMatch(log.text, /MII|PRIVATE/);
  }
});
