// The tool that changes a session's mode: whom it asks, and what the model is told. The session is a stand-in.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { changeMode } from "../../../js/features/session/mode.mjs";

/**
 * @param {object} [how] `answer` of the user, `policy` of his config, who has chosen the mode, and what fails
 */
function world(how = {}) {
  const { policy = "ask", mode = "interactive", modeChosenBy = "start", answer = "yes" } = how;
  const did = [];
  const services = /** @type {any} */ ({
    sessions: {
      policy: async () => ({ mode: policy }),
      state: async () => ({ mode, modeChosenBy }),
      ask: async ({ session, text }) => {
        did.push(`asked ${session}: ${text}`);
        return { answer, reason: how.reason };
      },
      setMode: async ({ session, ...change }) => {
        if (how.failure) throw new Error(how.failure);
        did.push(`set ${session} ${change.from} > ${change.mode} (${change.why})`);
        return how.set ?? { applied: true, mode: change.mode };
      },
    },
  });
  const change = (to = "autopilot", reason = "it is long") =>
    changeMode(services, "s", { mode: /** @type {any} */ (to), reason });
  return { did, change };
}

describe("tap_set_session_mode", () => {
  test("asks the user, and changes the mode after a yes", async () => {
    const { did, change } = world();
    const text = await change();
    assert.equal(text, "The session is in autopilot mode now, and was in interactive mode.");
    assert.match(did[0], /^asked s: .*from interactive to autopilot mode.*"it is long"/);
    assert.match(did[0], /goes on by itself/);
    assert.equal(did[1], "set s interactive > autopilot (it is long)");
  });

  test("half a secret is in no reason that is cut", async () => {
    for (let before = 0; before < 400; before += 5) {
      const { did, change } = world();
      const reason = `${"y".repeat(before)} https://user:hunter2hunter2@host.example/ ${"z".repeat(900)}`;
      await change("autopilot", reason);
      assert.equal(did.length, 2);
      assert.doesNotMatch(did.join("\n"), /hunter2/, `after ${before} characters`);
    }
  });

  test("changes nothing after a no, or where nobody can be asked", async () => {
    const no = world({ answer: "no" });
    assert.match(await no.change(), /^The mode was not changed: the user has refused/);
    assert.equal(no.did.length, 1);
    const none = world({ answer: "none", reason: "nobody sits in front of this session" });
    assert.match(await none.change(), /could not be asked \(nobody sits.*"mode": "allow"/);
    assert.equal(none.did.length, 1);
  });

  test("asks nobody where the config allows it, unless the mode is the user's own", async () => {
    for (const modeChosenBy of ["start", "tap"]) {
      const { did, change } = world({ policy: "allow", modeChosenBy });
      await change();
      assert.deepEqual(did, ["set s interactive > autopilot (it is long)"]);
    }
    for (const modeChosenBy of ["user", { unknown: "not read" }, "model"]) {
      const { did, change } = world({ policy: "allow", modeChosenBy, answer: "no" });
      assert.match(await change(), /refused/);
      assert.equal(did.length, 1);
    }
    const own = world({ modeChosenBy: "user", mode: "plan" });
    await own.change("interactive");
    assert.match(own.did[0], /You have chosen the mode that it is in now/);
  });

  test("leaves it to the gateway to refuse what the config denies, which is recorded there", async () => {
    const failure = 'the user\'s config has "session": { "mode": "deny" }';
    const { did, change } = world({ policy: "deny", failure: `unavailable: ${failure}` });
    assert.equal(await change(), `The mode was not changed: ${failure}.`);
    assert.deepEqual(did, []);
  });

  test("does nothing where the mode is that one already, or is not known", async () => {
    const same = world({ mode: "plan" });
    assert.match(await same.change("plan"), /in plan mode already/);
    const unknown = world({ mode: /** @type {any} */ ({ unknown: "no mode.get" }) });
    assert.match(
      await unknown.change("plan"),
      /does not say which one is in force \(no mode.get\)/,
    );
    assert.deepEqual([same.did, unknown.did], [[], []]);
  });

  test("says what the session says against it", async () => {
    const { change } = world({ set: { applied: false, reason: "the mode is plan now" } });
    assert.equal(await change(), "The mode was not changed: the mode is plan now.");
  });

  test("shows the user no hidden character and no endless reason", async () => {
    const { did, change } = world();
    await change("plan", `\u202e\u001b[2J${"x".repeat(5000)}`);
    assert.ok(did[0].length < 800 && did[0].includes("\\u{202e}\\x1b"), did[0]);
  });
});
