import { errorMessage } from "../lib/values.mjs";
// Called by the entry that the CLI runs: the package's extension.mjs, or the entry that `tap install` writes.
// Only the entry itself can reliably import the CLI's SDK, so it passes joinSession.

/** @param {(config: object) => Promise<any>} joinSession the SDK's */
export async function start(joinSession) {
  // An agent of tap (js/agents) has no gateway.
  if (process.env.TAP_WORKER === "1") process.exit(0);
  try {
    const { useRelease } = await import("../lib/release-use.mjs");
    const { runtime } = await import("./runtime.mjs");
    useRelease();
    await runtime().join(joinSession);
  } catch (error) {
    // A process that never joins would block the CLI: print the reason and exit. stdout is the CLI's.
    process.stderr.write(`tap: ${errorMessage(error)}\n`);
    process.exit(1);
  }
}
