// A complete provider with a tool, `greet`. Start it whenever you like: it waits, and comes back.

import { provider } from "copilot-tap/provider";

const tap = provider("hello");
tap.tool(
  "greet",
  {
    description: "Greets a person by name.",
    parameters: {
      type: "object",
      properties: { name: { type: "string", description: "Whom to greet" } },
      required: ["name"],
    },
  },
  ({ name }) => `Hello, ${name}!`,
);
tap.on("status", (text) => console.log(text));
await tap.connect();
