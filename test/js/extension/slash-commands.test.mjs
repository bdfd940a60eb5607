// What a session does with a slash command: it goes to the gateway, or the user reads at once why not.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SlashCommands } from "../../../js/extension/slash-commands.mjs";

/** @param {{connected?: boolean, obstacle?: string}} [link] */
function place({ connected = true, obstacle = "" } = {}) {
  /** @type {any[]} */
  const sent = [];
  /** @type {string[]} */
  const shown = [];
  const link = { connected, obstacle, send: (/** @type {object} */ message) => sent.push(message) };
  const commands = new SlashCommands({ link, show: (text) => shown.push(text) });
  /** @param {string} name @param {string} [args] */
  const type = async (name, args) => {
    const command = commands.list().find((one) => one.name === name);
    await command?.handler(args === undefined ? undefined : { args });
  };
  return { commands, sent, shown, type };
}

test("a command travels with its arguments, and its text is shown once", async () => {
  const { commands, sent, shown, type } = place();
  await type("tap");
  await type("tap-doctor", " roll_die ");
  assert.deepEqual(sent, [
    { type: "command.run", commandId: "1", name: "tap", arguments: "" },
    { type: "command.run", commandId: "2", name: "tap-doctor", arguments: " roll_die " },
  ]);
  commands.showResult({ commandId: "2", text: "All is well." });
  commands.showResult({ commandId: "2", text: "again" });
  commands.showResult({ commandId: "7", text: "nobody's" });
  assert.deepEqual(shown, ["All is well."]);
});

test("without a gateway a command says so at once, and why where the user can help", async () => {
  const starting = place({ connected: false });
  await starting.type("tap");
  assert.match(starting.shown[0], /^tap: no gateway runs: it is being started; try again/);
  const stuck = place({ connected: false, obstacle: "port 9400 is taken by another program" });
  for (const name of ["tap", "tap-pair", "tap-use", "tap-doctor"]) await stuck.type(name, "x");
  assert.equal(stuck.shown.length, 4);
  for (const line of stuck.shown) {
    assert.match(line, /port 9400 is taken by another program.*`copilot-tap doctor`/);
  }
  assert.deepEqual([...starting.sent, ...stuck.sent], []);
});

test("a gateway that ends leaves no command without a word", async () => {
  const { commands, shown, type } = place();
  await type("tap");
  await type("tap-doctor");
  commands.showResult({ commandId: "1", text: "status" });
  commands.gatewayGone();
  commands.gatewayGone();
  commands.showResult({ commandId: "2", text: "late" });
  assert.deepEqual(shown.slice(0, 1), ["status"]);
  assert.equal(shown.length, 2);
  assert.match(shown[1], /^tap: \/tap-doctor was not finished: the gateway has ended/);
});

test("arguments that the gateway would not read are refused here", async () => {
  const { sent, shown, type } = place();
  await type("tap-doctor", "é".repeat(2049));
  assert.deepEqual(sent, []);
  assert.match(shown[0], /^tap: \/tap-doctor was not run: its arguments have more than 4096 bytes/);
  await type("tap-doctor", "é".repeat(2048));
  assert.equal(sent.length, 1);
});

test("/tap-pair and /tap-use ask the gateway itself", async () => {
  const { sent, shown, type } = place();
  await type("tap-pair");
  await type("tap-use", " weather ");
  await type("tap-use");
  assert.deepEqual(sent, [
    { type: "pairings.show" },
    { type: "provider.use", provider: "weather" },
  ]);
  assert.match(shown[0], /which provider/);
});
