// The state of a watched build or test run, from its cycles: unknown, green or red, with its failures by identity.
// No I/O and no clock. It knows the state that the model read last, so a text is made of the difference.

/**
 * @typedef {object} CycleFailure as native/lines/cycles.h reads it; all texts come from a program
 * @property {string} [file] @property {string} [line] @property {string} [col] @property {string} [code]
 * @property {string} [name] @property {string} [what] @property {string[]} lines @property {number} lineNumber
 *
 * @typedef {object} Cycle
 * @property {string} [part] of the output, such as a package of a monorepo; absent: the program itself
 * @property {string} [tool] that reads the part
 * @property {"unknown" | "green" | "red" | "none" | "crash"} verdict
 * @property {"line" | "begin" | "quiet" | "exit"} closedBy
 * @property {boolean} isGuess green because no failure came
 * @property {number} from Unix ms @property {number} to
 * @property {number} run @property {number} firstLine @property {number} lastLine
 * @property {CycleFailure[]} failures @property {number} leftOut @property {number} warnings
 * @property {boolean} isRecognized @property {string} [count] @property {number} [exitCode] @property {string[]} ran
 * @property {number} [ranLeftOut] further files and tests that passed
 *
 * @typedef {CycleFailure & {id: string, detail: string, since: number, seen: number, run: number, part?: string}} Failure
 *   `detail`: what may change while it stays the same failure
 * @typedef {"unknown" | "green" | "red"} State
 * @typedef {{part: string, tool?: string, state: State, why: Reason, since: number, leftOut: number}} PartState
 *
 * @typedef {object} Snapshot the saved part
 * @property {State} state
 * @property {number} since Unix ms
 * @property {Reason} why
 * @property {Failure[]} failures
 * @property {Known} told
 * @property {number} cycles
 * @property {PartState[]} [parts]
 *
 * @typedef {"start" | "verdict" | "no tests" | "crash" | "ended"} Reason
 * @typedef {{state: State, why: Reason, since: number, details: Record<string, string>}} Known
 *
 * @typedef {object} Report the difference to the state that the model knows
 * @property {State} state @property {Reason} why @property {number} since
 * @property {{state: State, since: number}} before as the model knows it
 * @property {Failure[]} added @property {Failure[]} changed @property {Failure[]} same
 * @property {string[]} mended identities
 * @property {{from: number, to: number}[]} over reds that the model has not read
 * @property {string[]} redParts
 * @property {{at: number, state: State}[]} history the last changes of the state that the model has not read
 * @property {number} changes all of these
 * @property {number} leftOut @property {boolean} isGuess @property {boolean} isRecognized
 * @property {number} [exitCode] @property {number} run @property {number} firstLine @property {number} lastLine
 */

const MAX_DETAIL_LINES = 4;
const MAX_FAILURES = 50;
/** Of all parts. */
const MAX_ALL_FAILURES = 200;
const MAX_OVER = 6;
/** Of a saved text. */
const MAX_TEXT = 480;

/** A text without the parts that differ from run to run: numbers, times, addresses, places. @param {string} text */
const normalize = (text) =>
  text
    .replace(/0x[0-9a-f]+/gi, "#")
    .replace(/\d+/g, "#")
    .replace(/\s+/g, " ")
    .trim();

