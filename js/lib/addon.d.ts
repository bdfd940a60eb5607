// The native addon as JavaScript sees it (native/addon/).

export type LogLevel = "info" | "warning" | "error";

export interface GatewayOptions {
  /** Version of this program, for sessions and tap_status. */
  version: string;
  /** The instance token that providers authenticate with. */
  token: string;
  /** The secret that a session's first frame must carry; empty: not required. */
  linkSecret: string;
  pid: number;
  /** Holds the providers' own folders (hello.ack's persistDir); without it they get none. */
  persistRoot?: string;
  /** Where the token is written: errors name it. */
  tokenFile?: string;
  onLog?(level: LogLevel, text: string): void;
  /** A new session, not just a new process of one that is known. */
  onSessionOpened?(sessionId: string, cwd: string): void;
  onSessionEnded?(sessionId: string): void;
  /** The user has typed a slash command in a session. Its text goes to commandFinished. */
  onCommand?(number: number, typed: TypedCommand): void;
  /** A client of the link wants something of the host. Its answer goes to answerRequest. */
  onRequest?(number: number, request: HostRequest): void;
  /** The client of a request has left before its answer: what only it has a use for may end. */
  onRequestDropped?(number: number): void;
  /** Nobody needs this gateway any more. */
  onExit?(reason: string): void;
}

export interface HostRequest {
  /** Whose link it was: of the copilot-tap command, or of tap's own features. */
  from: "control" | "feature";
  /** Of a-z, 0-9, "." and "-". */
  method: string;
  /** JSON text of an object. */
  params: string;
}

export interface TypedCommand {
  sessionId: string;
  /** Where the session works. */
  cwd: string;
  /** Of a-z, 0-9 and -. */
  name: string;
  arguments: string;
}

/** One gateway on Node's event loop. */
export class Gateway {
  constructor(options: GatewayOptions);
  /** The grace time starts. */
  start(): void;
  /**
   * Binds 127.0.0.1 and ::1; 0 means any port.
   * @returns the port
   * @throws with code "EADDRINUSE" if either address is taken; then nothing listens
   */
  listen(port: number): number;
  /** Accepts sessions at this socket path or pipe name. */
  listenLink(path: string): void;
  /** JSON text that a plain GET / is answered with. */
  setPlainAnswer(json: string): void;
  /**
   * A provider in this process (js/gateway-host/in-process.mjs), which may do everything.
   * @returns what sendProvider knows it by; its first messages come from inside this call
   */
  openProvider(handlers: LocalProviderHandlers): number;
  /** A message of that provider (docs/protocol.md), as JSON text. */
  sendProvider(id: number, json: string): void;
  /** JSON text of an inspection (docs/session-link.md). */
  inspect(): string;
  /** PATH and the runtime of a session, as JSON text; empty if there is none. */
  environmentOf(sessionId: string): string;
  /**
   * A token for a provider that is started for this session.
   * @returns an empty string if there is no such session any more
   */
  issueSpawnToken(sessionId: string): string;
  /**
   * The token is void, and a connection that it let in is closed. `revoked`: the user does not want
   * that provider any more, so its rules end at once; else they hold as after any loss.
   */
  forgetSpawnToken(token: string, revoked?: boolean): void;
  /**
   * A token for tap's own features, good for provider.open and control.open over the link
   * (docs/session-link.md), by any number of links at once.
   */
  issueFeatureToken(): string;
  /** The token is void, and the links that it has opened are closed. */
  revokeFeatureToken(token: string): void;
  /**
   * Turns these groups of tools on in a session, too. Said from inside onSessionOpened, they are part of the
   * session's first tools.
   */
  setGroups(sessionId: string, names: string[]): void;
  /**
   * The same at once: the promise settles when the session has the tools, when it cannot have them, or after
   * `tools-in-force-ms`.
   */
  openGroups(sessionId: string, names: string[]): Promise<OpenedGroups>;
  /** The tools of a feature that the user has disabled, as calls of them are told; none: it is on. */
  disableTools(feature: string, names: string[]): void;
  /**
   * A request of tap's own features to a session's process (docs/session-link.md, "session.request").
   * @param params JSON text of an object
   * @returns JSON text of an object with `result`, or with `error` (`code`, `message`)
   */
  askSession(sessionId: string, request: string, params: string): Promise<string>;
  /**
   * The answer to a request, as JSON text of an object with `result`, or with `error` (`code`, `message`);
   * ignored if nobody waits for it any more.
   */
  answerRequest(number: number, json: string): void;
  /** A line in the session's timeline; nothing if there is no such session. */
  tellTimeline(sessionId: string, level: LogLevel, text: string): void;
  /** The text that this command shows in the timeline; ignored if the session no longer waits for it. */
  commandFinished(number: number, text: string): void;
  /** Ends every connection. `restarting`: another gateway follows. */
  /**
   * From now on the gateway records there what happens, until it is closed or gets null. Prompts of
   * tap's own features are recorded in any case, and reach the model only once they are durable.
   * @param mode `"notify"`: nothing but those prompts
   * @param spans whether traces are recorded, too; default: no
   */
  setRecords(records: Records, mode: "all" | "notify", spans?: boolean): void;
  setRecords(records: null): void;
  close(restarting?: boolean): void;
}

