// The copilot-tap command: in the test's process, as a process of its own with pipes, and in a real terminal.

import { spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { programFolder } from "../../js/lib/paths.mjs";
import { startTap } from "../../js/develop/testing.mjs";
import { listEntries, isAllowed } from "../../js/config/consent.mjs";
import { loadProjectConfig } from "../../js/config/load.mjs";
import { provider } from "../../sdk/node/provider.mjs";
import { runsOf } from "./screen-svg.mjs";
import { Surrounded } from "./surroundings.mjs";
import { waitFor, withTimeout } from "./wait.mjs";
import { temporaryFolder } from "./temporary.mjs";

export const CLI = path.join(programFolder, "js", "cli", "cli.mjs");
const MAIN = pathToFileURL(path.join(programFolder, "js", "cli", "main.mjs")).href;
export const GOOD = JSON.stringify({
  providers: [{ name: "ci", command: "node", args: ["ci.mjs", "a b"], env: { MODE: "x" } }],
});

/** Where a command runs. @typedef {{workspace: string, env: Record<string, string | undefined>}} Place */

/** The variables that would change the output of a command. */
const SURROUNDINGS = ["TAP_GATEWAY_PORT", "COPILOT_AGENT_SESSION_ID", "NO_COLOR", "FORCE_COLOR"];

/** @returns {Record<string, string | undefined>} */
function plainEnvironment() {
  /** @type {Record<string, string | undefined>} */
  const env = { ...process.env };
  for (const name of SURROUNDINGS) delete env[name];
  return env;
}

/** A home, and a folder with a config. @param {import("node:test").TestContext} t */
export function place(t, content = GOOD) {
  const folder = fs.realpathSync(temporaryFolder(t));
  const workspace = path.join(folder, "work");
  const home = path.join(folder, "home");
  const config = path.join(workspace, "tap.config.json");
  fs.mkdirSync(workspace);
  fs.writeFileSync(config, content);
  const env = { ...plainEnvironment(), COPILOT_HOME: home };
  const store = path.join(home, "extensions", "tap", "consent.json");
  const allowed = () => {
    const loaded = loadProjectConfig(workspace);
    if (!loaded?.result.ok) return false;
    return listEntries(loaded.result).every((entry) => isAllowed(store, loaded.file, entry));
  };
  return { workspace, home, config, env, store, allowed };
}

/** The place of a host. @param {import("./test-host.mjs").Host} host @returns {Place} */
export const placeOf = (host) => ({ env: host.env, workspace: host.files.home });

/**
 * A gateway with a pretend session and a provider of tools.
 * @param {import("node:test").TestContext} t
 */
export async function served(t) {
  const kit = await startTap();
  t.after(() => kit.stop());
  const tools = provider("weather", kit.where);
  const weather = { waits: 0, aborted: 0 };
  const parameters = { type: "object", properties: { city: { type: "string" } } };
  tools.tool("forecast", { description: "The weather.\nOf a city.", parameters }, ({ city }) => {
    if (!city) throw new Error("no city");
    return `rain in ${city}`;
  });
  tools.tool("wait", { description: "Waits." }, (_args, { signal }) => {
    weather.waits += 1;
    return new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => {
        weather.aborted += 1;
        reject(new Error("aborted"));
      });
    });
  });
  await tools.connect();
  t.after(() => tools.close());
  await kit.tool("forecast");
  const env = { ...plainEnvironment(), ...kit.env };
  return { kit, tools, weather, at: { env, workspace: kit.home } };
}

/** A command that runs. */
export class Running {
  out = "";
  err = "";

