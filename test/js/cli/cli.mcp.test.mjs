// copilot-tap mcp: with the user's config, real servers, and a real gateway.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { userConfigFile } from "../../../js/config/file.mjs";
import { place, placeOf, Running, tap } from "../../support/cli-process.mjs";
import { CARELESS, McpPlace, offeredTools, OFFICIAL } from "../../support/mcp-place.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";

const COMMAND = [OFFICIAL.command, ...OFFICIAL.args];

/** With --json before the server's own command. @param {string[]} words @param {import("../../support/cli-process.mjs").Place} at @param {object} [extra] */
async function runJson([action, ...rest], at, extra) {
  const { code, out } = await tap(["mcp", action, "--json", ...rest], at, extra);
  return { code, out, value: JSON.parse(out) };
}

/** Without a gateway. @param {import("node:test").TestContext} t */
function unserved(t) {
  const at = place(t);
  const home = String(at.env.COPILOT_HOME);
  const env = { ...at.env, TAP_GATEWAY_PORT: "1" };
  const readConfig = () => JSON.parse(fs.readFileSync(userConfigFile({ home }), "utf8"));
  return { at: { ...at, env }, readConfig };
}

describe("copilot-tap mcp", { concurrency: 2 }, () => {
  test("adds a server, shows its tools, and refuses a name that is taken", async (t) => {
    const { at, readConfig } = unserved(t);
    const added = await runJson(["add", "ev", "--tools", "a*", "--", ...COMMAND], at);
    assert.equal(added.code, 0);
    const { live, protocol, server, tools, characters } = added.value;
    assert.deepEqual([live, protocol, server.name], [false, "2025-11-25", "official"]);
    assert.deepEqual(
      tools.map((/** @type {any} */ { name, why }) => [name, why === undefined]),
      [
        ["ev_add", true],
        ["ev_grow", false],
      ],
    );
    assert.equal(characters, tools[0].characters);
    assert.deepEqual(readConfig().mcpServers.ev.tools, ["a*"]);
    assert.equal((await tap(["mcp", "add", "ev", "--", "x"], at)).code, 2);
    const replaced = ["mcp", "add", "ev", "--replace", "--no-check", "--", "x"];
    assert.equal((await tap(replaced, at)).code, 0);
    assert.deepEqual(readConfig().mcpServers.ev, { command: "x" });
    const { value } = await runJson(["list"], at);
    assert.deepEqual(
      value.servers.map((/** @type {any} */ { id, state }) => [id, state]),
      [["mcp:ev", "idle"]],
    );
    assert.equal((await runJson(["remove", "ev"], at)).value.removed, true);
    assert.deepEqual(readConfig().mcpServers, {});
  });

  test("a value that looks like a secret is stored apart, and none is printed", async (t) => {
    const { at, readConfig } = unserved(t);
    const token = `ghp_${"a1B2".repeat(9)}`;
    const words = ["add", "ev", "--no-check", "--env", `GITHUB_TOKEN=${token}`, "--", "x"];
    const { out, value } = await runJson(words, at);
    assert.ok(!out.includes(token));
    assert.deepEqual(value.secrets, ["EV_GITHUB_TOKEN"]);
    assert.equal(readConfig().mcpServers.ev.env.GITHUB_TOKEN, `\${secret:EV_GITHUB_TOKEN}`);
    const set = new Running(["mcp", "secret", "set", "OTHER", "--json"], at, {
      input: "hunter2\n",
    });
    assert.equal((await set.end()).code, 0);
    const { value: listed } = await runJson(["secret", "list"], at);
    assert.deepEqual(listed, { secrets: ["EV_GITHUB_TOKEN", "OTHER"] });
    assert.equal((await tap(["mcp", "secret", "remove", "OTHER"], at)).code, 0);
    assert.equal((await tap(["mcp", "secret", "remove", "OTHER"], at)).code, 1);
    assert.equal((await tap(["mcp", "secret", "set"], at)).code, 2);
  });

  test("a server that does not work keeps its entry, and the command fails", async (t) => {
    const { at, readConfig } = unserved(t);
    const { code, value } = await runJson(["add", "no", "--", "no-such-program"], at);
    assert.deepEqual([code, value.error.code], [1, "NOT_READY"]);
    assert.deepEqual(readConfig().mcpServers.no, { command: "no-such-program" });
  });

  test("what is wrong on the command line writes nothing", async (t) => {
    const { at } = unserved(t);
    const wrong = [
      ...[["add"], ["add", "ev"], ["add", "ev", "--url", "https://x", "--", "y"]],
      ...[["add", "ev", "--env", "A", "--", "x"], ["show"], ["secret", "other"]],
    ];
    for (const words of wrong)
      assert.equal((await tap(["mcp", ...words], at)).code, 2, words.join());
    assert.equal((await tap(["mcp", "add", "tapper", "--", "x"], at)).code, 1);
    assert.equal((await tap(["mcp", "remove", "ev"], at)).code, 1);
    assert.ok(!fs.existsSync(path.join(String(at.env.COPILOT_HOME), "tap", "config.json")));
  });

  test("what changes something is not for the shell of an agent", async (t) => {
    const { at } = unserved(t);
    const agent = { COPILOT_AGENT_SESSION_ID: "s" };
    const words = [
      ["add", "ev", "--", "x"],
      ["remove", "ev"],
      ["restart", "ev"],
    ];
    for (const one of [...words, ["secret", "set", "A"], ["secret", "remove", "A"]]) {
      const { code, value } = await runJson(one, at, agent);
      assert.deepEqual([code, value.error.code], [1, "NOT_FOR_AGENTS"], one.join());
    }
    assert.equal((await tap(["mcp", "list"], at, agent)).code, 0);
  });

  test("a session that runs has the tools of a server that is added, until it is removed", async (t) => {
    const host = await Host.elected(t);
    const session = await host.session(t);
    const at = placeOf(host);
    const added = await runJson(["add", "ev", "--", ...COMMAND], at);
    assert.equal(added.value.live, true);
    await waitFor(() => offeredTools(session).includes("ev_add"), { what: () => host.log });
    const show = async () => (await runJson(["show", "ev"], at)).value;
    const value = await waitFor(async () => {
      const shown = await show();
      return shown.state === "ready" && shown;
    });
    assert.deepEqual([value.offered, value.list.length], [2, 2]);
    const [former] = value.pids;
    await runJson(["restart", "ev"], at);
    await waitFor(async () => {
      const { state, pids } = await show();
      return state === "ready" && pids[0] !== former;
    });
    assert.equal((await tap(["call", "ev_add", "a=1", "b=2"], at)).out, "3\n");
    await runJson(["remove", "ev"], at);
    await waitFor(() => !offeredTools(session).includes("ev_add"), { what: () => host.log });
  });

  test("a project's config cannot add servers to a session", async (t) => {
    const created = await McpPlace.create(t, {});
    const folder = path.join(created.host.files.home, "project");
    fs.mkdirSync(folder);
    const config = path.join(folder, "tap.config.json");
    fs.writeFileSync(config, JSON.stringify({ mcpServers: { bad: CARELESS } }));
    const session = await created.host.session(t, { cwd: folder });
    await session.waitFor("timeline", ({ text }) => text.includes("mcpServers"));
    assert.deepEqual(await created.list(), []);
    assert.equal(created.notes, "");
  });
});