/** `tools`: those of the groups, by name; `reason`: why they are not in force; else empty. */
export interface OpenedGroups {
  inForce: boolean;
  tools: string[];
  reason: string;
}

export interface LocalProviderHandlers {
  /** JSON text of a message from the gateway (docs/protocol.md). */
  onMessage?(json: string): void;
  /** Once, when the gateway has dropped it, after `goodbye` too. */
  onClosed?(reason: string): void;
  /** It is a feature: what it puts before the model is recorded first, or left out. Default: no. */
  feature?: boolean;
}

export interface SessionPortHandlers {
  onConnected?(): void;
  /** JSON text of a message from the gateway (docs/session-link.md). */
  onEvent?(json: string): void;
  /** Calls that have their outcome: an id and its outcome, in turn. Each id comes exactly once. */
  onSettled?(...pairs: (number | CallOutcome)[]): void;
  /**
   * The gateway has not answered a ping. Once per ping, until it answers or the link ends.
   * @param mostMs how long a gateway that is not at work may be silent
   * @returns whether it is to be given longer, as one whose process is at work is; up to `link-busy-ms`
   */
  onQuiet?(silentMs: number, mostMs: number): boolean;
  /** Once, after all calls have settled. `silent`: the gateway's process is there but does not answer. */
  onClosed?(reason: string, silent: boolean): void;
}

export interface CallFailure {
  code: string;
  /** For the model: the provider that failed, the reason, and the next step. */
  text: string;
}

/** A result with bytes that are no text. */
export interface Attachment {
  /** Further data, as text; may be empty. */
  text: string;
  mimeType: string;
  /** In base64. */
  data: string;
}

export type CallOutcome = string | Attachment | CallFailure;

/** A session's connection to a gateway, detached or in this process. */
export class SessionPort {
  constructor(handlers: SessionPortHandlers);
  connect(path: string): void;
  attach(gateway: Gateway): void;
  /** Sends a message (docs/session-link.md), given as JSON text. */
  send(json: string): void;
  /**
   * Calls a tool. Its outcome comes through onSettled, exactly once, perhaps from inside this call.
   * @param id a whole number, new for this port
   * @param args JSON text of an object; the call fails with INVALID_JSON where it is another text
   * @param timeoutMs the tool's own timeout, if it has one
   * @param toolCallId the CLI's id of the call
   * @param traceparent the CLI's span of the call
   */
  call(
    id: number,
    tool: string,
    args: string,
    timeoutMs?: number,
    toolCallId?: string,
    traceparent?: string,
  ): void;
  cancel(id: number, reason: string): void;
  /**
   * The process that listens at the other end of the link, as the kernel says.
   * @returns 0 while there is no link, or where the process has no id here (another PID namespace)
   */
  peerPid(): number;
  close(why?: string): void;
}

/** Rules of one provider, which a session applies on its own while it has no gateway. */
export class HookGuards {
  /** @param rules JSON text of an array of onPreToolUse rules */
  constructor(rules: string);
  /**
   * Whether one of them is about this tool use.
   * @param args JSON text
   * @param folder where the session works
   */
  covers(tool: string, owner: string, args: string, folder: string): boolean;
}

