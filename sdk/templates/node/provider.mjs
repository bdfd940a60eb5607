// The provider {{name}}: start it whenever you like, it waits for a session of the Copilot CLI.

import { provider, ToolError } from "./tap.mjs";

const tap = provider("{{name}}");

tap.tool(
  "{{tool}}_greet",
  {
    description: "Greets a person by name.",
    parameters: {
      type: "object",
      properties: { name: { type: "string", description: "Whom to greet" } },
      required: ["name"],
    },
  },
  async ({ name }) => {
    if (name.trim() === "") throw new ToolError("NOT_FOUND", "the name is empty");
    return `Hello, ${name}!`;
  },
);

tap.on("status", (text) => console.error(`{{name}}: ${text}`));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => tap.close());
await tap.connect();
