// Ends a process with all that it has started.

import { release, signalGroup } from "./group.mjs";

const POLL_MS = 25;
/** After SIGKILL only a zombie is left. */
const ZOMBIE_MS = 1000;

/**
 * SIGTERM to the group of a process that was guarded, then SIGKILL to what is left of it.
 * @param {number} pid that leads it @param {number} termMs from SIGTERM to SIGKILL
 * @returns {Promise<void>} once nothing of it is left
 */
export async function endGroup(pid, termMs) {
  const begun = performance.now();
  signalGroup(pid, "SIGTERM");
  for (let killed = false; signalGroup(pid, 0);) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if (!killed && performance.now() - begun >= termMs) {
      killed = true;
      signalGroup(pid, "SIGKILL");
    } else if (killed && performance.now() - begun >= termMs + ZOMBIE_MS) break;
  }
  release(pid);
}