/** Globs as in a hook rule's `match.file`: native/base/glob.h. Matching takes linear time. */
export class Globs {
  /** Throws a TypeError with the reason where one is no glob. */
  constructor(globs: string[]);
  /** Whether one of them means this path, which has / between its parts. */
  matches(path: string): boolean;
}

export interface RecordsOptions {
  /** The path of the file; its folder is there. */
  file: string;
  /** The oldest records go when the file has more. Default: 200 MB. */
  maxBytes?: number;
  /** The records go that are older. Default: 30 days. */
  maxAgeMs?: number;
  /** Something that people should hear of: a damaged file, a full disk. `code` is one word. */
  onDiagnostic?(code: string, text: string): void;
}

export interface RecordGiven {
  /** JSON text of an object. */
  body: string;
  session?: string;
  /** The feature or provider. */
  source?: string;
  /** 32 hexadecimal digits. */
  trace?: string;
  /** Unix time in ms; default: now. */
  at?: number;
}

export interface RecordsStats {
  /** Whether the file is open and can be written. */
  open: boolean;
  rows: number;
  /** What they take on the disk. */
  bytes: number;
  /** Records written since this was made. */
  written: number;
  /** By collection; without those that dropped none. */
  dropped: Record<string, number>;
  journal: "wal" | "rollback";
  /**
   * Why the file has a rollback journal: `"sqlite"`: this version of SQLite could corrupt a write-ahead log;
   * `"file-system"`: it may lack what such a log needs, or has less than 64 MB; `"refused"`: SQLite has kept the
   * rollback journal.
   */
  rollbackReason: "" | "sqlite" | "file-system" | "refused";
  /** The version of SQLite. */
  sqlite: string;
  /** The last ones, oldest first. */
  diagnostics: { at: number; code: string; text: string }[];
}

/**
 * The record store of one file. A thread of its own writes; nothing here waits for the disk, and only
 * what is awaited keeps the process alive.
 */
export class Records {
  constructor(options: RecordsOptions);
  /** Returns at once. A record that finds no room is counted as dropped. */
  append(collection: string, record: RecordGiven): void;
  /** Whether the record is durable now. */
  commit(collection: string, record: RecordGiven): Promise<boolean>;
  /**
   * @param json `{collection, where, since, until, limit, cursor}`
   * @returns JSON text: `{records, cursor}`, newest first
   * @throws with the reason, for people and models
   */
  query(json: string): Promise<string>;
  /**
   * One statement of SQL that only reads.
   * @returns JSON text: `{columns, rows, cut}`
   */
  sql(statement: string): Promise<string>;
  stats(): RecordsStats;
  /** From now on only records of `notify` are kept, or all again. */
  keepOnlyNotify(only: boolean): void;
  /** Blocks until all is written or dropped, at most that long. @returns whether it is */
  flush(ms: number): boolean;
  /** Writes what was appended, and ends. What is appended later is dropped. */
  close(): Promise<void>;
}

export interface PlansOptions {
  /** Its journal: a file of SQLite that one process opens. */
  file: string;
  /** Of all plans together. */
  maxWorkers?: number;
  maxAgents?: number;
  /** Free memory in bytes that an agent beyond the first needs. */
  workerMemory?: number;
  /** @param json what is to be done now, or told (native/plan/view.h); it is in the journal */
  onEffect?(json: string): void;
  /** @param why the journal cannot be written, and nothing goes on until it can; "": it can again */
  onTrouble?(why: string): void;
}

