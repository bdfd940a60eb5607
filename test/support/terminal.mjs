// The interactive CLI in a real pseudo terminal, with a screen that a test can read.

import { createRequire } from "node:module";
import { runsOf } from "./screen-svg.mjs";
import { PATIENCE_MS, waitFor, withTimeout } from "./wait.mjs";

/** Loaded on first use: few tests have a terminal, and node-pty is native. */
const load = createRequire(import.meta.url);

/** The sequences that a terminal sends for keys. */
const KEYS = {
  enter: "\r",
  escape: "\x1b",
  tab: "\t",
  "shift-tab": "\x1b[Z",
  backspace: "\x7f",
  up: "\x1b[A",
  down: "\x1b[B",
  right: "\x1b[C",
  left: "\x1b[D",
  "ctrl-c": "\x03",
  "ctrl-d": "\x04",
  "ctrl-u": "\x15",
};

/** The screens of this CLI. Kept together: a later version may draw them otherwise. */
const SCREENS = {
  trust: /Do you trust the files in this folder/,
  /** The footer while no turn runs and the input is empty. */
  ready: /\/ commands[^\n]*$/,
  cancelled: /Operation cancelled by user/,
  /** The dialog of Esc Esc while no turn runs. */
  rewind: /Rewind turn \d+/,
  ctrlCAgain: /ctrl\+c again to exit/i,
  /** The lines that frame the input. */
  rule: /^[─━]{20,}$/,
};

/** No user reads a choice and presses a key in less. */
const SETTLED_MS = 300;

/** The answer that the dialog at the end has preselected; without a dialog, the last prompt. @param {string} screen */
const marked = (screen) => screen.split("\n").findLast((line) => /^[\s│┃]*❯ \S/.test(line)) ?? "";

const plain = (text) => text.replace(/\s+/g, " ").trim();

export class Terminal {
  /** How the CLI ended, once it has. @type {{exitCode: number, signal?: number} | undefined} */
  exited;
  pid;
  #pty;
  #screen;
  #cli;
  #ended;