/** A file as the project names it. @param {string} file @param {string} folder */
export function shortenFile(file, folder) {
  const plain = file.replace(/^file:\/\//, "").replace(/^\.\//, "");
  return plain.startsWith(`${folder}/`) ? plain.slice(folder.length + 1) : plain;
}

/** @param {CycleFailure} failure @param {string} folder @param {string} part that its text names; or empty */
function identify(failure, folder, part) {
  const { code = "", name, what = "", lines } = failure;
  const file = shortenFile(failure.file ?? "", folder);
  const own = name ?? normalize(what || (lines[0] ?? ""));
  return {
    id: `${part && `${part}: `}${[file, code, own].join("|")}`,
    detail: [what, ...lines.slice(0, MAX_DETAIL_LINES)].map(normalize).join("\n"),
  };
}

/** @type {Pick<Report, "leftOut" | "isGuess" | "isRecognized" | "exitCode" | "run" | "firstLine" | "lastLine">} */
const NO_CYCLE = {
  leftOut: 0,
  isGuess: false,
  isRecognized: true,
  run: 0,
  firstLine: 0,
  lastLine: 0,
};

/** @template {Pick<PartState, "state" | "why" | "since">} T @param {T} of */
const pickState = ({ state, why, since }) => ({ state, why, since });

/** The file counts as hostile. @param {any} part */
const isPartState = (part) =>
  typeof part?.part === "string" &&
  ["unknown", "green", "red"].includes(part.state) &&
  [part.since, part.leftOut].every(Number.isFinite);

export class WatchState {
  /** Since when a cycle runs, Unix ms. @type {number | undefined} */
  runningSince;
  cycles = 0;
  /** When the state or a failure changed, Unix ms. */
  changedAt = 0;
  #folder;
  #keepsUnseen;
  /** @type {State} */
  #state = "unknown";
  #since;
  /** @type {Reason} */
  #why = "start";
  /** @type {Map<string, Failure>} */
  #failures = new Map();
  /** By name; that of the program itself is "". @type {Map<string, PartState>} */
  #parts;
  /** @type {Known} */
  #told;
  /** @type {{from: number, to: number}[]} */
  #over = [];
  /** @type {{at: number, state: State}[]} */
  #history = [];
  #changes = 0;
  #cycle = NO_CYCLE;

  /**
   * @param {{folder: string, now: number, keepsUnseen?: boolean, saved?: Snapshot}} options `keepsUnseen`: a cycle runs
   *   only changed files, so a failure stays until its file or test has passed
   */
  constructor({ folder, now, keepsUnseen = false, saved }) {
    this.#folder = folder;
    this.#keepsUnseen = keepsUnseen;
    this.#since = now;
    this.#told = { state: "unknown", why: "start", since: now, details: {} };
    const first = { part: "", leftOut: 0, state: this.#state, why: this.#why, since: now };
    const { parts = [{ ...first, ...pickState(saved ?? first) }] } = saved ?? {};
    this.#parts = new Map(parts.map((one) => [one.part, one]));
    if (!saved) return;
    this.#state = saved.state;
    this.#since = saved.since;
    this.#why = saved.why;
    this.#told = saved.told;
    this.cycles = saved.cycles;
    this.#failures = new Map(saved.failures.map((one) => [one.id, one]));
  }

  get state() {
    return this.#state;
  }

  get since() {
    return this.#since;
  }

  get why() {
    return this.#why;
  }

  /** @returns {Failure[]} */
  get failures() {
    return [...this.#failures.values()];
  }

  get leftOut() {
    return this.#listParts().reduce((sum, { leftOut }) => sum + leftOut, 0);
  }

  #listParts() {
    return [...this.#parts.values()];
  }

  /** Those of a program that runs several tools. @returns {(PartState & {failures: Failure[]})[]} */
  get parts() {
    return this.#listParts().flatMap((one) =>
      one.part === "" ? [] : [{ ...one, failures: this.#selectFailures(one.part) }],
    );
  }

  /** @param {string} name */
  #selectFailures(name) {
    return this.failures.filter(({ part = "" }) => part === name);
  }

  /** A cycle has begun. @param {number} at Unix ms */
  open(at) {
    this.runningSince = at;
  }

  /**
   * @param {Cycle} cycle @param {boolean} isEnd the command has ended, and was not expected to
   * @returns {boolean} whether the state or a failure has changed
   */
  close(cycle, isEnd = false) {
    this.runningSince = undefined;
    this.cycles += 1;
    const before = { state: this.#state, since: this.#since, key: this.#key() };
    this.#cycle = cycle;
    this.#closePart(cycle, isEnd && !cycle.part);
    const [state, why] = this.#combine();
    if (state !== before.state || why !== this.#why) {
      if (before.state === "red" && this.#told.state !== "red") {
        this.#over.push({ from: before.since, to: cycle.to });
        this.#over.splice(0, this.#over.length - MAX_OVER);
      }
      this.#since = cycle.to;
    }
    if (state !== before.state) {
      this.#history = [...this.#history, { at: cycle.to, state }].slice(-MAX_OVER);
      this.#changes += 1;
    }
    this.#state = state;
    this.#why = why;
    const isOther = before.state !== state || before.key !== this.#key();
    if (isOther) this.changedAt = cycle.to;
    return isOther;
  }

  /** @param {Cycle} cycle @param {boolean} isEnd */
  #closePart(cycle, isEnd) {
    const { part = "", tool, verdict, closedBy, to } = cycle;
    const left = verdict === "red" || verdict === "green" ? this.#takeFailures(cycle) : 0;
    // In a command that ends well, no step has failed.
    const isGood = part === "" && closedBy === "exit" && verdict === "green";
    if (isGood) this.#failures.clear();
    const own = this.#parts.get("");
    if (part !== "" && own?.why === "ended") this.#parts.set("", { ...own, why: "start" }); // it runs again
    const former = this.#parts.get(part);
    const [state, why] = this.#judge(cycle, isEnd, former);
    this.#setPart({ part, tool, state, why, since: to, leftOut: cycle.leftOut + left });
    if (!isEnd && !isGood) return;
    for (const one of this.#listParts())
      this.#setPart({ ...one, state, why, since: to, leftOut: 0 });
  }

  /** @param {PartState} now */
  #setPart(now) {
    const former = this.#parts.get(now.part);
    const isSame = former?.state === now.state && former.why === now.why;
    this.#parts.set(now.part, isSame ? { ...now, since: former.since } : now);
  }

  /** @param {Cycle} cycle @param {boolean} isEnd @param {PartState} [former] @returns {[State, Reason]} */
  #judge({ part = "", verdict }, isEnd, former) {
    if (isEnd) return ["unknown", "ended"];
    if (verdict === "none") return ["unknown", "no tests"];
    if (verdict === "crash") return ["red", "crash"];
    if (verdict === "unknown") return [former?.state ?? "unknown", former?.why ?? "start"];
    const isRed = verdict === "green" && this.#selectFailures(part).length > 0;
    return [isRed ? "red" : verdict, "verdict"];
  }

  /** The state of all parts together. @returns {[State, Reason]} */
  #combine() {
    const all = this.#listParts();
    if (this.#parts.get("")?.why === "ended") return ["unknown", "ended"];
    const red = all.filter(({ state }) => state === "red");
    if (red.length > 0)
      return ["red", red.every(({ why }) => why === "crash") ? "crash" : "verdict"];
    if (all.some(({ state }) => state === "green")) return ["green", "verdict"];
    return ["unknown", all.some(({ why }) => why === "no tests") ? "no tests" : "start"];
  }

  /** @param {Cycle} cycle @returns {number} failures for which there is no room */
  #takeFailures({ part = "", tool, verdict, failures, ran, ranLeftOut = 0, run, to, isGuess }) {
    const former = new Map(this.#selectFailures(part).map((one) => [one.id, one]));
    const others = this.failures.filter((one) => !former.has(one.id));
    this.#failures = new Map(others.map((one) => [one.id, one]));
    let left = 0;
    for (const failure of verdict === "red" ? failures : []) {
      const { id, detail } = identify(failure, this.#folder, part === tool ? "" : part);
      const { since = to, seen = 0 } = former.get(id) ?? {};
      if (this.#failures.has(id)) continue;
      if (this.#failures.size >= MAX_ALL_FAILURES) left += 1;
      else {
        const own = { ...failure, id, detail, since, seen: seen + 1, run };
        this.#failures.set(id, part === "" ? own : { ...own, part });
      }
    }
    // A file that was loaded again does not tell of the others.
    const isTouched = isGuess && ran.length > 0;
    if (this.#keepsUnseen && ranLeftOut === 0) this.#keepUnseen(former, ran, isTouched);
    return left;
  }

  /** @param {Map<string, Failure>} former @param {string[]} ran @param {boolean} isTouched */
  #keepUnseen(former, ran, isTouched) {
    const paths = ran.map((one) => shortenFile(one, this.#folder));
    const passed = new Set([...paths, ...paths.map((one) => one.replace(/^\//, ""))]);
    for (const [id, failure] of former) {
      const file = shortenFile(failure.file ?? "", this.#folder);
      // Without a name it is of no test, so no test can show that it is mended.
      const { name = "" } = failure;
      const isUnseen = isTouched ? file !== "" : name !== "";
      if (!isUnseen || this.#failures.has(id) || passed.has(file) || passed.has(name)) continue;
      if (this.#failures.size < MAX_FAILURES) this.#failures.set(id, failure);
    }
  }

  /** All that makes a difference. */
  #key() {
    return [...this.#failures]
      .map(([id, { detail }]) => `${id}\n${detail}`)
      .sort()
      .join("\n\n");
  }

  /** The news for the model; undefined: no news. @returns {Report | undefined} */
  get pending() {
    const told = this.#told;
    const all = this.failures;
    const wasRed = told.state === "red";
    const added = all.filter(({ id }) => !wasRed || told.details[id] === undefined);
    const changed = all.filter(
      ({ id, detail }) => wasRed && (told.details[id] ?? detail) !== detail,
    );
    const isOther =
      told.state !== this.#state || (told.why !== this.#why && this.#why !== "verdict");
    const isNews = this.#state === "red" && added.length + changed.length > 0;
    if (!isOther && !isNews) return undefined;
    const news = new Set([...added, ...changed]);
    const { leftOut } = this;
    const { isGuess, isRecognized, exitCode, run, firstLine, lastLine } = this.#cycle;
    const { parts } = this;
    const isNamed = parts.length > 1 || parts.some(({ part, tool }) => part !== tool);
    const red = parts.filter(({ state }) => state === "red");
    return {
      ...{ state: this.#state, why: this.#why, since: this.#since },
      before: { state: told.state, since: told.since },
      ...{ added, changed, same: all.filter((one) => !news.has(one)) },
      mended: wasRed ? Object.keys(told.details).filter((id) => !this.#failures.has(id)) : [],
      ...{ over: this.#over, history: this.#history, changes: this.#changes },
      redParts: isNamed ? red.map(({ part }) => part) : [],
      ...{ leftOut, isGuess, isRecognized, exitCode, run, firstLine, lastLine },
    };
  }

  /** The model knows the present state. @returns {() => void} it has not read it after all */
  markTold() {
    const former = { told: this.#told, over: this.#over, all: this.#history, count: this.#changes };
    const details = Object.fromEntries(this.failures.map(({ id, detail }) => [id, detail]));
    this.#told = { state: this.#state, why: this.#why, since: this.#since, details };
    const sent = this.#told;
    this.#over = this.#history = [];
    this.#changes = 0;
    return () => {
      const isOver = sent.state === "red" && this.#state !== "red" && former.told.state !== "red";
      const over = isOver ? [{ from: sent.since, to: this.#since }] : [];
      this.#told = former.told;
      this.#over = [...former.over, ...over, ...this.#over].slice(-MAX_OVER);
      this.#history = [...former.all, ...this.#history].slice(-MAX_OVER);
      this.#changes += former.count;
    };
  }

  /** @returns {Snapshot} */
  toSnapshot() {
    const cut = (/** @type {Failure} */ failure) => ({
      ...failure,
      lines: failure.lines.slice(0, MAX_DETAIL_LINES).map((line) => line.slice(0, MAX_TEXT)),
    });
    return {
      ...{ state: this.#state, since: this.#since, why: this.#why, cycles: this.cycles },
      failures: this.failures.map(cut),
      told: this.#told,
      parts: this.#listParts(),
    };
  }
}

/** The file counts as hostile input. @param {any} saved @returns {saved is Snapshot} */
export const isWatchSnapshot = (saved) =>
  ["unknown", "green", "red"].includes(saved?.state) &&
  [saved.since, saved.cycles].every(Number.isFinite) &&
  typeof saved.told === "object" &&
  typeof saved.told?.details === "object" &&
  (saved.parts === undefined || (Array.isArray(saved.parts) && saved.parts.every(isPartState))) &&
  Array.isArray(saved.failures) &&
  saved.failures.every(
    (/** @type {any} */ failure) => typeof failure?.id === "string" && Array.isArray(failure.lines),
  );