/** The engine of all plans (docs/plans.md) and its journal. */
export class Plans {
  constructor(options: PlansOptions);
  /**
   * Once, first.
   * @returns JSON text of `[{planId, ended, changedAt, about}]`
   * @throws where the file cannot be opened
   */
  open(): string;
  /**
   * @param json native/plan/inputs.h
   * @param now Unix time in ms
   * @param freeMemory of the machine, in bytes
   * @returns once it is in the journal: ""; or JSON text of why it was refused
   */
  input(json: string, now: number, freeMemory: number): Promise<string>;
  /** @param json native/plan/inputs.h @returns JSON text */
  view(json: string): string;
  /** Takes a plan from the journal. @returns why that is not possible, or "" */
  load(planId: string, now: number, freeMemory: number): Promise<string>;
  /** Forgets a plan that has ended; its journal stays. @returns whether it had ended, and was there */
  unload(planId: string): boolean;
  /** @returns JSON text of a list: what its journal has (native/plan/entry.h) */
  entries(planId: string): Promise<string>;
  /** What open() is to know of it. @param about JSON text of an object */
  describe(planId: string, ended: boolean, changedAt: number, about: string): Promise<void>;
  /** Forgets a plan that has ended. */
  remove(planId: string): Promise<void>;
  /**
   * `wakeAt`: Unix time in ms at which the input `due` is to come; `aside`: what a damaged file is called now, in whose
   * place open() has begun a new one
   */
  state(): {
    workers: number;
    agents: number;
    live: number;
    wakeAt?: number;
    plans: string[];
    aside?: string;
  };
  /**
   * Writes what is left. Whatever waits for the journal then, or asks it later, is refused or rejected with the code
   * `CLOSED`: the journal tells the next engine what has happened.
   */
  close(): void;
}

/** A rule of a filter. The first that matches a line decides about it. */
export interface LineRule {
  /** A regular expression, in the syntax of JavaScript with the flag `u`. */
  match: string;
  outcome: LineOutcome;
  /** A pattern that must not match. */
  not?: string;
  /** ms; the outcome at most once in so long, else the line is kept. */
  cooldown?: number;
  /** The outcome applies only to every n-th match. */
  count?: number;
  /** One digest of so many lines, or of those within `time` ms. */
  window?: { lines: number; time: number };
  /** One text with so many lines before the match, at most 24. */
  before?: number;
  /** With so many lines after it, which come within 2 s. */
  after?: number;
  /** The first line after it that is not part of that text. */
  until?: string;
  /** Named groups become metadata. */
  capture?: boolean;
}

export type LineOutcome = "drop" | "keep" | "surface" | "inject";
/** What goes to the model: nothing, what a rule injects, or all lines that are not dropped. */
export type LineDelivery = "off" | "important" | "all";

export interface LineSourceOptions {
  delivery: LineDelivery;
  /** Of its history; default 1000. */
  entries?: number;
  /** Of the texts of its history; default 256 KB. */
  bytes?: number;
  /** ms; a longer silence is an entry. */
  expectEvery?: number;
  /** JSON text: `{surfaced: Line[], injects: {lines: Line[], leftOut}[], notices}`. */
  onEffects?(json: string): void;
  /** JSON text: an array of lines for the record store. At most every 250 ms. */
  onRows?(json: string): void;
  /** The program has ended; `signal` is 0 where none ended it. Output may still come. */
  onExit?(code: number, signal: number): void;
  /** All that the program and its children have written was read. */
  onOutputEnd?(): void;
}

export interface LineProgram {
  /** Looked up in the PATH of `env`. */
  file: string;
  args: string[];
  cwd: string;
  /** `NAME=value`; nothing else is passed on. */
  env: string[];
  /** Whether stderr is read, too. */
  stderr: boolean;
}

/** One build or test run in a program's lines (native/lines/cycles.h). All texts come from the program. */
export interface Cycle {
  /** The part of the output, such as a package, and the tool that reads it; none: all of it. */
  part?: string;
  tool?: string;
  verdict: "unknown" | "green" | "red" | "none" | "crash";
  closedBy: "line" | "begin" | "quiet" | "exit";
  /** Green because no failure came. */
  isGuess: boolean;
  /** Unix ms. */
  from: number;
  to: number;
  run: number;
  firstLine: number;
  lastLine: number;
  failures: CycleFailure[];
  /** Failures for which there was no room. */
  leftOut: number;
  warnings: number;
  /** Whether a line of it was known. */
  isRecognized: boolean;
  count?: string;
  exitCode?: number;
  /** Files and tests that have passed. */
  ran: string[];
}

