// `dev`: writing a provider without Copilot.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { provider } from "../../../sdk/node/provider.mjs";
import { startTap } from "../../../js/develop/testing.mjs";
import { root } from "../../../tools/commands.mjs";
import { isAlive } from "../../support/processes.mjs";
import { withTimeout } from "../../support/wait.mjs";
import { InTerminal, tap as runCommand } from "../../support/cli-process.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

import { CLI, Program, surroundings, tap } from "./program.mjs";

const PROVIDER = `
  import { provider } from ${JSON.stringify(path.join(root, "sdk/node/provider.mjs"))};
  const tap = provider("weather");
  const parameters = { type: "object", properties: { city: { type: "string" } } };
  tap.tool("forecast", { description: "Tomorrow", parameters }, ({ city }) => \`rain in \${city}\`);
  tap.deny({ tool: "bash", args: "rm" }, "Nobody removes anything here.");
  tap.context("It is Tuesday.");
  await tap.connect();
`;

const STUBBORN = `
  import { provider } from ${JSON.stringify(path.join(root, "sdk/node/provider.mjs"))};
  process.on("SIGTERM", () => console.log("told to end"));
  const tap = provider("stubborn");
  tap.tool("hang", { description: "" }, async (_args, { progress }) => {
    progress(\`hanging in \${process.pid}\`);
    await new Promise(() => {});
  });
  await tap.connect();
`;

/** Says in which process it runs, and goodbye, for which it takes its time. */
const POLITE = `
  import { provider } from ${JSON.stringify(path.join(root, "sdk/node/provider.mjs"))};
  process.on("SIGTERM", () => setTimeout(() => (console.log("goodbye"), process.exit()), 300));
  const tap = provider("polite");
  tap.tool("ping", { description: "" }, () => "pong");
  await tap.connect();
  console.log("runs in " + process.pid + ".");
`;

/** A folder with such a provider, which `npm start` starts. @param {import("node:test").TestContext} t */
function polite(t) {
  const folder = temporaryFolder(t);
  writeFileSync(path.join(folder, "polite.mjs"), POLITE);
  const scripts = { start: "node polite.mjs" };
  writeFileSync(path.join(folder, "package.json"), JSON.stringify({ type: "module", scripts }));
  return folder;
}

describe("dev with a program and what is piped into it", () => {
  test("waits for the program's tools before it does the first line", async (t) => {
    const file = path.join(temporaryFolder(t), "weather.mjs");
    writeFileSync(file, PROVIDER);
    const dev = tap(t, "dev", "--", process.execPath, file);
    dev.type("tools");
    dev.type('forecast {"city":"Bern"}');
    assert.equal(await dev.end(), 0);
    assert.match(dev.output, /forecast: Tomorrow/);
    assert.match(dev.output, /rain in Bern/);
  });

  test("starts a provider of a project with its token and its session", async (t) => {
    const shop = path.join(root, "examples", "project", "tools", "glossary.mjs");
    const dev = tap(t, "dev", "--project", "--", process.execPath, shop);
    dev.type("glossary word=order");
    assert.equal(await dev.end(), 0, dev.output);
    assert.match(dev.output, /A basket that is paid for/);
  });

  test("goes on where the program has ended", async (t) => {
    const dev = tap(t, "dev", "--", process.execPath, "-e", "process.exit(3)");
    dev.type("tools");
    assert.equal(await dev.end(), 0);
    assert.match(dev.output, /the provider has ended \(3\)/);
  });

  test("takes a program after -- only", async (t) => {
    const at = { workspace: temporaryFolder(t), env: process.env };
    const dev = await runCommand(["dev", process.execPath, "x.mjs"], at);
    assert.equal(dev.code, 2);
    assert.match(dev.err, /unexpected argument/);
  });
});

