// The record store: tap_query_records for the model, and spans for a receiver of OpenTelemetry.

import {
  about,
  anything,
  integer,
  object,
  required,
  shown,
  text,
  toParameters,
} from "../../config/schema.mjs";
import { version } from "../../lib/paths.mjs";
import { ToolError } from "../../../sdk/node/errors.mjs";

const TIME = about("2h, ISO 8601 or Unix ms.", shown({ type: ["string", "integer"] }, anything));

/** @type {import("../../feature-host/descriptor.mjs").Descriptor} */
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
      parameters: toParameters({
        collection: required(
          about(
            "Such as tool_call, gate, push, session, provider, span, diagnostic.",
            shown({ maxLength: 64 }, text()),
          ),
        ),
        where: about(
          '{field: value} or {field: {op: value}}; op: eq, ne, lt, gt, prefix. Such as {"tool": "get_weather"}.',
          object("a query", {}, { isOpen: true }),
        ),
        since: TIME,
        until: TIME,
        limit: about("Default: 20.", shown({ minimum: 1, maximum: 1000 }, integer(1))),
        cursor: shown({ maxLength: 256 }, text()),
      }),
    },
  ],
  tasks: [{ name: "export-spans", when: "spans-exported" }],
};

const DEFAULT_LIMIT = 20;

/** Of an answer as JSON, with room for its cursor: a result of a feature has at most 32 KB. */
const MAX_RESULT_BYTES = 31 * 1024;

/** @typedef {{records: {id: number, at: number}[], cursor?: string}} Page */

/** How many of the records fit into a result. @param {Page} page */
function countThatFits({ records }) {
  let size = 0;
  const count = records.findIndex((record) => {
    size += Buffer.byteLength(JSON.stringify(record)) + 1;
    return size > MAX_RESULT_BYTES;
  });
  return count < 0 ? records.length : Math.max(count, 1);
}

/**
 * A page that fits into a result. What is too long is asked for again: only the store knows the cursor.
 * @param {(query: object) => Promise<Page>} ask @param {{limit: number}} query @returns {Promise<Page>}
 */
async function queryFittingPage(ask, query) {
  for (let { limit } = query; ;) {
    const page = await ask({ ...query, limit });
    const fits = countThatFits(page);
    if (fits === page.records.length) return page;
    limit = fits;
  }
}

/** @param {import("../../feature-host/installation.mjs").Context} context */
export function install({ tools, services }) {
  tools.register("tap_query_records", async (args) => {
    const ask = (/** @type {object} */ query) => services.records.query(query);
    return queryFittingPage(ask, { limit: DEFAULT_LIMIT, ...args }).catch((error) => {
      if (error instanceof RangeError) throw new ToolError("INVALID_ARGUMENTS", error.message);
      throw error;
    });
  });
  return {
    tasks: {
      /** @type {import("../../feature-host/tasks.mjs").Task} */
      "export-spans": async ({ signal, diagnostics }) => {
        const { exportSpans } = await import("./span-export.mjs");
        const diagnose = (/** @type {string} */ problem) => diagnostics.add(problem);
        return exportSpans({ services, diagnose, version }, signal);
      },
    },
  };
}