  /** @param {string[]} args @param {Place} at @param {{extra?: object, input?: string}} [options] */
  constructor(args, { env, workspace }, { extra = {}, input } = {}) {
    this.command = `copilot-tap ${args.join(" ")}`;
    this.process = spawn(process.execPath, [CLI, ...args], {
      cwd: workspace,
      env: { ...env, ...extra },
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    this.process.stdout.setEncoding("utf8").on("data", (text) => (this.out += text));
    this.process.stderr.setEncoding("utf8").on("data", (text) => (this.err += text));
    this.process.stdin?.end(input);
    this.ended = new Promise((resolve, reject) => {
      this.process.on("error", reject);
      this.process.on("close", (code, signal) => resolve({ code, signal }));
    });
  }

  #report = () => `${this.command}\n${this.out}\n${this.err}`;

  /** @param {RegExp} wanted in its output */
  async says(wanted) {
    return waitFor(() => wanted.exec(this.out), {
      what: () => `${wanted} of ${this.#report()}`,
    });
  }

  /** @returns {Promise<{code: number | null, out: string, err: string}>} */
  async end() {
    const { code } = await withTimeout(this.ended, this.#report);
    return { code, out: this.out, err: this.err };
  }
}

/**
 * Runs it to its end in a process of its own: for signals, stdin, children that inherit its streams, and the process as
 * a whole.
 * @param {string[]} args @param {Place} at @param {object} [extra] variables
 */
export const tapProcess = (args, at, extra = {}) => new Running(args, at, { extra }).end();

/**
 * Runs it to its end in this process, without the 0.3 s of CPU that a start takes.
 * @param {string[]} args @param {Place} at @param {object} [extra] variables
 */
export async function tap(args, { env, workspace }, extra = {}) {
  const { runCommand } = await import(MAIN); // loaded here, since few helpers of tests run commands
  const surroundings = { workspace, env: { ...env, ...extra } };
  const run = new Surrounded(surroundings, () => runCommand(args));
  const report = () => `copilot-tap ${args.join(" ")}\n${run.out}\n${run.err}`;
  const { exit } = await withTimeout(run.ended, report);
  return { code: exit, out: run.out, err: run.err };
}

/** The same, for output as JSON. @returns {Promise<{code: number | null, value: any}>} */
export async function tapJson(args, at, extra = {}) {
  const { code, out, err } = await tap([...args, "--json"], at, extra);
  if (err !== "") throw new Error(`${args.join(" ")} --json complains: ${err}`);
  return { code, value: JSON.parse(out) };
}

/**
 * Runs its arguments, prints how they ended, and stays. node-pty drops output that is unread 200 ms after
 * its process has ended: a shell that stays keeps the terminal until the test has read everything.
 */
const STAYING = `trap : INT; "$@"; printf '\\033]777;%d\\007' $?; exec sleep 60`;
// eslint-disable-next-line no-control-regex -- the shell's mark is a sequence of the terminal
const ENDED = /\x1b\]777;(\d+)\x07/;

/** A command in a terminal, with a screen that can be read. */
export class InTerminal {
  /** Everything that it has sent, escape sequences and all. */
  raw = "";
  #screen;
  #pty;

  /**
   * @param {import("node:test").TestContext} t @param {string[]} args @param {Place} at
   * @param {{extra?: Record<string, string>, cols?: number, rows?: number, program?: string}} [options]
   *   `program`: in place of the command
   */
  constructor(t, args, { env, workspace }, options = {}) {
    const { extra = {}, cols = 80, rows = 60, program = CLI } = options;
    // Loaded here, since few tests have a terminal.
    const require = createRequire(import.meta.url);
    const { Terminal } = require("@xterm/headless");
    const { spawn: spawnPty } = require("node-pty");
    this.#screen = new Terminal({ cols, rows, allowProposedApi: true, scrollback: 1000 });
    const command = ["-c", STAYING, "sh", process.execPath, program, ...args];
    this.#pty = spawnPty("/bin/sh", command, {
      name: extra.TERM ?? "xterm-256color",
      cwd: workspace,
      env: { ...env, ...extra },
      cols,
      rows,
    });
    this.ended = new Promise((resolve) =>
      this.#pty.onData((text) => {
        this.raw += text;
        this.#screen.write(text);
        const [mark, code] = ENDED.exec(this.raw) ?? [];
        if (!mark) return;
        this.raw = this.raw.replace(mark, "");
        resolve(Number(code));
      }),
    );
    t.after(() => this.#pty.kill("SIGKILL"));
  }

  /** The text that a reader sees, with the lines that have scrolled away. */
  get text() {
    const buffer = this.#screen.buffer.active;
    return Array.from({ length: buffer.length }, (_, row) =>
      buffer.getLine(row)?.translateToString(true),
    )
      .join("\n")
      .trimEnd();
  }

  /** The screen's rows with their colours, for a picture. */
  get runs() {
    const { cols, rows } = this.#screen;
    const buffer = this.#screen.buffer.active;
    return Array.from({ length: rows }, (_, row) =>
      runsOf(buffer.getLine(buffer.baseY + row), cols),
    );
  }

  /** @param {number} cols @param {number} rows */
  resize(cols, rows) {
    this.#screen.resize(cols, rows);
    this.#pty.resize(cols, rows);
  }

  /** Whether a program has the screen to itself. */
  get isAlternate() {
    return this.#screen.buffer.active.type === "alternate";
  }

  /** @param {string} keys */
  type(keys) {
    this.#pty.write(keys);
  }

  /** @param {RegExp | string} wanted on the screen */
  shows(wanted) {
    const fits = () =>
      typeof wanted === "string" ? this.text.includes(wanted) : wanted.test(this.text);
    return waitFor(fits, { what: () => `${wanted} on the screen:\n${this.text}` });
  }

  /** @returns {Promise<number>} the exit code, once everything it printed is on the screen */
  async end() {
    const code = await withTimeout(this.ended, () => `the end, after:\n${this.text}`);
    await new Promise((resolve) => this.#screen.write("", () => resolve(undefined)));
    return code;
  }
}
