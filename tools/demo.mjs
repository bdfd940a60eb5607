// npm run demo: the main job, shown once. The real Copilot CLI, offline, with a scripted stand-in for
// the model; the extension; a gateway host; and an example provider that starts while the CLI is
// already at work. Exits with 0 only if the provider's answer reached the model.

import "../js/lib/require-node.mjs";
import { spawn } from "node:child_process";
import path from "node:path";
import { REPO_ROOT } from "../test/support/cli.mjs";

let start = Date.now();
let step = 0;

/** @param {string} text @param {string} [detail] */
function printStep(text, detail = "") {
  const seconds = ((Date.now() - start) / 1000).toFixed(1).padStart(5);
  console.log(`${seconds} s  ${String(++step).padStart(2)}. ${text}`);
  if (detail) console.log(`             ${detail}`);
}

/** @param {string} text */
function fail(text) {
  console.error(`\nThe demo failed: ${text}`);
  process.exitCode = 1;
}

console.log("tap: a process becomes a tool of a running Copilot CLI session\n");
const { setUp } = await import("./setup.mjs");
const { CommandFailed } = await import("./commands.mjs");
try {
  await setUp({ for: "demo" });
} catch (error) {
  if (!(error instanceof CommandFailed)) throw error;
  fail(error.message);
  process.exit();
}
start = Date.now(); // the set-up is no part of the demo's time
const { CopilotCli, findFreePort } = await import("../test/support/cli.mjs");
const { ScriptedModel, callTool, say, toolNames, toolResults } =
  await import("../test/support/model.mjs");

const ANSWER = "Hello, Ada!";
const port = await findFreePort();
const model = await ScriptedModel.start([say("unused")]);
printStep("a scripted stand-in for the model listens", model.url);

const cli = await CopilotCli.create({
  extension: REPO_ROOT,
  model,
  env: { TAP_GATEWAY_PORT: String(port) },
});
/** @type {import("node:child_process").ChildProcess | undefined} */
let provider;
let reached = false;

/** Starts the example as a process of its own, as a user would. */
function startProvider() {
  provider = spawn(process.execPath, [path.join(REPO_ROOT, "examples", "hello.mjs")], {
    env: { ...process.env, COPILOT_HOME: cli.home, TAP_GATEWAY_PORT: String(port) },
    stdio: "ignore",
  });
  printStep(
    "an example provider starts",
    `node examples/hello.mjs   (pid ${provider.pid}, ws://localhost:${port})`,
  );
}

/** The model waits for a tool that does not exist yet, then calls it. */
model.script(async (/** @type {any} */ request) => {
  const tools = toolNames(request);
  const results = toolResults(request);
  if (!provider) {
    printStep(
      "Copilot asks the model",
      `${tools.length} tools, tap_status among them, greet is not`,
    );
    startProvider();
    return callTool("tap_status");
  }
  if (results.some((/** @type {any} */ result) => result.text.includes(ANSWER))) {
    reached = true;
    printStep("the answer reaches the model", `greet → "${ANSWER}"`);
    return say(`The greeter says: ${ANSWER}`);
  }
  if (tools.includes("greet")) {
    printStep(
      "the tool is in the session, in the same turn; the model calls it",
      'greet {"name":"Ada"}',
    );
    return callTool("greet", { name: "Ada" });
  }
  return callTool("tap_status");
});

try {
  printStep(
    "the real Copilot CLI starts (at the very first start it unpacks itself: up to a minute)",
    'copilot --experimental -p "Please greet Ada."',
  );
  const result = await cli.runPrompt("Please greet Ada.", { timeoutMs: 180_000 });
  if (result.code !== 0) fail(`the CLI ended with code ${result.code}\n${await cli.report()}`);
  else if (!reached) fail(`the provider's answer did not reach the model\n${await cli.report()}`);
  else
    printStep(
      "the CLI prints the model's answer and ends",
      result.stdout.match(/The greeter says.*/)?.[0] ?? "",
    );
} catch (error) {
  fail(error instanceof Error ? (error.stack ?? error.message) : String(error));
} finally {
  provider?.kill();
  await cli.dispose();
  await model.close();
}
if (reached && !process.exitCode)
  console.log("\nIt works. Next: a provider of your own, in docs/tutorial.md.");
