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
          since: { type: ["string", "integer"], description: "ISO 8601 or Unix ms." },
          until: { type: ["string", "integer"], description: "ISO 8601 or Unix ms." },
          limit: { type: "integer", minimum: 1, maximum: 1000, description: "Default: 20." },
          cursor: { type: "string", maxLength: 256 },
        },
      },
    },
  ],
  tasks: [{ name: "export-spans", when: "spans-exported" }],
};

const DEFAULT_LIMIT = 20;

const refused = (/** @type {string} */ text) => new ToolError("INVALID_ARGUMENTS", text);

/** @param {string} name @param {string | number | undefined} time @returns {number | undefined} Unix ms */
function timeOf(name, time) {
  const at = typeof time === "string" ? Date.parse(time) : time;
  if (!Number.isNaN(at)) return at;
  throw refused(`${name}: expected a time in ISO 8601 or in Unix ms`);
}

/** @param {import("../../registry/installation.mjs").Context} context */
export function install({ tools, services }) {
  tools.register("tap_query_records", async (args) => {
    const { collection, where, since, until, limit = DEFAULT_LIMIT, cursor } = args;
    const query = {
      collection,
      ...(where !== undefined && { where }),
      ...(since !== undefined && { since: timeOf("since", since) }),
      ...(until !== undefined && { until: timeOf("until", until) }),
      limit,
      ...(cursor !== undefined && { cursor }),
    };
    return services.records.query(query).catch((error) => {
      throw error instanceof RangeError ? refused(error.message) : error;
    });
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
