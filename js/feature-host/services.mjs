// The services of features in this process: their own folder, programs and the network are served here, all others by
// requests to the gateway host.

import fs from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { openFeatureFolder, plansFilePath } from "./feature-folder.mjs";
import { LineStreams } from "./line-streams.mjs";
import { get, post } from "./network.mjs";
import { Programs } from "./programs.mjs";

/** @typedef {import("./gateway-requests.mjs").GatewayRequests} GatewayRequests */
/** @typedef {import("./service-access.mjs").Implementations} Implementations */

/** Longer than the gateway host's limit for a session. */
const SESSION_MS = 105_000;

/** @param {GatewayRequests} requests */
const listSessions = async (requests) => (await requests.request("gateway.inspect")).sessions;

/** Sends a request to the process of a session, which may wait for its user. @param {GatewayRequests} requests @param {string} source */
const createSessionRequest =
  (requests, source) =>
  (/** @type {string} */ request) =>
  ({ session, ...params } = /** @type {any} */ ({})) => {
    const asked = { session, request, params, source };
    return requests.request("sessions.request", asked, { timeoutMs: SESSION_MS });
  };

/**
 * The services of the gateway host.
 * @param {string} id of the feature @param {GatewayRequests} requests
 * @returns {Implementations}
 */
function createRemoteServices(id, requests) {
  const forward =
    (/** @type {string} */ method) =>
    (params = {}) =>
      requests.request(method, params);
  /** Reports a refusal as an error about the arguments. */
  const forwardChecked =
    (/** @type {string} */ method) =>
    (params = {}) =>
      requests.request(method, params).catch((error) => {
        throw error.code === "INVALID" ? new RangeError(error.message) : error;
      });
  /** Adds the feature's id to a record. */
  const write =
    (/** @type {string} */ method) =>
    (record = {}) =>
      requests.request(method, { ...record, source: id });
  const hold = (/** @type {string} */ name, /** @type {string | undefined} */ what) =>
    requests.request("holds.set", { id: `${id}:${name}`, feature: id, what });
  const forwardToSession = createSessionRequest(requests, id);
  return {
    records: {
      query: forwardChecked("records.query"),
      stats: forward("records.stats"),
      append: write("records.append"),
      lines: write("records.lines"),
      commit: write("records.commit"),
    },
    holds: { set: hold, release: (name) => hold(name, undefined) },
    sessions: {
      list: () => listSessions(requests),
      policy: forward("sessions.policy"),
      environment: forwardChecked("sessions.environment"),
      state: forwardToSession("state.read"),
      models: forwardToSession("models.list"),
      ask: forwardToSession("ask"),
      consent: forwardToSession("consent"),
      setMode: forwardToSession("mode.set"),
    },
    emitters: {
      configured: forwardChecked("emitters.configured"),
      save: forwardChecked("emitters.save"),
      remove: forwardChecked("emitters.remove"),
    },
    providers: { inspect: forward("gateway.inspect") },
    settings: { plans: forward("plans.settings") },
    features: { report: async () => (await requests.request("features.report", {})).features },
    tools: {
      list: async ({ session }) =>
        (await import("./provider-tools.mjs")).listTools(
          await requests.request("gateway.inspect"),
          session,
        ),
      call: async (call) => (await import("./provider-tools.mjs")).callTool(requests.where, call),
    },
  };
}

/** @param {ReturnType<typeof openFeatureFolder>} folder */
const pickDocuments = ({ read, list, write, remove, setAside }) => ({
  ...{ read, list, write, remove, setAside },
});

/** @param {string} home <COPILOT_HOME> @param {NodeJS.ProcessEnv} env of this process */
async function loadGit(home, env) {
  const git = await import("../git/index.mjs");
  const owner = plansFilePath(home);
  return {
    ...git,
    /** path: the PATH on which its git searches filters and hooks. */
    openRepository: (/** @type {string} */ folder, /** @type {{path?: string}} */ { path } = {}) =>
      git.openRepository(folder, { owner, env: { ...env, ...(path && { PATH: path }) } }),
    findReservedPlaces: (
      /** @type {import("../git/repository.mjs").Repository} */ repository,
      /** @type {{beside?: boolean}} */ options,
    ) => git.findReservedPlaces(repository, { ...options, cliHome: home }),
  };
}