describe("the test kit", () => {
  test("a new gateway has the sessions that have not ended, where they were", async (t) => {
    const kit = await startTap();
    t.after(() => kit.stop());
    const folder = temporaryFolder(t);
    const ended = await kit.addSession("ended");
    await kit.addSession("elsewhere", folder);
    ended.end();
    await kit.restartGateway();
    const sessions = [...kit.sessions].map(({ id, cwd }) => [id, cwd]);
    assert.deepEqual(sessions, [
      ["test", kit.home],
      ["elsewhere", folder],
    ]);
  });

  test("leaves nothing behind where it does not start", async (t) => {
    const folder = temporaryFolder(t);
    const { TMPDIR } = process.env;
    process.env.TMPDIR = folder;
    t.after(() =>
      TMPDIR === undefined ? delete process.env.TMPDIR : (process.env.TMPDIR = TMPDIR),
    );
    await assert.rejects(startTap({ session: "x".repeat(200) }), /1 to 128 bytes/);
    assert.deepEqual(readdirSync(folder), []);
    const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    const environment = (pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "utf8");
      } catch {
        return ""; // it has ended, or is another user's
      }
    };
    assert.deepEqual(
      processes.filter((pid) => environment(pid).includes(`COPILOT_HOME=${folder}`)),
      [],
    );
  });
});

