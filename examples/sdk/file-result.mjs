// A result that is too large for a message, and a single call at a time.

import { setTimeout as sleep } from "node:timers/promises";
import { provider } from "copilot-tap/provider";

const WORK_MS = Number(process.env.WORK_MS || 2000);

// Ten more calls may stand in line, the next fails with RATE_LIMITED.
const tap = provider("exporter", { concurrency: 1 });
tap.tool(
  "export_table",
  {
    description: "Exports a table as CSV.",
    parameters: { type: "object", properties: { rows: { type: "integer", minimum: 1 } } },
  },
  async ({ rows = 100 }, { callId, signal }) => {
    await sleep(WORK_MS, undefined, { signal }); // the work
    const lines = Array.from({ length: rows }, (_, row) => `${row},${row * row}\n`);
    const table = `number,square\n${lines.join("")}`;
    return tap.file(`table-${callId}.csv`, table, { mimeType: "text/csv" });
  },
);
await tap.connect();
