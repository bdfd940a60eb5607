// Checks a descriptor, and says in words what is wrong with it. The schema's validator is loaded with the first
// descriptor that is checked: a gateway host whose features are all its own needs none.

import { errorMessage } from "../lib/values.mjs";
import { shortenText, visible } from "../lib/visible.mjs";
import { parseCapability } from "./capabilities.mjs";
import { CONDITIONS } from "./capability-grants.mjs";
import { schemaProblem } from "./schema-cost.mjs";
import { parseInterval } from "./tasks.mjs";

// The JSON Schema of a descriptor. A descriptor is data only: it can be printed, stored and compared.

/** A tool's name as the CLI accepts it. */
const TOOL_NAME = "^[a-zA-Z0-9_-]{1,64}$";
/** A name in kebab-case or snake_case. */
const WORD = "^[a-z0-9][a-z0-9_-]{0,63}$";

const textSchema = (/** @type {number} */ maxLength, minLength = 1) => ({
  type: "string",
  minLength,
  maxLength,
});
const word = { type: "string", pattern: WORD };
const entrySchema = {
  type: "object",
  additionalProperties: false,
  required: ["name", "description"],
  properties: { name: word, description: textSchema(300) },
};

export const RUNTIMES = ["builtin", "external-process", "mcp-bridge", "declarative"];
export const SOURCES = ["builtin", "user", "project", "mcp"];
/** When a hook acts: before the agent uses a tool, or with a prompt of the user. */
export const HOOK_POINTS = ["onPreToolUse", "onUserPromptSubmitted"];
/** As many as the gateway takes from one provider. */
const MAX_TOOLS = 100;

export const DESCRIPTOR_SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "A feature's descriptor",
  type: "object",
  additionalProperties: false,
  required: ["id", "displayName", "version", "runtime"],
  properties: {
    id: { type: "string", pattern: `^(?:${SOURCES.join("|")}):[^\\u0000-\\u001f\\u007f]{1,128}$` },
    displayName: textSchema(100),
    version: textSchema(64),
    runtime: { enum: RUNTIMES },
    host: { enum: ["gateway", "feature-host"] },
    capabilities: {
      type: "array",
      maxItems: 50,
      items: {
        type: "object",
        additionalProperties: false,
        required: ["capability", "required", "reason"],
        properties: {
          capability: textSchema(1024),
          required: { type: "boolean" },
          reason: textSchema(300),
        },
      },
    },
    tools: {
      type: "array",
      maxItems: MAX_TOOLS,
      items: {
        type: "object",
        additionalProperties: false,
        required: ["name", "description"],
        properties: {
          name: { type: "string", pattern: TOOL_NAME },
          description: textSchema(4096),
          parameters: { type: "object" },
          requires: { type: "array", maxItems: 20, items: textSchema(1024) },
          group: word,
        },
      },
    },
    hooks: {
      type: "array",
      maxItems: 50,
      items: {
        type: "object",
        additionalProperties: false,
        required: ["name", "point"],
        properties: {
          name: word,
          point: { enum: HOOK_POINTS },
          when: { enum: [...CONDITIONS] },
        },
      },
    },
    channels: { type: "array", maxItems: 20, items: word },
    commands: {
      type: "array",
      maxItems: 20,
      items: {
        ...entrySchema,
        properties: {
          ...entrySchema.properties,
          name: { type: "string", pattern: "^[a-z0-9-]{1,64}$" },
        },
      },
    },
    tasks: {
      type: "array",
      maxItems: 20,
      items: {
        type: "object",
        additionalProperties: false,
        required: ["name"],
        properties: { name: word, schedule: textSchema(100), when: { enum: [...CONDITIONS] } },
      },
    },
  },
};

