// Follows the events of a session: prompts, and how long tools take.

import { provider } from "copilot-tap/provider";

let prompts = 0;
/** Milliseconds, by tool. @type {Map<string, number>} */
const spent = new Map();

const tap = provider("watcher");
tap.tool("statistics", { description: "How much was asked, and which tools took long." }, () => {
  const slowest = [...spent].sort(([, one], [, other]) => other - one);
  return [`${prompts} prompts`, ...slowest.map(([name, ms]) => `${name}: ${ms} ms`)].join("\n");
});
tap.on("user.message", () => (prompts += 1));
tap.on("assistant.message", ({ content }) => console.log(`assistant: ${content}`));
tap.on("tool.execution_complete", ({ tool, provider: lender, result, durationMs }) => {
  const name = lender ? `${lender}/${tool}` : tool; // of a tool that is not the CLI's
  console.log(`${name}: ${result.type}`);
  spent.set(name, (spent.get(name) ?? 0) + durationMs);
});
await tap.connect();
