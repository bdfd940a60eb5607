// The services of features in this process: their own folder, programs and the network here, all else by a request to
// the gateway host.

import fs from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ownFolder, plansFileOf } from "../base/feature-folder.mjs";
import { LineStreams } from "./line-streams.mjs";
import { get, post } from "./network.mjs";
import { Programs } from "./programs.mjs";

/** Longer than the gateway host gives a session. */
const SESSION_MS = 105_000;

/** @typedef {import("./gateway-requests.mjs").GatewayRequests} GatewayRequests */
/** @typedef {import("../registry/services.mjs").Implementations} Implementations */

/** @param {GatewayRequests} requests */
const sessionsOf = async (requests) => (await requests.request("gateway.inspect")).sessions;

/** A request to the process of a session, which may wait for its user. @param {GatewayRequests} requests @param {string} source */
const requestsOf =
  (requests, source) =>
  (/** @type {string} */ request) =>
  ({ session, ...params } = /** @type {any} */ ({})) => {
    const asked = { session, request, params, source };
    return requests.request("sessions.request", asked, { timeoutMs: SESSION_MS });
  };

/**
 * Those that the gateway host carries out.
 * @param {string} id of the feature @param {GatewayRequests} requests
 * @returns {Implementations}
 */
function requestedServices(id, requests) {
  const ask =
    (/** @type {string} */ method) =>
    (params = {}) =>
      requests.request(method, params);
  /** A refusal is about the arguments. */
  const askChecked =
    (/** @type {string} */ method) =>
    (params = {}) =>
      requests.request(method, params).catch((error) => {
        throw error.code === "INVALID" ? new RangeError(error.message) : error;
      });
  /** A record says which feature has written it. */
  const write =
    (/** @type {string} */ method) =>
    (record = {}) =>
      requests.request(method, { ...record, source: id });
  const hold = (/** @type {string} */ name, /** @type {string | undefined} */ what) =>
    requests.request("holds.set", { id: `${id}:${name}`, feature: id, what });
  const ofSession = requestsOf(requests, id);
  return {
    records: {
      query: askChecked("records.query"),
      stats: ask("records.stats"),
      append: write("records.append"),
      lines: write("records.lines"),
      commit: write("records.commit"),
    },
    holds: { set: hold, release: (name) => hold(name, undefined) },
    sessions: {
      list: () => sessionsOf(requests),
      policy: ask("sessions.policy"),
      environment: askChecked("sessions.environment"),
      state: ofSession("state.read"),
      models: ofSession("models.list"),
      ask: ofSession("ask"),
      consent: ofSession("consent"),
      setMode: ofSession("mode.set"),
    },
    emitters: {
      configured: askChecked("emitters.configured"),
      save: askChecked("emitters.save"),
      remove: askChecked("emitters.remove"),
    },
    providers: { inspect: ask("gateway.inspect") },
    settings: { plans: ask("plans.settings") },
    features: { report: async () => (await requests.request("features.report", {})).features },
    tools: {
      list: async ({ session }) =>
        (await import("./provider-tools.mjs")).toolsIn(
          await requests.request("gateway.inspect"),
          session,
        ),
      call: async (call) => (await import("./provider-tools.mjs")).callTool(requests.where, call),
    },
  };
}

/** @param {ReturnType<typeof ownFolder>} folder */
const documentsOf = ({ read, list, write, remove, setAside }) => ({
  ...{ read, list, write, remove, setAside },
});

/** @param {string} home <COPILOT_HOME> @param {NodeJS.ProcessEnv} env of this process */
async function gitOf(home, env) {
  const git = await import("../git/index.mjs");
  const owner = plansFileOf(home);
  return {
    ...git,
    openRepository: (/** @type {string} */ folder) => git.openRepository(folder, { owner, env }),
    resolveFolders: (/** @type {string} */ root, /** @type {string[]} */ folders) =>
      git.resolveFolders(root, folders, home),
  };
}

/**
 * @param {string} id of the feature
 * @param {Pick<import("./feature-host.mjs").Greeting, "home" | "telemetry"> & {env: NodeJS.ProcessEnv}} where `env`: of
 *   this process
 * @param {GatewayRequests} requests
 * @param {<T>(work: () => T) => T} leave runs what no feature answers for
 */
export function servicesOf(id, { home, telemetry, env }, requests, leave) {
  const files = ownFolder(home, id);
  const plansFile = plansFileOf(home);
  const programs = new Programs(env);
  const streams = new LineStreams(env);
  /** @type {import("./file-watch.mjs").FileWatches | undefined} */
  let watches;
  /** @type {Promise<import("./plan-work.mjs").PlanWork> | undefined} */
  let planWork;
  const plans = () =>
    (planWork ??= import("./plan-work.mjs").then(({ PlanWork }) => new PlanWork(home, env)));
  const folderOf = async (/** @type {string} */ session) => {
    const all = await sessionsOf(requests);
    const one = all.find((/** @type {{id: string}} */ other) => other.id === session);
    if (one) return one.cwd;
    throw new Error("the session has ended");
  };
  /** @type {Implementations} */
  const implementations = {
    ...requestedServices(id, requests),
    files: documentsOf(files),
    process: {
      run: (program) => programs.run(program),
      lines: (options) => streams.open(options),
    },
    permissions: { check: (use) => requests.check(use) },
    // fetch is loaded with its first use, and has timers of its own: not the feature's.
    network: {
      post: (given) => leave(() => nextTurn().then(() => post(given))),
      get: (given) => leave(() => nextTurn().then(() => get(given))),
    },
    plans: {
      exist: () => fs.existsSync(plansFile),
      open: async (handlers) => (await plans()).open(handlers),
      run: async (program) => (await plans()).run(program),
      awake: async (holder, on) => (await plans()).awake(holder, on),
      readLog: async (asked) => (await plans()).readLog(asked),
      writeLog: async (asked) => (await plans()).writeLog(asked),
      digests: async (asked) => (await plans()).digests(asked),
      removeLogs: async (plan) => (await plans()).removeLogs(plan),
    },
    worktree: {
      use: () => gitOf(home, env),
      protectedIn: (folder) => requests.request("plans.protected", { folder }),
    },
    workers: {
      use: async () => (await plans()).workers(() => requests.request("sessions.workers")),
    },
    telemetry: { settings: () => ({ variables: telemetry.variables, since: telemetry.since }) },
    workspace: {
      watch: async (options) => {
        const { FileWatches } = await import("./file-watch.mjs");
        watches ??= new FileWatches();
        return leave(() => /** @type {any} */ (watches).open(options));
      },
      look: async (asked) => (await import("./workspace.mjs")).lookAt(folderOf, asked),
    },
  };
  const endProcesses = async () => {
    const work = await planWork;
    return Promise.all([programs.endAll(), streams.endAll(), watches?.endAll(), work?.end()]);
  };
  return { implementations, files, endProcesses };
}
