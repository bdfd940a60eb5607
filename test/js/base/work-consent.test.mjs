// The user's yes to what the agent wants to run.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { WorkConsent } from "../../../js/base/work-consent.mjs";

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
    assert.equal(await consent.obstacle("s", "one"), "");
    assert.equal(await consent.obstacle("s", "one"), "");
    assert.equal(await consent.obstacle("s", "two"), "");
    assert.equal(await consent.obstacle("t", "one"), "");
    assert.deepEqual(
      asked.map(({ session, text }) => `${session} ${text}`),
      ["s one", "s two", "t one"],
    );
  });

  test("no and no answer are no, and are asked again", async () => {
    const { consent } = consentWith(
      { answer: "no" },
      { answer: "none", reason: "late" },
      undefined,
    );
    assert.match(await consent.obstacle("s", "one"), /has refused it/);
    assert.match(await consent.obstacle("s", "one"), /has not allowed it \(late\)/);
    assert.match(await consent.obstacle("s", "one"), /has not allowed it/);
  });

  test("where nobody can be asked, the CLI's own permission holds", async () => {
    const { consent } = consentWith(
      { answer: "none", asked: false },
      failing("UNKNOWN_REQUEST"),
      failing("UNAVAILABLE"),
      Object.assign(new Error("denied"), { code: "denied" }),
    );
    for (const text of ["one", "two", "three", "four"]) {
      assert.equal(await consent.obstacle("s", text), "", text);
    }
  });

  test("a question that failed is no yes", async () => {
    const { consent } = consentWith(failing("TIMEOUT"), failing("NO_SESSION"), failing("INTERNAL"));
    for (const text of ["one", "two", "three"]) {
      assert.match(await consent.obstacle("s", text), /has not allowed it \(it failed\)/, text);
    }
  });
});
