// Groups of tools that are asked for while the feature host starts: a gateway host, a feature host and a session.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";

test("a group is there with the answer, though its feature has only just been started", async (t) => {
  const host = await Host.elected(t, { COPILOT_HOME: temporaryFolder(t) });
  const session = await host.session(t, { cwd: temporaryFolder(t), cliPid: 4711 });
  for (const group of ["plans", "emitters", "records", "goals"]) {
    const answer = await session.call("tap_tools", { group });
    assert.match(String(answer), new RegExp(`^The tools of ${group} are here now: \\w+`));
  }
});

test("a group of a config that there is not is named in the log, and the others are there", async (t) => {
  const home = temporaryFolder(t);
  fs.mkdirSync(path.join(home, "tap"), { mode: 0o700 });
  const config = JSON.stringify({ toolGroups: ["recrods", "session"] });
  fs.writeFileSync(path.join(home, "tap", "config.json"), config, { mode: 0o600 });
  const host = await Host.elected(t, { COPILOT_HOME: home });
  const session = await host.session(t, { cwd: temporaryFolder(t), cliPid: 4711 });
  const said = /warning toolGroups: there is no group recrods; there are records, .*session/;
  await waitFor(() => said.test(host.log), { what: () => host.log });
  await waitFor(
    async () => !/DISCONNECTED/.test(JSON.stringify(await session.call("tap_get_session_state"))),
    { what: () => host.log, timeoutMs: 20_000 },
  );
});

test("a group that a session brings along from a gateway that was killed starts the feature host", async (t) => {
  const home = temporaryFolder(t);
  const first = await Host.elected(t, { COPILOT_HOME: home });
  const fields = { cwd: temporaryFolder(t), cliPid: 4711 };
  const session = await first.session(t, fields);
  await session.call("tap_tools", { group: "records" });
  const { names } = await session.waitFor("groups");
  assert.deepEqual(names, ["records"]);
  first.process.kill("SIGKILL");
  await first.exit();
  const next = await Host.elected(t, { COPILOT_HOME: home });
  const again = await next.session(t, { ...fields, sessionId: session.id, groups: names });
  await waitFor(
    async () => {
      const answer = await again.call("tap_query_records", { collection: "session", limit: 1 });
      return !/DISCONNECTED/.test(JSON.stringify(answer));
    },
    { what: () => next.log, timeoutMs: 20_000 },
  );
});
