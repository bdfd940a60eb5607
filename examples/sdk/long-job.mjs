// A long job: it says how far it is, and stops when it is cancelled.

import { setTimeout as sleep } from "node:timers/promises";
import { provider } from "copilot-tap/provider";

const STEP_MS = Number(process.env.STEP_MS || 1000);

const tap = provider("renderer");
tap.tool(
  "render",
  {
    description: "Renders pages in turn.",
    parameters: {
      type: "object",
      properties: { pages: { type: "integer", minimum: 1 } },
      required: ["pages"],
    },
    timeout: 10_000, // for a page: progress starts it again
  },
  async ({ pages }, { progress, signal }) => {
    signal.addEventListener("abort", () => console.log(`stopped: ${signal.reason.message}`));
    for (let page = 1; page <= pages; page += 1) {
      await sleep(STEP_MS, undefined, { signal }); // the work
      progress(`page ${page} of ${pages}`);
    }
    return `${pages} pages are rendered`;
  },
);
await tap.connect();
