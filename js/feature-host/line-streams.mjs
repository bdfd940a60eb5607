// Streams of lines that features read, each from programs that run in sequence. The addon (native/lines/) reads
// the pipes and decides the outcomes: dropped and kept lines are not passed here.

import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { isInside } from "../lib/paths.mjs";
import { errorMessage } from "../lib/values.mjs";
import { visible } from "../lib/visible.mjs";
import { endGroup, guard } from "../process/group.mjs";
import { programEnvironment } from "./programs.mjs";

/** @typedef {import("../process/entry-sandbox.mjs").OpenSandbox} OpenSandbox */
/** @typedef {import("../lib/addon.js").LineSource} LineSource */
/** @typedef {import("../lib/addon.js").LineRule} LineRule */
/** @typedef {import("../lib/addon.js").LineOutcome} LineOutcome */
/** @typedef {import("../lib/addon.js").LineDelivery} LineDelivery */

/** Time to read the last output after the group has ended: processes outside of it may hold the pipes. */
const PIPES_MS = 250;
/** Per feature. */
export const MAX_STREAMS = 600;

/**
 * @typedef {object} LineProgram
 * @property {string} [command] for a shell
 * @property {string[]} [argv] a program and its arguments, without a shell
 * @property {string} folder the workspace, absolute
 * @property {string} [cwd] relative to the folder; never outside of it
 * @property {Record<string, string>} [env] in addition to PATH and the like
 * @property {string} [path] PATH, if it is not this process's
 * @property {boolean} stderr read stderr, too
 * @property {string} [traceparent] of the call for which it runs
 * @property {import("../process/entry-sandbox.mjs").EntrySandbox} [sandbox]
 *
 * @typedef {{code: number | undefined, signal: string | undefined}} ProgramEnd
 * @typedef {{isExpected: boolean, mustInject?: boolean}} EndJudgement
 *
 * @typedef {object} StreamLine
 * @property {number} number counts over all runs
 * @property {number} at Unix ms
 * @property {number} run
 * @property {number} line of the run; 0: an entry that is not a line
 * @property {number} [rule]
 * @property {LineOutcome} outcome
 * @property {"stdout" | "stderr" | "own"} source
 * @property {string} text hostile
 * @property {Record<string, string>} [metadata]
 *
 * @typedef {object} LineEffects
 * @property {StreamLine[]} surfaced
 * @property {{lines: StreamLine[], leftOut: number}[]} injects each is a separate text for the model
 * @property {{kind: "leftOut" | "slowRule", rule: number, surfaced: number, injected: number, isTotal: boolean}[]}
 *   notices
 * @property {number} [opened] Unix ms: start of a build or a test run, with a matcher
 * @property {import("../lib/addon.js").Cycle[]} [closed] builds and test runs that have ended
 * @property {string[]} [slow] fields of the matcher, each once: lines that take too long do not match
 *
 * @typedef {object} LineStreamOptions
 * @property {LineDelivery} delivery
 * @property {LineRule[]} [rules]
 * @property {number} [expectEvery] ms
 * @property {number} [entries] of the history
 * @property {(effects: LineEffects) => void} onEffects
 * @property {(json: string) => void} onRows an array of lines for the record store, as JSON text
 * @property {{folder: string, cwd: string}} [place] of its programs
 * @property {(end: ProgramEnd) => EndJudgement} onEnded the program's group has ended
 */

const SIGNALS = new Map(Object.entries(os.constants.signals).map(([name, value]) => [value, name]));

/**
 * The working folder of a program, with all links resolved.
 * @param {string} folder @param {string} [cwd]
 * @returns {Promise<string>} rejects if it does not exist, or is outside
 */
export async function resolveFolder(folder, cwd = ".") {
  const root = await fs.realpath(folder);
  const place = path.resolve(root, cwd);
  const real = await fs.realpath(place).catch((error) => {
    throw new RangeError(`cwd: ${place} is not there (${error.code})`);
  });
  if (!isInside(real, root)) {
    throw new RangeError(`cwd: ${place} is outside of the workspace ${root}`);
  }
  if (!(await fs.stat(real)).isDirectory()) throw new RangeError(`cwd: ${place} is not a folder`);
  return real;
}

