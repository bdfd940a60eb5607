// The record store: tap_query_records for the model, and spans for a receiver of OpenTelemetry.

import { version } from "../../base/paths.mjs";
import { ToolError } from "../../../sdk/node/errors.mjs";

/** @type {import("../../registry/descriptor.mjs").Descriptor} */
export const descriptor = {
  id: "builtin:records",
  displayName: "Records",
  version: "1",
  runtime: "builtin",
  host: "feature-host",
  capabilities: [
    { capability: "records:read", required: true, reason: "answers questions about records" },
    {
      capability: "network",
      required: false,
      reason: "posts spans to the receiver that OTEL_EXPORTER_OTLP_ENDPOINT names",
    },
  ],
  tools: [
    {
      name: "tap_query_records",
      group: "records",
      requires: ["records:read"],
      description:
        "Reads what tap has recorded: tool calls, gates, pushes, sessions, providers, spans, diagnostics. " +
        "Newest first, as { records, cursor }; pass cursor for the next page.",
      parameters: {
        type: "object",
        additionalProperties: false,
        required: ["collection"],
        properties: {
          collection: {
            type: "string",
            maxLength: 64,
            description: "Such as tool_call, gate, push, session, provider, span, diagnostic.",
          },
          where: {
            type: "object",
            description:
              '{field: value} or {field: {op: value}}; op: eq, ne, lt, gt, prefix. Such as {"tool": "get_weather"}.',
          },
          since: { type: ["string", "integer"], description: "2h, ISO 8601 or Unix ms." },
          until: { type: ["string", "integer"], description: "2h, ISO 8601 or Unix ms." },
          limit: { type: "integer", minimum: 1, maximum: 1000, description: "Default: 20." },
          cursor: { type: "string", maxLength: 256 },
        },
      },
    },
  ],
  tasks: [{ name: "export-spans", when: "spans-exported" }],
};

const DEFAULT_LIMIT = 20;

/** Of an answer as JSON, with room for its cursor: a result of a feature has at most 32 KB. */
const MOST_BYTES = 31 * 1024;

/**
 * What of a page fits into a result: the next one begins after it.
 * @param {{records: {id: number, at: number}[], cursor?: string}} page
 */
function fitting({ records, cursor }) {
  let size = 0;
  const count = records.findIndex((record) => {
    size += Buffer.byteLength(JSON.stringify(record)) + 1;
    return size > MOST_BYTES;
  });
  if (count < 0) return { records, ...(cursor !== undefined && { cursor }) };
  const { id, at } = records[count - 1];
  return { records: records.slice(0, count), cursor: `${at}.${id}` };
}

/** @param {import("../../registry/installation.mjs").Context} context */
export function install({ tools, services }) {
  tools.register("tap_query_records", async (args) => {
    const query = { limit: DEFAULT_LIMIT, ...args };
    const page = await services.records.query(query).catch((error) => {
      if (error instanceof RangeError) throw new ToolError("INVALID_ARGUMENTS", error.message);
      throw error;
    });
    return fitting(page);
  });
  return {
    tasks: {
      /** @type {import("../../registry/tasks.mjs").Task} */
      "export-spans": async ({ signal, diagnostics }) => {
        const { exportSpans } = await import("./span-export.mjs");
        const diagnose = (/** @type {string} */ text) => diagnostics.add(text);
        return exportSpans({ services, diagnose, version }, signal);
      },
    },
  };
}
