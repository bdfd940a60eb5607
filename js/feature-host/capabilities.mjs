// The capabilities that a descriptor may request: their names, their parts, and their effects.

/** @typedef {{name: string, area: string, operation: string, scope: string}} Capability */

/** The effect of each capability, for people; `fs` has a scope besides. */
const CAPABILITIES = /** @type {const} */ ({
  event: "show events to the user",
  notify: "put text before the model",
  prompt: "start a turn",
  process: "start programs",
  network: "post to receivers on the network, with the user's headers for them",
  "records:read": "read the record store",
  "records:write": "write to the record store",
  "session:read": "read the state of sessions",
  "session:control": "change the state of sessions",
  "providers:read": "read the state of other providers and features",
  tools: "call tools of providers",
  worktree: "change git worktrees and refs of a repository",
  workers: "start agents",
});

const OPERATIONS = ["read", "write", "execute"];
const MAX_CHARACTERS = 1024;
/** On any system, since a descriptor is shared between systems. */
const ABSOLUTE = /^(?:\/|[A-Za-z]:[\\/])/;
const CONTROL = /[\u0000-\u001f\u007f]/; // eslint-disable-line no-control-regex

/**
 * `fs:<read, write or execute>:<own, workspace or an absolute path>`.
 * @param {string} name @returns {Capability | string} a text: the problem
 */
function parseFiles(name) {
  const [, operation = "", ...rest] = name.split(":");
  const scope = rest.join(":"); // a path may contain colons
  if (!OPERATIONS.includes(operation)) return `expected fs:read, fs:write or fs:execute`;
  const isPath = ABSOLUTE.test(scope) && !scope.split(/[\\/]/).includes("..");
  if (scope !== "own" && scope !== "workspace" && !isPath) {
    return `expected the scope to be "own", "workspace" or an absolute path without ".."`;
  }
  return { name, area: "fs", operation, scope };
}

/** @param {unknown} name @returns {Capability | string} a text: the problem */
export function parseCapability(name) {
  if (typeof name !== "string") return "expected a text";
  if (name.length > MAX_CHARACTERS || CONTROL.test(name)) return "expected a short, visible text";
  if (name.startsWith("fs:")) return parseFiles(name);
  if (!Object.hasOwn(CAPABILITIES, name)) {
    return `there is no such capability; known are ${Object.keys(CAPABILITIES).join(", ")} and fs:<read, write or execute>:<scope>`;
  }
  const [area, operation = ""] = name.split(":");
  return { name, area, operation, scope: "" };
}
