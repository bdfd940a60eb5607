// Text that the model should know without asking: with each prompt, at the start, and in the system message.

import { provider } from "copilot-tap/provider";

let environment = "staging";
const describe = () => `Deployments go to ${environment} now.`;

const tap = provider("deployments", { startupContext: "The deployment helper is there." });
tap.tool(
  "choose_environment",
  {
    description: "Chooses where deployments go.",
    parameters: {
      type: "object",
      properties: { name: { enum: ["staging", "production"] } },
      required: ["name"],
    },
  },
  async ({ name }) => {
    environment = name;
    await tap.context(describe()); // it is in force
    return describe();
  },
);
tap.context(describe()); // with each prompt of the user
tap.section("custom_instructions", { append: "This repository uses pnpm, not npm." });
// Asked at each prompt: within 2 s, or the section stays as it is.
tap.section("code_change_rules", (current) => {
  const rule = environment === "production" ? "Every change needs a test." : "Be quick and bold.";
  return `${current}\n${rule}`;
});
await tap.connect();
