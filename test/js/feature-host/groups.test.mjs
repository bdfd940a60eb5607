// Groups of tools that are asked for while the feature host starts: a gateway host, a feature host and a session.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { waitFor } from "../../support/wait.mjs";

const MAIN = fileURLToPath(
  new URL("../../support/fixtures/features/gateway-host.mjs", import.meta.url),
);

test("a group is there with the answer, though its feature has only just been started", async (t) => {
  const host = await LocalHost.elected(t, { COPILOT_HOME: temporaryFolder(t) });
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
  const host = await LocalHost.elected(t, { COPILOT_HOME: home });
  const session = await host.session(t, { cwd: temporaryFolder(t), cliPid: 4711 });
  const said = /warning toolGroups: there is no group recrods; there are records, .*session/;
  await waitFor(() => said.test(host.log), { what: () => host.log });
  await waitFor(
    async () => !/DISCONNECTED/.test(JSON.stringify(await session.call("tap_get_session_state"))),
    { what: () => host.log },
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
    { what: () => next.log },
  );
});

test("where the feature host takes its time, tap_tools waits rather than have the model call it again", async (t) => {
  const folder = temporaryFolder(t);
  const [file, go] = ["slow.mjs", "go"].map((name) => path.join(folder, name));
  const main = new URL("../../../js/feature-host/main.mjs", import.meta.url).href;
  const wait = `while (!fs.existsSync(${JSON.stringify(go)})) await setTimeout(20);`;
  fs.writeFileSync(
    file,
    `import fs from "node:fs"; import { setTimeout } from "node:timers/promises";
     ${wait} await import(${JSON.stringify(main)});`,
  );
  const host = await Host.elected(t, { TAP_TEST_MAIN: file }, MAIN);
  const session = await host.session(t, { cwd: temporaryFolder(t) });
  const answer = session.call("tap_tools", { group: "records" });
  await session.call("tap_status"); // the gateway has the call before this one, too
  fs.writeFileSync(go, "");
  assert.match(String(await answer), /^The tools of records are here now/);
});

test("where the feature host has given up, tap_tools says so at once, and where it is late, in time", async (t) => {
  const folder = temporaryFolder(t);
  const program = (name, text) => {
    fs.writeFileSync(path.join(folder, name), text);
    return path.join(folder, name);
  };
  const broken = {
    TAP_TEST_MAIN: program("broken.mjs", "process.exit(3)"),
    TAP_TEST_RESTARTS: "0",
  };
  const given = await (await Host.elected(t, broken, MAIN)).session(t, { cwd: folder });
  const open = (session) => session.call("tap_tools", { group: "records" }).then(String);
  await open(given);
  const slow = { TAP_TEST_MAIN: program("slow.mjs", "setInterval(() => {}, 1000)") };
  const late = await (await Host.elected(t, slow, MAIN)).session(t, { cwd: folder });
  const order = /** @type {string[]} */ ([]);
  const waits = open(late).finally(() => order.push("late"));
  const text = await open(given).finally(() => order.push("given up"));
  assert.match(await waits, /has no tools yet\. Call tap_tools again/);
  assert.deepEqual(order, ["given up", "late"]);
  assert.match(text, /exit code 3.* It is not started again; .*run copilot-tap stop/);
  assert.doesNotMatch(text, /again\.$/);
});

test("a feature host that does not become ready is ended, and the next ones know of it", async (t) => {
  const folder = temporaryFolder(t);
  const [main, seen] = ["silent.mjs", "seen"].map((name) => path.join(folder, name));
  const append = `(line) => fs.appendFileSync(${JSON.stringify(seen)}, line)`;
  fs.writeFileSync(
    main,
    `import fs from "node:fs"; process.stdin.on("data", ${append}); setInterval(() => {}, 1000)`,
  );
  const host = await Host.elected(t, { TAP_TEST_MAIN: main, TAP_TEST_PING_MS: "100" }, MAIN);
  await host.session(t, { cwd: folder });
  const hangs = () =>
    fs.existsSync(seen) ? [...fs.readFileSync(seen, "utf8").matchAll(/"hangs":(\d+)/g)] : [];
  await waitFor(() => hangs().length >= 3, { what: () => host.log });
  assert.deepEqual(
    hangs()
      .slice(0, 3)
      .map(([, count]) => count),
    ["0", "1", "2"],
  );
});