/**
 * The host's services for streams.
 * @typedef {object} LineHost
 * @property {NodeJS.ProcessEnv} env of this process
 * @property {() => Promise<import("../process/entry-sandbox.mjs").Fallback | undefined>} readFallback of the user's
 *   config
 */
/** @param {string} file */
const exists = (file) =>
  fs.access(file).then(
    () => true,
    () => false,
  );

export class LineStream {
  /** Whether the last run with a requested sandbox had it. @type {boolean | undefined} */
  isSandboxed;
  #source;
  #options;
  #host;
  #onClosed;
  #closed = false;
  /** @type {{pid: number, ending?: Promise<void>, opened?: OpenSandbox} | undefined} */
  #program;
  /** @type {{code: number, signal: number} | undefined} */
  #exit;
  #isRead = false;
  /** @type {() => void} */
  #onRead = () => {};

  /**
   * @param {typeof import("../lib/addon.js").LineSource} Source @param {LineStreamOptions} options
   * @param {LineHost} host @param {() => void} onClosed
   */
  constructor(Source, options, host, onClosed) {
    this.#options = options;
    this.#host = host;
    this.#onClosed = onClosed;
    const { delivery, entries, expectEvery, onEffects, onRows } = options;
    this.#source = new Source({
      ...{ delivery, entries, expectEvery, onRows },
      onEffects: (json) => onEffects(JSON.parse(json)),
      onExit: (code, signal) => {
        this.#exit = { code, signal };
        void this.#end();
      },
      onOutputEnd: () => {
        this.#isRead = true;
        this.#onRead();
      },
    });
    this.#source.setRules(options.rules ?? []);
  }

  /** @returns {boolean} */
  get isRunning() {
    return this.#program !== undefined;
  }

  /** The next lines belong to this run. @param {number} run */
  setRun(run) {
    this.#source.setRun(run);
  }

  /**
   * Starts a run.
   * @param {LineProgram} program @returns {Promise<number>} its pid
   * @throws {RangeError} if it must not run there; an Error with the system's reason if it cannot
   */
  async start({ command, argv, folder, cwd, stderr, sandbox, ...given }) {
    const place = await resolveFolder(folder, cwd);
    const opened = sandbox && (await this.#openSandbox(sandbox, { folder, cwd: place, ...given }));
    try {
      if (this.#closed) throw new Error("the stream has ended");
      const variables = programEnvironment(given, this.#host.env);
      const run = (/** @type {string} */ file, /** @type {string[]} */ args) => {
        const asked = { command: file, args, env: variables };
        const started = opened?.wrap(asked) ?? asked;
        const env = Object.entries(started.env).map(([name, value]) => `${name}=${value ?? ""}`);
        return this.#source.start({
          ...{ file: started.command, args: started.args, cwd: place, env, stderr },
        });
      };
      this.#exit = undefined;
      this.#isRead = false;
      const pid = argv ? run(argv[0], argv.slice(1)) : this.#startShell(run, command ?? "");
      this.isSandboxed = opened?.isSandboxed;
      this.#program = { pid, opened };
      guard(pid);
      return pid;
    } catch (error) {
      await opened?.close();
      throw error;
    }
  }

  /**
   * @param {NonNullable<LineProgram["sandbox"]>} sandbox
   * @param {{folder: string, cwd: string, path?: string}} where
   */
  async #openSandbox(sandbox, { folder, cwd, path: search }) {
    const { env, readFallback } = this.#host;
    const { openEntrySandbox } = await import("../process/entry-sandbox.mjs");
    const onRefused = (/** @type {string} */ host) =>
      this.note(`the sandbox does not let it reach ${visible(host)}`, "keep");
    const fallback = await readFallback();
    return openEntrySandbox(sandbox, {
      ...{ folder, cwd, user: env, search },
      ...{ fallback, onRefused },
    });
  }

  /** @param {(file: string, args: string[]) => number} run @param {string} command */
  #startShell(run, command) {
    try {
      return run("bash", ["-c", command]);
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error);
      if (code !== "ENOENT" && !/no such file/.test(errorMessage(error))) throw error;
      return run("sh", ["-c", command]);
    }
  }

  /** Ends the program's group. */
  #end() {
    const program = this.#program;
    if (!program) return Promise.resolve();
    return (program.ending ??= endGroup(program.pid).then(() => this.#finishRun()));
  }

  async #finishRun() {
    if (!this.#isRead) {
      /** @type {NodeJS.Timeout | undefined} */
      let timer;
      await new Promise((resolve) => {
        this.#onRead = () => resolve(undefined);
        timer = setTimeout(resolve, PIPES_MS);
      });
      clearTimeout(timer);
    }
    await this.#program?.opened?.close();
    this.#program = undefined;
    const { code = undefined, signal = 0 } = this.#exit ?? {};
    const name = signal === 0 ? undefined : (SIGNALS.get(signal) ?? `signal ${signal}`);
    const end = { code: name ? undefined : code, signal: name };
    const judged = this.#options.onEnded(end);
    this.#source.finish({ ...judged, signal: name, exitCode: end.code });
  }

  /** Ends the program. @returns {Promise<void>} when its group has ended */
  stop() {
    return this.#end();
  }

  /** Adds whole lines that no program has written. @param {string} text */
  post(text) {
    this.#source.post(text);
  }

  /** @param {number} ms a longer silence becomes an entry; 0: no limit */
  expectEvery(ms) {
    this.#source.expectEvery(ms);
  }

  /** Resets the silence, for an event that is not a line. */
  heard() {
    this.#source.heard();
  }

  /** @param {LineRule[]} rules @throws {RangeError} with the index `rule` of an invalid rule */
  setRules(rules) {
    this.#source.setRules(rules);
  }

  /**
   * How the lines of the next runs are read as builds or test runs.
   * @param {string} matcher JSON @param {string} [tools] JSON @throws {RangeError} with the `field` that is wrong
   */
  setMatcher(matcher, tools) {
    this.#source.setMatcher(matcher, tools);
  }

  /** @param {LineDelivery} delivery */
  setDelivery(delivery) {
    this.#source.setDelivery(delivery);
  }

  /** Adds an entry of the emitter itself. @param {string} text @param {LineOutcome} outcome */
  note(text, outcome) {
    this.#source.note(text, outcome);
  }

  /** @param {{last?: number, since?: number, least?: LineOutcome}} [query] @returns {StreamLine[]} the oldest first */
  history(query) {
    return JSON.parse(this.#source.history(query));
  }

  /** Tries rules on past lines. @param {LineRule[]} rules @param {number} last @returns {{lines: StreamLine[], slow: string[]}} */
  test(rules, last) {
    return JSON.parse(this.#source.test(rules, last));
  }

  counters() {
    return this.#source.counters();
  }

  /** @returns {Promise<void>} */
  async close() {
    this.#closed = true;
    await this.stop();
    this.#onClosed();
  }
}

/** The streams of a feature. */
export class LineStreams {
  /** @type {Set<LineStream>} */
  #open = new Set();
  #host;
  #closed = false;

  /** @param {LineHost} host */
  constructor(host) {
    this.#host = host;
  }

  /**
   * @param {LineStreamOptions} options
   * @returns {Promise<LineStream>} rejects with a RangeError if its programs must not run in `place`
   */
  async open({ place, ...options }) {
    if (this.#closed) throw new Error("the feature has ended");
    // A missing folder may be created before the first run.
    const isThere = place && (await exists(path.resolve(place.folder, place.cwd)));
    if (isThere) await resolveFolder(place.folder, place.cwd);
    if (this.#open.size >= MAX_STREAMS) throw new RangeError(`there are ${MAX_STREAMS} streams`);
    const { addon } = await import("../lib/addon.mjs"); // loaded on demand, to save memory
    /** @type {LineStream} */
    const stream = new LineStream(addon.LineSource, options, this.#host, () =>
      this.#open.delete(stream),
    );
    this.#open.add(stream);
    return stream;
  }

  /** @returns {Promise<void>} when all programs have ended */
  async endAll() {
    this.#closed = true;
    await Promise.all([...this.#open].map((stream) => stream.close()));
  }
}
