// A job as a process of its own, `copilot -p`: six times the memory of a session, and no other job in its process. It
// asks nobody: what it may do stands in its arguments, and no tool can be lent to it.

import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { makePrivateFolder } from "../lib/host-files.mjs";
import { redactLine } from "../lib/redact.mjs";
import { quoteWord, visibleLines } from "../lib/visible.mjs";
import { endGroup, guard, ownGroup } from "../process/group.mjs";
import { promptVariables } from "./environment.mjs";
import { SHARED_ALWAYS } from "./git-policy.mjs";
import { parseHost } from "./hosts.mjs";
import { checkSessionRules, createUnstartedResult, JobRun } from "./job-run.mjs";
import { buildPrompt, classifyFailure, sessionName, toOutcome } from "./job.mjs";
import { endJobShells } from "./orphans.mjs";
import { difference, noTotals, parseTotals } from "./usage.mjs";

/** @typedef {import("./job.mjs").Job} Job */

// `copilot -p` for a job: its arguments, and the line by which a user can repeat it.

/** What `copilot -p` allows; all else it denies, as there is nobody to ask. */
const ALLOWED_TOOLS = ["write", "shell"];
const DENIED_TOOLS = ["push", "send-pack", ...SHARED_ALWAYS].map((name) => `shell(git ${name})`);

/** @param {Job} job @param {string | undefined} model @returns {string[]} */
export function buildArguments(job, model = job.model) {
  const { sessionId, resume, allowedFolders = [], allowedUrls = [] } = job;
  const pairs = [
    ...(resume ? [] : [["--name", sessionName(job)]]),
    ...(model === undefined ? [] : [["--model", model]]),
    ...ALLOWED_TOOLS.map((tool) => ["--allow-tool", tool]),
    ...DENIED_TOOLS.map((tool) => ["--deny-tool", tool]),
    ...allowedFolders.map((folder) => ["--add-dir", folder]),
    ...allowedUrls.map((url) => ["--allow-url", parseHost(url) ?? url]),
  ];
  const session = resume ? [`--resume=${sessionId}`] : ["--session-id", sessionId];
  const always = ["--no-ask-user", "--disallow-temp-dir", "--disable-builtin-mcps"];
  return [...session, ...pairs.flat(), ...always];
}

/**
 * A line for a shell. It holds no secret: a provider's key is for the user to set.
 * @param {Job} job @param {{cli?: string, home?: string, model?: string, baseUrl?: string}} [place] `home`: where it is not the user's
 */
export function formatCommandLine(job, { cli = "copilot", home, model, baseUrl } = {}) {
  const variables = [
    ...(home === undefined ? [] : [`COPILOT_HOME=${quoteWord(home)}`]),
    ...(baseUrl === undefined ? [] : [`COPILOT_PROVIDER_BASE_URL=${quoteWord(baseUrl)}`]),
  ];
  const words = [cli, ...buildArguments(job, model), "-p", buildPrompt(job)].map((word) =>
    quoteWord(word),
  );
  const line = [...variables, ...words].join(" ");
  return visibleLines(`cd ${quoteWord(job.cwd)} && ${line}`);
}

/** @typedef {{code?: number | null, result?: number, error?: Error, words: string}} End of the process */

/** SIGTERM is `copilot -p`'s own way to abort; it writes its usage then. */
const TERM_MS = 5000;
/** A longer line is left out. */
const MAX_LINE = 4 * 1024 * 1024;
const MAX_STDERR = 500;

/** @param {(line: string) => void} onLine @returns {(piece: string) => void} */
function splitLines(onLine) {
  let rest = "";
  let skipping = false;
  return (piece) => {
    const parts = piece.split("\n");
    for (const [at, part] of parts.entries()) {
      if (!skipping) rest += part;
      if (rest.length > MAX_LINE) {
        skipping = true;
        rest = "";
      }
      if (at === parts.length - 1) return;
      if (!skipping) onLine(rest);
      skipping = false;
      rest = "";
    }
  };
}

