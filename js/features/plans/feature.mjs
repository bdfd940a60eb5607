// The orchestrator: plans of agents and commands, each in a git worktree. The code is loaded with the first use.

import { errorMessage } from "../../lib/values.mjs";
import { SLASH } from "../../lib/slash-commands.mjs";
import { AvailableModels } from "./models.mjs";
import { TOOLS_WITH_MODELS, toRegistration, TOOLS } from "./tool-schemas.mjs";

const REQUIRES = ["worktree", "process", "fs:write:own", "session:read"];

/** @type {import("../../feature-host/descriptor.mjs").Descriptor} */
export const descriptor = {
  id: "builtin:orchestrator",
  displayName: "Orchestrator",
  version: "1",
  runtime: "builtin",
  host: "feature-host",
  capabilities: [
    { capability: "worktree", required: true, reason: "gives each node a worktree, and merges" },
    { capability: "process", required: true, reason: "runs the commands of plans" },
    { capability: "fs:write:own", required: true, reason: "keeps the journal and logs" },
    { capability: "fs:read:own", required: true, reason: "reads logs" },
    { capability: "session:read", required: true, reason: "knows whose plan it is" },
    { capability: "records:write", required: false, reason: "records how plans go" },
    { capability: "tools", required: false, reason: "lets tools of providers work, or lends them" },
    { capability: "session:control", required: false, reason: "asks for your yes to a plan" },
    { capability: "workers", required: false, reason: "starts the agents of plans" },
    { capability: "event", required: false, reason: "shows how plans go" },
    { capability: "notify", required: false, reason: "tells the model how its plan ended" },
  ],
  channels: ["plans"],
  tools: Object.entries(TOOLS).map(([name, [description, parameters]]) => ({
    ...{ name, group: "plans", requires: REQUIRES, description, parameters },
  })),
  commands: [SLASH.plan],
};

/** @param {import("../../feature-host/installation.mjs").Context} context */
export async function install(context) {
  const { services } = context;
  /** @type {Promise<import("./plan-manager.mjs").PlanManager> | undefined} */
  let loaded;
  const load = () => {
    loaded ??= import("./plan-manager.mjs").then(async ({ PlanManager }) => {
      const plans = new PlanManager(context, models);
      await plans.start();
      // Those that were there before this host hear what ended while nobody was.
      for (const { id, cwd } of await services.sessions.list()) {
        void plans.notifier.handleSessionStart({ id, cwd }).catch(() => {});
      }
      return plans;
    });
    loaded.catch(() => (loaded = undefined));
    return loaded;
  };
  const findCwd = async (/** @type {string} */ id) => {
    const all = await services.sessions.list();
    const found = all.find((/** @type {{id: string}} */ one) => one.id === id);
    if (found) return found.cwd;
    throw new Error("the session has ended");
  };
  /** @param {string} name */
  const register = (name) => {
    const now = toRegistration(name, models.text);
    const run = async (/** @type {any} */ args, /** @type {any} */ { session: id, signal }) => {
      const [plans, { callToolForModel: answer }] = await Promise.all([
        load(),
        import("./tools.mjs"),
      ]);
      return answer(plans, name, args, { id, cwd: await findCwd(id) }, signal);
    };
    context.tools.register(name, run, now);
  };
  const models = new AvailableModels(services, () => TOOLS_WITH_MODELS.forEach(register));
  await models.load();
  Object.keys(TOOLS).forEach(register);
  context.commands.register("tap-plan", async ({ args, session, left }) => {
    const [plans, slash] = await Promise.all([load(), import("./cli-requests.mjs")]);
    return slash.handleCommand(plans, args, session, left);
  });
  await services.sessions.watch({
    onStarted: (/** @type {string} */ id) => {
      void models.fetchFromSession(id);
      void loaded
        ?.then(async (plans) => plans.notifier.handleSessionStart({ id, cwd: await findCwd(id) }))
        .catch(() => {});
    },
    onEnded: (/** @type {string} */ id) => {
      void loaded?.then((plans) => plans.notifier.handleSessionEnd(id)).catch(() => {});
    },
  });
  const [first] = await services.sessions.list();
  if (first) void models.fetchFromSession(first.id);
  // What ran when a former host ended goes on without being asked for.
  if (await services.plans.exist()) {
    await load().catch((error) =>
      context.diagnostics.add(`the plans could not go on: ${errorMessage(error)}`),
    );
  }
  return { stop: async () => (await loaded?.catch(() => undefined))?.close() };
}
