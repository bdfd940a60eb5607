// Follows the steps of a page, block by block, in a folder of its own. The words of a block:
//
//   js file=x, python file=x,
//   yaml plan file=x             the file's new content
//   js file=x replace            a function, in place of the function of that name
//   sh step                      commands that end with 0
//   sh step fails                the same, but the last command ends with 1
//   sh start                     a program that runs on; its predecessor gets Ctrl-C
//   sh cli                       the Copilot CLI starts
//   text says                    the output of the last command or program
//   text prompt, text key        the reader's input for the CLI
//   text cli                     the lines that the CLI's screen shows then
//   hangup                       with other words: first, the terminal of the program is closed
//
// Blocks of the other language, or marked with its name, are left out. `…` stands for anything.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pythonForSdk } from "../../tools/setup.mjs";
import { REPO_ROOT } from "./cli.mjs";
import { parseMarkdown, valueOf } from "./markdown.mjs";
import { waitFor, withTimeout } from "./wait.mjs";

/** @typedef {import("./markdown.mjs").Block} Block */
/** @typedef {"node" | "python"} Language */

const LANGUAGES = { js: "node", python: "python" };

/** @param {string} text */
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Lines without their frames on a screen, and without the time of day. @param {string} text */
export const plainLines = (text) =>
  text
    .split("\n")
    .map((line) => line.replace(/[│┃╭╮╰╯─]/g, " ").trim())
    .map((line) => line.replace(/\s+\d\d:\d\d$/, "").replace(/\s+/g, " "))
    .filter(Boolean);

/** Whether all lines are there, in that order. @param {string} text @param {string} wanted */
export function hasLines(text, wanted) {
  const patterns = plainLines(wanted).map((line) => line.split("…").map(escaped).join(".*"));
  let from = 0;
  const lines = plainLines(text);
  return patterns.every((pattern) => {
    const at = lines.findIndex(
      (line, index) => index >= from && new RegExp(`^${pattern}$`).test(line),
    );
    from = at + 1;
    return at >= 0;
  });
}

/** @param {string} file @param {string} code a function @returns {string} the file with it */
export function withFunction(file, code) {
  const head = /^(?:async )?(?:function|def) (\w+)/;
  const name = head.exec(code)?.[1];
  const lines = file.split("\n");
  const start = lines.findIndex((line) => head.exec(line)?.[1] === name);
  assert.ok(name && start >= 0, `no function ${name} to be replaced`);
  const after = lines.findIndex((line, index) => index > start && /^\S/.test(line));
  const end = lines[after] === "}" ? after + 1 : after;
  const gap = lines[after] === "}" ? [] : ["", ""];
  return [
    ...lines.slice(0, start),
    ...code.trimEnd().split("\n"),
    ...gap,
    ...lines.slice(end),
  ].join("\n");
}

/**
 * The player of the CLI's part.
 * @typedef {{
 *   start: (command: string) => Promise<void>, prompt: (text: string) => Promise<void>,
 *   key: (text: string) => Promise<void>, shows: (text: string) => Promise<void>,
 * }} Player
 */

export class Walkthrough {
  /** @type {Language} */ #language;
  #folder;
  #env;
  /** @type {Player} */ #player;
  /** @type {import("node:child_process").ChildProcess | undefined} */ #program;
  /** The output of the last command or program. */
  output = "";

  /** Where the reader is now. */
  get folder() {
    return this.#folder;
  }

