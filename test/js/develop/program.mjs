// Programs that the tests of `dev` and `new` start, and what they print.

import { spawn } from "node:child_process";
import path from "node:path";
import { root } from "../../../tools/commands.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor, withTimeout } from "../../support/wait.mjs";

export const CLI = path.join(root, "js", "cli", "cli.mjs");

/** The surroundings, without what another test runner says to its own children. */
export function surroundings() {
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  return env;
}

export class Program {
  output = "";

  /** @param {import("node:test").TestContext} t */
  constructor(t, command, args, cwd, env = {}) {
    this.child = spawn(command, args, { cwd, env: { ...surroundings(), ...env }, stdio: "pipe" });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => (this.output += text));
    }
    this.ended = new Promise((resolve) => this.child.on("close", (code) => resolve(code)));
    t.after(() => this.child.kill());
  }

  /** @param {RegExp} pattern */
  says(pattern) {
    return waitFor(() => pattern.exec(this.output), { what: () => `${pattern}:\n${this.output}` });
  }

  /** @param {string} line */
  type(line) {
    this.child.stdin.write(`${line}\n`);
  }

  /** @returns {Promise<number>} its exit code, the input being at its end */
  end() {
    this.child.stdin.end();
    return withTimeout(this.ended, () => `its end:\n${this.output}`);
  }
}

/** @param {import("node:test").TestContext} t */
export const tap = (t, ...args) =>
  new Program(t, process.execPath, [CLI, ...args], temporaryFolder(t));