/**
 * @typedef {{capability: string, required: boolean, reason: string}} CapabilityRequest
 * @typedef {{name: string, description: string, parameters?: object, requires?: string[], group?: string}} ToolDescriptor
 * @typedef {object} Descriptor
 * @property {string} id `builtin:counter`, `user:<name>`, `project:<name>`, `mcp:<name>`
 * @property {string} displayName
 * @property {string} version
 * @property {"builtin" | "external-process" | "mcp-bridge" | "declarative"} runtime
 * @property {"gateway" | "feature-host"} [host] of a `builtin`; default: the feature host
 * @property {CapabilityRequest[]} [capabilities]
 * @property {ToolDescriptor[]} [tools]
 * @property {{name: string, point: string, when?: typeof import("./capability-grants.mjs").CONDITIONS[number]}[]} [hooks]
 *   `when`: it is there only while this condition is met
 * @property {string[]} [channels] on which it may emit events
 * @property {{name: string, description: string}[]} [commands] slash commands
 * @property {{name: string, schedule?: string, when?: typeof import("./capability-grants.mjs").CONDITIONS[number]}[]} [tasks]
 *   `when`: it runs only while this condition is met
 */

const MAX_PROBLEMS = 10;
/** Lists of names: each name once. */
const NAMED_LISTS = /** @type {const} */ (["tools", "hooks", "commands", "tasks"]);

/** A value in a message. @param {unknown} value */
export const formatValue = (value) => visible(shortenText(JSON.stringify(value) ?? "nothing", 80));

/** @param {unknown} value */
const isPlain = (value) =>
  Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));

/**
 * A descriptor is data: what JSON would leave out, change or refuse is not.
 * @param {unknown} root bounded @returns {string} where there is something else; ""
 */
function findNonData(root) {
  const seen = new Set();
  /** @param {unknown} value @param {string} place @returns {string} */
  const visit = (value, place) => {
    if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") {
      return `${place}: a descriptor is data only, found a ${typeof value}`;
    }
    if (typeof value !== "object" || value === null || seen.has(value)) return "";
    if (!isPlain(value)) return `${place}: a descriptor is data only, found an object of a class`;
    seen.add(value);
    for (const [key, inner] of Object.entries(value)) {
      const problem = visit(inner, place ? `${place}.${key}` : key);
      if (problem) return visible(shortenText(problem, 200));
    }
    return "";
  };
  return visit(root, "");
}

/** Bounded before the validator sees it. @param {any} descriptor @returns {string[]} */
function sizeProblems(descriptor) {
  if (typeof descriptor !== "object" || descriptor === null || Array.isArray(descriptor)) {
    return [`a descriptor must be an object, not ${formatValue(descriptor)}`];
  }
  const { tools = [] } = descriptor;
  if (!Array.isArray(tools)) return [`tools must be a list, not ${formatValue(tools)}`];
  for (const [list, schema] of Object.entries(DESCRIPTOR_SCHEMA.properties)) {
    const { maxItems: most } = /** @type {any} */ (schema);
    const { length } = descriptor[list] ?? [];
    if (length > most) return [`${list}: expected at most ${most} ${list}, found ${length}`];
  }
  return tools.flatMap((tool, at) => {
    const problem = schemaProblem(tool?.parameters ?? {});
    return problem ? [`tools[${at}].parameters: ${problem}`] : [];
  });
}