/** @param {string} line */
function parseJson(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** @param {string} file @returns {import("./job.mjs").Totals | undefined} */
function readTotals(file) {
  const metrics = parseJson(fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "");
  return metrics && parseTotals(metrics);
}

/** Tools that the session may not use at all: nobody can be asked for each call. @param {Job} job */
async function listExcludedTools(job) {
  const names = ["bash", "create", "edit", "view", "web_fetch", "task"];
  const answers = await Promise.all(names.map((name) => checkSessionRules(job, name, undefined)));
  const refused = names.filter((_, at) => answers[at] !== "");
  return refused.length > 0 ? ["--excluded-tools", ...refused] : [];
}

/**
 * The process, from its start until nothing of its group is left.
 * @param {JobRun} run @param {Job} job @param {{cli: string, args: string[], env: NodeJS.ProcessEnv}} program
 */
async function runProcess(run, job, { cli, args, env }) {
  const child = spawn(cli, args, {
    cwd: job.cwd,
    env,
    detached: ownGroup,
    stdio: ["pipe", "pipe", "pipe"],
    windowsHide: true,
  });
  /** @type {End} */
  const end = { words: "" };
  run.progress.begin();
  const feed = splitLines((line) => {
    const event = parseJson(line);
    if (event?.type === "result") end.result = Number(event.exitCode);
    else if (event && event.type !== "session.idle") run.handleEvent(event);
  });
  child.stdin.on("error", () => {}); // it has ended, which "close" says
  child.stdin.end(buildPrompt(job));
  child.stdout.setEncoding("utf8").on("data", feed);
  child.stderr.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
    end.words = (end.words + text).slice(-MAX_STDERR);
  });
  const exited = new Promise((resolve) => {
    child.once("error", (error) => resolve((end.error = error)));
    child.once("close", (code) => resolve((end.code = code)));
  });
  if (child.pid !== undefined) guard(child.pid);
  void exited.then(() => run.markLost("the CLI has ended without a result"));
  await run.waitUntilSettled();
  if (child.pid !== undefined) await endGroup(child.pid, TERM_MS);
  await exited;
  return end;
}

/** Its exit code alone says nothing: an aborted run has 0. @param {JobRun} run @param {string} cli @param {End} end */
function conclude({ progress }, cli, { code, result, error, words }) {
  if (error) progress.stop(toOutcome("START", `${cli}: ${error.message}`));
  else if (result !== undefined && code !== null) progress.end(result || Number(code));
  else if (code) {
    progress.stop(
      classifyFailure("SESSION", redactLine(words.trim() || `it ended with exit code ${code}`)),
    );
  }
}

/**
 * @param {Job} job @param {string} cli
 * @param {import("./environment.mjs").AgentEnvironment & {config: import("./environment.mjs").WorkersConfig}} place
 * @param {(event: import("./job.mjs").WorkerEvent) => void} onEvent
 * @returns {Promise<import("./job.mjs").Result>}
 */
export async function runPrompt(job, cli, place, onEvent) {
  if ((job.tools ?? []).length > 0) {
    return createUnstartedResult(job, toOutcome("UNSUPPORTED", "copilot -p cannot be lent tools"));
  }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tap-worker-"));
  if (place.ownHome) makePrivateFolder(place.home);
  const run = new JobRun(job, onEvent);
  const file = path.join(folder, "usage.json");
  const model = job.model ?? place.config.model ?? place.config.provider?.model;
  const output = ["--output-format", "json", "--usage-output-file", file];
  const quiet = ["--no-color", "--no-auto-update", "--log-dir", path.join(folder, "logs")];
  const args = [
    ...output,
    ...quiet,
    ...buildArguments(job, model),
    ...(await listExcludedTools(job)),
  ];
  const env = promptVariables(place, place.config, (job.allowedUrls ?? []).length > 0);
  conclude(run, cli, await runProcess(run, job, { cli, args, env }));
  await endJobShells(job.sessionId);
  const totals = readTotals(file) ?? job.totals ?? noTotals();
  fs.rmSync(folder, { recursive: true, force: true });
  const usage = difference(totals, (job.resume && job.totals) || noTotals());
  return run.result({ totals, usage: { ...usage, sessionMs: 0 } });
}
