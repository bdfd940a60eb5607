// Watchers on the real CLI: a wake, a text in a turn that runs, the context of a prompt, and the lines on the screen.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { openControl } from "../../js/link/control.mjs";
import { gatewayFiles } from "../../js/lib/paths.mjs";
import { callTool, say, userTexts } from "../support/model.mjs";
import { startTap } from "../support/tap.mjs";
import { waitFor } from "../support/wait.mjs";

/** Prints the file after each change. */
const BUILD =
  'last=; while true; do now=$(cat state 2>/dev/null); if [ "$now" != "$last" ]; then last=$now; echo "$now"; fi; sleep 0.1; done';
const RED = "src/b.ts:2: error: bad type\nRED";
const GREEN = "GREEN";

/** A watcher of a build, which is green. @param {any} rig @param {any} terminal */
async function watch(rig, terminal) {
  await terminal.prompt("hello", /noted/);
  const env = { COPILOT_HOME: rig.cli.home, TAP_GATEWAY_PORT: String(rig.port) };
  const control = await openControl(gatewayFiles(/** @type {any} */ (env)));
  const inspect = () => control.request("gateway.inspect");
  const { sessions } = await inspect();
  const ask = async (/** @type {object} */ what) => {
    const asked = { name: "tap-emit", arguments: JSON.stringify(what), session: sessions[0].id };
    return JSON.parse((await control.request("features.command", asked)).text);
  };
  const becomes = (/** @type {string} */ state) =>
    writeFileSync(path.join(rig.cli.workFolder, "state"), `${state}\n`);
  const isState = (/** @type {string} */ state) =>
    waitFor(
      async () => {
        const { answer } = await ask({ do: "watch.show", name: "build" });
        return answer.parts[0].state === state;
      },
      { what: async () => JSON.stringify(await ask({ do: "watch.show", name: "build" })) },
    );
  becomes(GREEN);
  const patterns = { red: "^RED", green: "^GREEN" };
  await ask({ do: "watch", command: BUILD, name: "build", hold: "1ms", ...patterns });
  await isState("green");
  /** Bytes that go with the next prompt. */
  const carried = async () => {
    const { providers } = await inspect();
    const found = providers.find((one) => one.name === "tap-emitters-session");
    return found?.bindings[0]?.context ?? 0;
  };
  const isIdle = () => waitFor(async () => (await inspect()).sessions[0].activity === "idle");
  return { becomes, isState, isIdle, carried, close: () => control.close() };
}

/** The user's messages in which a text is. @param {any} rig @param {RegExp} pattern */
const messagesWith = (rig, pattern) =>
  userTexts(rig.model.last).filter((text) => pattern.test(text));

/** @param {any} terminal @param {RegExp} pattern with the flag g */
const countShown = (terminal, pattern) =>
  (terminal.allText().replace(/\s+/g, " ").match(pattern) ?? []).length;

describe("watchers", { concurrency: 1 }, () => {
  test("an edit of the user's wakes an idle agent once, with a single line; the next prompt carries green", async (t) => {
    const rig = await startTap(t, () => say("noted"));
    const terminal = await rig.interactive();
    const build = await watch(rig, terminal);
    t.after(build.close);
    build.becomes(RED);
    await waitFor(() => messagesWith(rig, /Watcher build .* is RED since/).length === 1, {
      what: () => rig.report(),
    });
    await terminal.waitForScreen(/tap: build is red: src\/b\.ts:2/);
    await terminal.waitUntilReady();
    await build.isIdle();
    const woken = rig.model.requests.length;
    build.becomes(GREEN);
    await build.isState("green");
    await terminal.waitForScreen(/tap: build is green again \(\d+ s\)/);
    await waitFor(async () => (await build.carried()) > 0, { what: () => rig.report() });
    assert.equal(rig.model.requests.length, woken, "green starts no turn");
    await terminal.prompt("go on please", /noted/);
    await waitFor(() => messagesWith(rig, /go on please/).length === 1);
    const [prompt] = messagesWith(rig, /go on please/);
    assert.match(prompt, /Watcher build .* is GREEN again since .*\. Red for \d+ s before\./);
    await waitFor(async () => (await build.carried()) === 0);
    assert.equal(countShown(terminal, /tap: build is red: /g), 1, terminal.allText());
    assert.equal(countShown(terminal, /Watcher build/g), 0, terminal.allText());
    await terminal.exit();
  });

  test("a change during a turn that runs arrives in it, with a single line", async (t) => {
    const isToldRed = (/** @type {any} */ request) =>
      userTexts(request).some((text) => /Watcher build .* is RED since/.test(text));
    const rig = await startTap(t, (request) => {
      const texts = userTexts(request);
      if (!texts.some((text) => text.includes("work on it"))) return say("noted");
      return isToldRed(request) ? say("I see it") : callTool("tap_status");
    });
    const terminal = await rig.interactive();
    const build = await watch(rig, terminal);
    t.after(build.close);
    await terminal.submit("work on it");
    await waitFor(() => messagesWith(rig, /work on it/).length === 1);
    build.becomes(RED);
    await terminal.waitForScreen(/I see it/);
    await terminal.waitUntilReady();
    const messages = rig.model.last.body.messages;
    const told = messages.findIndex(
      ({ role, content }) => role === "user" && /Watcher build/.test(JSON.stringify(content)),
    );
    assert.equal(messages[told - 1].role, "tool", "in the middle of the turn");
    assert.equal(countShown(terminal, /tap: build is red: src\/b\.ts:2/g), 1, terminal.allText());
    assert.equal(countShown(terminal, /Watcher build/g), 0, terminal.allText());
    await terminal.exit();
  });
});
