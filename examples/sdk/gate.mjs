// A gate: `git push` waits for the verdict of CI, and is denied while it is red. Here CI is a file that holds
// `red` or `green`; ask yours instead.

import { readFileSync } from "node:fs";
import { provider } from "copilot-tap/provider";

const ciFile = process.env.CI_FILE || "ci-status.txt";

function judge() {
  let status;
  try {
    status = readFileSync(ciFile, "utf8").trim();
  } catch {
    return { decision: "deny", reason: `The state of CI is not known: ${ciFile} cannot be read.` };
  }
  if (status === "green") return { decision: "allow" };
  if (status === "red") return { decision: "deny", reason: "CI is red. Repair the tests first." };
  return { decision: "context", reason: `CI is ${status}: look at it again after the push.` };
}

const tap = provider("ci-gate");
tap.gate({ tool: "shell", args: "git push(?!.*--dry-run)" }, ({ tool, args }) => {
  const verdict = judge();
  console.log(`${tool} ${JSON.stringify(args)}: ${verdict.decision}`);
  return verdict;
});
// The gateway decides these two without a question.
tap.deny({ tool: "shell", args: "push.*(--force|-f)\\b" }, "Force-pushes are not allowed here.");
tap.note(
  { tool: "edit", file: "*.sql" },
  "This is a migration: it must also work on the data of the version before.",
);
await tap.connect();
