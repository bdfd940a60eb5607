// Every command, in the groups and in the order in which --help shows them. A new one is a file here and a line below.

/** @type {Record<string, Record<string, () => Promise<{default: import("../options.mjs").Command}>>>} */
const GROUPS = {
  Use: {
    watch: () => import("./watch.mjs"),
    emit: () => import("./emit.mjs"),
    push: () => import("./push.mjs"),
    call: () => import("./call.mjs"),
    use: () => import("./use.mjs"),
  },
  Look: {
    inbox: () => import("./inbox.mjs"),
    status: () => import("./status.mjs"),
    top: () => import("./top.mjs"),
    doctor: () => import("./doctor.mjs"),
    tools: () => import("./tools.mjs"),
    rules: () => import("./rules.mjs"),
    calls: () => import("./calls.mjs"),
    records: () => import("./records.mjs"),
    spans: () => import("./spans.mjs"),
    logs: () => import("./logs.mjs"),
    limits: () => import("./limits.mjs"),
  },
  Plans: {
    plan: () => import("./plan.mjs"),
    sandbox: () => import("./sandbox.mjs"),
  },
  "Write providers": {
    new: () => import("./new.mjs"),
    dev: () => import("./dev.mjs"),
    check: () => import("./check.mjs"),
    trace: () => import("./trace.mjs"),
    replay: () => import("./replay.mjs"),
    eval: () => import("./eval.mjs"),
  },
  Manage: {
    install: () => import("./install.mjs"),
    update: () => import("./update.mjs"),
    uninstall: () => import("./uninstall.mjs"),
    stop: () => import("./stop.mjs"),
    features: () => import("./features.mjs"),
    mcp: () => import("./mcp.mjs"),
    allow: () => import("./allow.mjs"),
    revoke: () => import("./revoke.mjs"),
    "import-config": () => import("./import-config.mjs"),
    pair: () => import("./pair.mjs"),
    unpair: () => import("./unpair.mjs"),
    completion: () => import("./completion.mjs"),
  },
};
const MODULES = Object.assign({}, ...Object.values(GROUPS));

export const NAMES = Object.keys(MODULES);

/** @param {string} name of NAMES @returns {Promise<import("../options.mjs").Command>} */
export const load = async (name) => (await MODULES[name]()).default;

/** It takes as long as Node itself takes to start. */
export const loadAll = () => Promise.all(NAMES.map(load));

/** All, by the titles of their groups. @returns {Promise<[string, import("../options.mjs").Command[]][]>} */
export const loadGroups = () =>
  Promise.all(
    Object.entries(GROUPS).map(async ([title, names]) => [
      title,
      await Promise.all(Object.keys(names).map(load)),
    ]),
  );
