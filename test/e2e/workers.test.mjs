// Workers: the real CLI as a server of jobs, from a plain Node process, with a scripted model.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { AgentPool } from "../../js/agents/pool.mjs";
import { CopilotCli, REPO_ROOT } from "../support/cli.mjs";
import {
  callTool,
  callTools,
  say,
  ScriptedModel,
  toolNames,
  toolResults,
  userTexts,
} from "../support/model.mjs";
import { isAlive, killAll, processesOf } from "../support/processes.mjs";
import { waitFor } from "../support/wait.mjs";
import {
  byJob,
  failingModel,
  jobOf,
  pidIn,
  resultsOf,
  WorkerRig as Rig,
} from "../support/workers.mjs";

describe("a job", { concurrency: 1 }, () => {
  test("two at once write each into its own folder, and their use adds up", async (t) => {
    const rig = await Rig.start(t, (request) =>
      toolResults(request).length > 0
        ? say("wrote it")
        : callTool("bash", { command: "pwd > where.txt", description: "where" }),
    );
    const folders = [rig.folder("one"), rig.folder("two")];
    const results = await Promise.all(folders.map((cwd) => rig.run({ cwd })));
    for (const [at, result] of results.entries()) {
      assert.equal(result.status, "succeeded", JSON.stringify(result));
      assert.equal(
        fs.readFileSync(path.join(folders[at], "where.txt"), "utf8").trim(),
        folders[at],
      );
      assert.equal(result.summary, "wrote it");
      assert.equal(result.turns, 2);
      assert.deepEqual(result.usage.models.fake, { requests: 2, input: 2, output: 2, cached: 0 });
      assert.ok(result.usage.sessionMs > 0 && result.usage.apiMs >= 0);
      assert.equal(result.session, "deleted");
    }
    assert.ok(rig.events.some(({ kind, tool }) => kind === "tool" && tool === "bash"));
    assert.ok(rig.events.some(({ kind, text }) => kind === "message" && text === "wrote it"));
    assert.deepEqual(rig.sessions, []);
    assert.equal(fs.readFileSync(rig.settings, "utf8"), '{ "theme": "dark" }\n');
    assert.equal(fs.existsSync(path.join(rig.home, "settings.json")), false);
  });

  test("without a login the error says how to log in", async (t) => {
    const rig = await Rig.start(t, [], { config: { provider: undefined } });
    const { status, error } = await rig.run({});
    assert.deepEqual([status, error?.code], ["failed", "NO_LOGIN"], error?.message);
    assert.match(error?.message ?? "", /start copilot, and type \/login/);
    assert.match(error?.message ?? "", /set workers\.provider in your config/);
  });

  test("git push is refused, and its other commands still run", async (t) => {
    const rig = await Rig.start(t, []);
    rig.model.script(
      byJob({
        go: [
          callTool("bash", { command: "git -C . push origin main", description: "push" }),
          callTool("create", { path: path.join(rig.root, "more", "a.txt"), file_text: "x" }),
          say("done"),
        ],
      }),
    );
    const more = rig.folder("more");
    const result = await rig.run({ allowedFolders: [more] });
    assert.equal(result.status, "succeeded", JSON.stringify(result));
    assert.deepEqual([result.refusals, fs.readdirSync(more).includes("a.txt")], [1, true]);
    assert.equal(rig.events.filter(({ kind }) => kind === "refused").length, 1);
  });

  test("a token or a provider's key is not in the environment of its shells", async (t) => {
    process.env.GH_TOKEN = "token-of-test";
    t.after(() => delete process.env.GH_TOKEN);
    const rig = await Rig.start(
      t,
      (request) =>
        toolResults(request).length > 0
          ? say("done")
          : callTool("bash", { command: "env > seen.txt", description: "x" }),
      { config: { env: ["GH_TOKEN"] }, apiKey: "key-of-test" },
    );
    const job = rig.job({});
    const result = await rig.run(job);
    assert.equal(result.status, "succeeded", JSON.stringify(result));
    const seen = fs.readFileSync(path.join(job.cwd, "seen.txt"), "utf8");
    assert.match(seen, /^TAP_WORKER=1$/m);
    assert.doesNotMatch(seen, /token-of-test|key-of-test/);
  });

  test("an error of the model fails the job, in its words", async (t) => {
    const refusing = await failingModel(t, 400);
    const rig = await Rig.start(t, [], { url: refusing.url });
    const result = await rig.run({});
    assert.equal(result.status, "failed");
    assert.equal(result.error.code, "MODEL");
    assert.match(result.error.message, /not today/);
  });

  test("a rate limit is a pause and no failure", async (t) => {
    const refusing = await failingModel(t, 429, { "retry-after": "1" });
    const rig = await Rig.start(t, [], { url: refusing.url });
    const result = await rig.run({});
    assert.equal(result.status, "rateLimited", JSON.stringify(result));
    assert.ok(result.retryAfter >= 1);
    assert.equal(result.session, "kept");
  });

  test("an idle job ends with its time", async (t) => {
    const rig = await Rig.start(t, () => new Promise(() => {}));
    const result = await rig.run({ timeout: 3000 });
    assert.equal(result.status, "failed");
    assert.equal(result.error.code, "TIMEOUT");
  });

  test("an endless job is stopped after its turns", async (t) => {
    const rig = await Rig.start(t, () => callTool("bash", { command: "true", description: "x" }));
    const result = await rig.run({ maxTurns: 3 });
    assert.equal(result.error?.code, "MAX_TURNS", JSON.stringify(result));
    assert.equal(result.turns, 3);
  });

  test("cancelled in a command: aborted, and the command is gone", async (t) => {
    const rig = await Rig.start(t, () =>
      callTool("bash", { command: "echo $$ > pid; sleep 600", description: "sleep" }),
    );
    const ending = new AbortController();
    const job = rig.job({ signal: ending.signal });
    const running = rig.run(job);
    const file = path.join(job.cwd, "pid");
    const pid = await waitFor(() => Number(fs.readFileSync(file, "utf8")));
    ending.abort();
    const result = await running;
    assert.equal(result.status, "aborted", JSON.stringify(result));
    assert.equal(await isAlive(pid), false);
  });

  test("resumed by its id it knows the former turns, and counts only new use", async (t) => {
    const rig = await Rig.start(t, (request) =>
      say(jobOf(request).includes("and now") ? "second" : "first"),
    );
    const job = rig.job({ instructions: "remember the word walnut", keepSession: true });
    const first = await rig.run(job);
    assert.equal(first.session, "kept");
    const again = {
      ...job,
      ...{
        instructions: "and now?",
        resume: true,
        context: "exit 1\n```\u001b[31m",
        keepSession: false,
      },
    };
    const second = await rig.run(again);
    assert.equal(second.status, "succeeded", JSON.stringify(second));
    assert.equal(second.summary, "second");
    assert.deepEqual(userTexts(rig.model.last).length, 2);
    assert.match(
      jobOf(rig.model.last),
      /walnut[\s\S]*and now\?[\s\S]*````\nexit 1\n```\\x1b\[31m\n````/,
    );
    assert.equal(second.usage.models.fake.requests, 1);
    assert.deepEqual(rig.sessions, []);
  });
});

describe("the server of jobs", { concurrency: 1 }, () => {
  test("resumed without ever having had a turn it begins", async (t) => {
    const rig = await Rig.start(t, [say("done")]);
    const { status, turns } = await rig.run({ resume: true });
    assert.deepEqual([status, turns], ["succeeded", 1]);
  });

  test("killed: its jobs are interrupted, its shells end, and a new server resumes them", async (t) => {
    const rig = await Rig.start(t, (request) =>
      userTexts(request).length > 1
        ? say("went on")
        : callTool("bash", { command: "echo $$ > pid; sleep 600", description: "sleep" }),
    );
    const jobs = ["a", "b"].map((name) => rig.job({ cwd: rig.folder(name) }));
    const running = jobs.map((job) => rig.run(job));
    const pids = await Promise.all(jobs.map(({ cwd }) => pidIn(cwd)));
    const [server] = await rig.workers.listServerPids();
    process.kill(server, "SIGKILL");
    for (const result of await Promise.all(running)) {
      assert.equal(result.status, "interrupted", JSON.stringify(result));
      assert.equal(result.error.code, "SERVER_LOST");
      assert.equal(result.session, "kept");
      assert.equal(result.usage.models.fake.requests, 1);
    }
    for (const pid of pids) assert.equal(await isAlive(pid), false);
    const again = await rig.run({ ...jobs[0], resume: true, instructions: "go on" });
    assert.equal(again.status, "succeeded", JSON.stringify(again));
    assert.equal(again.summary, "went on");
    assert.match(jobOf(rig.model.last), /go[\s\S]*go on/);
    assert.notDeepEqual(await rig.workers.listServerPids(), [server]);
  });

  test("its owner killed: no process is left after 5 s", async (t) => {
    const rig = await Rig.start(t, () =>
      callTool("bash", { command: "echo $$ > pid; sleep 600", description: "sleep" }),
    );
    const { mayUse: _mayUse, ...job } = rig.job({});
    const module = new URL("../../js/agents/pool.mjs", import.meta.url).href;
    const program = `
      import { AgentPool } from ${JSON.stringify(module)};
      const workers = new AgentPool(${JSON.stringify(rig.options)});
      await workers.run(${JSON.stringify(rig.cli)}, { ...${JSON.stringify(job)}, mayUse: () => "" });
    `;
    const owner = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: "ignore",
    });
    const shell = await pidIn(job.cwd);
    const before = await processesOf(rig.home);
    assert.ok(before.length >= 2, "the server and its shell run");
    owner.kill("SIGKILL");
    await waitFor(async () => (await processesOf(rig.home)).length === 0);
    assert.equal(await isAlive(shell), false);
  });

  test("leads a group of its own, gets a new environment, and ends after its last job", async (t) => {
    process.env.EXTENSION_PATH = "/nowhere";
    process.env.GIT_CONFIG_COUNT_OF_TEST = "1";
    process.env.WORKER_WANTED = "yes";
    t.after(() => {
      for (const name of ["EXTENSION_PATH", "GIT_CONFIG_COUNT_OF_TEST", "WORKER_WANTED"]) {
        delete process.env[name];
      }
    });
    const rig = await Rig.start(t, [say("done")], { config: { env: ["WORKER_WANTED"] } });
    const began = rig.run({});
    const [server] = await waitFor(async () => {
      const pids = await rig.workers.listServerPids();
      return pids.length > 0 && pids;
    });
    const [info] = (await processesOf(rig.home)).filter(({ pid }) => pid === server);
    assert.equal(info.env.EXTENSION_PATH, undefined);
    assert.equal(info.env.GIT_CONFIG_COUNT_OF_TEST, undefined);
    assert.equal(info.env.TAP_WORKER, "1");
    assert.equal(info.env.WORKER_WANTED, "yes");
    assert.ok(!info.cmdline.includes("--experimental"));
    assert.ok(process.kill(-server, 0), "it leads a group");
    assert.equal((await began).status, "succeeded");
    const next = await rig.run({});
    assert.equal(next.status, "succeeded");
    await waitFor(async () => (await processesOf(rig.home)).length === 0);
    assert.deepEqual(await rig.workers.listServerPids(), []);
  });

  test("a job may be lent tools, and may do only what its session may", async (t) => {
    const rig = await Rig.start(t, (request) =>
      toolResults(request).length > 0
        ? say("done")
        : callTools([
            { name: "lookup", args: { word: "tap" } },
            { name: "bash", args: { command: "echo secret", description: "x" } },
          ]),
    );
    const asked = [];
    const result = await rig.run({
      tools: [
        {
          name: "lookup",
          description: "looks a word up",
          parameters: { type: "object", properties: { word: { type: "string" } } },
          call: ({ word }) => `${word}: a valve`,
        },
      ],
      mayUse: (tool, args) => {
        asked.push([tool, args]);
        return tool === "bash" ? "a rule denies it" : "";
      },
    });
    assert.equal(result.status, "succeeded", JSON.stringify(result));
    assert.ok(toolNames(rig.model.requests[0]).includes("lookup"));
    const results = resultsOf(rig.model.last).sort();
    assert.match(results[0], /a rule denies it/);
    assert.equal(results[1], "tap: a valve");
    assert.deepEqual(asked.find(([tool]) => tool === "bash")[1].command, "echo secret");
  });

  test("its end interrupts jobs, and a new server can resume them", async (t) => {
    const rig = await Rig.start(t, () =>
      callTool("bash", { command: "echo $$ > pid; sleep 600", description: "sleep" }),
    );
    const job = rig.job({});
    const running = rig.run(job);
    const shell = await pidIn(job.cwd);
    await rig.workers.close();
    const result = await running;
    assert.equal(result.status, "interrupted", JSON.stringify(result));
    assert.equal(await isAlive(shell), false);
    assert.deepEqual(rig.sessions, [job.sessionId]);
    assert.equal((await rig.run(job)).error.code, "INVALID");
  });

  test("an agent's own agents are held to the same", async (t) => {
    const rig = await Rig.start(t, (request) => {
      if (!jobOf(request).includes("look around")) {
        const args = { agent_type: "general-purpose", prompt: "look around", name: "n" };
        const task = { ...args, description: "d", mode: "sync" };
        return toolResults(request).length > 0 ? say("done") : callTool("task", task);
      }
      if (toolResults(request).length > 0) return say(`seen: ${resultsOf(request).join(" ")}`);
      return callTools([
        { name: "bash", args: { command: "git push", description: "x" } },
        { name: "bash", args: { command: "echo forbidden", description: "x" } },
      ]);
    });
    const result = await rig.run({
      mayUse: (_tool, args) => (args.command === "echo forbidden" ? "a rule denies it" : ""),
    });
    assert.equal(result.status, "succeeded", JSON.stringify(result));
    const seen = resultsOf(rig.model.last).join(" ");
    assert.match(seen, /git push is not allowed/);
    assert.match(seen, /a rule denies it/);
  });

  test("100 MB of output are bounded, and an unlisted host is refused", async (t) => {
    const rig = await Rig.start(t, (request) => {
      const done = toolResults(request).length;
      if (done === 0) {
        const command = "yes 0123456789 | head -c 100000000; printf '\\nlast\\033[31mone\\n'";
        return callTool("bash", { command, description: "much" });
      }
      if (done > 1) return say("x".repeat(200_000));
      return callTool("web_fetch", { url: "https://example.com/" });
    });
    const result = await rig.run({ allowedUrls: ["docs.example.com"] });
    assert.equal(result.status, "succeeded", JSON.stringify(result).slice(0, 2000));
    assert.ok(result.summary.length < 10_000);
    assert.ok(rig.events.every(({ text }) => text.length <= 400 && !text.includes("\u001b")));
    assert.ok(rig.events.length < 200, `${rig.events.length} events`);
    assert.deepEqual([result.refusals, resultsOf(rig.model.last).length], [1, 2]);
  });

  test("in the user's own home a session is deleted with its end, and settings stay", async (t) => {
    const rig = await Rig.start(t, [say("done")]);
    const workers = new AgentPool({ ...rig.options, config: {} });
    t.after(() => workers.close());
    t.after(() => killAll(rig.userHome));
    const result = await workers.run(rig.cli, rig.job({}));
    assert.equal(result.status, "failed", "there is no login");
    assert.equal(result.error.code, "NO_LOGIN", JSON.stringify(result));
    const state = path.join(rig.userHome, "session-state");
    const left = fs.existsSync(state) ? fs.readdirSync(state) : [];
    assert.deepEqual(
      left.filter((name) => !name.startsWith(".")),
      [],
    );
    assert.equal(fs.readFileSync(rig.settings, "utf8"), '{ "theme": "dark" }\n');
    const models = await workers.models(rig.cli);
    assert.equal(models.source, "catalog");
    assert.ok(models.models.length > 5);
    assert.ok(models.models.some(({ vendor }) => vendor === "anthropic"));
    assert.equal(await workers.models(rig.cli), models, "for an hour it is not asked again");
  });

  test("jobs that cannot be are refused with a reason", async (t) => {
    const rig = await Rig.start(t, [say("done")]);
    const sessionId = randomUUID();
    const [first, second] = await Promise.all([rig.run({ sessionId }), rig.run({ sessionId })]);
    assert.equal(first.status, "succeeded");
    assert.deepEqual([second.error.code, second.turns], ["INVALID", 0]);
    const nowhere = { cli: rig.cli.cli, sdk: path.join(rig.root, "no-sdk") };
    const failed = await rig.workers.run(nowhere, rig.job({}));
    assert.equal(failed.error.code, "START");
    assert.match(failed.error.message, /Was the CLI updated\?/);
  });

  test("the line for a user continues the session of the job", async (t) => {
    const rig = await Rig.start(t, [say("done")]);
    const job = rig.job({ instructions: "it's a job\nof two lines", keepSession: true });
    assert.equal((await rig.run(job)).status, "succeeded");
    const line = `${rig.workers.formatCommandLine(job, rig.cli.cli)} -p 'by hand'`;
    const env = { ...process.env, COPILOT_OFFLINE: "true" };
    await promisify(execFile)("/bin/sh", ["-c", line], { env, timeout: 60_000 });
    assert.match(jobOf(rig.model.last), /it's a job\nof two lines[^]*by hand/);
    assert.deepEqual(rig.sessions, [job.sessionId]);
    assert.deepEqual(await rig.workers.deleteSessions(rig.cli, [job.sessionId]), [true]);
    assert.deepEqual(rig.sessions, []);
  });
});

test("TAP_WORKER=1: tap's extension does not join", async (t) => {
  const model = await ScriptedModel.start([say("done")]);
  const cli = await CopilotCli.create({ extension: REPO_ROOT, model });
  t.after(async () => {
    await cli.dispose();
    await model.close();
  });
  const { code } = await cli.runPrompt("go", { env: { TAP_WORKER: "1" } });
  assert.equal(code, 0);
  assert.ok(!toolNames(model.last).includes("tap_status"));
  assert.deepEqual(await cli.gatewayHosts(), []);
});
