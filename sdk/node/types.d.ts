// The exports of copilot-tap/provider. docs/sdk-node.md describes them.

/** A schema of zod, Valibot, ArkType … (https://standardschema.dev). */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}
export type JsonSchema = { readonly [keyword: string]: unknown };

/** The arguments of a handler for these parameters. */
export type ArgumentsOf<P> =
  P extends StandardSchema<any, any>
    ? NonNullable<P["~standard"]["types"]>["output"]
    : Record<string, any>;

export interface SessionInfo {
  id: string;
  label: string;
  cwd?: string;
  foreground: boolean;
}
/** The session last used, all sessions, a session by its id, or a function (undefined: wait). */
export type SessionChoice =
  "latest" | "all" | (string & {}) | ((sessions: SessionInfo[]) => string | undefined);

export interface ProviderOptions {
  /** Default: "latest". */
  session?: SessionChoice;
  /** Distinguishes several programs of this name; a call's `target` selects an instance. */
  instance?: string;
  /** Describes this instance to the model. */
  metadata?: object;
  /** How many calls may run at once; the gateway queues further calls. */
  concurrency?: number | { max: number; scope?: "instance" | "provider" | "tool" };
  /** Text that is added to the session's first prompt from now on. */
  startupContext?: string;
  /** Asks the user for the code that the session shows, if there is no token file to read. */
  pair?: (prompt: string) => string | Promise<string>;
  /** Default: TAP_PROVIDER_TOKEN, or the token file. */
  token?: string;
  /** Default: COPILOT_HOME, or ~/.copilot. */
  home?: string;
  /** Default: TAP_GATEWAY_PORT, or 9400. */
  port?: number;
  /** Default: ws://localhost:<port>. */
  url?: string;
  /** Default: a WebSocket to `url`. A different transport ignores `pair`, `token`, `home`, `port` and `url`. */
  transport?: Transport;
}

/**
 * Carries the messages of docs/protocol.md between a provider and a gateway, as JSON text. The gateway's
 * first message is `sessions`. The transport handles earlier messages, such as `auth`.
 */
export interface Transport {
  /**
   * Opens a connection, and is called again after it has ended. It may call the handlers before it returns. An
   * exception ends the provider: connect() is rejected with it.
   */
  open(handlers: TransportHandlers): Wire;
}
export interface TransportHandlers {
  onMessage(text: string): void;
  /** Call it once, however the connection ends: after `close` too. */
  onClosed(end: ConnectionEnd): void;
}
export interface ConnectionEnd {
  /** In a few words, such as "the gateway is not there". */
  reason: string;
  /** For the event `status`. Default: a text with the reason. */
  status?: string;
  /**
   * "soon" (default): the provider opens the transport again within 2 seconds. "later": within 10 seconds,
   * since the gateway has refused. "never": it closes; with an `error` it has failed.
   */
  again?: "soon" | "later" | "never";
  /** For the event `error`; with "never", connect() and `closed` are rejected with it. */
  error?: Error;
}
/** A single connection. */
export interface Wire {
  /** Has no effect once the connection has ended. */
  send(text: string): void;
  /** Closes the connection after all messages have been sent. The provider has sent `goodbye` if it could. */
  close(): void;
  /** Bytes that wait to be sent. Default: 0. */
  readonly buffered?: number;
  /** Whether a further message that is not an answer may be sent now. Default: always. */
  takesMore?(): boolean;
}

export interface Call {
  /** Aborted when the result is no longer expected: cancelled, too late, disconnected. */
  signal: AbortSignal;
  /** Shows in the timeline, and restarts the call's timeout. */
  progress(message: string): void;
  callId: string;
  /** Its id. */
  session: string;
  tool: string;
  /** The W3C trace context of the call; pass it to the services that the tool calls. */
  traceparent?: string;
}

export interface ToolOptions<P = JsonSchema | StandardSchema> {
  /** For the model. */
  description: string;
  /** Of an object. Absent: no parameters. */
  parameters?: P;
  /** Milliseconds. Default: 5 minutes. */
  timeout?: number;
  /**
   * The promise settles once the sessions have the change in force; before connect() at once. Rejected with
   * TIMEOUT if that takes too long: the tool stays declared.
   */
  inForce?: boolean;
  /** For tap's own features: a session has the tool only while this group is on. Ignored for others. */
  group?: string;
}
export type ToolHandler<P> = (args: ArgumentsOf<P>, call: Call) => unknown;

export type PushLevel = "keep" | "surface" | "inject";
export interface PushOptions {
  /** Default: "keep". */
  level?: PushLevel;
  /** With "inject": the model gets this text instead of the event. */
  prompt?: string;
  metadata?: object;
  /** Default: every session that the provider is bound to. */
  session?: string;
  /** With "inject": replaces the inject with the same key, as long as that one waits. At most 128 bytes. */
  key?: string;
  /** The W3C trace context of the work that caused the event. */
  traceparent?: string;
}
export interface Receipt {
  outcome: "stored" | "surfaced" | "injected" | "queued" | "dropped";
  session: string;
  /** Of the stream's filter. */
  rule?: number;
  /** It has the place of an inject with the same key that waited. */
  replaced?: true;
}
export interface FilterRule {
  /** A regular expression. */
  match: string;
  outcome: "drop" | PushLevel;
}
export interface StreamEvent {
  ts: string;
  event: string;
  metadata?: object;
}
export interface Stream {
  push(event: unknown, options?: PushOptions): Promise<Receipt | undefined>;
  /** Sets the rules for the events of the stream. They hold after a reconnect, too. */
  filter(rules: FilterRule[]): Promise<void>;
  /** The latest events, newest first. */
  history(options?: { last?: number; session?: string }): Promise<StreamEvent[]>;
}

