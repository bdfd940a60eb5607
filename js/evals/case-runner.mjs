// Runs a case: prepares a scratch workspace, runs the CLI in it, and collects data for the judge.

import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { openControl } from "../link/control.mjs";
import { isInside } from "../lib/paths.mjs";
import { errorMessage } from "../lib/values.mjs";
import { endGroup, guard } from "../process/group.mjs";
import { runProgram } from "../process/run.mjs";
import { createInterruption, RunFailed, runPrompt } from "./copilot.mjs";
import { examplesTrouble, judge } from "./judge.mjs";
import { queryJudge } from "./rubric.mjs";
import { Scratch } from "./scratch.mjs";

/** @typedef {import("./cases.mjs").Case} Case */
/** @typedef {import("./cases.mjs").Assertion} Assertion */
/** @typedef {import("./judge.mjs").Check} Check */
/** @typedef {import("./judge.mjs").AssertionFacts} AssertionFacts */
/** @typedef {import("./transcript.mjs").Transcript} Transcript */
/**
 * `broken`: its examples show that the case itself is wrong; it was not run. `error`: the run did not finish.
 * @typedef {object} CaseResult
 * @property {string} name
 * @property {"passed" | "failed" | "error" | "broken"} status
 * @property {string[]} problems
 * @property {"NO_LOGIN"} [code] of an error that would also end all other cases
 * @property {Check[]} checks
 * @property {number} ms
 * @property {{tool: string, failed: boolean}[]} calls
 * @property {string} answer the model's last message
 * @property {unknown} [usage] as the CLI reports it
 */
/**
 * @typedef {object} RunOptions
 * @property {string} cli
 * @property {NodeJS.ProcessEnv} env of the user
 * @property {string} [model]
 * @property {{model?: string, cache: string}} [judge] absent: rubrics are skipped
 * @property {AbortSignal} ending
 */

const MAX_FILE = 64 * 1024 * 1024;
const MAX_RECORDS = 10_000;
const PAGE = 1000;
const MAX_ANSWER = 4096;
const MAX_CALLS = 200;
const GIT_MS = 30_000;

/** For an agent that may use every tool, except those that reach other machines. */
const RUN_ARGS = ["--experimental", "--allow-all-tools", "--deny-tool=shell(git push)"];

// ---- before ---------------------------------------------------------------------------------------

/** @param {Scratch} scratch @param {Record<string, string>} files */
function writeFiles({ workspace }, files) {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(workspace, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }
}

/**
 * @param {Scratch} scratch @param {string} command for a shell @param {number} ms @param {AbortSignal} ending
 * @param {number[]} groups its process group is added: background processes end with the case
 */
async function runCommand(scratch, command, ms, ending, groups) {
  const { workspace: cwd, env, log } = scratch;
  const onStart = (/** @type {number} */ pid) => {
    groups.push(pid);
    guard(pid);
  };
  const output = { stdout: log, stderr: log, shell: true, onStart };
  const { code, signal, why } = await runProgram(command, [], {
    ...{ cwd, env, ms, signal: ending, ...output },
  });
  if (why === "cancelled") throw createInterruption();
  if (why === "" && code === 0) return;
  const how = why === "late" ? `took longer than ${ms / 1000} s` : `ended with ${code ?? signal}`;
  throw new RunFailed(`the setup's command "${command}" ${how}: ${scratch.logTail}`);
}

const GIT_COMMIT =
  "git init -q -b main && git add -A && " +
  "git -c user.name=tap -c user.email=tap@localhost -c commit.gpgsign=false commit -q --no-verify --allow-empty -m setup";

/** @param {Scratch} scratch @param {Case["setup"]} setup @param {AbortSignal} ending @param {number[]} groups */
async function furnish(scratch, { files, git, commands, timeout }, ending, groups) {
  scratch.installTap();
  writeFiles(scratch, files);
  if (git) await runCommand(scratch, GIT_COMMIT, GIT_MS, ending, groups);
  for (const command of commands) await runCommand(scratch, command, timeout, ending, groups);
}

// ---- after ----------------------------------------------------------------------------------------

/** @param {import("../link/control.mjs").Control} control @param {NonNullable<Assertion["record"]>} record */
async function countRecords(control, { collection, where }) {
  let count = 0;
  /** @type {string | undefined} */
  let cursor;
  do {
    const query = { collection, where, limit: PAGE, ...(cursor && { cursor }) };
    const page = await control.request("records.query", query);
    count += page.records.length;
    cursor = page.records.length > 0 ? page.cursor : undefined;
  } while (cursor && count < MAX_RECORDS);
  return count;
}

