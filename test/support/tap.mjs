// The whole of tap around a test: a scripted model, a real CLI in a home of its own with the
// extension, a free port for the gateway, and providers. All of it is gone after the test.

import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { CopilotCli, REPO_ROOT, findFreePort } from "./cli.mjs";
import { ScriptedModel, callTool, toolNames, toolResults } from "./model.mjs";
import { TestProvider } from "./provider.mjs";
import { startInteractive } from "./terminal.mjs";
import { waitFor } from "./wait.mjs";

const PROVIDER_PROGRAM = fileURLToPath(new URL("./fixtures/provider-process.mjs", import.meta.url));

/** A model that keeps asking in vain would otherwise go on until the test's time is up. */
const MAX_REQUESTS = 400;

/** @typedef {import("./model.mjs").ModelRequest} ModelRequest */
/** @typedef {import("./model.mjs").Reply} Reply */
/** @typedef {Reply | ((request: ModelRequest) => Reply | false | undefined | void | Promise<Reply | false | undefined | void>)} Step */

/**
 * A script of steps, each a reply; the last step repeats. A step that has no reply yet keeps the
 * turn going with a call of tap_status, and is asked again: that is how a test waits for a tool.
 * @param {Step[]} list
 */
export function steps(list) {
  let at = 0;
  return async (/** @type {ModelRequest} */ request) => {
    const step = list[Math.min(at, list.length - 1)];
    const reply = typeof step === "function" ? await step(request) : step;
    if (!reply) {
      if (request.index > MAX_REQUESTS)
        throw new Error(`step ${at} had no reply in ${MAX_REQUESTS} requests`);
      return callTool("tap_status");
    }
    at += 1;
    return reply;
  };
}

/** A step: calls the tool once the model is offered it. @param {string} name @param {unknown} [args] @returns {Step} */
export const onceOffered = (name, args) => (request) =>
  toolNames(request).includes(name) && callTool(name, args);

/** A step: that reply, once the tool is no longer offered. @param {string} name @param {Reply} reply @returns {Step} */
export const onceGone = (name, reply) => (request) => !toolNames(request).includes(name) && reply;

/** The result that the latest call of that tool gave to the model. @param {ModelRequest} request @param {string} name */
export const resultOf = (request, name) =>
  toolResults(request).findLast((result) => result.name === name)?.text;

/** A tool that answers with a text. @param {unknown} answer */
export const answering = (answer) => ({ handler: () => answer });

/**
 * The files of an installed tap, in a folder of its own; with another version, if wanted.
 * @param {import("node:test").TestContext} t @param {string} [version]
 */
