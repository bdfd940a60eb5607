// Every command, in the order in which --help shows them. A new one is a file here and a line below.

/** @type {Record<string, () => Promise<{default: import("../options.mjs").Command}>>} */
const MODULES = {
  install: () => import("./install.mjs"),
  update: () => import("./update.mjs"),
  uninstall: () => import("./uninstall.mjs"),
  status: () => import("./status.mjs"),
  top: () => import("./top.mjs"),
  stop: () => import("./stop.mjs"),
  doctor: () => import("./doctor.mjs"),
  sandbox: () => import("./sandbox.mjs"),
  tools: () => import("./tools.mjs"),
  rules: () => import("./rules.mjs"),
  calls: () => import("./calls.mjs"),
  call: () => import("./call.mjs"),
  records: () => import("./records.mjs"),
  spans: () => import("./spans.mjs"),
  emit: () => import("./emit.mjs"),
  plan: () => import("./plan.mjs"),
  push: () => import("./push.mjs"),
  use: () => import("./use.mjs"),
  features: () => import("./features.mjs"),
  logs: () => import("./logs.mjs"),
  limits: () => import("./limits.mjs"),
  trace: () => import("./trace.mjs"),
  replay: () => import("./replay.mjs"),
  allow: () => import("./allow.mjs"),
  revoke: () => import("./revoke.mjs"),
  "import-config": () => import("./import-config.mjs"),
  pair: () => import("./pair.mjs"),
  unpair: () => import("./unpair.mjs"),
  dev: () => import("./dev.mjs"),
  check: () => import("./check.mjs"),
  new: () => import("./new.mjs"),
  eval: () => import("./eval.mjs"),
  completion: () => import("./completion.mjs"),
};

export const NAMES = Object.keys(MODULES);

/** @param {string} name of NAMES */
export const load = async (name) => (await MODULES[name]()).default;

/** It takes as long as Node itself takes to start. */
export const loadAll = () => Promise.all(NAMES.map(load));
