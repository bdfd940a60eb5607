// The host's table of slash commands, and a session that asks for them over its link.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { FEATURES } from "../../../js/features/list.mjs";
import { SLASH_COMMANDS } from "../../../js/lib/slash-commands.mjs";
import { HOST_COMMANDS, runCommand } from "../../../js/gateway-host/slash-commands.mjs";
import { Gateway, Session } from "../../support/gateway-host.mjs";

/** Handled by the gateway itself, with messages of their own. */
const NATIVE = ["tap-pair", "tap-use"];
const context = /** @type {any} */ ({
  session: { id: "s", cwd: "/" },
  features: { command: () => undefined },
});

test("every command that a session offers is run by somebody", () => {
  const ofFeatures = FEATURES.flatMap(({ descriptor }) => descriptor.commands ?? []);
  const run = [...HOST_COMMANDS, ...ofFeatures].map(({ name }) => name);
  for (const name of NATIVE) assert.ok(run.includes(name), `a feature declares ${name}`);
  assert.deepEqual(run.sort(), SLASH_COMMANDS.map(({ name }) => name).sort());
  for (const { name } of SLASH_COMMANDS) assert.match(name, /^[a-z0-9-]{1,64}$/);
});

test("a command that fails, and one that is not there, say so", async () => {
  const broken = { name: "broken", description: "", run: () => Promise.reject(new Error("no")) };
  const typed = (/** @type {string} */ name) => ({ name, arguments: "" });
  assert.equal(await runCommand([broken], context, typed("broken")), "tap: no");
  for (const name of ["constructor", "__proto__", "tapp"]) {
    assert.equal(
      await runCommand([broken], context, typed(name)),
      `tap: there is no command "${name}"`,
    );
  }
});

test("a session gets the status and the doctor's words over its link", async (t) => {
  const gateway = await Gateway.create();
  t.after(() => gateway.dispose());
  const session = await Session.register(gateway, "one", gateway.home);
  const status = await session.command("tap");
  assert.match(status, /^gateway \d+\.\d+\.\d+, pid \d+, port \d+, up .*, 0 calls running/);
  assert.match(status, /^ {2}one +one +idle/m);
  assert.ok(status.includes(`home ${gateway.home}`), status);
  assert.match(await session.command("tap-doctor", "no_such_tool"), /no_such_tool/);
  assert.equal(await session.command("tap-nothing"), 'tap: there is no command "tap-nothing"');
});

test("/tap-features shows the features, and switches one as the user's config then says", async (t) => {
  const gateway = await Gateway.create();
  t.after(() => gateway.dispose());
  const session = await Session.register(gateway, "one", gateway.home);
  assert.match(await session.command("tap-features"), /^builtin:records builtin, on$/m);
  const file = path.join(gateway.home, "tap", "config.json");
  const said = (/** @type {string} */ args) => session.command("tap-features", args);
  assert.equal(
    await said("disable builtin:records"),
    `tap: builtin:records is disabled, as ${file} says`,
  );
  assert.match(await said(""), /^builtin:records builtin, disabled$/m);
  const config = () => JSON.parse(fs.readFileSync(file, "utf8"));
  assert.deepEqual(config(), { features: { "builtin:records": false } });
  assert.match(await said(" enable  builtin:records "), /is on/);
  assert.deepEqual(config(), { features: { "builtin:records": true } });
  assert.match(await said("disable builtin:status"), /always on/);
  assert.match(await said("disable builtin:x\u001b"), /no feature "builtin:x\\x1b"; there are/);
  for (const wrong of ["enable", "switch builtin:records", "enable a b"]) {
    assert.match(await said(wrong), /^tap: expected \/tap-features, or /);
  }
  assert.deepEqual(config(), { features: { "builtin:records": true } });
});
