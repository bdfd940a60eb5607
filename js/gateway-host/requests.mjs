// The table of host.request (docs/session-link.md): each method is registered by its owner. The
// gateway has checked and numbered the requests; the answers are sent back as JSON text.

import path from "node:path";
import { readUserConfig } from "../config/user-config.mjs";
import { providerName } from "../feature-host/descriptor.mjs";
import { redactLine } from "../lib/redact.mjs";
import { SLASH } from "../lib/slash-commands.mjs";
import { errorMessage } from "../lib/values.mjs";
import { shortenText } from "../lib/visible.mjs";

/** @typedef {import("./features.mjs").HostFeatures} HostFeatures */
/** @typedef {import("./shutdown.mjs").Holds} Holds */
/** @typedef {import("../config/edit.mjs").ConfigLocation} Where */

/** A request that takes longer fails for its client. */
const DEFAULT_REQUEST_MS = 30_000;

/**
 * `from`: the client: the copilot-tap command, or tap's own features.
 * @typedef {"control" | "feature"} RequestOrigin
 * @typedef {(params: any, from: RequestOrigin, left: AbortSignal) => unknown} RequestHandler its promise, or its return
 *   value, is the result: any JSON value. `left`: the client has left, so work that only it needs may be
 *   cancelled. Changes are completed
 */

/** For a client that cannot leave. */
const NEVER_ABORTED = new AbortController().signal;

/** Thrown by a handler: the client gets the code and the message. */
export class RequestError extends Error {
  /** @param {string} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** Restricts a method to a client. @param {RequestOrigin} from @param {RequestOrigin} wanted */
export function requireOrigin(from, wanted) {
  if (from === wanted) return;
  const who = wanted === "control" ? "the user" : "the feature host";
  throw new RequestError("DENIED", `only ${who} may send this request`);
}

/** A result that is already JSON text. A large text is not parsed and serialized again on this loop. */
export class JsonText {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }
}

export class HostRequests {
  /** @type {Map<string, {handler: RequestHandler, mostMs: number}>} */
  #methods = new Map();
  #mostMs;

  /** @param {number} [mostMs] */
  constructor(mostMs = DEFAULT_REQUEST_MS) {
    this.#mostMs = mostMs;
  }

