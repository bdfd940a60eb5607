// What tap's features may ask of sessions, on its way through the gateway host: only features ask, only for what is in
// this table, and what the user's config denies is not passed on. Each question and each change leaves a record.

import { messageOf } from "../base/errors.mjs";
import { shownLine } from "../base/redact.mjs";
import { shortened } from "../base/visible.mjs";
import { providerName } from "../registry/provider-name.mjs";
import { JsonText, only, RequestError } from "./requests.mjs";

/** @typedef {{session: string, request: string, params?: Record<string, any>, source?: string}} Asked */

const READS = ["state.read", "models.list"];
/** A session that has not said such things by then does not know the request: it is older than this gateway. */
const READ_MS = 15_000;
/** Longer than `session-request-ms`. */
const MOST_MS = 100_000;
const MOST_REASON = 300;

/** @param {unknown} text */
const shown = (text) => shortened(shownLine(String(text ?? "")), MOST_REASON);

/** @param {any} params @param {any} result */
const question = ({ text }, { answer, reason }) => ({
  gate: "question",
  by: answer === "none" ? "tap" : "user",
  outcome: { yes: "allowed", no: "denied", none: "unanswered" }[String(answer)] ?? "unanswered",
  reason: shown(reason ? `${text} (${reason})` : text),
});

/** What the record of a request says; undefined: it changes nothing. @type {Record<string, (params: any, result: any) => object | undefined>} */
const RECORDS = {
  "state.read": () => undefined,
  "models.list": () => undefined,
  ask: question,
  consent: (params, result) => (result.asked === false ? undefined : question(params, result)),
  "mode.set": ({ mode, from, why }, { applied, reason }) => ({
    gate: "session-mode",
    by: "tap",
    outcome: applied ? "changed" : "unchanged",
    reason: shown(`${from} to ${mode}: ${reason ?? why ?? ""}`),
  }),
};

/** @param {Promise<string>} answer @param {string} request */
async function inTime(answer, request) {
  if (!READS.includes(request)) return answer;
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

/** @param {any} asked @returns {Required<Asked>} */
function checked({ session, request, params = {}, source = "" }) {
  if (typeof session !== "string" || typeof request !== "string" || typeof source !== "string") {
    throw new RequestError("INVALID", "expected the texts session, request and source");
  }
  if (typeof params !== "object" || params === null || Array.isArray(params)) {
    throw new RequestError("INVALID", "params: expected an object");
  }
  if (!Object.hasOwn(RECORDS, request)) {
    const known = Object.keys(RECORDS).join(", ");
    throw new RequestError("INVALID", `a session has no such request; it has: ${known}`);
  }
  return { session, request, params, source };
}

/**
 * @param {import("./requests.mjs").HostRequests} requests
 * @param {object} parts
 * @param {Pick<import("../base/addon.js").Gateway, "askSession" | "environmentOf">} parts.gateway
 * @param {() => Pick<import("../projects/user-config.mjs").UserConfig, "session" | "workers">} parts.config the user's,
 *   as it is now
 * @param {Pick<import("./records.mjs").HostRecords, "note">} parts.records
 */
export function serveSessionRequests(requests, { gateway, config, records }) {
  const policy = () => config().session?.mode ?? "ask";
  /** @param {Required<Asked>} asked @param {any} result */
  const note = ({ session, request, params, source }, result) => {
    const body = RECORDS[request](params, result);
    if (body)
      records.note("gate", { session, source, body: { provider: providerName(source), ...body } });
  };
  requests.register("sessions.policy", () => ({ mode: policy() }));
  requests.register("sessions.workers", (_params, from) => {
    only(from, "feature");
    return config().workers ?? {};
  });
  requests.register("sessions.environment", ({ session }, from) => {
    only(from, "feature");
    const text = gateway.environmentOf(String(session));
    if (text !== "") return new JsonText(text);
    throw new RequestError("INVALID", "there is no such session");
  });
  requests.register(
    "sessions.request",
    async (given, from) => {
      if (from !== "feature") throw new RequestError("DENIED", "only features may ask for this");
      const asked = checked(given);
      const { session, request, params } = asked;
      try {
        if (request === "mode.set" && policy() === "deny") {
          throw new RequestError("DENIED", 'the user\'s config has "session": { "mode": "deny" }');
        }
        const json = await inTime(
          gateway.askSession(session, request, JSON.stringify(params)),
          request,
        );
        const { result, error } = JSON.parse(json);
        if (error) throw new RequestError(String(error.code), String(error.message));
        note(asked, result ?? {});
        return result;
      } catch (error) {
        const reason = messageOf(error);
        note(asked, { answer: "none", applied: false, reason });
        throw error;
      }
    },
    { mostMs: MOST_MS },
  );
}
