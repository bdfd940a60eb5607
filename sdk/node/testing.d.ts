// The exports of copilot-tap/testing. docs/testing.md describes them.

export interface OfferedTool {
  name: string;
  description: string;
  parameters: any;
}
/** A line of the timeline, or a prompt that was put before the model. */
export interface Told {
  type: "timeline" | "inject";
  text: string;
}

/** A session without the CLI. */
export interface PretendSession {
  readonly id: string;
  /** The tools of the model, by name. */
  tools: Map<string, OfferedTool>;
  told: Told[];
  /** Waits for a line of the timeline. */
  shows(text: string | RegExp): Promise<string>;
  /** Waits until `look` returns a value that is not empty. */
  until<T>(look: () => T, what: () => string, patienceMs?: number): Promise<NonNullable<T>>;
  /** The verdict of the providers' rules and gates before a tool is used. */
  check(tool: string, args: object): Promise<{ deny?: string; context?: string }>;
  /** The context that is added to a prompt of the user. */
  prompt(): Promise<string>;
  /** A section of the system message, as providers change it. */
  build(section: string, current: string): Promise<string | undefined>;
  become(activity: "idle" | "busy" | "user-prompt"): void;
  /** Reports an event that providers may have subscribed to. */
  report(event: string, data: object): void;
  end(reason?: string): void;
}

export interface TestTap {
  readonly home: string;
  readonly port: number;
  readonly env: Record<
    "COPILOT_HOME" | "TAP_GATEWAY_PORT" | "TAP_PROVIDER_TOKEN" | "TAP_FOLDER",
    string
  >;
  readonly where: { home: string; port: number; token: string };
  readonly events: Told[];
  session: PretendSession;
  tool(name: string): Promise<OfferedTool>;
  toolGone(name: string): Promise<void>;
  call(
    tool: string,
    args?: object,
    options?: { signal?: AbortSignal; timeout?: number },
  ): Promise<any>;
  addSession(id: string, cwd?: string): Promise<PretendSession>;
  killGateway(): Promise<void>;
  restartGateway(): Promise<void>;
  stop(): Promise<void>;
}

export declare function startTap(options?: {
  env?: Record<string, string>;
  session?: string;
}): Promise<TestTap>;

/** A call that failed: the model reads its message. */
export declare class CallFailed extends Error {
  constructor(failure: { code: string; text: string });
  readonly code: string;
}

/** A call of a recording (docs/recordings.md); `code` in place of `data` if it failed. */
export interface RecordedCall {
  provider: string;
  tool: string;
  args: object;
  data?: unknown;
  code?: string;
  /** It answered with a file: compared by its outcome. */
  file?: boolean;
}
export interface TraceEvent {
  at: number;
  connection: number;
  provider: string;
  kind: "opened" | "received" | "sent" | "closed";
  message?: any;
  text?: string;
}
/** Reads a recording of copilot-tap trace. Throws if the file is not a recording. */
export declare function readTrace(file: string): {
  version: string;
  at: number;
  events: TraceEvent[];
};
/** The calls with an answer, in order. */
export declare function callsOf(
  events: TraceEvent[],
  options?: { provider?: string },
): RecordedCall[];
/** Repeats the calls. `ok`: the result is as recorded; `skipped`: it was not called. */
export declare function replay(
  tap: TestTap,
  calls: RecordedCall[],
  options?: {
    compare?: "equal" | "shape" | "outcome";
    onCall?: (done: Replayed) => void;
  },
): Promise<Replayed[]>;
export interface Replayed {
  call: RecordedCall;
  ok: boolean;
  detail: string;
  skipped?: boolean;
}
