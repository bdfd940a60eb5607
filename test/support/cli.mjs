// The real Copilot CLI, offline, in a home of its own. No helper here reads or writes the user's ~/.copilot.

import { execFile, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  describeProcess,
  isExtension,
  isGatewayHost,
  killAll,
  killTree,
  processesOf,
} from "./processes.mjs";
import { PATIENCE_MS, waitFor } from "./wait.mjs";

export { findFreePort } from "../../js/lib/free-port.mjs";

export const REPO_ROOT = fileURLToPath(new URL("../../", import.meta.url));

/**
 * The variables that a CLI may inherit. A list of those that pass: credentials, proxies and settings of the
 * surrounding shell must not reach it, or a test would depend on who runs it.
 */
const INHERITED =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_.*|TZ|TMPDIR|XDG_(CACHE|RUNTIME|STATE)_.*)$/;

// ---- finding the CLI -----------------------------------------------------------------------------

/** @typedef {{command: string, prefix: string[], version: string | undefined}} CliCommand */

const readPackage = (folder) => JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));

const binOf = (manifest) =>
  typeof manifest.bin === "string" ? manifest.bin : Object.values(manifest.bin ?? {})[0];

/**
 * The platform's binary, started directly: the JS launcher waits in spawnSync and passes no signal on,
 * so a signal would end the launcher and orphan the CLI. Looked up as a folder, since the package's
 * `exports` hide its package.json.
 */
function nativeCommand(packageFolder, version) {
  const require = createRequire(path.join(packageFolder, "package.json"));
  for (const platform of process.platform === "linux"
    ? ["linux", "linuxmusl"]
    : [process.platform]) {
    const name = `@github/copilot-${platform}-${process.arch}`;
    const folders = (require.resolve.paths(name) ?? []).map((folder) => path.join(folder, name));
    const folder = folders.find((candidate) => existsSync(path.join(candidate, "package.json")));
    if (folder)
      return { command: path.join(folder, binOf(readPackage(folder))), prefix: [], version };
  }
  return undefined;
}

function commandFromPackage(packageFolder) {
  const manifest = readPackage(packageFolder);
  const launcher = path.join(packageFolder, binOf(manifest));
  return (
    nativeCommand(packageFolder, manifest.version) ?? {
      command: process.execPath,
      prefix: [launcher],
      version: manifest.version,
    }
  );
}

/** A folder that is the package, or that has it in its node_modules. */
function packageFolderIn(folder) {
  if (
    existsSync(path.join(folder, "package.json")) &&
    readPackage(folder).name === "@github/copilot"
  )
    return folder;
  const require = createRequire(path.join(folder, "package.json"));
  const name = "@github/copilot";
  const found = (require.resolve.paths(name) ?? [])
    .map((modules) => path.join(modules, name))
    .find((candidate) => existsSync(path.join(candidate, "package.json")));
  if (!found) throw new Error(`no ${name} in the node_modules of ${folder}`);
  return found;
}

/**
 * @param {string} [where] an executable, or a folder with (or that is) the npm package;
 *   without it TAP_TEST_CLI, or the repository's own devDependency
 * @returns {CliCommand}
 */
export function findCli(where = process.env.TAP_TEST_CLI || REPO_ROOT) {
  if (!statSync(where).isDirectory())
    return { command: path.resolve(where), prefix: [], version: undefined };
  return commandFromPackage(packageFolderIn(path.resolve(where)));
}

// ---- small tools ---------------------------------------------------------------------------------

/** @param {string} text @param {number} [max] */
export const tail = (text, max = 3000) => (text.length > max ? `…${text.slice(-max)}` : text);

/**
 * How the extension comes into the home:
 * - "entries" (default): a real folder with a link per entry, so that files written into the
 *   extension (a token, say) land in this home and not in the checkout shared by all tests;
 * - "link": the folder itself is a link; - "copy": a copy.
 */
async function installExtension(source, target, how) {
  await mkdir(path.dirname(target), { recursive: true });
  if (how === "link") return symlink(source, target);
  if (how === "copy") return cp(source, target, { recursive: true });
  await mkdir(target);
  const names = (await readdir(source)).filter((name) => !name.startsWith("."));
  await Promise.all(names.map((name) => symlink(path.join(source, name), path.join(target, name))));
}

