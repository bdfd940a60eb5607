// Claims against records: the rules of docs/goals.md.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { indexFacts, judgeClaim, findProhibited } from "../../../js/features/goals/claims.mjs";
import { cpuMs } from "../../support/cost.mjs";
import { goals, runner } from "./goals-rig.mjs";

let last = 0;
const fact = (fields) => ({
  ...{ record: ++last, at: 0, kind: "tool_call", names: [], commands: [], good: true },
  ...{ text: "", said: "", ...fields },
});
const npmTest = (exitCode, text = "") =>
  fact({ names: ["run_command"], commands: ["npm test"], exitCode, good: exitCode === 0, text });
const verdict = (claim, ...facts) => judgeClaim(claim, indexFacts(facts)).verdict;

describe("a claim", () => {
  const passed = npmTest(0, "ran 42 tests, 0 failures");
  const failed = npmTest(1, "3 failed");
  const deploy = fact({ names: ["deploy_site"] });
  const lint = fact({ names: ["run_command"], commands: ["npm run lint"], exitCode: 0 });
  const denied = fact({ kind: "gate", names: ["bash", "no-push"], good: false });

  /** @type {[string, any[], string][]} */
  const cases = [
    ["`npm test` passed", [passed], "supported"],
    ["npm test passed", [passed], "supported"],
    ["I ran `npm test`, and it passed.", [passed], "supported"],
    ["`npm test` passed", [failed], "contradicted"],
    ["`npm test` failed", [failed], "supported"],
    ["`npm test` did not fail", [passed], "supported"],
    ["`npm test` didn't pass", [passed], "contradicted"],
    ["`npm test` ran without any errors", [passed], "supported"],
    ["`npm test` passed with 42 tests", [passed], "supported"],
    ["`npm test` passed with 43 tests", [passed], "unsupported"],
    ["I ran `npm test`", [failed], "supported"],
    ["I never ran `npm test`", [passed], "contradicted"],
    ["`npm test` should pass", [passed], "unsupported"],
    ["`npm test` passed", [], "unsupported"],
    ["npm test:unit passed", [passed], "unsupported"],
    ["npm test -- --all passed", [passed], "unsupported"],
    ["`npm` test passed", [passed], "unsupported"],
    ["all tests passed", [passed], "unsupported"],
    ["the latest counts: `npm test` passed", [failed, passed], "contradicted"],
    ["`npm test` and `npm run lint` passed", [passed, lint], "supported"],
    ["`npm test` and `npm run lint` passed", [failed, lint], "contradicted"],
    ["`npm test` and `npm run build` passed", [passed, lint], "unsupported"],
    ["`npm test` passed and the deployment worked", [passed], "unsupported"],
    ["`npm test` passed, but `npm run lint` failed", [passed, lint], "contradicted"],
    ["deploy_site worked", [deploy], "supported"],
    ["`deploy_site` was called", [deploy], "supported"],
    ["run_command passed", [npmTest(1)], "contradicted"],
    ["`no-push` denied it", [denied], "supported"],
    ["`bash` was allowed", [denied], "contradicted"],
    ["`bash` passed", [denied], "unsupported"],
    ["`npm test` passed", [fact({ names: ["x"], commands: ["npm test"] })], "unsupported"],
    ["", [passed], "unsupported"],
    ["`` ` \u0001\u0001 0\u0001", [passed], "unsupported"],
  ];
  for (const [claim, facts, expected] of cases) {
    const of = facts.map(({ good, names, commands }) => `${commands[0] ?? names[0]} ${good}`);
    test(`${JSON.stringify(claim)} of ${JSON.stringify(of)} is ${expected}`, () => {
      assert.equal(verdict(claim, ...facts), expected);
    });
  }

  test("of any text is judged at once", () => {
    const facts = Array.from({ length: 3000 }, (_, i) =>
      fact({ names: [`tool_${i}`], commands: [`npm run x${i} ${"y".repeat(100)}`] }),
    );
    const index = indexFacts(facts);
    for (const text of [
      "no ".repeat(160),
      "`".repeat(500),
      "tool_1 ".repeat(70),
      "n't".repeat(160),
    ]) {
      const times = [1, 2, 3].map(() => {
        const before = cpuMs();
        judgeClaim(text, index);
        return cpuMs() - before;
      });
      assert.ok(Math.min(...times) < 50, `${text.slice(0, 20)}: ${times} ms`);
    }
  });

  test("has a prohibited text however it is written", () => {
    assert.deepEqual(findProhibited("It SHOULD\n  work", ["should work", "done"]), ["should work"]);
  });
});

describe("tap_audit_claims", () => {
  test("names the records that it judges by, and counts", async (t) => {
    const rig = await goals(t);
    await runner(rig, ({ command }) =>
      command === "npm test" ? '{"exitCode": 0}' : "stopped: exit code 1",
    );
    await rig.session.call("run_command", { command: "npm test" });
    await rig.session.call("run_command", { command: "npm run lint" });
    const claims = ["`npm test` passed", "`npm run lint` passed", "I read the docs"];
    const answer = await rig.call("tap_audit_claims", { claims });
    assert.deepEqual([answer.supported, answer.contradicted, answer.unsupported], [1, 1, 1]);
    const [{ records, reason }] = answer.claims;
    assert.equal(reason, `record ${records[0]}: the call of run_command: exit code 0`);
    rig.records.flush(5000);
    const kept = await rig.query({ collection: "claim" });
    assert.deepEqual(kept.records.map(({ body }) => body.verdict).reverse(), [
      "supported",
      "contradicted",
      "unsupported",
    ]);
  });

  test("does not take the model's own words for evidence", async (t) => {
    const { call, set } = await goals(t);
    const claims = ["`npm test` passed", "npm test ran", "`tap_audit_claims` was called"];
    await set("npm test passed", [{ command: "npm test", exitCode: 0 }]);
    const commands = [{ command: "npm test", exitCode: 0, output: "npm test passed" }];
    await call("tap_verify_goal_output", { commands });
    for (let i = 0; i < 2; i += 1) {
      assert.equal((await call("tap_audit_claims", { claims })).unsupported, 3);
    }
  });
});
