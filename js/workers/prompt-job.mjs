// A job as a process of its own, `copilot -p`: six times the memory of a session, and no other job in its process. It
// asks nobody: what it may do stands in its arguments, and no tool can be lent to it.

import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { makePrivateFolder } from "../base/host-files.mjs";
import { shownLine } from "../base/redact.mjs";
import { endGroup } from "../process/end-group.mjs";
import { guard, ownGroup } from "../process/group.mjs";
import { argumentsOf } from "./command-line.mjs";
import { promptVariables } from "./environment.mjs";
import { failedAsSaid, promptOf, unsuccessful } from "./job.mjs";
import { endShellsOf } from "./orphans.mjs";
import { maySession, notBegun, Run } from "./run.mjs";
import { difference, noTotals, totalsOf } from "./usage.mjs";

/** @typedef {import("./job.mjs").Job} Job */
/** @typedef {{code?: number | null, result?: number, error?: Error, words: string}} End of the process */

/** SIGTERM is `copilot -p`'s own way to abort; it writes its usage then. */
const TERM_MS = 5000;
/** A longer line is left out. */
const MOST_LINE = 4 * 1024 * 1024;
const MOST_WORDS = 500;

/** @param {(line: string) => void} onLine @returns {(piece: string) => void} */
function lines(onLine) {
  let rest = "";
  let skipping = false;
  return (piece) => {
    const parts = piece.split("\n");
    for (const [at, part] of parts.entries()) {
      if (!skipping) rest += part;
      if (rest.length > MOST_LINE) {
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
function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** @param {string} file @returns {import("./job.mjs").Totals | undefined} */
function totalsIn(file) {
  const metrics = parsed(fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "");
  return metrics && totalsOf(metrics);
}

/** Tools that the session may not use at all: nobody can be asked for each call. @param {Job} job */
async function excluded(job) {
  const names = ["bash", "create", "edit", "view", "web_fetch", "task"];
  const answers = await Promise.all(names.map((name) => maySession(job, name, undefined)));
  const refused = names.filter((_, at) => answers[at] !== "");
  return refused.length > 0 ? ["--excluded-tools", ...refused] : [];
}

/**
 * The process, from its start until nothing of its group is left.
 * @param {Run} run @param {Job} job @param {{cli: string, args: string[], env: NodeJS.ProcessEnv}} program
 */
async function ran(run, job, { cli, args, env }) {
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
  const feed = lines((line) => {
    const event = parsed(line);
    if (event?.type === "result") end.result = Number(event.exitCode);
    else if (event && event.type !== "session.idle") run.take(event);
  });
  child.stdin.on("error", () => {}); // it has ended, which "close" says
  child.stdin.end(promptOf(job));
  child.stdout.setEncoding("utf8").on("data", feed);
  child.stderr.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
    end.words = (end.words + text).slice(-MOST_WORDS);
  });
  const exited = new Promise((resolve) => {
    child.once("error", (error) => resolve((end.error = error)));
    child.once("close", (code) => resolve((end.code = code)));
  });
  if (child.pid !== undefined) guard(child.pid);
  void exited.then(() => run.lose("the CLI has ended without a result"));
  await run.settled();
  if (child.pid !== undefined) await endGroup(child.pid, TERM_MS);
  await exited;
  return end;
}

/** Its exit code alone says nothing: an aborted run has 0. @param {Run} run @param {string} cli @param {End} end */
function conclude({ progress }, cli, { code, result, error, words }) {
  if (error) progress.stop(unsuccessful("START", `${cli}: ${error.message}`));
  else if (result !== undefined && code !== null) progress.end(result || Number(code));
  else if (code) {
    progress.stop(
      failedAsSaid("SESSION", shownLine(words.trim() || `it ended with exit code ${code}`)),
    );
  }
}

/**
 * @param {Job} job @param {string} cli
 * @param {import("./environment.mjs").Place & {config: import("./environment.mjs").WorkersConfig}} place
 * @param {(event: import("./job.mjs").WorkerEvent) => void} onEvent
 * @returns {Promise<import("./job.mjs").Result>}
 */
export async function runPrompt(job, cli, place, onEvent) {
  if ((job.tools ?? []).length > 0) {
    return notBegun(job, unsuccessful("UNSUPPORTED", "copilot -p cannot be lent tools"));
  }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tap-worker-"));
  if (place.ownHome) makePrivateFolder(place.home);
  const run = new Run(job, onEvent);
  const file = path.join(folder, "usage.json");
  const model = job.model ?? place.config.model ?? place.config.provider?.model;
  const output = ["--output-format", "json", "--usage-output-file", file];
  const quiet = ["--no-color", "--no-auto-update", "--log-dir", path.join(folder, "logs")];
  const args = [...output, ...quiet, ...argumentsOf(job, model), ...(await excluded(job))];
  const env = promptVariables(place, place.config, (job.allowedUrls ?? []).length > 0);
  conclude(run, cli, await ran(run, job, { cli, args, env }));
  await endShellsOf(job.sessionId);
  const totals = totalsIn(file) ?? job.totals ?? noTotals();
  fs.rmSync(folder, { recursive: true, force: true });
  const usage = difference(totals, (job.resume && job.totals) || noTotals());
  return run.result({ totals, usage: { ...usage, sessionMs: 0 } });
}