/** Services for logs. @param {() => Promise<import("./plan-services.mjs").PlanServices>} plans */
const createLogServices = (plans) => ({
  /** @type {import("./plan-services.mjs").PlanServices["readLog"]} */
  readLog: async (asked) => (await plans()).readLog(asked),
  /** @type {import("./plan-services.mjs").PlanServices["writeLog"]} */
  writeLog: async (asked) => (await plans()).writeLog(asked),
  /** @type {import("./plan-services.mjs").PlanServices["digests"]} */
  digests: async (asked) => (await plans()).digests(asked),
  removeLogs: async (/** @type {string} */ plan) => (await plans()).removeLogs(plan),
});

/** Checks rules and gates. @param {GatewayRequests} requests @returns {Implementations["permissions"]} */
const createPermissionServices = (requests) => ({
  check: (use) => requests.check(use),
  guards: async (of) =>
    (await import("./guards.mjs")).listGuards(await requests.request("gateway.inspect"), of),
  covering: async (use) =>
    (await import("./guards.mjs")).findGuards(await requests.request("gateway.inspect"), use),
});

/** Finds the folder of a session. @param {GatewayRequests} requests */
const createFolderFinder = (requests) => async (/** @type {string} */ session) => {
  const all = await listSessions(requests);
  const found = all.find((/** @type {{id: string}} */ { id }) => id === session);
  if (found) return found.cwd;
  throw new Error("the session has ended");
};

const loadWorkspace = () => import("./workspace.mjs");

/**
 * @param {string} id of the feature
 * @param {Pick<import("./feature-host.mjs").StartMessage, "home" | "telemetry"> & {env: NodeJS.ProcessEnv}} where
 *   `env`: of this process
 * @param {GatewayRequests} requests
 * @param {<T>(work: () => T) => T} leave runs the host's own code
 */
export function createImplementations(id, { home, telemetry, env }, requests, leave) {
  const files = openFeatureFolder(home, id);
  const readFallback = async () => (await requests.request("plans.settings")).sandbox?.fallback;
  const [programs, streams] = [new Programs(env), new LineStreams({ env, readFallback })];
  /** @type {import("./file-watch.mjs").FileWatches | undefined} */
  let watches;
  /** @type {Promise<import("./plan-services.mjs").PlanServices> | undefined} */
  let planWork;
  const plans = () =>
    (planWork ??= import("./plan-services.mjs").then(
      ({ PlanServices }) => new PlanServices(home, env),
    ));
  const findFolder = createFolderFinder(requests);
  /** @type {Implementations} */
  const implementations = {
    ...createRemoteServices(id, requests),
    files: pickDocuments(files),
    process: {
      run: (program) => programs.run(program),
      lines: (options) => streams.open(options),
    },
    permissions: createPermissionServices(requests),
    // fetch is loaded at its first use, and has its own timers, which are not the feature's.
    network: {
      post: (given) => leave(() => nextTurn().then(() => post(given))),
      get: (given) => leave(() => nextTurn().then(() => get(given))),
    },
    plans: {
      exist: () => fs.existsSync(plansFilePath(home)),
      open: async (handlers) => (await plans()).open(handlers),
      run: async (program) => (await plans()).run(program),
      awake: async (holder, on) => (await plans()).keepAwake(holder, on),
      probeSandbox: async () => (await plans()).probeSandbox(),
      ...createLogServices(plans),
    },
    worktree: {
      use: () => loadGit(home, env),
      readProtected: (folder) => requests.request("plans.protected", { folder }),
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
      look: async (asked) => (await loadWorkspace()).inspectFiles(findFolder, asked),
      scripts: async (asked) => (await loadWorkspace()).readScripts(asked),
      tree: async (asked) => (await loadWorkspace()).inspectTree(findFolder, asked, env),
    },
  };
  const endProcesses = async () => {
    const work = await planWork;
    return Promise.all([programs.endAll(), streams.endAll(), watches?.endAll(), work?.end()]);
  };
  return { implementations, files, endProcesses };
}
