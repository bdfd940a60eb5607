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
/** The session last used, all of them, one by its id, or your own choice (undefined: wait). */
export type SessionChoice =
  "latest" | "all" | (string & {}) | ((sessions: SessionInfo[]) => string | undefined);

export interface ProviderOptions {
  /** Default: "latest". */
  session?: SessionChoice;
  /** Which of several programs of this name; a call's `target` picks one. */
  instance?: string;
  /** Says more about this instance, for the model. */
  metadata?: object;
  /** How many calls may run at once; the gateway holds the others back. */
  concurrency?: number | { max: number; scope?: "instance" | "provider" | "tool" };
  /** Text that goes with the session's first prompt from now on. */
  startupContext?: string;
  /** Asks the user for the code that the session shows, where there is no token to be read. */
  pair?: (prompt: string) => string | Promise<string>;
  /** Default: TAP_PROVIDER_TOKEN, else the token file. */
  token?: string;
  /** Default: COPILOT_HOME, else ~/.copilot. */
  home?: string;
  /** Default: TAP_GATEWAY_PORT, else 9400. */
  port?: number;
  /** Default: ws://localhost:<port>. */
  url?: string;
  /** Default: a WebSocket to `url`. With another transport `pair`, `token`, `home`, `port` and `url` mean nothing. */
  transport?: Transport;
}

/**
 * Carries the messages of docs/protocol.md between a provider and a gateway, as JSON text. The gateway's
 * first message is `sessions`. The transport handles earlier messages, such as `auth`.
 */
export interface Transport {
  /**
   * Makes one connection, and is called again after each that has ended. It may call the handlers before
   * it returns. An exception ends the provider: connect() is rejected with it.
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
  /** For the event `status`. Default: one with the reason. */
  status?: string;
  /**
   * "soon" (default): the provider opens the transport again within 2 seconds. "later": within 10 seconds,
   * since the gateway has refused. "never": it closes; with an `error` it has failed.
   */
  again?: "soon" | "later" | "never";
  /** For the event `error`; with "never", what connect() and `closed` are rejected with. */
  error?: Error;
}
/** One connection. */
export interface Wire {
  /** Does nothing once the connection has ended. */
  send(text: string): void;
  /** Closes the connection after all messages have been sent. The provider has sent `goodbye` if it could. */
  close(): void;
  /** Bytes that wait to be sent. Default: 0. */
  readonly buffered?: number;
  /** Whether one more message that is not an answer may be sent now. Default: always. */
  takesMore?(): boolean;
}

export interface Call {
  /** Aborted when nobody waits for the result any more: cancelled, too late, disconnected. */
  signal: AbortSignal;
  /** Shows in the timeline, and starts the call's timeout again. */
  progress(message: string): void;
  callId: string;
  /** Its id. */
  session: string;
  tool: string;
  /** The W3C trace context of the call; pass it on with what the tool asks of others. */
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
   * TIMEOUT where they have not in time: the tool stays declared.
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
  /** With "inject": put before the model instead of the event. */
  prompt?: string;
  metadata?: object;
  /** Default: every session that the provider is bound to. */
  session?: string;
  /** The W3C trace context of the work that the event comes from. */
  traceparent?: string;
}
export interface Receipt {
  outcome: "stored" | "surfaced" | "injected" | "queued" | "dropped";
  session: string;
  /** Of the stream's filter. */
  rule?: number;
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
  /** Decides what becomes of each event. It holds after a reconnect, too. */
  filter(rules: FilterRule[]): Promise<void>;
  /** The latest events, the last one first. */
  history(options?: { last?: number; session?: string }): Promise<StreamEvent[]>;
}

/** A regular expression over one argument. */
export interface ArgumentMatch {
  /** A JSON Pointer, such as `/command`. */
  path: string;
  pattern: string;
}
/** Which uses of tools a rule is about: all that is named must fit. */
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
/** `true` allows; a text denies and says why; anything that is not clear denies. */
export type Verdict =
  boolean | string | { decision: "allow" | "deny" | "context"; reason?: string };
export interface Rule {
  /** Settles once the session goes without it. */
  remove(): Promise<void>;
  /**
   * Settles once the session has it in force; before connect() at once. Rejected with UNAUTHORIZED where
   * the user has said no: it stays declared, and the next session asks again. Any other refusal takes it out.
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
  /** Errors that no caller waits for, such as refused changes. Without a listener they go to stderr, with their stack. */
  error: Error;
  "session.started": { session: string };
  "session.idle": { session: string };
  /** The session waits for what the listener returns, up to `deadline` milliseconds. */
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
  /** Those that it is bound to, by id. */
  readonly sessions: ReadonlySet<string>;
  /** A folder of this provider's own; undefined until it is bound, and where it is paired. */
  readonly persistDir: string | undefined;
  /** Resolves after close(); rejected where it cannot go on, such as with a token that is void. */
  readonly closed: Promise<void>;

  /** Declares or replaces a tool. The promise: once the gateway knows it (at once before connect). */
  tool<P extends JsonSchema | StandardSchema<any, any>>(
    name: string,
    options: ToolOptions<P>,
    handler: ToolHandler<P>,
  ): Promise<void>;
  removeTool(name: string, options?: { inForce?: boolean }): Promise<void>;

  /**
   * The receipt is undefined where no session is left to give one. Rejected with DISCONNECTED where it is
   * not bound: handle it, or the process ends as with every rejection that nobody handles.
   */
  push(stream: string, event: unknown, options?: PushOptions): Promise<Receipt | undefined>;
  stream(name: string): Stream;
  /** A result too large for a message: return what this resolves to. Removed after `ttl` seconds (300). */
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
  /** Text that goes with every prompt of the user; "" ends it. Settles as a rule's `inForce` does. */
  context(text: string): Promise<void>;
  /** Changes a section of the system message; null ends the change. A refused change is undone. */
  section(name: string, change: SectionChange): Promise<void>;

  on<E extends keyof Events>(event: E, listener: (data: Events[E]) => unknown): Provider;
  off<E extends keyof Events>(event: E, listener: (data: Events[E]) => unknown): Provider;

  /**
   * Resolves once it is bound to a session; waits for a gateway and for a session. Rejected with DISCONNECTED
   * where it is closed before: a program that does not catch that ends in peace.
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
  /** What to do. */
  readonly advice: string;
  readonly replyTo?: string;
  readonly session?: string;
}

/** Thrown by a tool: the call fails with this code, and the model reads the message. */
export declare class ToolError extends Error {
  constructor(
    code: "INVALID_ARGUMENTS" | "NOT_FOUND" | "TIMEOUT" | "CANCELLED" | "INTERNAL" | (string & {}),
    message: string,
    options?: { retryable?: boolean },
  );
  readonly code: string;
  readonly retryable?: boolean;
}
