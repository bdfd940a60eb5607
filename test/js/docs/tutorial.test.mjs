// The tutorial, done as it is written, in both languages, beside a gateway with a pretend session. That the
// CLI shows what it says is for test/e2e/tutorial.test.mjs.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Gateway, Session } from "../../support/gateway-host.mjs";
import { hostEnv, timerOf } from "../../support/tutorial.mjs";
import { hasLines, plainLines, Walkthrough, withFunction } from "../../support/walkthrough.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/**
 * A pretend session in the CLI's place: what the user asks for is called, lines of tap's are in its timeline.
 * @param {Gateway} gateway @returns {import("../../support/walkthrough.mjs").Player & {close: () => void}}
 */
function playerOf(gateway) {
  /** @type {any} */
  let session;
  return {
    start: async () => void (session = await Session.register(gateway, "tutorial")),
    async prompt(text) {
      await gateway.tools(session, "set_timer");
      assert.match(await session.call("set_timer", timerOf(text)), /seconds$/);
    },
    key: async () => {},
    async shows(text) {
      const lines = plainLines(text).filter((line) => line.startsWith("● tap:"));
      for (const line of lines) await session.shows(line.slice("● ".length));
    },
    close: () => session?.close(),
  };
}

describe("docs/tutorial.md", { concurrency: 1 }, () => {
  for (const language of /** @type {const} */ (["node", "python"])) {
    test(`its programs and tests do what it says, in ${language}`, async (t) => {
      const gateway = await Gateway.create(hostEnv);
      t.after(() => gateway.dispose());
      const player = playerOf(gateway);
      t.after(() => player.close());
      const where = { COPILOT_HOME: gateway.home, TAP_GATEWAY_PORT: String(gateway.port) };
      const env = { ...where, TAP_PROVIDER_TOKEN: "" };
      const walk = new Walkthrough({ language, folder: temporaryFolder(t), env, player });
      t.after(() => walk.stop());
      await walk.follow("docs/tutorial.md");
    });
  }
});

describe("a walkthrough", () => {
  test("compares lines without frames and the time of day; … is anything", () => {
    const screen = "│ ❯ hello     16:40 ┃\n│\n│ bound to work (main) │";
    assert.ok(hasLines(screen, "❯ hello\nbound to …"));
    assert.ok(!hasLines(screen, "bound to …\n❯ hello"));
    assert.ok(!hasLines(screen, "bound to"));
  });

  test("replaces a function, in either language", () => {
    assert.equal(
      withFunction("a();\nasync function f() {\n  1;\n}\nb();\n", "function f() {\n  2;\n}\n"),
      "a();\nfunction f() {\n  2;\n}\nb();\n",
    );
    assert.equal(
      withFunction("a()\n\n\ndef f():\n    1\n\n\nb()\n", "async def f():\n    2\n"),
      "a()\n\n\nasync def f():\n    2\n\n\nb()\n",
    );
    assert.throws(() => withFunction("a();\n", "function f() {}\n"), /no function f/);
  });
});
