// A place for workers: a scripted model, a user's home, and folders for jobs. All of it is gone after the test.

import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { AgentPool } from "../../js/agents/pool.mjs";
import { copilotSdk, findCli } from "./cli.mjs";
import { say, ScriptedModel, toolResults, userTexts } from "./model.mjs";
import { killAll } from "./processes.mjs";
import { temporaryFolder } from "./temporary.mjs";
import { waitFor } from "./wait.mjs";

/** @typedef {import("../../js/agents/job.mjs").Job} Job */

/** The text of a job's instructions in a request. */
export const jobOf = (request) => userTexts(request).join("\n");
export const resultsOf = (request) => toolResults(request).map(({ text }) => text);

/** A turn of calls and a last word, for each job by a word in its instructions. */
export const byJob = (scripts) => (request) => {
  const text = jobOf(request);
  const word = Object.keys(scripts).find((start) => text.includes(start));
  const steps = word === undefined ? [say("no script")] : scripts[word];
  const step = steps[Math.min(toolResults(request).length, steps.length - 1)];
  return typeof step === "function" ? step(request) : step;
};

export class WorkerRig {
  /** Of all jobs. @type {any[]} */
  events = [];
  /** @type {ScriptedModel} */ model;
  /** @type {string} */ root;
  /** The COPILOT_HOME of the user. @type {string} */ userHome;
  /** That of the workers. @type {string} */ home;
  /** @type {string} */ settings;
  /** @type {import("../../js/agents/pool.mjs").Cli} */ cli;
  /** @type {any} */ options;
  /** @type {AgentPool} */ workers;

  /**
   * @param {import("node:test").TestContext} t @param {any} script
   * @param {{lingerMs?: number, url?: string, apiKey?: string, config?: object, env?: NodeJS.ProcessEnv}} [options]
   */
  static async start(t, script, { lingerMs = 200, url, apiKey, config = {}, env } = {}) {
    const rig = new WorkerRig();
    rig.model = await ScriptedModel.start(script);
    rig.root = fs.realpathSync(temporaryFolder(t));
    rig.userHome = path.join(rig.root, "home");
    fs.mkdirSync(rig.userHome);
    rig.settings = path.join(rig.userHome, "settings.json");
    fs.writeFileSync(rig.settings, '{ "theme": "dark" }\n');
    rig.home = path.join(rig.userHome, "tap", "workers");
    const { command } = findCli();
    rig.cli = { cli: command, sdk: await copilotSdk() };
    const provider = { type: "openai", baseUrl: url ?? rig.model.url, model: "fake", apiKey };
    rig.options = { home: rig.userHome, lingerMs, config: { provider, ...config }, env };
    rig.renew();
    t.after(async () => {
      await rig.workers.close();
      await killAll(rig.home);
      await rig.model.close();
    });
    return rig;
  }

  /** Workers with the same options, as after a restart. */
  renew() {
    return (this.workers = new AgentPool(this.options));
  }

  /** @param {string} name @returns {string} a repository */
  folder(name) {
    const folder = path.join(this.root, name);
    fs.mkdirSync(folder, { recursive: true });
    execFileSync("git", ["init", "-q", folder]);
    return folder;
  }

  /** @param {Partial<Job>} job */
  run(job) {
    return this.workers.run(this.cli, this.job(job), (event) => this.events.push(event));
  }

  /** @param {Partial<Job>} job @returns {Job} */
  job(job) {
    return {
      sessionId: randomUUID(),
      cwd: this.folder("work"),
      instructions: "go",
      mayUse: () => "",
      timeout: 60_000,
      ...job,
    };
  }

  get sessions() {
    const folder = path.join(this.home, "session-state");
    return fs.existsSync(folder)
      ? fs.readdirSync(folder).filter((name) => !name.startsWith("."))
      : [];
  }
}

/** A model that answers every request with that status. */
export async function failingModel(t, status, headers = {}) {
  const server = http.createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify({ error: { message: "not today" } }));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  t.after(() => server.close());
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${port}/v1` };
}

/** The pid that the command of a job has written of its shell. @param {string} folder */
export const pidIn = (folder) =>
  waitFor(() => Number(fs.readFileSync(path.join(folder, "pid"), "utf8")));