  /**
   * @param {string} method of a-z, 0-9, "." and "-" @param {RequestHandler} handler
   * @param {{mostMs?: number}} [options] `mostMs`: its own limit
   * @returns {() => void} removes the method
   */
  register(method, handler, { mostMs = this.#mostMs } = {}) {
    if (!/^[a-z0-9.-]{1,64}$/.test(method))
      throw new TypeError(`"${method}" is not a method's name`);
    if (this.#methods.has(method)) throw new Error(`the method "${method}" is registered already`);
    this.#methods.set(method, { handler, mostMs });
    return () => {
      if (this.#methods.get(method)?.handler === handler) this.#methods.delete(method);
    };
  }

  /**
   * Never rejects.
   * @param {import("../lib/addon.js").HostRequest} request @param {AbortSignal} [left] the client has left
   * @returns {Promise<string>} JSON text of an object with `result`, or with `error`
   */
  async answer({ method, params, from }, left = NEVER_ABORTED) {
    try {
      const result = (await this.#run(method, params, from, left)) ?? null;
      return result instanceof JsonText ? `{"result":${result.text}}` : JSON.stringify({ result });
    } catch (error) {
      const code = error instanceof RequestError ? error.code : "INTERNAL";
      return JSON.stringify({ error: { code, message: errorMessage(error) } });
    }
  }

  /** @param {string} method @param {string} params @param {RequestOrigin} from @param {AbortSignal} left */
  async #run(method, params, from, left) {
    const found = this.#methods.get(method);
    if (!found) {
      const known = [...this.#methods.keys()].sort().join(", ") || "(empty)";
      throw new RequestError(
        "UNKNOWN_METHOD",
        `there is no method "${method}"; there are: ${known}`,
      );
    }
    const { handler, mostMs } = found;
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const late = new Promise((_, reject) => {
      const why = `${method} was not done within ${mostMs / 1000} s`;
      timer = setTimeout(() => reject(new RequestError("TIMEOUT", why)), mostMs);
      timer.unref(); // a gateway that has closed gives no answer
    });
    try {
      return await Promise.race([handler(JSON.parse(params), from, left), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

// The requests of the link about features, holds and the end of this gateway. Requests of the copilot-tap command and
// of features are separate: a feature cannot switch features, nor end the gateway.

/** Time for the answer to reach the client that requested the end. */
const ANSWER_MS = 50;
/** The limit for the answer to a command. Hangs are detected by other means. */
const MAX_PATIENCE_MS = 3_600_000;
const SPARE_MS = 5000;
/** Commands without a session. @type {string[]} */
const WITHOUT_SESSION = [SLASH.plan.name];

/**
 * Writes the user's config and applies it to running sessions.
 * @param {Pick<HostFeatures, "requireSwitchable" | "apply">} features @param {{home: string}} files
 * @param {{id: unknown, cwd?: unknown}} request `id` of a feature; `cwd`: the user's folder @param {boolean} on
 * @returns {Promise<string>} the file
 * @throws if there is no such feature, it is always on, or the config cannot be written
 */
export async function switchFeature(features, files, { id, cwd }, on) {
  const { setFeature } = await import("../config/edit.mjs");
  const { adviceFor, listNamedFeatures } = await import("../config/entries.mjs");
  const isFolder = typeof cwd === "string" && path.isAbsolute(cwd) && !cwd.includes("\0");
  const named = listNamedFeatures(files, isFolder ? cwd : undefined);
  features.requireSwitchable(id, named.ids, adviceFor(String(id), named));
  const written = setFeature(files, /** @type {string} */ (id), on);
  features.apply(written.features);
  return written.file;
}

/** Reports a mistake of the caller as INVALID. @template T @param {() => T | Promise<T>} work @returns {Promise<T>} */
async function rethrowAsInvalid(work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RequestError) throw error;
    throw new RequestError("INVALID", errorMessage(error));
  }
}

/**
 * The session of a command: an existing session, or a person in a folder, without an id.
 * @param {import("../lib/addon.js").Gateway} gateway @param {{name?: unknown, session?: unknown, cwd?: unknown}} asked
 */
function resolveCommandSession(gateway, { name, session, cwd }) {
  if (session === undefined && WITHOUT_SESSION.includes(String(name))) {
    if (typeof cwd !== "string" || !path.isAbsolute(cwd)) {
      throw new RequestError("INVALID", "cwd: without a session, expected an absolute path");
    }
    return { id: "", cwd };
  }
  const { sessions } = JSON.parse(gateway.inspect());
  const found = sessions.find((/** @type {{id: string}} */ { id }) => id === session);
  if (!found) throw new RequestError("INVALID", "there is no such session");
  return { id: found.id, cwd: found.cwd };
}

/**
 * Runs slash commands of features for a terminal.
 * @param {HostRequests} requests
 * @param {{features: HostFeatures, gateway: import("../lib/addon.js").Gateway}} parts
 */
function serveCommands(requests, { features, gateway }) {
  const run = async (
    /** @type {any} */ given,
    /** @type {RequestOrigin} */ from,
    /** @type {AbortSignal} */ left,
  ) => {
    requireOrigin(from, "control");
    const { arguments: args, patienceMs, ...asked } = given;
    const good = Number.isInteger(patienceMs) && patienceMs > 0 && patienceMs <= MAX_PATIENCE_MS;
    if (patienceMs !== undefined && !good) {
      throw new RequestError("INVALID", `patienceMs: expected 1 to ${MAX_PATIENCE_MS}`);
    }
    const command = features.command(String(asked.name), patienceMs);
    if (!command) throw new RequestError("INVALID", "there is no such command of a feature");
    if (typeof args !== "string") throw new RequestError("INVALID", "arguments: expected a text");
    return { text: await command({ args, session: resolveCommandSession(gateway, asked), left }) };
  };
  requests.register("features.command", run, { mostMs: MAX_PATIENCE_MS + SPARE_MS });
}

/**
 * @param {HostRequests} requests
 * @param {object} parts
 * @param {HostFeatures} parts.features @param {Holds} parts.holds
 * @param {{home: string}} parts.files @param {import("../lib/addon.js").Gateway} parts.gateway
 * @param {(reason: string) => void} parts.leave
 */
export function serveFeatureRequests(requests, { features, holds, files, gateway, leave }) {
  const state = () => ({
    features: features.reports(),
    groups: features.groups(),
    host: features.hostState(),
    holds: holds.list(),
    ...(holds.ignored && { ignoredHolds: holds.ignored }),
  });
  const change =
    (/** @type {boolean} */ on) =>
    async (/** @type {any} */ { id, cwd }, /** @type {RequestOrigin} */ from) => {
      requireOrigin(from, "control");
      const file = await rethrowAsInvalid(() => switchFeature(features, files, { id, cwd }, on));
      return { file, ...state() };
    };
  requests.register("features.report", (params, from) => {
    if (from === "feature" && params.reports !== undefined) features.receiveReports(params);
    return state();
  });
  requests.register("features.answer", (params, from) => {
    requireOrigin(from, "feature");
    features.receiveAnswer(params);
  });
  requests.register("features.enable", change(true));
  requests.register("features.disable", change(false));
  requests.register("gateway.inspect", () => JSON.parse(gateway.inspect()));
  serveCommands(requests, { features, gateway });
  requests.register("holds.list", () => holds.list());
  requests.register("holds.set", async ({ id, feature, what }, from) => {
    requireOrigin(from, "feature");
    await rethrowAsInvalid(() =>
      what === undefined ? holds.release(id) : holds.set({ id, feature, what }),
    );
    return holds.list();
  });
  requests.register("host.stop", (_params, from) => {
    requireOrigin(from, "control");
    const there = JSON.parse(gateway.inspect()).sessions.filter(
      (/** @type {{linked: boolean}} */ { linked }) => linked,
    );
    if (there.length > 0) {
      const names = there.map(
        (/** @type {any} */ { id, label }) => `${label || "a session"} (${id})`,
      );
      throw new RequestError("SESSIONS", `sessions are linked to it: ${names.join(", ")}`);
    }
    const released = holds.list();
    setTimeout(() => {
      holds.releaseAll();
      leave("the user has stopped it");
    }, ANSWER_MS);
    return { pid: process.pid, host: features.hostState(), released };
  });
}

// The requests of the link about emitters of configs: their feature reads the entries of configs and the user's
// consent, and saves an emitter for the model. No request here gives consent.

const MAX_EMITTER_LENGTH = 64 * 1024;

/** @param {unknown} name */
function parseEmitterName(name) {
  if (typeof name === "string" && name !== "") return name;
  throw new RangeError('expected the name of an emitter as "name"');
}

/** @param {unknown} entry */
function parseEmitterEntry(entry) {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
    throw new RangeError('expected an emitter as "entry", as in a config');
  }
  if (JSON.stringify(entry).length > MAX_EMITTER_LENGTH) {
    throw new RangeError(`expected an emitter of at most ${MAX_EMITTER_LENGTH / 1024} KB`);
  }
  const record = /** @type {Record<string, unknown>} */ (entry);
  parseEmitterName(record.name);
  return record;
}

/** @param {unknown} folder */
const isFolderPath = (folder) =>
  typeof folder === "string" && path.isAbsolute(folder) && !folder.includes("\0");

/**
 * @param {HostRequests} requests
 * @param {object} parts
 * @param {import("../lib/paths.mjs").GatewayFiles} parts.files
 * @param {(session: unknown) => string | undefined} parts.findFolder the folder of a session
 * @param {NodeJS.ProcessEnv} parts.env of this process
 */
export function serveEmitterRequests(requests, { files, findFolder, env }) {
  /** @param {string} method @param {(params: any, folder: string) => Promise<unknown>} work */
  const serve = (method, work) =>
    requests.register(method, async (params, /** @type {RequestOrigin} */ from) => {
      requireOrigin(from, "feature");
      // Programs without a session have only a folder. Reading its config changes no state.
      const isRead = method === "emitters.configured" && params.session === undefined;
      const folder =
        isRead && isFolderPath(params.folder) ? params.folder : findFolder(params.session);
      if (folder === undefined) throw new RequestError("INVALID", "there is no such session");
      try {
        return await work(params, folder);
      } catch (error) {
        throw new RequestError("INVALID", errorMessage(error));
      }
    });
  const parseLocation = (/** @type {unknown} */ file, /** @type {string} */ folder) => {
    if (file === "user") return /** @type {Where} */ ({ file, files });
    if (file === "project") return /** @type {Where} */ ({ file, folder });
    throw new RangeError('expected "project" or "user" as "file"');
  };
  serve("emitters.configured", async ({ stamp }, folder) => {
    const { readConfigStamp, readConfiguredEmitters } = await import("../config/entries.mjs");
    if (stamp !== undefined && stamp === readConfigStamp(files, folder))
      return { stamp, same: true };
    return readConfiguredEmitters(files, folder);
  });
  serve("emitters.save", async ({ file, entry, list = "emitters" }, folder) => {
    if (list !== "emitters" && list !== "streams") {
      throw new RangeError('expected "emitters" or "streams" as "list"');
    }
    const { saveEmitter } = await import("../config/edit.mjs");
    const { allowCommand } = await import("../config/consent.mjs");
    const saved = saveEmitter(parseLocation(file, folder), parseEmitterEntry(entry), list);
    return { ...saved, ...(file === "project" && { allow: allowCommand(saved.path, env) }) };
  });
  serve("emitters.remove", async ({ file, name }, folder) => {
    const { removeEmitter } = await import("../config/edit.mjs");
    return removeEmitter(parseLocation(file, folder), parseEmitterName(name));
  });
}

// The requests of plans about configs, through the gateway host.

/**
 * Reads the present files. A project's config needs no consent here, since it can only forbid.
 * @param {{home: string}} files of gatewayFiles() @param {string} folder of a repository
 * @returns {Promise<{patterns: string[], trouble: string}>} trouble: a config has a mistake, so the patterns are
 *   unknown
 */
async function readProtectedBranches(files, folder) {
  const { loadProjectConfig } = await import("../config/load.mjs");
  const user = await readUserConfig(files);
  const project = loadProjectConfig(folder)?.result;
  const problems = project?.ok === false ? project.problems.map(({ text }) => text) : [];
  const [trouble = ""] = [...user.problems, ...problems];
  if (user.isUnread || (project?.ok === false && project.isUnread)) {
    throw new RequestError("UNAVAILABLE", `a config cannot be read: ${trouble}`);
  }
  const own = project?.ok ? (project.protectedBranches ?? []) : [];
  return { patterns: [...(user.protectedBranches ?? []), ...own], trouble };
}

/** @param {HostRequests} requests @param {{home: string}} files of gatewayFiles() */
export function servePlanRequests(requests, files) {
  requests.register("plans.settings", async (_params, from) => {
    requireOrigin(from, "feature");
    const { plans, sandbox } = await readUserConfig(files);
    return { ...plans, ...(sandbox && { sandbox }) };
  });
  requests.register("plans.protected", ({ folder }, from) => {
    requireOrigin(from, "feature");
    if (typeof folder === "string" && path.isAbsolute(folder)) {
      return readProtectedBranches(files, folder);
    }
    throw new RequestError("INVALID", "folder: expected an absolute path");
  });
}

// The requests of tap's features to sessions, through the gateway host. Only features may send them, only those in
// this table, and the user's config can deny them. Each question and each change leaves a record.

/** @typedef {{session: string, request: string, params?: Record<string, any>, source?: string}} SessionRequest */

const READ_REQUESTS = ["state.read", "models.list"];
/** A session without an answer by then does not know the request: it is older than this gateway. */
const READ_MS = 15_000;
/** Longer than `session-request-ms`. */
const MAX_SESSION_REQUEST_MS = 100_000;
const MAX_REASON_LENGTH = 300;

/** @param {unknown} text */
const formatReason = (text) => shortenText(redactLine(String(text ?? "")), MAX_REASON_LENGTH);

/** @param {any} params @param {any} result */
const toQuestionRecord = ({ text }, { answer, reason }) => ({
  gate: "question",
  by: answer === "none" ? "tap" : "user",
  outcome: { yes: "allowed", no: "denied", none: "unanswered" }[String(answer)] ?? "unanswered",
  reason: formatReason(reason ? `${text} (${reason})` : text),
});

/** The record of a request; undefined: it changes no state. @type {Record<string, (params: any, result: any) => object | undefined>} */
const RECORD_FORMATTERS = {
  "state.read": () => undefined,
  "models.list": () => undefined,
  ask: toQuestionRecord,
  consent: (params, result) =>
    result.asked === false ? undefined : toQuestionRecord(params, result),
  "mode.set": ({ mode, from, why }, { applied, reason }) => ({
    gate: "session-mode",
    by: "tap",
    outcome: applied ? "changed" : "unchanged",
    reason: formatReason(`${from} to ${mode}: ${reason ?? why ?? ""}`),
  }),
};

/** @param {Promise<string>} answer @param {string} request */
async function withReadTimeout(answer, request) {
  if (!READ_REQUESTS.includes(request)) return answer;
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    const why = `the session did not answer within ${READ_MS / 1000} s; its tap may be older than this gateway`;
    timer = setTimeout(() => reject(new RequestError("TIMEOUT", why)), READ_MS);
    timer.unref(); // a session of a gateway that has closed gives no answer
  });
  try {
    return await /** @type {Promise<string>} */ (Promise.race([answer, late]));
  } finally {
    clearTimeout(timer);
  }
}

/** @param {any} asked @returns {Required<SessionRequest>} */
function parseSessionRequest({ session, request, params = {}, source = "" }) {
  if (typeof session !== "string" || typeof request !== "string" || typeof source !== "string") {
    throw new RequestError("INVALID", "expected the texts session, request and source");
  }
  if (typeof params !== "object" || params === null || Array.isArray(params)) {
    throw new RequestError("INVALID", "params: expected an object");
  }
  if (!Object.hasOwn(RECORD_FORMATTERS, request)) {
    const known = Object.keys(RECORD_FORMATTERS).join(", ");
    throw new RequestError("INVALID", `a session has no such request; it has: ${known}`);
  }
  return { session, request, params, source };
}

/**
 * @param {HostRequests} requests
 * @param {object} parts
 * @param {Pick<import("../lib/addon.js").Gateway, "askSession" | "environmentOf">} parts.gateway
 * @param {() => Pick<import("../config/user-config.mjs").UserConfig, "session" | "workers">} parts.config the user's,
 *   present config
 * @param {Pick<import("./records.mjs").HostRecords, "note">} parts.records
 */
export function serveSessionRequests(requests, { gateway, config, records }) {
  const policy = () => config().session?.mode ?? "ask";
  /** @param {Required<SessionRequest>} asked @param {any} result */
  const note = ({ session, request, params, source }, result) => {
    const body = RECORD_FORMATTERS[request](params, result);
    if (body)
      records.note("gate", { session, source, body: { provider: providerName(source), ...body } });
  };
  requests.register("sessions.policy", () => ({ mode: policy() }));
  requests.register("sessions.workers", (_params, from) => {
    requireOrigin(from, "feature");
    return config().workers ?? {};
  });
  requests.register("sessions.environment", ({ session }, from) => {
    requireOrigin(from, "feature");
    const text = gateway.environmentOf(String(session));
    if (text !== "") return new JsonText(text);
    throw new RequestError("INVALID", "there is no such session");
  });
  requests.register(
    "sessions.request",
    async (given, from) => {
      if (from !== "feature")
        throw new RequestError("DENIED", "only features may send this request");
      const asked = parseSessionRequest(given);
      const { session, request, params } = asked;
      try {
        if (request === "mode.set" && policy() === "deny") {
          throw new RequestError("DENIED", 'the user\'s config has "session": { "mode": "deny" }');
        }
        const json = await withReadTimeout(
          gateway.askSession(session, request, JSON.stringify(params)),
          request,
        );
        const { result, error } = JSON.parse(json);
        if (error) throw new RequestError(String(error.code), String(error.message));
        note(asked, result ?? {});
        return result;
      } catch (error) {
        const reason = errorMessage(error);
        note(asked, { answer: "none", applied: false, reason });
        throw error;
      }
    },
    { mostMs: MAX_SESSION_REQUEST_MS },
  );
}
