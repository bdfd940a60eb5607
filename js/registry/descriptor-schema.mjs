// The JSON Schema of a descriptor. A descriptor is data only: it can be printed, stored and compared.

import { CONDITIONS } from "./conditions.mjs";

/** A tool's name as the CLI accepts it. */
const TOOL_NAME = "^[a-zA-Z0-9_-]{1,64}$";
/** A name in kebab-case or snake_case. */
const WORD = "^[a-z0-9][a-z0-9_-]{0,63}$";

const text = (/** @type {number} */ maxLength, minLength = 1) => ({
  type: "string",
  minLength,
  maxLength,
});
const word = { type: "string", pattern: WORD };
const described = {
  type: "object",
  additionalProperties: false,
  required: ["name", "description"],
  properties: { name: word, description: text(300) },
};

export const RUNTIMES = ["builtin", "external-process", "mcp-bridge", "declarative"];
export const SOURCES = ["builtin", "user", "project", "mcp"];
/** When a hook acts: before the agent uses a tool, or with a prompt of the user. */
export const HOOK_POINTS = ["onPreToolUse", "onUserPromptSubmitted"];
/** As many as the gateway takes from one provider. */
const MOST_TOOLS = 100;

export const DESCRIPTOR_SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "A feature's descriptor",
  type: "object",
  additionalProperties: false,
  required: ["id", "displayName", "version", "runtime"],
  properties: {
    id: { type: "string", pattern: `^(?:${SOURCES.join("|")}):[^\\u0000-\\u001f\\u007f]{1,128}$` },
    displayName: text(100),
    version: text(64),
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
          capability: text(1024),
          required: { type: "boolean" },
          reason: text(300),
        },
      },
    },
    tools: {
      type: "array",
      maxItems: MOST_TOOLS,
      items: {
        type: "object",
        additionalProperties: false,
        required: ["name", "description"],
        properties: {
          name: { type: "string", pattern: TOOL_NAME },
          description: text(4096),
          parameters: { type: "object" },
          requires: { type: "array", maxItems: 20, items: text(1024) },
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
        ...described,
        properties: {
          ...described.properties,
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
        properties: { name: word, schedule: text(100), when: { enum: [...CONDITIONS] } },
      },
    },
  },
};