/** A regular expression for a single argument. */
export interface ArgumentMatch {
  /** A JSON Pointer, such as `/command`. */
  path: string;
  pattern: string;
}
/** The tool uses that a rule matches: all given fields must match. */
export interface Match {
  tool?: string;
  /** A regular expression over the arguments: as JSON, and each string and each line in them. */
  args?: string | ArgumentMatch;
  /** A glob. */
  file?: string;
  provider?: string;
}
export interface GateCheck {
  tool: string;
  args: any;
  session: string;
}
/** `true` allows; a text denies, with a reason; any other value denies. */
export type Verdict =
  boolean | string | { decision: "allow" | "deny" | "context"; reason?: string };
export interface Rule {
  /** Settles once the session no longer has it. */
  remove(): Promise<void>;
  /**
   * Settles once the session has it in force; before connect() at once. Rejected with UNAUTHORIZED if the user
   * has refused: it stays declared, and the next session asks again. Any other refusal removes it.
   */
  inForce: Promise<void>;
}
export type SectionChange =
  | { append: string }
  | { prepend: string }
  | { replace: string }
  | ((current: string, about: { section: string; session: string }) => string | Promise<string>)
  | null;

export interface Events {
  /** The state of the SDK in words: waiting, bound, connection lost. */
  status: string;
  bound: { session: string; providerId: string };
  unbound: TapError;
  /** Errors without a caller, such as refused changes. Without a listener they are written to stderr with a stack. */
  error: Error;
  "session.started": { session: string };
  "session.idle": { session: string };
  /** The session waits for the listener's promise, up to `deadline` milliseconds. */
  "session.end": { session: string; deadline: number };
  "user.message": { session: string; content: string };
  "assistant.message": { session: string; content: string; toolRequests?: any[] };
  "assistant.intent": { session: string; intent: string };
  "tool.execution_complete": {
    session: string;
    tool: string;
    provider?: string;
    args: any;
    result: any;
    exitCode?: number;
    durationMs: number;
  };
}

export interface Provider {
  readonly name: string;
  /** The ids of the bound sessions. */
  readonly sessions: ReadonlySet<string>;
  /** This provider's own folder; undefined until it is bound, and if it is paired. */
  readonly persistDir: string | undefined;
  /** Resolves after close(); rejected if it cannot continue, for example because its token is void. */
  readonly closed: Promise<void>;

  /** Declares or replaces a tool. The promise settles once the gateway knows it (at once before connect). */
  tool<P extends JsonSchema | StandardSchema<any, any>>(
    name: string,
    options: ToolOptions<P>,
    handler: ToolHandler<P>,
  ): Promise<void>;
  removeTool(name: string, options?: { inForce?: boolean }): Promise<void>;

  /**
   * The receipt is undefined if no session is left to return a receipt. Rejected with DISCONNECTED if it is
   * not bound: handle it, or the process ends as with every unhandled rejection.
   */
  push(stream: string, event: unknown, options?: PushOptions): Promise<Receipt | undefined>;
  stream(name: string): Stream;
  /** Removes an inject with this key that waits. Bound to several sessions, name one. Returns: whether it was there. */
  withdraw(key: string, options?: { session?: string }): Promise<boolean>;
  /** A result too large for a message: return the resolved value. Removed after `ttl` seconds (300). */
  file(
    name: string,
    content: string | Uint8Array,
    options: { mimeType: string; ttl?: number },
  ): Promise<object>;

  deny(match: Match, reason: string): Rule;
  /** Asks before the tool runs. `failOpen`: without an answer the tool runs. */
  gate(
    match: Match,
    judge: (check: GateCheck) => Verdict | Promise<Verdict>,
    options?: { failOpen?: boolean },
  ): Rule;
  /** The model reads `content` after the tool has run. */
  note(match: Match, content: string): Rule;
  /** Text that is added to every prompt of the user; "" removes it. Settles as a rule's `inForce` does. */
  context(text: string): Promise<void>;
  /** Changes a section of the system message; null removes the change. A refused change is undone. */
  section(name: string, change: SectionChange): Promise<void>;

  on<E extends keyof Events>(event: E, listener: (data: Events[E]) => unknown): Provider;
  off<E extends keyof Events>(event: E, listener: (data: Events[E]) => unknown): Provider;

  /**
   * Resolves once it is bound to a session; waits for a gateway and for a session. Rejected with DISCONNECTED
   * if it is closed before: a program without a handler then ends without an error.
   */
  connect(options?: { signal?: AbortSignal }): Promise<void>;
  /** Sends `goodbye` and does not reconnect. Aborts running calls; the SDK no longer keeps the process alive. */
  close(reason?: string): Promise<void>;
}

export declare function provider(name: string, options?: ProviderOptions): Provider;

/** The gateway has refused something, or cannot be reached. */
export declare class TapError extends Error {
  constructor(code: string, message: string, about?: { replyTo?: string; sessionId?: string });
  readonly code: string;
  /** The next step. */
  readonly advice: string;
  readonly replyTo?: string;
  readonly session?: string;
}

/** Thrown by a tool: the call fails with this code, and the model reads the message. */
export declare class ToolError extends Error {
  constructor(
    code:
      | "INVALID_ARGUMENTS"
      | "NOT_FOUND"
      | "TIMEOUT"
      | "CANCELLED"
      | "INTERNAL"
      | "TOOL_ERROR"
      | (string & {}),
    message: string,
    options?: { retryable?: boolean },
  );
  readonly code: string;
  readonly retryable?: boolean;
}