  constructor(cli, { args, env, cols, rows }) {
    const { command, prefix } = cli.command;
    this.#cli = cli;
    const { Terminal: Screen } = load("@xterm/headless");
    this.#screen = new Screen({ cols, rows, allowProposedApi: true, scrollback: 5000 });
    this.#pty = load("node-pty").spawn(command, [...prefix, "--experimental", ...args], {
      name: "xterm-256color",
      cols,
      rows,
      cwd: cli.workFolder,
      env: cli.environment(env),
    });
    this.pid = this.#pty.pid;
    this.#connect();
  }

  #connect() {
    this.#pty.onData((data) => this.#screen.write(data));
    // The CLI asks its terminal questions (cursor, colours) and waits for the answers.
    this.#screen.onData((answer) => this.#write(answer));
    this.#ended = new Promise((resolve) => {
      this.#pty.onExit((exit) => {
        this.exited = exit;
        resolve(exit);
      });
    });
  }

  #write(data) {
    if (!this.exited) this.#pty.write(data);
  }

  /** The text on the screen now, without trailing blanks. */
  screenText() {
    const buffer = this.#screen.buffer.active;
    return this.#lines(buffer.baseY, buffer.baseY + this.#screen.rows);
  }

  /** The same with everything that has scrolled away. */
  allText() {
    return this.#lines(0, this.#screen.buffer.active.length);
  }

  /** The screen's rows with their colours, for a picture. */
  screenRuns() {
    const { cols, rows } = this.#screen;
    const buffer = this.#screen.buffer.active;
    return Array.from({ length: rows }, (_, row) =>
      runsOf(buffer.getLine(buffer.baseY + row), cols),
    );
  }

  #lines(from, to) {
    const buffer = this.#screen.buffer.active;
    const lines = [];
    for (let row = from; row < to; row += 1)
      lines.push(buffer.getLine(row)?.translateToString(true) ?? "");
    return lines.join("\n").trimEnd();
  }

  type(text) {
    this.#write(text);
  }

  /** @param {string} key a name, or a character */
  press(key) {
    if (!(key in KEYS) && key.length > 1)
      throw new Error(`no key "${key}", known: ${Object.keys(KEYS).join(", ")}`);
    this.#write(KEYS[key] ?? key);
  }

  // ---- waiting -----------------------------------------------------------------------------------

  /**
   * @param {RegExp | ((screen: string) => unknown)} wanted
   * @param {string} [subject]
   * @param {number} [timeoutMs]
   * @returns {Promise<string>} the screen that fits
   */
  async waitForScreen(wanted, subject = `a screen that fits ${wanted}`, timeoutMs = PATIENCE_MS) {
    const fits = typeof wanted === "function" ? wanted : (screen) => wanted.test(screen);
    const look = () => {
      const screen = this.screenText();
      if (fits(screen)) return { screen };
      return this.exited && { screen, over: true };
    };
    const { screen, over } = await waitFor(look, { timeoutMs, what: () => this.#failure(subject) });
    if (over) throw new Error(`the CLI ended while waiting for ${await this.#failure(subject)}`);
    return screen;
  }

  async #failure(subject) {
    return `${subject}\nscreen:\n${this.screenText()}\n${await this.#cli.report()}`;
  }

  /** No turn runs and the input line is empty. */
  waitUntilReady() {
    const ready = (screen) => SCREENS.ready.test(screen) && this.inputText(screen) === "";
    return this.waitForScreen(ready, "the CLI ready for input");
  }

  /** The text in the input line, or undefined where a dialog hides it. */
  inputText(screen = this.screenText()) {
    const lines = screen.split("\n").map((line) => line.trim());
    const end = lines.findLastIndex((line) => SCREENS.rule.test(line));
    const start = lines.slice(0, Math.max(end, 0)).findLastIndex((line) => SCREENS.rule.test(line));
    if (start < 0) return undefined;
    return plain(
      lines
        .slice(start + 1, end)
        .join(" ")
        .replace(/^❯/, ""),
    );
  }

  /** Resolves with how the CLI ended. */
  waitForExit() {
    return withTimeout(this.#ended, () => this.#failure("the end of the CLI"));
  }

  // ---- actions of a user --------------------------------------------------------------------------

  /** Answers the dialog of the first start with its preselected "Yes". */
  async trustFolder() {
    await this.waitForScreen(SCREENS.trust, "the question for folder trust");
    await this.#pressUntil("enter", (screen) => !SCREENS.trust.test(screen), "the dialog gone");
    await this.waitUntilReady();
  }

  /**
   * Types into the empty input line and sends it once it stands there.
   * Returns when the line has been taken, not when it has been answered.
   */
  async submit(text) {
    await this.waitUntilReady();
    this.type(text);
    const typed = plain(text);
    const shows = (screen) => plain(this.inputText(screen) ?? "").startsWith(typed);
    await this.waitForScreen(shows, `"${text}" in the input line`);
    await this.#pressUntil(
      "enter",
      (screen) => !shows(screen),
      `"${text}" taken from the input line`,
    );
  }

  /** Sends a prompt and waits until the turn is over. @returns {Promise<string>} the screen after it */
  async prompt(text, answer) {
    await this.submit(text);
    await this.waitForScreen(answer, `the answer ${answer}`);
    return this.waitUntilReady();
  }

  /** Ends this session and begins a new session; the CLI ends the extension's process and starts a new one. */
  clear() {
    return this.#switchSession("/clear");
  }

  /** Begins a new session; the old one and its extension's process live on in the background. */
  newSession() {
    return this.#switchSession("/new");
  }

  /**
   * The footer is "ready" for a moment before the new session loads its extensions, so this waits for
   * the process of the new session.
   * @returns {Promise<string>} the id of the new session, "" in a home without extensions
   */
  async #switchSession(command) {
    const before = new Set((await this.#cli.extensionProcesses()).map(({ env }) => env.SESSION_ID));
    await this.submit(command);
    const id = before.size > 0 ? await this.#newSessionId(before, command) : "";
    await this.waitUntilReady();
    return id;
  }

  #newSessionId(before, command) {
    const fresh = async () => {
      const ids = (await this.#cli.extensionProcesses()).map(({ env }) => env.SESSION_ID);
      return ids.find((id) => !before.has(id));
    };
    return waitFor(fresh, {
      what: () => this.#failure(`a new session after ${command}`),
    });
  }

  /**
   * Answers the dialog on the screen: each key once the effect of the key before is drawn, because the
   * CLI takes keys that arrive together for a single key.
   * @param {string[]} keys names of keys, or characters
   * @param {(screen: string) => unknown} [isOpen] whether the dialog is there: for a dialog like the next dialog
   */
  async choose(keys, isOpen = () => true) {
    for (const key of keys) {
      const before = await this.#settledMark();
      const open = isOpen(this.screenText());
      const done = (screen) => marked(screen) !== before || (open && !isOpen(screen));
      await this.#pressUntil(key, done, `the effect of "${key}"`);
    }
  }

  /** The CLI draws a choice before it acts upon it: a key within that moment is for the choice before. */
  async #settledMark() {
    let [last, since] = [marked(this.screenText()), performance.now()];
    await this.waitForScreen((screen) => {
      if (marked(screen) !== last) [last, since] = [marked(screen), performance.now()];
      return performance.now() - since > SETTLED_MS;
    });
    return last;
  }

  /** Stops the turn that runs: Esc, as often as it takes. */
  async interruptTurn() {
    await this.#pressUntil(
      "escape",
      (screen) => SCREENS.cancelled.test(screen),
      "the turn cancelled",
      300,
    );
    await this.#takeBackEscapes();
    await this.waitUntilReady();
  }

  /**
   * Those that came after the turn's end have opened a dialog, or would make the next letter a key of
   * its own: once a letter stands in the input line, all keys before it have had their effect.
   */
  async #takeBackEscapes() {
    const isTyped = (/** @type {string} */ screen) => this.inputText(screen) === "x";
    const isRewinding = (/** @type {string} */ screen) => SCREENS.rewind.test(screen);
    for (;;) {
      this.press("ctrl-u");
      this.press("x");
      const subject = "a letter in the input line, or the dialog of Esc Esc";
      const screen = await this.waitForScreen(
        (text) => isTyped(text) || isRewinding(text),
        subject,
      );
      if (isTyped(screen)) break;
      await this.#pressUntil("escape", (text) => !isRewinding(text), "the dialog gone");
    }
    this.press("ctrl-u");
  }

  /** Leaves with `/exit`: the CLI, or only the current session where there are several. */
  async exit() {
    await this.submit("/exit");
    return this.waitForExit();
  }

  /** Leaves as most users do: ctrl-c twice. */
  async interruptExit() {
    await this.waitUntilReady();
    this.press("ctrl-c");
    await this.waitForScreen(SCREENS.ctrlCAgain, "the hint at the second ctrl-c");
    this.press("ctrl-c");
    return this.waitForExit();
  }

  /**
   * A key pressed while the CLI still draws can get lost, so it is repeated until it has had its effect.
   * Not soon: on a busy machine the first may only be late, and the second would answer a later question.
   */
  async #pressUntil(key, done, what, everyMs = 6000) {
    let pressedAt = -Infinity;
    await this.waitForScreen((screen) => {
      if (done(screen)) return true;
      if (performance.now() - pressedAt > everyMs) {
        pressedAt = performance.now();
        this.press(key);
      }
      return false;
    }, what);
  }

  /** Kills the CLI, if it still runs; its other processes are its CopilotCli's to clean up. */
  dispose() {
    if (!this.exited) this.#pty.kill("SIGKILL");
    this.#screen.dispose();
  }
}

/**
 * Starts the CLI without a prompt. The folder-trust dialog is answered unless `trust` is false.
 *
 * @param {import("./cli.mjs").CopilotCli} cli
 * @param {{args?: string[], allow?: string[], env?: Record<string, string | undefined>,
 *   cols?: number, rows?: number, trust?: boolean}} [options]
 */
export async function startInteractive(cli, options = {}) {
  const { args = [], allow = ["--allow-all"], env, cols = 120, rows = 40, trust = true } = options;
  const terminal = new Terminal(cli, { args: [...allow, ...args], env, cols, rows });
  try {
    if (trust) await terminal.trustFolder();
    return terminal;
  } catch (error) {
    terminal.dispose();
    throw error;
  }
}
