// Shells that a worker has left: the CLI gives each a session of its own, so that no signal to a group reaches them.

import { isSameProcess, readStartTime } from "../lib/process-identity.mjs";
import { endFound, findByEnvironment } from "../process/group.mjs";

/** Names this process, as TAP_WORKER_OWNER. */
export const ownerName = () => `${process.pid}:${readStartTime(process.pid)}`;

/** Workers, and what they have started. @param {(variables: Record<string, string>) => boolean} belongs */
const endWorkers = (belongs) => endFound(() => findByEnvironment("TAP_WORKER=1", belongs));

/** What the session of a job has left. @param {string} sessionId */
export const endJobShells = (sessionId) =>
  endWorkers((variables) => variables.COPILOT_AGENT_SESSION_ID === sessionId);

/** What workers of processes that are gone have left. */
export const endOrphans = () =>
  endWorkers(({ TAP_WORKER_OWNER: owner = "" }) => {
    const [pid, start] = owner.split(":");
    return start !== undefined && start !== "" && !isSameProcess({ pid: Number(pid), start });
  });
