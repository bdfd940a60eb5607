// The requests of the link about features, holds and the end of this gateway. What the copilot-tap command may ask and
// what a feature may ask are kept apart: a feature cannot switch features, nor end the gateway.

import path from "node:path";
import { messageOf } from "../base/errors.mjs";
import { SLASH } from "../base/slash-commands.mjs";
import { only, RequestError } from "./requests.mjs";

/** @typedef {import("./features.mjs").HostFeatures} HostFeatures */
/** @typedef {import("./holds.mjs").Holds} Holds */
/** @typedef {import("./requests.mjs").HostRequests} HostRequests */
/** @typedef {import("./requests.mjs").RequestOrigin} RequestOrigin */

/** For the answer to reach the one who has asked for the end. */
const ANSWER_MS = 50;
/** For the answer to a command; one that hangs is found by other means. */
const MOST_PATIENCE_MS = 3_600_000;
const SPARE_MS = 5000;
/** Commands that are about no session in particular. @type {string[]} */
const WITHOUT_SESSION = [SLASH.plan.name];

/**
 * Writes the user's config and applies it to running sessions.
 * @param {Pick<HostFeatures, "requireSwitchable" | "apply">} features @param {{home: string}} files
 * @param {{id: unknown, cwd?: unknown}} what `id` of a feature; `cwd`: where the user is @param {boolean} on
 * @returns {Promise<string>} the file
 * @throws where there is no such feature, it is always on, or the config cannot be written
 */
export async function switchFeature(features, files, { id, cwd }, on) {
  const { setFeature } = await import("../projects/edit-config.mjs");
  const { adviceFor, namedFeatures } = await import("../projects/named-features.mjs");
  const isFolder = typeof cwd === "string" && path.isAbsolute(cwd) && !cwd.includes("\0");
  const named = namedFeatures(files, isFolder ? cwd : undefined);
  features.requireSwitchable(id, named.ids, adviceFor(String(id), named));
  const written = setFeature(files, /** @type {string} */ (id), on);
  features.apply(written.features);
  return written.file;
}

/** The caller's mistake is not a failure of the host. @template T @param {() => T | Promise<T>} work @returns {Promise<T>} */
async function checked(work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RequestError) throw error;
    throw new RequestError("INVALID", messageOf(error));
  }
}

/**
 * Whose command it is: a session that is there; or that of a person in a folder, without an id.
 * @param {import("../base/addon.js").Gateway} gateway @param {{name?: unknown, session?: unknown, cwd?: unknown}} asked
 */
function askerOf(gateway, { name, session, cwd }) {
  if (session === undefined && WITHOUT_SESSION.includes(String(name))) {
    if (typeof cwd !== "string" || !path.isAbsolute(cwd)) {
      throw new RequestError(
        "INVALID",
        "cwd: expected an absolute path, where there is no session",
      );
    }
    return { id: "", cwd };
  }
  const { sessions } = JSON.parse(gateway.inspect());
  const found = sessions.find((/** @type {{id: string}} */ { id }) => id === session);
  if (!found) throw new RequestError("INVALID", "there is no such session");
  return { id: found.id, cwd: found.cwd };
}

/**
 * A slash command of a feature, from a terminal.
 * @param {HostRequests} requests
 * @param {{features: HostFeatures, gateway: import("../base/addon.js").Gateway}} parts
 */
function serveCommands(requests, { features, gateway }) {
  /** @type {import("./requests.mjs").RequestHandler} */
  const run = async (given, from, left) => {
    only(from, "control");
    const { arguments: args, patienceMs, ...asked } = given;
    const good = Number.isInteger(patienceMs) && patienceMs > 0 && patienceMs <= MOST_PATIENCE_MS;
    if (patienceMs !== undefined && !good) {
      throw new RequestError("INVALID", `patienceMs: expected 1 to ${MOST_PATIENCE_MS}`);
    }
    const command = features.command(String(asked.name), patienceMs);
    if (!command) throw new RequestError("INVALID", "there is no such command of a feature");
    if (typeof args !== "string") throw new RequestError("INVALID", "arguments: expected a text");
    return { text: await command({ args, session: askerOf(gateway, asked), left }) };
  };
  requests.register("features.command", run, { mostMs: MOST_PATIENCE_MS + SPARE_MS });
}

/**
 * @param {HostRequests} requests
 * @param {object} parts
 * @param {HostFeatures} parts.features @param {Holds} parts.holds
 * @param {{home: string}} parts.files @param {import("../base/addon.js").Gateway} parts.gateway
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
      only(from, "control");
      const file = await checked(() => switchFeature(features, files, { id, cwd }, on));
      return { file, ...state() };
    };
  requests.register("features.report", (params, from) => {
    if (from === "feature" && params.reports !== undefined) features.reported(params);
    return state();
  });
  requests.register("features.answer", (params, from) => {
    only(from, "feature");
    features.answered(params);
  });
  requests.register("features.enable", change(true));
  requests.register("features.disable", change(false));
  requests.register("gateway.inspect", () => JSON.parse(gateway.inspect()));
  serveCommands(requests, { features, gateway });
  requests.register("holds.list", () => holds.list());
  requests.register("holds.set", async ({ id, feature, what }, from) => {
    only(from, "feature");
    await checked(() =>
      what === undefined ? holds.release(id) : holds.set({ id, feature, what }),
    );
    return holds.list();
  });
  requests.register("host.stop", (_params, from) => {
    only(from, "control");
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
