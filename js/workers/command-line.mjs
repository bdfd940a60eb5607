// `copilot -p` for a job: its arguments, and the line by which a user can repeat it.

import { quoted, visibleLines } from "../base/visible.mjs";
import { SHARED_ALWAYS } from "./git-command.mjs";
import { promptOf, sessionName } from "./job.mjs";
import { hostOf } from "./shell-command.mjs";

/** @typedef {import("./job.mjs").Job} Job */

/** What `copilot -p` allows; all else it denies, as there is nobody to ask. */
const ALLOWED = ["write", "shell"];
const DENIED = ["push", "send-pack", ...SHARED_ALWAYS].map((name) => `shell(git ${name})`);

/** @param {Job} job @param {string | undefined} model @returns {string[]} */
export function argumentsOf(job, model = job.model) {
  const { sessionId, resume, allowedFolders = [], allowedUrls = [] } = job;
  const pairs = [
    ...(resume ? [] : [["--name", sessionName(job)]]),
    ...(model === undefined ? [] : [["--model", model]]),
    ...ALLOWED.map((tool) => ["--allow-tool", tool]),
    ...DENIED.map((tool) => ["--deny-tool", tool]),
    ...allowedFolders.map((folder) => ["--add-dir", folder]),
    ...allowedUrls.map((url) => ["--allow-url", hostOf(url) ?? url]),
  ];
  const session = resume ? [`--resume=${sessionId}`] : ["--session-id", sessionId];
  const always = ["--no-ask-user", "--disallow-temp-dir", "--disable-builtin-mcps"];
  return [...session, ...pairs.flat(), ...always];
}

/**
 * A line for a shell. It holds no secret: a provider's key is for the user to set.
 * @param {Job} job @param {{cli?: string, home?: string, model?: string, baseUrl?: string}} [place] `home`: where it is not the user's
 */
export function commandLineOf(job, { cli = "copilot", home, model, baseUrl } = {}) {
  const variables = [
    ...(home === undefined ? [] : [`COPILOT_HOME=${quoted(home)}`]),
    ...(baseUrl === undefined ? [] : [`COPILOT_PROVIDER_BASE_URL=${quoted(baseUrl)}`]),
  ];
  const words = [cli, ...argumentsOf(job, model), "-p", promptOf(job)].map((word) => quoted(word));
  const line = [...variables, ...words].join(" ");
  return visibleLines(`cd ${quoted(job.cwd)} && ${line}`);
}
