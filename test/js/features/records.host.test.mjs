// tap_query_records in the feature host, with the store of a real gateway host.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";

test("a query that is refused is the model's mistake, and names what there is", async (t) => {
  const home = temporaryFolder(t);
  fs.mkdirSync(path.join(home, "tap"), { mode: 0o700 });
  const config = JSON.stringify({ toolGroups: ["records"] });
  fs.writeFileSync(path.join(home, "tap", "config.json"), config, { mode: 0o600 });
  const host = await Host.elected(t, { COPILOT_HOME: home });
  const session = await host.session(t, {});
  const query = (args) => session.call("tap_query_records", args);
  const there = await waitFor(
    async () => {
      const answer = await query({ collection: "session" });
      return typeof answer === "string" && JSON.parse(answer);
    },
    { what: () => host.log, timeoutMs: 20_000 },
  );
  assert.ok(there.records.length > 0);
  for (const [what, args, names] of [
    ["a collection", { collection: "secrets" }, /tool_call/],
    ["a field", { collection: "session", where: { colour: "red" } }, /no field "colour"/],
    ["an operator", { collection: "session", where: { event: { like: "o" } } }, /prefix/],
    ["a cursor", { collection: "session", cursor: "none" }, /cursor/],
    ["a time", { collection: "session", since: "tomorrow" }, /ISO 8601/],
  ]) {
    const { code, text } = await query(args);
    assert.equal(code, "INVALID_ARGUMENTS", `${what}: ${text}`);
    assert.match(text, names, what);
  }
});
