import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { CopilotCli, findFreePort } from "./cli.mjs";
import { ScriptedModel, callTool, say, toolDefinition, toolNames, toolResults } from "./model.mjs";
import { isAlive, isExtension } from "./processes.mjs";
import { deferred } from "./wait.mjs";

const EXTENSION = fileURLToPath(new URL("./fixtures/echo-extension", import.meta.url));

/** A CLI with the echo extension; both are gone after the test. */
async function rig(t, script, options) {
  const model = await ScriptedModel.start(script);
  t.after(() => model.close());
  const cli = await CopilotCli.create({ extension: EXTENSION, model, ...options });
  t.after(() => cli.dispose());
  cli.env.ECHO_LOG = path.join(cli.home, "echo.log");
  return { model, cli };
}

const notes = async (cli) =>
  (await readFile(cli.env.ECHO_LOG, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("CopilotCli", { concurrency: 1 }, () => {
  test("a prompt calls the extension's tool and the model receives the result", async (t) => {
    const { model, cli } = await rig(t, [callTool("echo", { text: "hi" }), say("bye")]);
    const run = await cli.runPrompt("go");
    assert.equal(run.code, 0, run.stderr);
    assert.match(run.stdout, /bye/);
    assert.equal(toolDefinition(model.requests[0], "echo").description, "Gives the text back");
    const [result] = toolResults(model.last);
    assert.equal(result.name, "echo");
    assert.match(result.text, /^echo \d+: hi$/);
    assert.deepEqual(model.errors, []);
  });

  test("tools are replaced in the middle of a turn, in the same process", async (t) => {
    const { model, cli } = await rig(t, [
      callTool("grow"),
      callTool("shout", { text: "abc" }),
      say("bye"),
    ]);
    await cli.runPrompt("go");
    assert.ok(!toolNames(model.requests[0]).includes("shout"));
    assert.ok(toolNames(model.requests[1]).includes("shout"));
    assert.equal(toolResults(model.last).at(-1).text, "ABC");
    assert.equal((await notes(cli)).filter(({ kind }) => kind === "start").length, 1);
  });

  test("a held model request leaves time to look at the processes", async (t) => {
    const hold = deferred();
    const script = async () => {
      await hold.promise;
      return say("bye");
    };
    const { model, cli } = await rig(t, script);
    const { child, done } = cli.startPrompt("go");
    await model.waitForRequest();
    const [extension, ...others] = await cli.extensionProcesses();
    assert.equal(others.length, 0);
    assert.equal(extension.ppid, child.pid);
    assert.deepEqual(await cli.gatewayHosts(), []);
    hold.resolve();
    assert.equal((await done).code, 0);
    await cli.allGone();
  });

  test("a run that takes too long is ended, with the facts that explain it", async (t) => {
    const { cli } = await rig(t, () => new Promise(() => {}));
    await assert.rejects(cli.runPrompt("go", { timeoutMs: 20_000 }), (error) => {
      assert.match(error.message, /did not end within 20000 ms/);
      assert.match(error.message, /extension[-_]bootstrap/);
      return true;
    });
  });

  test("dispose ends the running processes and removes the folder", async (t) => {
    const { model, cli } = await rig(t, () => new Promise(() => {}));
    const { child, done } = cli.startPrompt("go");
    await model.waitForRequest();
    const pids = (await cli.processes()).map(({ pid }) => pid);
    assert.ok(pids.includes(child.pid) && pids.length >= 2);
    await cli.dispose();
    assert.equal((await done).signal, "SIGKILL");
    assert.deepEqual(
      await Promise.all(pids.map(isAlive)),
      pids.map(() => false),
    );
    assert.ok(!existsSync(cli.home));
  });

  for (const extensionMode of ["link", "copy"]) {
    test(`an extension folder may come as a ${extensionMode}`, async (t) => {
      const { model, cli } = await rig(t, [say("bye")], { extensionMode });
      await cli.runPrompt("go");
      assert.ok(toolNames(model.requests[0]).includes("echo"));
    });
  }

  test("credentials and proxies of the surrounding shell stay outside", async (t) => {
    process.env.GH_TOKEN = "secret";
    t.after(() => delete process.env.GH_TOKEN);
    const { cli } = await rig(t, [say("bye")]);
    assert.equal(cli.environment().GH_TOKEN, undefined);
    assert.equal(cli.environment({ GH_TOKEN: "mine" }).GH_TOKEN, "mine");
  });

  test("the CLI itself is started, so a signal reaches it and not a launcher", async (t) => {
    const { model, cli } = await rig(t, () => new Promise(() => {}));
    const { child, done } = cli.startPrompt("go");
    await model.waitForRequest();
    const [first, ...rest] = await cli.processes();
    assert.equal(first.pid, child.pid);
    assert.ok(rest.every(isExtension));
    child.kill("SIGTERM");
    await done;
    await cli.allGone();
  });

  test("free ports differ", async () => {
    const ports = await Promise.all([findFreePort(), findFreePort(), findFreePort()]);
    assert.equal(new Set(ports).size, 3);
  });
});