const git = (cwd, ...args) => execFileSync("git", args, { cwd, stdio: "pipe" });

// ---- the CLI -------------------------------------------------------------------------------------

/**
 * @typedef {{
 *   extension?: string, extensionMode?: "entries" | "link" | "copy", extensionName?: string,
 *   model?: {url: string}, env?: Record<string, string | undefined>, cli?: string,
 *   settings?: object,
 * }} CliOptions
 * @typedef {{
 *   args?: string[], allow?: string[], env?: Record<string, string | undefined>, cwd?: string,
 *   timeoutMs?: number,
 * }} PromptOptions
 * @typedef {{code: number | null, signal: string | null, stdout: string, stderr: string, ms: number}} RunResult
 */

export class CopilotCli {
  /** Settings for every start of this CLI; a test may change them. @type {Record<string, string | undefined>} */
  env;
  /** @type {CliCommand} */
  command;
  /** The COPILOT_HOME. @type {string} */
  home;
  /** A git repository for the CLI to run in. @type {string} */
  workFolder;
  #root;
  #model;
  #extensionName;

  /** @param {CliOptions} [options] */
  static async create(options = {}) {
    const cli = new CopilotCli();
    // Short, since a socket path below the home must fit 104 bytes.
    cli.#root = await mkdtemp(path.join(os.tmpdir(), "tap-"));
    cli.home = path.join(cli.#root, "home");
    cli.workFolder = path.join(cli.#root, "work");
    cli.command = findCli(options.cli);
    cli.env = { ...options.env };
    cli.#model = options.model;
    cli.#extensionName = options.extensionName ?? "tap";
    await cli.#furnish(options);
    return cli;
  }

  /** @param {CliOptions} options */
  async #furnish({ extension, extensionMode = "entries", settings }) {
    await mkdir(this.home);
    await mkdir(this.workFolder);
    git(this.workFolder, "init", "-q", "-b", "main");
    if (extension)
      await installExtension(path.resolve(extension), this.extensionFolder, extensionMode);
    if (settings) await writeFile(path.join(this.home, "settings.json"), JSON.stringify(settings));
  }

  get extensionFolder() {
    return path.join(this.home, "extensions", this.#extensionName);
  }

  /** Where a gateway of this home publishes its token. */
  get tokenFile() {
    return path.join(this.home, "extensions", "tap", ".provider-token");
  }

  /** The whole environment of a start. @param {Record<string, string | undefined>} [extra] */
  environment(extra = {}) {
    const inherited = Object.entries(process.env).filter(([name]) => INHERITED.test(name));
    const env = {
      ...Object.fromEntries(inherited),
      TERM: "xterm-256color",
      COPILOT_HOME: this.home,
      COPILOT_OFFLINE: "true",
      COPILOT_AUTO_UPDATE: "false",
      COPILOT_MODEL: "fake",
      ...(this.#model && { COPILOT_PROVIDER_BASE_URL: this.#model.url }),
      ...this.env,
      ...extra,
    };
    return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  }

  /**
   * Runs a prompt to the end.
   * @param {string} prompt
   * @param {PromptOptions} [options]
   * @returns {Promise<RunResult>}
   */
  runPrompt(prompt, options) {
    return this.startPrompt(prompt, options).done;
  }

  /**
   * Starts a prompt and gives the child at once, for tests that act meanwhile.
   * `allow` opens the permission gates (`[]`: none of them).
   * @param {string} prompt
   * @param {PromptOptions} [options]
   */
  startPrompt(
    prompt,
    {
      args = [],
      allow = ["--allow-all"],
      env,
      cwd = this.workFolder,
      timeoutMs = PATIENCE_MS,
    } = {},
  ) {
    const { command, prefix } = this.command;
    const startedAt = performance.now();
    const child = spawn(command, [...prefix, "--experimental", ...allow, ...args, "-p", prompt], {
      cwd,
      env: this.environment(env),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) {
      child[name].setEncoding("utf8").on("data", (text) => (output[name] += text));
    }
    const done = this.#finish(child, output, startedAt, timeoutMs);
    // A run without a waiter must not end the test process; a later waiter of `done` still sees the error.
    done.catch(() => {});
    return { child, output, done };
  }

  async #finish(child, output, startedAt, timeoutMs) {
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      void killTree(this.home, child.pid);
    }, timeoutMs);
    try {
      // "exit", not "close": a detached child that kept a pipe open must not count as the CLI running.
      const [code, signal] = await new Promise((resolve, reject) => {
        child.once("error", reject).once("exit", (...ended) => resolve(ended));
      });
      if (!timedOut)
        return {
          code,
          signal,
          ...(await settled(child, output)),
          ms: performance.now() - startedAt,
        };
    } finally {
      clearTimeout(timer);
    }
    // Reported after the kill, but a detached gateway of this home still runs, as it would for a user.
    throw new Error(`the CLI did not end within ${timeoutMs} ms\n${await this.report(output)}`);
  }

  // ---- its processes -----------------------------------------------------------------------------

  /** All live processes with this home in their environment, the CLI itself included. */
  processes() {
    return processesOf(this.home);
  }

  async extensionProcesses() {
    return (await this.processes()).filter(isExtension);
  }

  async gatewayHosts() {
    return (await this.processes()).filter(isGatewayHost);
  }

  /** Waits until exactly 1 gateway host runs and gives it. */
  gatewayHost() {
    const find = async () => {
      const hosts = await this.gatewayHosts();
      return hosts.length === 1 && hosts[0];
    };
    return waitFor(find, {
      what: () => this.report().then((text) => `a gateway host\n${text}`),
    });
  }

  /** Waits until no process of this home is left, without killing any. */
  allGone() {
    const isGone = async () => (await this.processes()).length === 0;
    return waitFor(isGone, {
      what: () => this.report().then((text) => `no process left\n${text}`),
    });
  }

  // ---- its traces ---------------------------------------------------------------------

  /** Everything the CLI has logged in this home (an extension's stderr is in there). */
  async logs() {
    const folder = path.join(this.home, "logs");
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name));
    const texts = await Promise.all(files.sort().map((file) => readFile(file, "utf8")));
    return texts
      .map((text, index) => `--- ${path.relative(folder, files[index])}\n${text}`)
      .join("\n");
  }

  /** The persisted events of all sessions of this home. @returns {Promise<any[]>} */
  async events() {
    const folder = path.join(this.home, "session-state");
    const ids = await readdir(folder).catch(() => []);
    const files = ids
      .map((id) => path.join(folder, id, "events.jsonl"))
      .filter((file) => existsSync(file));
    const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
    return texts.flatMap((text) =>
      text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    );
  }

  /** The facts that explain a failed test. */
  async report({ stdout = "", stderr = "" } = {}) {
    const processes = (await this.processes()).map((info) => `  ${describeProcess(info)}`);
    return [
      `CLI ${this.command.version ?? this.command.command}`,
      ...(stdout ? [`stdout:\n${tail(stdout)}`] : []),
      ...(stderr ? [`stderr:\n${tail(stderr)}`] : []),
      `processes:\n${processes.join("\n") || "  (empty)"}`,
      `logs:\n${tail(await this.logs(), 6000)}`,
    ].join("\n");
  }

  /** Kills every process of this home, and no other, and removes the folder. */
  async dispose() {
    await killAll(this.home);
    await rm(this.#root, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}

/** The output after the exit: usually the pipes close at once; a detached child may hold them open. */
async function settled(child, output) {
  const closed = Promise.all(
    [child.stdout, child.stderr].map((pipe) => pipe.closed || onceClosed(pipe)),
  );
  await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 500).unref())]);
  child.stdout.destroy();
  child.stderr.destroy();
  return output;
}

const onceClosed = (pipe) => new Promise((resolve) => pipe.once("close", resolve));

/** The SDK that the CLI brings along: it is where the CLI unpacks itself with its first start. */
export async function copilotSdk() {
  const { command, prefix } = findCli();
  const { stdout } = await promisify(execFile)(command, [...prefix, "--version"]);
  const version = /(\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? "";
  const cache = process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), ".cache");
  const folder = path.join(process.env.COPILOT_CACHE_HOME ?? path.join(cache, "copilot"), "pkg");
  const platforms = await readdir(folder);
  const found = platforms
    .map((name) => path.join(folder, name, version, "copilot-sdk"))
    .find((place) => existsSync(path.join(place, "index.js")));
  if (!found) throw new Error(`no SDK of CLI ${version} in ${folder}`);
  return found;
}
