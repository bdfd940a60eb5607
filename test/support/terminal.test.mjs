import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { CopilotCli } from "./cli.mjs";
import { ScriptedModel, callTool, say, toolNames, toolResults, userTexts } from "./model.mjs";
import { startInteractive } from "./terminal.mjs";
import { waitFor } from "./wait.mjs";

const EXTENSION = fileURLToPath(new URL("./fixtures/echo-extension", import.meta.url));

/** Calls the echo tool with the last word of a prompt, then tells that it is done. */
function echoLastWord(request) {
  const word = userTexts(request).at(-1).trim().split(/\s+/).at(-1);
  const answered = request.body.messages.at(-1).role === "tool";
  return answered ? say(`done with ${word}`) : callTool("echo", { text: word });
}

async function interactive(t, script, options) {
  const model = await ScriptedModel.start(script);
  t.after(() => model.close());
  const cli = await CopilotCli.create({ extension: EXTENSION, model });
  t.after(() => cli.dispose());
  cli.env.ECHO_LOG = path.join(cli.home, "echo.log");
  const terminal = await startInteractive(cli, options);
  t.after(() => terminal.dispose());
  await joins(cli, 1);
  return { model, cli, terminal };
}

const notes = async (cli) =>
  (await readFile(cli.env.ECHO_LOG, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

const joins = (cli, count) =>
  waitFor(async () => (await notes(cli)).filter(({ kind }) => kind === "joined").length === count, {
    what: () => cli.report().then((text) => `${count} joins\n${text}`),
  });

/** The pid that answered, from "echo <pid>: text". */
const answeredBy = (request) => Number(/^echo (\d+):/.exec(toolResults(request).at(-1).text)[1]);

describe("interactive CLI", { concurrency: 1 }, () => {
  test("a prompt, /clear, and a prompt that a new extension process serves", async (t) => {
    const { model, cli, terminal } = await interactive(t, echoLastWord);
    await terminal.prompt("say first", /done with first/);
    const first = answeredBy(model.last);
    const [{ pid }] = await cli.extensionProcesses();
    assert.equal(first, pid);

    const session = await terminal.clear();
    await joins(cli, 2);
    const screen = await terminal.prompt("say two", /done with two/);
    assert.doesNotMatch(screen, /done with first/);
    assert.notEqual(answeredBy(model.last), first);
    const calls = (await notes(cli)).filter(({ kind }) => kind === "call");
    assert.equal(calls.at(-1).session, session);

    assert.equal((await terminal.exit()).exitCode, 0);
    await cli.allGone();
  });

  test("/new keeps the first session's process; ctrl-c twice ends all", async (t) => {
    const { cli, terminal } = await interactive(t, echoLastWord);
    await terminal.prompt("say first", /done with first/);
    await terminal.newSession();
    await joins(cli, 2);
    assert.equal((await cli.extensionProcesses()).length, 2);
    await terminal.interruptExit();
    await cli.allGone();
  });

  test("a screen that never comes fails with the screen and the logs", async (t) => {
    const { terminal } = await interactive(t, [say("hello")]);
    await assert.rejects(terminal.waitForScreen(/never drawn/, undefined, 50), (error) => {
      assert.match(error.message, /a screen that fits \/never drawn\//);
      assert.match(error.message, /commands[\s\S]*extension-bootstrap/);
      return true;
    });
  });

  test("without allow-all a tool call asks on the screen", async (t) => {
    const { model, terminal } = await interactive(t, echoLastWord, { allow: [] });
    await terminal.submit("say first");
    await terminal.waitForScreen(/Run extension tool "echo"/);
    await terminal.choose(["enter"]);
    await terminal.waitForScreen(/done with first/);
    assert.ok(toolNames(model.last).includes("echo"));
  });
});
