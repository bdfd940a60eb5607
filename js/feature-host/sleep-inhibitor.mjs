// Keeps the machine awake while phases of plans run: a single program of the system for all of them,
// which ends with the last phase, or with this process.

import { spawn } from "node:child_process";
import { endGroup, guard, ownGroup } from "../process/group.mjs";

/** @typedef {import("node:child_process").ChildProcess} ChildProcess */

/** Bridges the moment between two phases. */
const LINGER_MS = 2000;
const MAX_STDERR = 200;

const WHO = "--who=copilot-tap";
const INHIBIT = ["--what=sleep:idle", "--mode=block", WHO, "--why=a plan of agents runs"];
/** Sets ES_CONTINUOUS and ES_SYSTEM_REQUIRED, while the thread lives. */
const WINDOWS = [
  "$d = '[DllImport(\"kernel32.dll\")] public static extern uint SetThreadExecutionState(uint f);';",
  "$t = Add-Type -MemberDefinition $d -Name Sleep -Namespace Tap -PassThru;",
  "if ($t::SetThreadExecutionState([uint32]2147483649) -eq 0) { exit 1 };",
  "[void][Console]::In.ReadToEnd()",
].join(" ");

/** By platform: the program, which runs until its stdin ends. @type {Record<string, [string, string[]]>} */
const PROGRAMS = {
  linux: ["systemd-inhibit", [...INHIBIT, "cat"]],
  darwin: ["caffeinate", ["-i", "cat"]],
  win32: ["powershell", ["-NoProfile", "-NonInteractive", "-Command", WINDOWS]],
};

export class SleepInhibitor {
  #note;
  #env;
  #platform;
  /** The running phases. @type {Set<string>} */
  #holders = new Set();
  /** @type {ChildProcess | undefined} */
  #child;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #failed = false;

  /**
   * @param {(text: string) => void} note called once if the machine cannot be kept awake
   * @param {NodeJS.ProcessEnv} env of this process @param {string} [platform]
   */
  constructor(note, env, platform = process.platform) {
    this.#note = note;
    this.#env = env;
    this.#platform = platform;
  }

  /** @param {string} holder */
  hold(holder) {
    this.#holders.add(holder);
    clearTimeout(this.#timer);
    if (!this.#child && !this.#failed) this.#start();
  }

  /** @param {string} holder */
  release(holder) {
    if (!this.#holders.delete(holder) || this.#holders.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.end(), LINGER_MS);
    this.#timer.unref();
  }

  #start() {
    const program = PROGRAMS[this.#platform];
    if (!program) return this.#fail(`this system (${this.#platform}) has no program for that`);
    const [command, args] = program;
    const stdio = /** @type {const} */ (["pipe", "ignore", "pipe"]);
    const child = spawn(command, args, {
      env: this.#env,
      stdio: [...stdio],
      detached: ownGroup,
      windowsHide: true,
    });
    this.#child = child;
    let output = "";
    child.stderr
      ?.setEncoding("utf8")
      .on("data", (text) => (output = (output + text).slice(-MAX_STDERR)));
    child.stdin?.on("error", () => {}); // it has ended
    child.on("error", (/** @type {NodeJS.ErrnoException} */ error) => {
      this.#handleEnd(child, error.code === "ENOENT" ? `there is no ${command}` : error.message);
    });
    child.on("close", (code, signal) => {
      const how = signal ? `was ended by ${signal}` : `ended with ${code}`;
      this.#handleEnd(child, `${command} ${how}${output.trim() && `: ${output.trim()}`}`);
    });
    if (child.pid !== undefined) guard(child.pid);
  }

  /** @param {ChildProcess} child @param {string} why */
  #handleEnd(child, why) {
    if (this.#child !== child) return; // it had to end
    this.#child = undefined;
    this.#fail(why);
  }

  /** @param {string} why */
  #fail(why) {
    this.#failed = true;
    this.#note(why);
  }

  /** @returns {Promise<void>} when it has ended */
  async end() {
    clearTimeout(this.#timer);
    const child = this.#child;
    this.#child = undefined;
    if (child?.pid === undefined) return;
    child.stdin?.end();
    await endGroup(child.pid);
  }
}