/** Queries the run's gateway, since only it has the store open. @param {Scratch} scratch @param {Case} wanted @returns {Promise<AssertionFacts[]>} */
async function queryRecords(scratch, { assertions }) {
  if (!assertions.some(({ record }) => record)) return assertions.map(() => ({}));
  const control = await openControl(scratch.files).catch((error) => {
    throw new RunFailed(`tap did not run in this session: ${errorMessage(error)}`);
  });
  try {
    return await Promise.all(
      assertions.map(async ({ record }) => {
        if (!record) return {};
        return countRecords(control, record).then(
          (count) => ({ count }),
          (error) => ({ problem: errorMessage(error) }),
        );
      }),
    );
  } finally {
    control.close();
  }
}

/** @param {string} workspace @param {string} name @returns {AssertionFacts} */
function readFileFacts(workspace, name) {
  const missing = { file: { exists: false, text: "", sha256: "" } };
  let file;
  try {
    file = fs.realpathSync(path.join(workspace, name));
  } catch {
    return missing;
  }
  if (!isInside(file, workspace)) return { problem: "a link leads outside the workspace" };
  const stat = fs.statSync(file);
  if (!stat.isFile()) return { problem: "it is not a regular file" };
  if (stat.size > MAX_FILE) return { problem: `it has more than ${MAX_FILE} bytes` };
  const bytes = fs.readFileSync(file);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { file: { exists: true, text: bytes.toString("utf8"), sha256 } };
}

// ---- the case -------------------------------------------------------------------------------------

/** @param {Case} wanted @param {RunOptions} options @param {Scratch} scratch */
async function observe(wanted, { cli, model, ending }, scratch) {
  /** @type {number[]} */
  const groups = [];
  try {
    await furnish(scratch, wanted.setup, ending, groups);
    const args = [...RUN_ARGS, ...(model ? ["--model", model] : [])];
    const { prompt, timeout } = wanted;
    const transcript = await runPrompt({ cli, args, prompt, scratch, timeout, ending });
    const found = await queryRecords(scratch, wanted);
    return { transcript, found };
  } finally {
    await Promise.all(groups.map(endGroup));
    await scratch.endProcesses();
  }
}

/** @param {Case} wanted @param {RunOptions} options @param {Scratch} scratch */
async function judgeRun(wanted, options, scratch) {
  const { transcript, found } = await observe(wanted, options, scratch);
  for (const [at, { file }] of wanted.assertions.entries()) {
    if (file) found[at] = readFileFacts(scratch.workspace, file.path);
  }
  const checks = judge(wanted, { transcript, found });
  const { rubric } = wanted;
  if (rubric && options.judge && checks.every(({ passed }) => passed)) {
    checks.push(await queryJudge({ ...options, ...options.judge, rubric, transcript }));
  }
  return {
    checks,
    status: /** @type {CaseResult["status"]} */ (
      checks.every(({ passed }) => passed) ? "passed" : "failed"
    ),
    calls: transcript.calls.slice(0, MAX_CALLS).map(({ tool, failed }) => ({ tool, failed })),
    answer: (transcript.said.at(-1) ?? "").slice(0, MAX_ANSWER),
    usage: transcript.usage,
  };
}

/** @param {Case} wanted @param {RunOptions} options */
async function attempt(wanted, options) {
  const scratch = await Scratch.create(options.env);
  /** @type {string[]} */
  const problems = [];
  try {
    return { ...(await judgeRun(wanted, options, scratch)), problems };
  } finally {
    problems.push(...[await scratch.dispose()].filter(Boolean));
  }
}

/**
 * @param {Case} wanted @param {RunOptions} options @returns {Promise<CaseResult>}
 * @throws {RunFailed} if the user interrupts; the scratch is removed first
 */
export async function runCase(wanted, options) {
  const begun = performance.now();
  const emptyResult = { name: wanted.name, checks: [], calls: [], answer: "" };
  const problems = examplesTrouble(wanted);
  if (problems.length > 0) return { ...emptyResult, status: "broken", problems, ms: 0 };
  const done = await attempt(wanted, options).catch((error) => {
    if (error instanceof RunFailed && error.interrupted) throw error;
    const code = error instanceof RunFailed ? error.code : undefined;
    const failed = { status: /** @type {const} */ ("error"), problems: [errorMessage(error)] };
    return { ...failed, ...(code && { code }) };
  });
  return { ...emptyResult, ...done, ms: Math.round(performance.now() - begun) };
}