/** @param {string} pointer of JSON */
const formatPointer = (pointer) =>
  pointer
    .replace(/^#\/?/, "")
    .split("/")
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`))
    .join("")
    .replace(/^\./, "");

/** @param {any} root @param {string} pointer */
const resolvePointer = (root, pointer) =>
  pointer
    .split("/")
    .slice(1)
    .reduce((at, step) => at?.[step.replaceAll("~1", "/").replaceAll("~0", "~")], root);

/** Their only problem is a problem of something inside them. */
const OUTER = new Set(["properties", "items"]);

/** @param {any} descriptor @param {{keyword: string, instanceLocation: string, keywordLocation: string, error: string}} unit */
function describeProblem(descriptor, { keyword, instanceLocation, keywordLocation, error }) {
  const place = formatPointer(instanceLocation) || "the descriptor";
  const value = formatValue(resolvePointer(descriptor, instanceLocation));
  if (keyword === "additionalProperties") return `${place} has an unknown field: ${error}`;
  if (keyword === "pattern" && place.startsWith("tools")) {
    return `${place}: the CLI refuses the name ${value}; expected 1 to 64 of a-z, A-Z, 0-9, _ and -`;
  }
  if (keyword === "pattern" || keyword === "enum") {
    const rule = resolvePointer(DESCRIPTOR_SCHEMA, keywordLocation);
    return `${place}: expected ${Array.isArray(rule) ? `one of ${rule.join(", ")}` : `a text like ${rule}`}, found ${value}`;
  }
  return `${place}: ${error} Found ${value}`;
}

/** @param {Descriptor} descriptor @returns {string[]} */
function nameProblems(descriptor) {
  const named = NAMED_LISTS.map(
    (list) => /** @type {const} */ ([list, (descriptor[list] ?? []).map(({ name }) => name)]),
  );
  const wanted = (descriptor.capabilities ?? []).map(({ capability }) => capability);
  const lists = [
    ...named,
    /** @type {const} */ (["capabilities", wanted]),
    /** @type {const} */ (["channels", descriptor.channels ?? []]),
  ];
  return lists.flatMap(([list, names]) => {
    const twice = names.filter((name, at) => names.indexOf(name) !== at);
    return [...new Set(twice)].map((name) => `${list}: ${formatValue(name)} is there twice`);
  });
}

/** @param {Descriptor} descriptor @returns {string[]} */
const scheduleProblems = ({ tasks = [] }) =>
  tasks
    .filter(({ schedule }) => schedule !== undefined && parseInterval(schedule) === undefined)
    .map(
      ({ name, schedule }) =>
        `task ${name}: its schedule ${formatValue(schedule)} is not like 30s, 5m, 2h or 1d`,
    );

/** A feature's runtime is that of its source. @param {Descriptor} descriptor @returns {string[]} */
function runtimeProblems({ id, runtime, host, capabilities = [], tools = [] }) {
  const source = id.split(":", 1)[0];
  const isBuiltin = runtime === "builtin";
  const asked = new Set(capabilities.map(({ capability }) => capability));
  return [
    ...(isBuiltin !== (source === "builtin") || (runtime === "mcp-bridge") !== (source === "mcp")
      ? [`id: ${formatValue(id)} cannot have the runtime "${runtime}"`]
      : []),
    ...(host !== undefined && !isBuiltin ? [`host: only a builtin feature may name its host`] : []),
    ...tools.flatMap(({ name, requires = [] }) =>
      requires
        .filter((one) => !asked.has(one))
        .map(
          (one) =>
            `tool ${name}: it requires ${formatValue(one)}, which capabilities does not list`,
        ),
    ),
  ];
}

/**
 * Everything but unknown capabilities, which only cost what needs them.
 * @param {any} descriptor @returns {Promise<string[]>} problems, in words; at most 10
 */
export async function descriptorProblems(descriptor) {
  try {
    return await findProblems(descriptor);
  } catch (error) {
    return [`the descriptor cannot be read: ${visible(shortenText(errorMessage(error), 200))}`];
  }
}

/** @param {any} descriptor @returns {Promise<string[]>} @throws what a getter of it throws */
async function findProblems(descriptor) {
  const size = sizeProblems(descriptor);
  if (size.length > 0) return size.slice(0, MAX_PROBLEMS);
  const other = findNonData(descriptor);
  if (other) return [other];
  const { Validator } = await import("@cfworker/json-schema");
  const validator = new Validator(/** @type {any} */ (DESCRIPTOR_SCHEMA), "2020-12", false);
  const data = JSON.parse(JSON.stringify(descriptor));
  const units = validator.validate(data).errors.filter(({ keyword }) => !OUTER.has(keyword));
  const problems = units
    .filter(({ keyword, error }) => keyword !== "false" && !/^False boolean/.test(error))
    .map((unit) => describeProblem(descriptor, unit));
  if (problems.length === 0)
    problems.push(
      ...nameProblems(descriptor),
      ...runtimeProblems(descriptor),
      ...scheduleProblems(descriptor),
    );
  return [...new Set(problems)].slice(0, MAX_PROBLEMS);
}

/** @param {Descriptor} descriptor @returns {{capability: string, problem: string}[]} */
export const unknownCapabilities = ({ capabilities = [] }) =>
  capabilities.flatMap(({ capability }) => {
    const parsed = parseCapability(capability);
    return typeof parsed === "string" ? [{ capability, problem: parsed }] : [];
  });

// The name of a feature's provider, as providers and messages in the timeline have it. Records have the id.

/** @param {string} id of a feature of the feature host @returns {string} */
export const providerName = (id) => `tap-${id.slice(id.indexOf(":") + 1)}`;
