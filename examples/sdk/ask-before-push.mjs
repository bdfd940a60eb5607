// A gate that asks a person: `git push` is denied, the person at this terminal is asked, and the agent
// gets the answer. A yes is good for that very command, once, for two minutes.

import readline from "node:readline/promises";
import { provider } from "copilot-tap/provider";

const GOOD_FOR_MS = 120_000;

const terminal = readline.createInterface({ input: process.stdin, output: process.stdout });
const tap = provider("push-guard");
let asking = false;
let allowed = { command: "", until: 0 };

// The gateway waits 5 s for an answer, too short for a person: so the gate does not wait.
tap.gate({ tool: "shell", args: "\\bgit\\b.*\\bpush\\b" }, ({ args: { command } }) => {
  if (command === allowed.command && Date.now() < allowed.until) {
    allowed = { command: "", until: 0 };
    return true;
  }
  if (asking) return "A person is being asked about an earlier push. Wait for the answer.";
  ask(command).catch((error) => console.error(error.message));
  return "A person is being asked. Do other work: an event will bring the answer.";
});

async function ask(command) {
  asking = true;
  // As JSON: text of the agent cannot draw on the terminal.
  console.log(`The agent wants to run ${JSON.stringify(command)}`);
  const answer = await terminal.question("Allow it once? [y/N] ");
  asking = false;
  const yes = /^y(es)?$/i.test(answer.trim());
  if (yes) allowed = { command, until: Date.now() + GOOD_FOR_MS };
  const text = yes ? "The push is allowed: run the same command again." : "The push is refused.";
  await tap.push("answers", text, { level: "inject" });
}

await tap.connect();
