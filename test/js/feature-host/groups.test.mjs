// Groups of tools that are asked for while the feature host starts: a gateway host, a feature host and a session.

import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";

test("a group is there with the answer, though its feature has only just been started", async (t) => {
  const host = await Host.elected(t, { COPILOT_HOME: temporaryFolder(t) });
  const session = await host.session(t, { cwd: temporaryFolder(t), cliPid: 4711 });
  for (const group of ["plans", "emitters", "records", "goals"]) {
    const answer = await session.call("tap_tools", { group });
    assert.match(String(answer), new RegExp(`^The tools of ${group} are here now: \\w+`));
  }
});
