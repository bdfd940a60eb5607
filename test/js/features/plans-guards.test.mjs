// The deny rules and gates that a plan has from its session, once that has ended.

import assert from "node:assert/strict";
import { test } from "node:test";
import { findGuards, listGuards } from "../../../js/feature-host/guards.mjs";
import { requireGuards } from "../../../js/features/plans/session-guards.mjs";

const rule = (/** @type {object} */ more) => ({ failOpen: false, ...more });
const RULES = [
  rule({ action: "deny", match: { tool: "shell", args: "git push" }, reason: "nobody pushes" }),
  rule({ action: "gate", match: { tool: "shell", args: "deploy" }, gateId: "g" }),
  rule({ action: "gate", match: { args: "open" }, gateId: "o", failOpen: true }),
  rule({ action: "context", match: { args: "note" }, content: "careful" }),
];
const bind = (/** @type {string} */ session) => ({ session, rules: RULES });
const SEEN = /** @type {any} */ ({
  sessions: [{ id: "s", cwd: "/code" }],
  providers: [{ name: "ci", bindings: [bind("s"), bind("other")] }],
});
const GONE = /** @type {any} */ ({
  sessions: [{ id: "away", cwd: "/elsewhere" }],
  providers: [{ name: "ci", bindings: [bind("away")] }],
});
const BACK = /** @type {any} */ ({
  sessions: [{ id: "next", cwd: "/code/sub" }],
  providers: [{ name: "ci", bindings: [bind("next")] }],
});

const guards = listGuards(SEEN, { session: "s" });

/** @param {string} command @param {any} seen @param {object} [verdict] of the gate */
async function outcome(command, seen, verdict = { allowed: true }) {
  const asked = /** @type {any[]} */ ([]);
  const services = {
    permissions: {
      covering: async (/** @type {any} */ use) => findGuards(seen, use),
      check: async (/** @type {any} */ use) => {
        asked.push(use.session);
        return /** @type {any} */ (verdict);
      },
    },
  };
  const use = { tool: "bash", args: { command } };
  const error = await requireGuards({ guards, repo: "/code" }, use, services, { waitMs: 0 }).catch(
    (thrown) => thrown,
  );
  return { code: error?.code, message: error?.message, asked };
}

test("a session's deny rules and gates are listed, without those that fail open", () => {
  assert.deepEqual(guards, [{ provider: "ci", rules: RULES.slice(0, 2) }]);
  const held = { sessions: [{ id: "s", held: [{ name: "ci", rules: RULES }] }], providers: [] };
  assert.deepEqual(listGuards(/** @type {any} */ (held), { session: "s" }), guards);
});

test("a deny rule denies, and a gate without its provider does when it has waited", async () => {
  const denied = await outcome("cd .\ngit push", GONE);
  assert.equal(denied.code, "DENIED");
  assert.match(denied.message, /ci: nobody pushes/);
  assert.equal((await outcome("deploy", GONE)).code, "DENIED");
  assert.deepEqual((await outcome("deploy", GONE)).asked, [], "in another folder it is another's");
  assert.equal((await outcome("ls; open; note", GONE)).code, undefined);
});

test("a gate is asked where its provider is in a session of the folder again", async () => {
  assert.deepEqual(await outcome("deploy", BACK), {
    ...{ code: undefined, message: undefined, asked: ["next"] },
  });
  const no = await outcome("deploy", BACK, { allowed: false, by: "ci", reason: "red" });
  assert.deepEqual([no.code, no.asked], ["DENIED", ["next"]]);
});