export async function copyOfProject(t, version) {
  const folder = await mkdtemp(path.join(os.tmpdir(), "tap-copy-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const parts = ["js", "sdk", "extension.mjs", "build/Release/tap.node", "build/node-path.json"];
  for (const part of parts)
    await cp(path.join(REPO_ROOT, part), path.join(folder, part), { recursive: true });
  await symlink(
    await realpath(path.join(REPO_ROOT, "node_modules")),
    path.join(folder, "node_modules"),
  );
  const manifest = JSON.parse(await readFile(path.join(REPO_ROOT, "package.json"), "utf8"));
  if (version) manifest.version = version;
  await writeFile(path.join(folder, "package.json"), JSON.stringify(manifest));
  return folder;
}

export class TapRig {
  /** @type {ScriptedModel} */ model;
  /** @type {CopilotCli} */ cli;
  /** @type {number} */ port;
  #t;

  /**
   * @param {import("node:test").TestContext} t
   * @param {import("./model.mjs").Script | Reply[]} [script]
   * @param {import("./cli.mjs").CliOptions & {port?: number}} [options]
   */
  static async start(t, script, options = {}) {
    const rig = new TapRig();
    rig.#t = t;
    rig.model = await ScriptedModel.start(script);
    t.after(() => rig.model.close());
    rig.port = options.port ?? (await findFreePort());
    rig.cli = await CopilotCli.create({
      extension: REPO_ROOT,
      model: rig.model,
      ...options,
      // A short grace, so that no host outlives its test by long.
      env: { TAP_GATEWAY_PORT: String(rig.port), TAP_GRACE_MS: "2000", ...options.env },
    });
    t.after(() => rig.cli.dispose());
    return rig;
  }

  /**
   * A provider in this process, bound as soon as there is a session.
   * @param {Record<string, import("./provider.mjs").ServedTool>} tools
   * @param {object} [options] of TestProvider.serve
   */
  async provide(tools, options = {}) {
    const provider = await TestProvider.serve({ ...this.where, tools, ...options });
    this.#t.after(() => provider.terminate());
    return provider;
  }

  /**
   * A provider that connects again whenever its connection ends, until the test is over.
   * @param {Record<string, import("./provider.mjs").ServedTool>} tools
   * @param {object} [options] of TestProvider.serve
   * @returns {{bindings: TestProvider[]}} a binding per accepted hello
   */
  keepProviding(tools, options = {}) {
    const bindings = [];
    let over = false;
    this.#t.after(() => {
      over = true;
      for (const provider of bindings) provider.terminate();
    });
    const serve = async () => {
      while (!over) {
        // In short attempts, so that the end of the test is also the end of this.
        const provider = await TestProvider.serve({
          ...this.where,
          tools,
          timeoutMs: 5000,
          ...options,
        }).catch(() => {});
        if (!provider) continue;
        bindings.push(provider);
        if (over) provider.terminate();
        await provider.waitForClose(600_000);
      }
    };
    void serve();
    return { bindings };
  }

  /** Where a provider finds this gateway, and its credential. */
  get where() {
    return { port: this.port, tokenFile: this.cli.tokenFile };
  }

  /** A connection that has authenticated and is not bound. */
  async connect() {
    const { port, tokenFile } = this.where;
    const provider = await TestProvider.connect({ port });
    this.#t.after(() => provider.terminate());
    return { provider, sessions: await provider.auth({ tokenFile }) };
  }

  /**
   * A provider as a process of its own, for tests that kill it.
   * @param {{name: string, tool: string, hang?: boolean, onPreToolUse?: object[]}} options
   */
  async spawnProvider(options) {
    const child = spawn(
      process.execPath,
      [PROVIDER_PROGRAM, JSON.stringify({ ...this.where, ...options })],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    this.#t.after(() => child.kill("SIGKILL"));
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
    const printed = (word) =>
      waitFor(() => output.includes(word), {
        what: `"${word}" from the provider process, which printed: ${output}`,
      });
    await printed("bound");
    return { child, called: () => printed("called") };
  }

  /** A TUI with this extension. @param {object} [options] of startInteractive */
  async interactive(options) {
    const terminal = await startInteractive(this.cli, options);
    this.#t.after(() => terminal.dispose());
    return terminal;
  }

  /** Runs a prompt and fails on errors that no test wants: a bad exit, an error in the script. */
  async run(prompt = "go", options) {
    return this.ended(this.cli.startPrompt(prompt, options));
  }

  /** @param {{done: Promise<import("./cli.mjs").RunResult>}} started */
  async ended({ done }) {
    const result = await done;
    if (this.model.errors.length > 0)
      throw new Error(`the script failed: ${this.model.errors[0]}\n${await this.report(result)}`);
    if (result.code !== 0)
      throw new Error(`the CLI ended with ${result.code}\n${await this.report(result)}`);
    return result;
  }

  /** @param {object} [output] */
  async report(output) {
    return `${this.model.summary()}\n${await this.cli.report(output)}`;
  }

  /** A log file of tap in this home. @param {"extension.log" | "host.log"} name */
  async log(name) {
    return readFile(path.join(this.cli.home, "logs", "tap", name), "utf8").catch(() => "");
  }

  /** How many lines of a log fit. @param {"extension.log" | "host.log"} name @param {RegExp} pattern */
  async countInLog(name, pattern) {
    return (await this.log(name)).split("\n").filter((line) => pattern.test(line)).length;
  }

  /** The lines that tap has written to the timelines of this home's sessions, oldest first. */
  async timeline() {
    const lines = (await this.cli.events()).filter(({ type }) =>
      /^session\.(info|warning|error)$/.test(type),
    );
    return lines.map(({ data }) => data.message).filter((message) => message?.startsWith("tap: "));
  }

  /** The last result of that tool for the model. @param {string} name */
  result(name) {
    return this.model.last && resultOf(this.model.last, name);
  }
}

export const startTap = TapRig.start;
