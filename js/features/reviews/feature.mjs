// Companions of the agent: one that reviews its work and records what it finds, and one that will coordinate several.
// The code is loaded with the first call or command.

import { about, choice, required, shown, text, toParameters } from "../../config/schema.mjs";
import { traceRecords } from "../../lib/telemetry.mjs";

/** @type {import("../../feature-host/descriptor.mjs").Descriptor} */
export const descriptor = {
  id: "builtin:companions",
  displayName: "Companions",
  version: "1",
  runtime: "builtin",
  host: "feature-host",
  capabilities: [
    { capability: "records:read", required: true, reason: "lists the reviews that are open" },
    { capability: "records:write", required: true, reason: "records reviews" },
    { capability: "session:read", required: true, reason: "knows the folder of a review" },
    { capability: "prompt", required: false, reason: "asks the model to review its work" },
  ],
  tools: [
    {
      name: "tap_add_review",
      group: "reviews",
      requires: ["records:read", "records:write", "session:read"],
      description:
        "Records a finding of a review, with evidence that others can check. With the id of a review, its new status.",
      parameters: toParameters({
        finding: required(shown({ minLength: 1, maxLength: 1000 }, text())),
        severity: required(choice(["low", "medium", "high", "critical"])),
        evidence: required(
          about(
            "File and line, a record's id, or a command and its output.",
            shown({ minLength: 1, maxLength: 2000 }, text()),
          ),
        ),
        status: required(choice(["open", "fixed", "dismissed"])),
        review: about("Its id, if it is known already.", shown({ maxLength: 64 }, text())),
      }),
    },
  ],
  commands: [
    {
      name: "tap-monitor",
      description:
        "Have the work reviewed: /tap-monitor [stream]. /tap-monitor list: open findings",
    },
    {
      name: "tap-orchestrate",
      description: "Have a task done by several agents: /tap-orchestrate <task>",
    },
  ],
};

/** @param {import("../../feature-host/installation.mjs").Context} context */
export function install(context) {
  context.tools.register("tap_add_review", async (args, { session, traceparent }) => {
    const { addReview } = await import("./findings.mjs");
    return addReview(traceRecords(context.services, traceparent), session, args);
  });
  context.commands.register("tap-monitor", async (typed) => {
    const { monitor } = await import("./slash-commands.mjs");
    return monitor(context, typed);
  });
  context.commands.register("tap-orchestrate", async (typed) => {
    const { orchestrate } = await import("./slash-commands.mjs");
    return orchestrate(context, typed);
  });
}
