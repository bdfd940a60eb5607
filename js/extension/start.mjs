import { errorMessage } from "../lib/values.mjs";
// The work of the entry that the CLI runs: the package's extension.mjs, or the one that `tap install` writes.
// Only the entry itself can import the CLI's SDK for certain, so it hands joinSession on.

/** @param {(config: object) => Promise<any>} joinSession the SDK's */
export async function start(joinSession) {
  // An agent that tap itself runs (js/agents) has no gateway.
  if (process.env.TAP_WORKER === "1") process.exit(0);
  try {
    const { useRelease } = await import("../lib/release-use.mjs");
    const { runtime } = await import("./runtime.mjs");
    useRelease();
    await runtime().join(joinSession);
  } catch (error) {
    // A process that never joins would hold the CLI up: say why, and leave. stdout is the CLI's.
    process.stderr.write(`tap: ${errorMessage(error)}\n`);
    process.exit(1);
  }
}
