// The services of a feature beyond its contributions: each method needs a capability. A method that
// was not granted fails with the capability's name; a method that cannot work fails with the reason.

import { errorMessage } from "../lib/values.mjs";

/** The capability of each method. `own` in the name of a service: its scope is the feature's own folder. */
export const SERVICES = /** @type {const} */ ({
  files: {
    read: "fs:read:own",
    list: "fs:read:own",
    write: "fs:write:own",
    remove: "fs:write:own",
    setAside: "fs:write:own",
  },
  workspace: {
    look: "fs:read:workspace",
    scripts: "fs:read:workspace",
    tree: "fs:read:workspace",
    watch: "fs:read:workspace",
  },
  process: { run: "process", lines: "process" },
  permissions: { check: "process", guards: "process", covering: "process" },
  network: { post: "network", get: "network" },
  telemetry: { settings: "network" },
  records: {
    query: "records:read",
    stats: "records:read",
    append: "records:write",
    lines: "records:write",
    commit: "records:write",
  },
  sessions: {
    list: "session:read",
    state: "session:read",
    models: "session:read",
    policy: "session:read",
    environment: "session:read",
    watch: "session:read",
    follow: "session:read",
    ask: "session:control",
    consent: "session:control",
    setMode: "session:control",
  },
  emitters: {
    configured: "session:read",
    save: "fs:write:workspace",
    remove: "fs:write:workspace",
  },
  providers: { inspect: "providers:read" },
  settings: { plans: "worktree" },
  features: { report: "providers:read" },
  holds: { set: "process", release: "process" },
  plans: {
    exist: "fs:read:own",
    open: "fs:write:own",
    run: "process",
    awake: "process",
    readLog: "fs:read:own",
    writeLog: "fs:write:own",
    digests: "fs:read:own",
    probeSandbox: "process",
    removeLogs: "fs:write:own",
  },
  worktree: { use: "worktree", readProtected: "worktree" },
  workers: { use: "workers" },
  tools: { list: "tools", call: "tools" },
  groups: { list: "session:control", open: "session:control" },
  projects: { serve: "process" },
});

/** @typedef {Record<string, Record<string, (...args: any[]) => unknown>>} Implementations by service and method */
/** @typedef {Record<string, Record<string, (...args: any[]) => Promise<any>>>} Services */

/** The failure of a service. */
export class ServiceError extends Error {
  /** @param {"denied" | "unavailable"} code @param {string} message @param {string} [capability] @param {unknown} [cause] */
  constructor(code, message, capability, cause = undefined) {
    super(message, { cause });
    this.code = code;
    this.capability = capability;
  }
}

/** @param {string} capability */
export const deniedError = (capability) =>
  new ServiceError("denied", `denied: ${capability} was not granted`, capability);

/** Errors about the arguments, and refusals, concern the feature; others concern the service. @param {unknown} error */
function toServiceError(error) {
  if (error instanceof ServiceError || error instanceof TypeError || error instanceof RangeError) {
    return error;
  }
  return new ServiceError("unavailable", `unavailable: ${errorMessage(error)}`, undefined, error);
}

/**
 * @param {object} options
 * @param {readonly string[]} options.granted
 * @param {Implementations} options.implementations
 * @param {() => string} options.closed why the feature may no longer use it; "" if it may
 * @param {(capability: string) => void} options.onDenied
 * @returns {Services} frozen
 */
export function createServices({ granted, implementations, closed, onDenied }) {
  const allowed = new Set(granted);
  const method = (
    /** @type {string} */ service,
    /** @type {string} */ name,
    /** @type {string} */ capability,
  ) => {
    return async (/** @type {any[]} */ ...args) => {
      const why = closed();
      if (why) throw new ServiceError("unavailable", `unavailable: ${why}`);
      if (!allowed.has(capability)) {
        onDenied(capability);
        throw deniedError(capability);
      }
      const implementation = implementations[service]?.[name];
      if (!implementation) {
        throw new ServiceError("unavailable", `unavailable: this host has no ${service}.${name}`);
      }
      try {
        return await implementation(...args);
      } catch (error) {
        throw toServiceError(error);
      }
    };
  };
  const services = Object.entries(SERVICES).map(([service, methods]) => {
    const made = Object.entries(methods).map(([name, capability]) => [
      name,
      method(service, name, capability),
    ]);
    return [service, Object.freeze(Object.fromEntries(made))];
  });
  return Object.freeze(Object.fromEntries(services));
}
