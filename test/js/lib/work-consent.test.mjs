// The user's yes to what the agent wants to run.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatVariables, WorkConsent } from "../../../js/lib/work-consent.mjs";

/** @param {any[]} answers in turn; an error is thrown */
function consentWith(...answers) {
  const asked = /** @type {any[]} */ ([]);
  const consent = new WorkConsent({
    consent: async (question) => {
      asked.push(question);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  return { consent, asked };
}

const failing = (/** @type {string} */ code) =>
  Object.assign(new Error("it failed"), { cause: { code } });

describe("consent to work", () => {
  test("is asked for once in a session for each text", async () => {
    const { consent, asked } = consentWith({ answer: "yes" }, { answer: "yes" }, { answer: "yes" });
    assert.equal(await consent.requestConsent("s", "one", {}), "");
    assert.equal(await consent.requestConsent("s", "one", {}), "");
    assert.equal(await consent.requestConsent("s", "two", {}), "");
    assert.equal(await consent.requestConsent("t", "one", {}), "");
    assert.deepEqual(
      asked.map(({ session, text }) => `${session} ${text}`),
      ["s one", "s two", "t one"],
    );
  });

  test("to one work does not count for another behind the same question", async () => {
    const { consent, asked } = consentWith({ answer: "yes" }, { answer: "no" });
    assert.equal(await consent.requestConsent("s", "run make…", { command: "make" }), "");
    assert.match(
      await consent.requestConsent("s", "run make…", { command: "make; rm -r ." }),
      /refused/,
    );
    assert.equal(await consent.requestConsent("s", "run make…", { command: "make" }), "");
    assert.equal(asked.length, 2);
    assert.match(asked[0].of, /^[0-9a-f]{64}$/);
    assert.notEqual(asked[0].of, asked[1].of);
  });

  test("shows variables in lines of their own, and says what is left out", () => {
    assert.deepEqual(formatVariables({ A: "1\n  make", B: "x".repeat(100) }), [
      "  with A=1\\x0a  make",
      `  with B=${"x".repeat(78)}… (22 more)`,
    ]);
    const many = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`V${at}`, "1"]));
    assert.deepEqual(formatVariables(many).slice(5), ["  with V5=1", "  and 2 more variables"]);
  });

  test("no and no answer are no, and are asked again", async () => {
    const { consent } = consentWith(
      { answer: "no" },
      { answer: "none", reason: "late" },
      undefined,
    );
    assert.match(await consent.requestConsent("s", "one", {}), /has refused it/);
    assert.match(await consent.requestConsent("s", "one", {}), /has not allowed it \(late\)/);
    assert.match(await consent.requestConsent("s", "one", {}), /has not allowed it/);
  });

  test("where nobody can be asked, the CLI's own permission holds", async () => {
    const { consent } = consentWith(
      { answer: "none", asked: false },
      failing("UNKNOWN_REQUEST"),
      Object.assign(new Error("denied"), { code: "denied" }),
    );
    for (const text of ["one", "two", "three"]) {
      assert.equal(await consent.requestConsent("s", text, {}), "", text);
    }
  });

  test("a permission of the call is not enough where a dialog is needed", async () => {
    const notAsked = { answer: "none", asked: false, reason: "no dialogs" };
    const { consent } = consentWith(notAsked, { answer: "none" }, { answer: "no" });
    const ask = () => consent.ask("s", "one", {}, { needsDialog: true });
    const { why, isAsked } = await ask();
    assert.match(why, /nobody can be asked \(no dialogs\)/);
    assert.equal(isAsked, false);
    for (const again of [await ask(), await ask()]) {
      assert.notEqual(again.why, "");
      assert.equal(again.isAsked, true);
    }
  });

  test("a question that failed is no yes", async () => {
    const codes = ["TIMEOUT", "NO_SESSION", "INTERNAL", "UNAVAILABLE"];
    const { consent } = consentWith(...codes.map(failing));
    for (const text of codes) {
      assert.match(
        await consent.requestConsent("s", text, {}),
        /has not allowed it \(it failed\)/,
        text,
      );
    }
  });
});
