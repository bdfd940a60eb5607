// Commands that the CLI's own shell has run while a goal was open: how each ended, and on which tree. The exit code is
// the CLI's. What the model says of a command is not read here.

import { commandProblem } from "./evidence.mjs";
import { normalizeCommand, readTree } from "./facts.mjs";
import { hasOpenGoal, listGoals, recordCommandRun } from "./ledger.mjs";

/** @typedef {import("../../feature-host/service-access.mjs").Services} Services */
/** @typedef {{tool: string, provider?: string, args: any, result?: {type?: string, output?: string}, exitCode?: number}} ToolEnded of the session */
/**
 * @typedef {object} CommandRun
 * @property {string} command with single blanks, and without secrets
 * @property {number} [exitCode] absent: unknown
 * @property {boolean} failed the tool has failed without an exit code: it may have been denied
 * @property {string} output without the CLI's last line
 * @property {boolean} cut the CLI has told only the beginning of its output
 */

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** @param {string} text @returns {Promise<string>} in hexadecimal digits */
async function hashText(text) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Buffer.from(bytes).toString("hex");
}

const SHELLS = ["bash", "powershell"];
/** Commands in the background whose end has not been read. */
const MAX_BACKGROUND = 100;
/** What waits in one session; of more, the tree is not looked at. */
const MAX_WAITING = 20;
/** Of an output, for the CLI's last line. */
const MAX_LAST_LINE = 200;
const LAST_LINE = /\n?<[^\n<>]*\bshellId: ?([^\s<>]+)[^\n<>]*>\s*$/;
const CUT = "Output too large to read at once";
const MIN_CODE = -(2 ** 31);
const MAX_CODE = 2 ** 32 - 1;

/** @param {unknown} code @returns {code is number} what a process can end with, on any system */
const isExitCode = (code) =>
  typeof code === "number" && Number.isInteger(code) && code >= MIN_CODE && code <= MAX_CODE;

/** The commands of one session, read from the ends of its tools. */
export class ShellCommands {
  /** By the id of their shell. @type {Map<string, string>} */
  #background = new Map();

  /** @param {ToolEnded} ended @returns {CommandRun | undefined} undefined: it was no command of the CLI's shell */
  read({ tool, provider, args, result, exitCode }) {
    if (provider !== undefined) return undefined;
    const given = String(result?.output ?? "");
    const [whole, told = ""] = LAST_LINE.exec(given.slice(-MAX_LAST_LINE)) ?? [""];
    const { command: typed, shellId = told } = args ?? {};
    const command = this.#findCommand(tool, typed, String(shellId), exitCode !== undefined);
    if (command === undefined) return undefined;
    return {
      command: normalizeCommand(command),
      ...(isExitCode(exitCode) && { exitCode }),
      failed: result?.type === "failure" && exitCode === undefined,
      output: given.slice(0, given.length - whole.length),
      cut: given.startsWith(CUT),
    };
  }

  /** @param {string} tool @param {unknown} typed @param {string} shell @param {boolean} hasEnded */
  #findCommand(tool, typed, shell, hasEnded) {
    const isStart = SHELLS.includes(tool) && typeof typed === "string";
    if (!isStart && !hasEnded) return undefined; // it has only been looked at
    const command = isStart ? typed : this.#background.get(shell);
    this.#background.delete(shell);
    if (command !== undefined && !hasEnded && shell !== "") this.#keep(shell, command);
    return command;
  }

  /** @param {string} shell @param {string} command */
  #keep(shell, command) {
    const [oldest] = this.#background.keys();
    if (this.#background.size >= MAX_BACKGROUND) this.#background.delete(oldest);
    this.#background.set(shell, command);
  }
}

/** A session that is listened to. */
class Following {
  commands = new ShellCommands();
  /** @type {Promise<unknown>} settled once all that has ended is recorded */
  recorded = Promise.resolve();
  waiting = 0;
  /** @type {Promise<{close: () => Promise<void>}>} */
  opened;

  /** @param {Promise<{close: () => Promise<void>}>} opened */
  constructor(opened) {
    this.opened = opened;
  }
}

/** Listens to sessions with an open goal, and to no other. */
export class CommandWatch {
  #services;
  #onProblem;
  /** @type {Map<string, Following>} */
  #following = new Map();
  /** @type {Promise<void>} */
  #updates = Promise.resolve();

  /** @param {Services} services @param {(text: string) => void} onProblem */
  constructor(services, onProblem) {
    this.#services = services;
    this.#onProblem = onProblem;
  }

  /** Begins or ends to listen, one after another: a session has one listener. Never rejects. @param {string} session */
  update(session) {
    const update = async () => {
      const wanted = await hasOpenGoal(this.#services, session);
      if (wanted) await this.#follow(session);
      else await this.end(session);
    };
    return (this.#updates = this.#updates.then(update).catch((error) => {
      this.#onProblem(`commands of session ${session} are not seen: ${String(error)}`);
    }));
  }

  /** What has ended before is recorded then. @param {string} session */
  async settle(session) {
    if (!this.#following.has(session)) return this.update(session);
    await nextTurn(); // what has come over another connection at the same time
    return this.#following.get(session)?.recorded;
  }

  /** @param {string} session */
  async end(session) {
    const following = this.#following.get(session);
    this.#following.delete(session);
    await following?.opened.then(({ close }) => close()).catch(() => {});
  }

  async stop() {
    await this.#updates;
    await Promise.all([...this.#following.keys()].map((session) => this.end(session)));
  }

  /** @param {string} session */
  async #follow(session) {
    if (this.#following.has(session)) return;
    /** @type {Following} */
    const following = new Following(
      this.#services.sessions.follow({
        session,
        onToolEnded: (/** @type {ToolEnded} */ ended) => this.#onEnded(session, following, ended),
      }),
    );
    this.#following.set(session, following);
    await following.opened.catch((error) => {
      this.#following.delete(session); // the next need tries again
      throw error;
    });
  }

  /** @param {string} session @param {Following} following @param {ToolEnded} ended */
  #onEnded(session, following, ended) {
    const run = following.commands.read(ended);
    if (!run) return;
    following.waiting += 1;
    const isBusy = following.waiting > MAX_WAITING;
    // One after another: the order of the records is that of the ends, and one git runs at a time.
    following.recorded = following.recorded
      .then(() => this.#record(session, run, isBusy))
      .catch((error) => this.#onProblem(`a command is not recorded: ${String(error)}`))
      .finally(() => (following.waiting -= 1));
  }

  /** @param {string} session @param {CommandRun} run @param {boolean} isBusy */
  async #record(session, { output, cut, ...ended }, isBusy) {
    const open = (await listGoals(this.#services, session)).filter(({ state }) => state === "open");
    if (open.length === 0) return;
    const tree = isBusy ? { code: "BUSY" } : await readTree(this.#services, session);
    const sha256 = await hashText(output);
    const bytes = Buffer.byteLength(output);
    const { command, exitCode, failed } = ended;
    const marks = { ...(failed && { failed }), ...(cut && { cut }) };
    const about = { command, exitCode, sha256, bytes, ...marks, ...tree };
    const named = open.flatMap((goal) =>
      goal.evidence.flatMap((one) =>
        one.kind === "command" && normalizeCommand(one.command) === command ? [{ goal, one }] : [],
      ),
    );
    const results = [];
    for (const { goal, one } of named) {
      const reason = await commandProblem(one, { exitCode, output, cut });
      results.push({ goal, n: one.n, met: reason === "", reason });
    }
    await recordCommandRun(this.#services, session, about, results);
  }
}