describe("dev", () => {
  test("starts a provider, calls its tools, and leaves nothing behind", async (t) => {
    const folder = temporaryFolder(t);
    const file = path.join(folder, "weather.mjs");
    writeFileSync(file, PROVIDER);
    const dev = tap(t, "dev", "--", process.execPath, file);
    dev.type("env");
    const [, home] = await dev.says(/COPILOT_HOME='(.*)'/);
    await dev.says(/\[timeline\] tap: weather is here: forecast/);
    await dev.says(/\[tools\] forecast/);
    const say = async (line, answer) => (dev.type(line), dev.says(answer));
    await say('forecast {"city":"Bern"}', /^rain in Bern$/m);
    await say("forecast {", /arguments must be a JSON object, e\.g\. '\{"city":"Bern"\}'.*JSON/);
    await say("forecast [1]", /arguments must be a JSON object.*; got "\[1\]"/);
    await say("unknown", /unknown tool "unknown"; known: tap_status, tap_tools, forecast$/m);
    await say("tools", /^forecast: Tomorrow$/m);
    await say('check bash {"command":"rm x"}', /"deny":".*Nobody removes/);
    await say("prompt", /It is Tuesday\./);
    await say("help", /restart +kill the gateway/);
    await say("idle", /./);
    dev.output = "";
    await say("restart", /\[tools\] forecast/);
    dev.output = "";
    await say("end", /\[tools\] forecast/);
    await say('forecast {"city":"Rome"}', /^rain in Rome$/m);
    assert.ok(existsSync(home));
    dev.type("quit");
    assert.equal(await withTimeout(dev.ended, () => dev.output), 1, "some have failed");
    assert.ok(!existsSync(home), "its home is gone");
  });

  test("ends in good order by a signal", async (t) => {
    const dev = tap(t, "dev");
    const [, home] = await dev.says(/COPILOT_HOME='(.*)'/);
    await dev.says(/quit ends it/);
    dev.child.kill("SIGINT");
    assert.equal(await withTimeout(dev.ended, () => dev.output), 0);
    assert.ok(!existsSync(home));
  });

  test("ends by a signal while a call runs, also if the provider does not listen", async (t) => {
    const folder = temporaryFolder(t);
    const file = path.join(folder, "stubborn.mjs");
    writeFileSync(file, STUBBORN);
    const dev = tap(t, "dev", "--", process.execPath, file);
    dev.type("env");
    const [, home] = await dev.says(/COPILOT_HOME='(.*)'/);
    await dev.says(/\[tools\] hang/);
    dev.type("hang");
    const [, pid] = await dev.says(/\[timeline\].*hanging in (\d+)/);
    dev.child.kill("SIGINT");
    await dev.says(/told to end/);
    dev.child.kill("SIGINT");
    assert.equal(await withTimeout(dev.ended, () => dev.output), 0);
    assert.throws(() => process.kill(Number(pid), 0), { code: "ESRCH" });
    assert.ok(!existsSync(home));
  });

  for (const [what, command] of [
    ["npm start", ["npm", "start"]],
    ["a shell", ["sh", "-c", "node polite.mjs; true"]],
    ["a shell that has ended", ["sh", "-c", "node polite.mjs &"]],
  ]) {
    test(`ends what ${what} has started, in good order`, async (t) => {
      const dev = new Program(t, process.execPath, [CLI, "dev", "--", ...command], polite(t));
      const [, pid] = await dev.says(/runs in (\d+)\./);
      assert.equal(await dev.end(), 0);
      assert.match(dev.output, /goodbye/);
      assert.ok(!(await isAlive(Number(pid))), "it has ended");
    });
  }

  test("ends it by Ctrl-C in a terminal, more than one of them", async (t) => {
    const at = { env: surroundings(), workspace: polite(t) };
    const words = ["dev", "--", "sh", "-c", "node polite.mjs; true"];
    const dev = new InTerminal(t, words, /** @type {any} */ (at));
    await dev.shows(/runs in \d+\./);
    const [, pid] = /** @type {any} */ (/runs in (\d+)\./.exec(dev.text));
    dev.type("\x03\x03");
    assert.equal(await dev.end(), 0);
    assert.match(dev.text, /goodbye/);
    assert.ok(!(await isAlive(Number(pid))), "it has ended");
  });

  for (const options of [[], ["--json"]]) {
    test(`reads what was typed before it was ready: ${options}`, async (t) => {
      const dev = tap(t, "dev", ...options);
      dev.type(options.length > 0 ? '{"id":1,"do":"tools"}' : "help");
      await dev.says(/\{"id":1,"result"|kill the gateway/);
      assert.equal(await dev.end(), 0);
    });

    test(`ends where there is no input at all: ${options}`, async (t) => {
      const dev = tap(t, "dev", ...options);
      assert.equal(await dev.end(), 0);
      assert.match(dev.output, /COPILOT_HOME/);
    });
  }

  test("--json tells each event once, also of a session added while a request waits", async (t) => {
    const dev = tap(t, "dev", "--json");
    const [, ready] = await dev.says(/^\{"type":"ready","env":(.*)\}$/m);
    const env = JSON.parse(ready);
    dev.type('{"id":1,"do":"tool","name":"late"}');
    dev.type('{"id":2,"do":"addSession","name":"second"}');
    await dev.says(/\{"id":2,"result"/);
    const where = { home: env.COPILOT_HOME, port: Number(env.TAP_GATEWAY_PORT), token: "" };
    const late = provider("late", { ...where, session: "all" });
    t.after(() => late.close());
    late.tool("late", { description: "" }, () => "x");
    await late.connect();
    await dev.says(/\{"id":1,"result"/);
    await late.push("news", "only once", { level: "surface", session: "second" });
    dev.type('{"id":3,"do":"prompt","session":"second"}');
    await dev.says(/\{"id":3,/);
    const told = dev.output.match(/"session":"second".*only once/g) ?? [];
    assert.equal(told.length, 1, dev.output);
  });

  test("says when the provider does not start, and when it has ended", async (t) => {
    const missing = tap(t, "dev", "--", "no-such-program");
    await missing.says(/the provider does not start: .*ENOENT/);
    assert.equal(await missing.end(), 0);
    const brief = tap(t, "dev", "--", process.execPath, "-e", "process.exitCode = 3");
    await brief.says(/the provider has ended \(3\)/);
    assert.equal(await brief.end(), 0);
  });

  test("--json answers each line, also those that are wrong", async (t) => {
    const dev = tap(t, "dev", "--json");
    const [, env] = await dev.says(/^\{"type":"ready","env":(.*)\}$/m);
    assert.ok(JSON.parse(env).TAP_GATEWAY_PORT);
    const ask = async (line, answer) => (dev.type(line), dev.says(answer));
    await ask("{", /"error":\{"code":"ERROR","message":".*JSON/);
    await ask('{"id":2,"do":"dance"}', /\{"id":2,"error":.*expected one of call, cancel, tool,/);
    await ask('{"id":3,"do":"tools","session":"no"}', /\{"id":3,"error":.*no session no/);
    await ask('{"id":4,"do":"tools"}', /\{"id":4,"result":\[\{"name":"tap_status"/);
    await ask('{"id":5,"do":"call","tool":"none"}', /\{"id":5,"error":\{"code":"[A-Z_]+"/);
    assert.equal(await dev.end(), 0);
  });

  test("takes no options of others", async (t) => {
    const at = { workspace: temporaryFolder(t), env: process.env };
    const both = await runCommand(["dev", "--json", "--", "node"], at);
    assert.equal(both.code, 2);
    assert.match(both.out, /--json takes no command/);
    assert.equal((await runCommand(["dev", "--force"], at)).code, 2);
  });
});
