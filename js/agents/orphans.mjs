// Shells that a worker left behind: the CLI gives each a separate session, so a signal to the group does not reach
// them.

import { isSameProcess, readStartTime } from "../lib/process-identity.mjs";
import { endFound, findByEnvironment } from "../process/group.mjs";

/** Identifies this process, as TAP_WORKER_OWNER. */
export const ownerName = () => `${process.pid}:${readStartTime(process.pid)}`;

/** Ends workers and their children. @param {(variables: Record<string, string>) => boolean} belongs */
const endWorkers = (belongs) => endFound(() => findByEnvironment("TAP_WORKER=1", belongs));

/** Ends the shells of a job's session. @param {string} sessionId */
export const endJobShells = (sessionId) =>
  endWorkers((variables) => variables.COPILOT_AGENT_SESSION_ID === sessionId);

/** Ends workers of processes that have ended. */
export const endOrphans = () =>
  endWorkers(({ TAP_WORKER_OWNER: owner = "" }) => {
    const [pid, start] = owner.split(":");
    return start !== undefined && start !== "" && !isSameProcess({ pid: Number(pid), start });
  });