  /**
   * @param {{language: Language, folder: string, env: Record<string, string | undefined>, player: Player}} options
   *   folder: an empty folder; env: where a provider finds the gateway
   */
  constructor({ language, folder, env, player }) {
    this.#language = language;
    this.#player = player;
    this.#folder = path.join(folder, "home");
    const bin = path.join(folder, "bin");
    for (const made of [this.#folder, bin]) mkdirSync(made);
    symlinkSync(path.join(REPO_ROOT, "js", "cli", "cli.mjs"), path.join(bin, "copilot-tap"));
    this.bin = bin;
    const PATH = [bin, path.dirname(process.execPath), process.env.PATH].join(path.delimiter);
    this.#env = {
      ...process.env,
      NODE_TEST_CONTEXT: undefined,
      PYTHONUNBUFFERED: "1",
      PATH,
      ...env,
    };
  }

  /**
   * @param {string} page from the repository's root
   * @param {(block: Block) => boolean} [wanted] which blocks are done
   */
  async follow(page, wanted = () => true) {
    await this.#findPython();
    const { blocks } = parseMarkdown(readFileSync(path.join(REPO_ROOT, page), "utf8"));
    let done = 0;
    for (const block of blocks.filter((given) => this.#isMine(given) && wanted(given))) {
      try {
        if (await this.#do(block)) done += 1;
      } catch (error) {
        error.message = `${page}:${block.line} (${this.#language}): ${error.message}`;
        throw error;
      }
    }
    assert.ok(done > 0, `${page} has no step`);
  }

  /** `python3` is a Python with the modules that the SDK needs. */
  async #findPython() {
    const python = await pythonForSdk();
    if (this.#language !== "python") return;
    assert.ok(python, "no Python for the SDK on this machine");
    const file = path.join(this.bin, "python3");
    writeFileSync(file, `#!/bin/sh\nPATH=\${PATH#*:} exec ${python} "$@"\n`);
    chmodSync(file, 0o755);
  }

  /** @param {Block} block */
  #isMine({ language, words }) {
    const of = LANGUAGES[language] ?? ["node", "python"].find((name) => words.includes(name));
    return of === undefined || of === this.#language;
  }

  /** @param {Block} block @returns {Promise<boolean>} whether there was anything to do */
  async #do(block) {
    const { language, words, code } = block;
    if (words.includes("hangup")) await this.stop("SIGHUP");
    const file = valueOf(block, "file");
    if (file) this.#write(path.join(this.#folder, file), code, words.includes("replace"));
    else if (language === "sh" && words.includes("step"))
      await this.#run(code, words.includes("fails") ? 1 : 0);
    else if (language === "sh" && words.includes("start")) await this.start(code);
    else if (language === "sh" && words.includes("cli")) await this.#player.start(code.trim());
    else if (words.includes("says")) await this.#says(code);
    else if (words.includes("prompt")) await this.#player.prompt(code.trim());
    else if (words.includes("key")) await this.#player.key(code.trim());
    else if (words.includes("cli")) await this.#player.shows(code);
    else return false;
    return true;
  }

  /** @param {string} file @param {string} code @param {boolean} replace */
  #write(file, code, replace) {
    writeFileSync(file, replace ? withFunction(readFileSync(file, "utf8"), code) : code);
  }

  /** @param {string} code */
  #spawn(code) {
    this.output = "";
    const child = spawn("bash", ["-ec", code], {
      cwd: this.#folder,
      env: this.#env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => (this.output += text));
    return child;
  }

  /** A folder that it changes to is that of the next blocks. @param {string} code @param {number} wanted status */
  async #run(code, wanted) {
    const mark = "the folder is now ";
    const child = this.#spawn(`trap 'echo "${mark}$PWD"' EXIT\n${code}`);
    const ended = new Promise((resolve) => child.once("close", resolve));
    const status = await withTimeout(ended, () => `the end of ${code}${this.output}`);
    assert.equal(status, wanted, this.output);
    this.#folder = new RegExp(`^${mark}(.*)$`, "m").exec(this.output)?.[1] ?? this.#folder;
  }

  /** @param {string} code a command */
  async start(code) {
    await this.stop("SIGINT");
    this.#program = this.#spawn(`exec ${code.trim()}`);
  }

  /** @param {NodeJS.Signals} [signal] */
  async stop(signal = "SIGKILL") {
    const program = this.#program;
    this.#program = undefined;
    if (!program || program.exitCode !== null || program.signalCode !== null) return;
    const ended = new Promise((resolve) => program.once("close", resolve));
    program.kill(signal);
    await withTimeout(ended, () => `the end of the program:\n${this.output}`);
  }

  /** @param {string} text */
  async #says(text) {
    await waitFor(() => hasLines(this.output, text), {
      what: () => `these lines:\n${text}in the output:\n${this.output}`,
    });
  }
}
