// The plan that docs/tutorial-plans.md gives to agents, and a scripted stand-in for the model that plays all of their
// parts.

import { callTool, say, toolNames, toolResults, userTexts } from "./model.mjs";

/** The command of each agent, by its task. */
const AGENTS = /** @type {Record<string, string>} */ ({
  "Write a Greek greeting to greek.txt.": "echo Kalimera > greek.txt",
  "Write a Turkish greeting to turkish.txt.": "echo Merhaba > turkish.txt",
  "List the languages in README.md.": "printf '%s\\n' '- Greek' '- Turkish' >> README.md",
});
const [greek, turkish, readme] = Object.keys(AGENTS).map((text) => `@agent ${text}`);

const PLAN = {
  name: "two more languages",
  targetBranch: "feature/two-more",
  nodes: [
    { id: "greek", work: greek },
    { id: "turkish", work: turkish },
    {
      ...{ id: "readme", dependencies: ["greek", "turkish"], work: readme },
      postchecks: "grep --quiet Greek README.md",
    },
  ],
};

/** @param {import("./model.mjs").ModelRequest} request */
export function plansModel(request) {
  const text = userTexts(request).join("\n");
  const isResult = request.body.messages.at(-1).role === "tool";
  if (text.includes("/tap-orchestrate")) {
    if (!isResult && userTexts(request).length > 1) return say("The plan has ended.");
    if (toolResults(request).some(({ name }) => name === "create_copilot_plan"))
      return say("The plan runs.");
    return toolNames(request).includes("create_copilot_plan")
      ? callTool("create_copilot_plan", PLAN)
      : callTool("tap_tools", { group: "plans" });
  }
  const task = Object.keys(AGENTS).find((start) => text.includes(start));
  if (task === undefined) return say("I do not know that.");
  if (isResult) return say("It is written.");
  return callTool("bash", { command: AGENTS[task], description: "write" });
}