export interface CycleFailure {
  file?: string;
  line?: string;
  col?: string;
  code?: string;
  name?: string;
  what?: string;
  lines: string[];
  /** Of its first line in the run. */
  lineNumber: number;
}

/** The lines of one emitter, and the program that writes them (native/lines/source.h). */
export class LineSource {
  constructor(options: LineSourceOptions);
  /** @throws RangeError with the index `rule` where one is wrong; all stay as they were */
  setRules(rules: LineRule[]): void;
  setDelivery(delivery: LineDelivery): void;
  /**
   * From the next run on its lines are read as builds or test runs, and effects have `opened`
   * (Unix ms), `closed: Cycle[]` (native/lines/cycles.h) and `slow`: fields whose pattern took too
   * long, each once.
   * @param matcher JSON text (native/lines/matcher.h)
   * @param tools JSON text of an array: the tools that the program may run, which many share
   * @throws RangeError with the `field` that is wrong
   */
  setMatcher(matcher: string, tools?: string): void;
  /**
   * What a recorded output is read as.
   * @param events JSON text of an array: `{t, d, s}` text at a time in ms, `{t, exit}`
   * @returns JSON text of an array: `{t, opened?, closed?}`
   */
  static replay(matcher: string, events: string, tools?: string): string;
  /** @param ms 0: not at all */
  expectEvery(ms: number): void;
  /** Something has come that is no line: it ends a silence. */
  heard(): void;
  /** What follows is of this run, also where it does not begin; 0: of none. */
  setRun(run: number): void;
  /**
   * Begins a run with a program, which leads a process group of its own.
   * @returns its pid
   * @throws with the system's reason where it cannot be started
   */
  start(program: LineProgram): number;
  /** Whole lines that no program has written, not within a run of one. */
  post(text: string): void;
  /** Ends the run. What is left in the pipes is not read any more. */
  finish(end: {
    exitCode?: number;
    signal?: string;
    isExpected?: boolean;
    mustInject?: boolean;
  }): void;
  /** An entry of the emitter's own. */
  note(text: string, outcome: LineOutcome): void;
  /** @returns JSON text of an array of lines, the oldest first */
  history(query?: { last?: number; since?: number; least?: LineOutcome }): string;
  /**
   * What rules would have done to the last lines.
   * @returns JSON text: `{lines, slow}`; `slow`: for each rule why it is slow, or ""
   * @throws as setRules
   */
  test(rules: LineRule[], last: number): string;
  counters(): LineCounters;
}

export interface LineCounters {
  bytes: number;
  lines: number;
  dropped: number;
  kept: number;
  surfaced: number;
  injected: number;
  suppressed: number;
  cut: number;
  leftOut: number;
  rowsLeftOut: number;
  /** The number of the last run. */
  run: number;
  /** The number of the newest entry. */
  newest: number;
  /** Entries in the history. */
  held: number;
  /** Bytes. */
  memory: number;
}

export interface LimitRow {
  name: string;
  /** The default. */
  value: number;
  /** The smallest that its variable may say. */
  least: number;
  /** The largest. */
  most: number;
  unit: string;
  env: string;
  why: string;
}

export interface LimitReading {
  name: string;
  /** In force: the default where the variable is wrong, empty or not there. */
  value: number;
  /** The problem with the variable, as the beginning of a sentence. */
  wrong?: string;
}

export interface Addon {
  Gateway: typeof Gateway;
  SessionPort: typeof SessionPort;
  HookGuards: typeof HookGuards;
  Globs: typeof Globs;
  Records: typeof Records;
  LineSource: typeof LineSource;
  Plans: typeof Plans;
  /** The same JSON text without secrets. Text that is not JSON becomes a JSON string. */
  redactJson(json: string): string;
  /** Programs that this thread starts from now on have no key of this session's keyring, and no file that was open. */
  dropInherited(): void;
  linkVersion: number;
  limits: LimitRow[];
  /** The value of every limit with these environment variables, in the order of `limits`. */
  readLimits(variables: Record<string, string | undefined>): LimitReading[];
  /**
   * How a call ends whose arguments no gateway can be given.
   * @param problem what they are, after "its arguments"
   */
  refuseArguments(tool: string, problem: string): CallFailure;
  providerMessageTypes: string[];
}
