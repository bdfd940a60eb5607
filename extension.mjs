// The entry that the Copilot CLI finds and runs, once per session.
import { joinSession } from "@github/copilot-sdk/extension";

try {
  const { runtime } = await import("./js/session/runtime.mjs");
  await runtime().join(joinSession);
} catch (error) {
  // A process that never joins would hold the CLI up: say why, and leave. stdout is the CLI's.
  process.stderr.write(`tap: ${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}
