// Asks GitHub's command gh and git. Programs get their arguments as they are, without a shell, and no answer is
// longer than its limit.

import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";

const PATIENCE_MS = 30_000;
const MAX_JSON_BYTES = 1_000_000;
const MAX_ERROR_BYTES = 2_000;
/** Of a log; its beginning is dropped while it is read. */
const LOG_BYTES = 200_000;
const MAX_NAME = 120;

export const FAILED = ["failure", "timed_out", "startup_failure"];

const FIELDS =
  "attempt,conclusion,createdAt,databaseId,displayTitle,headBranch,status,url,workflowName";

/** The end of a stream. */
class Tail {
  #chunks = [];
  #bytes = 0;
  #most;
  cut = false;

  constructor(most) {
    this.#most = most;
  }

  add(chunk) {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes - this.#chunks[0].length >= this.#most) {
      this.#bytes -= this.#chunks.shift().length;
      this.cut = true;
    }
  }

  get text() {
    const all = Buffer.concat(this.#chunks);
    this.cut ||= all.length > this.#most;
    return all.subarray(-this.#most).toString("utf8");
  }
}

/** A program that failed. */
export class CommandFailed extends Error {}

/**
 * @param {string} program @param {string[]} args @param {{most: number, whole?: boolean}} limit whole: more is a failure
 * @returns {Promise<string>} the end of its output
 */
function run(program, args, { most, whole = false }) {
  const what = [program, ...args.slice(0, 2)].join(" ");
  return new Promise((resolve, reject) => {
    const [out, problems] = [new Tail(most), new Tail(MAX_ERROR_BYTES)];
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    const fail = (why) => reject(new CommandFailed(`${what}: ${why}`));
    child.stdout.on("data", (chunk) => out.add(chunk));
    child.stderr.on("data", (chunk) => problems.add(chunk));
    child.once("error", ({ code, message }) =>
      fail(code === "ENOENT" ? `there is no ${program} on the PATH; install it` : message),
    );
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      const { text } = out;
      if (signal) fail(`no answer within ${PATIENCE_MS / 1000} s`);
      else if (code !== 0) fail(oneLine(problems.text, 500) || `exit code ${code}`);
      else if (whole && out.cut) fail(`an answer of more than ${most} bytes`);
      else resolve(text);
    });
  });
}

/** Without control characters; line breaks stay. @param {unknown} text */
export const plain = (text) =>
  stripVTControlCharacters(String(text ?? ""))
    .replace(/\r\n?/g, "\n")
    .replace(/[^\P{C}\n\t]/gu, "\uFFFD");

/** A name from GitHub: others write titles and names of jobs. @param {unknown} text @param {number} [most] */
export const oneLine = (text, most = MAX_NAME) => {
  const line = plain(text).replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
};

/** @param {string} text @returns {any} */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandFailed(`gh printed no JSON: ${oneLine(text, 200) || "nothing"}`);
  }
}

/** The branch that is checked out here. */
export async function currentBranch() {
  const branch = await run("git", ["branch", "--show-current"], { most: 1000, whole: true });
  if (branch.trim() === "") throw new CommandFailed("no branch is checked out here");
  return branch.trim();
}

/** A run as we go on with it. */
const runOf = (raw) => ({
  id: raw.databaseId,
  attempt: Number.isSafeInteger(raw.attempt) ? raw.attempt : 1,
  workflow: oneLine(raw.workflowName),
  title: oneLine(raw.displayTitle),
  at: oneLine(raw.createdAt, 30),
  url: oneLine(raw.url, 200),
  done: raw.status === "completed",
  result: oneLine(raw.conclusion || raw.status, 30),
});

/** @param {string} branch @returns {Promise<ReturnType<typeof runOf>[]>} the newest first */
export async function listRuns(branch) {
  const args = ["run", "list", `--branch=${branch}`, "--limit=20", `--json=${FIELDS}`];
  const list = parsed(await run("gh", args, { most: MAX_JSON_BYTES, whole: true }));
  if (!Array.isArray(list)) throw new CommandFailed("gh printed no list of runs");
  return list.filter((one) => Number.isSafeInteger(one?.databaseId)).map(runOf);
}

/** The jobs of a run that have failed, each with its first failed step. @param {number} id */
export async function failedJobs(id) {
  const args = ["run", "view", String(id), "--json=jobs"];
  const { jobs } = parsed(await run("gh", args, { most: MAX_JSON_BYTES, whole: true })) ?? {};
  return (Array.isArray(jobs) ? jobs : [])
    .filter((job) => FAILED.includes(job?.conclusion))
    .slice(0, 20)
    .map(({ name, steps }) => {
      const all = Array.isArray(steps) ? steps : [];
      const step = all.find((one) => FAILED.includes(one?.conclusion));
      return { name: oneLine(name), step: oneLine(step?.name) };
    });
}

/** The end of the log of the steps that have failed. @param {number} id @param {{lines: number, bytes: number}} most */
export async function logTail(id, { lines, bytes }) {
  const args = ["run", "view", String(id), "--log-failed"];
  const text = plain(await run("gh", args, { most: LOG_BYTES })).trimEnd();
  const last = text.split("\n").slice(-lines).join("\n");
  const encoded = Buffer.from(last);
  if (encoded.length <= bytes) return last;
  return encoded
    .subarray(-bytes)
    .toString("utf8")
    .replace(/^\uFFFD+/, "");
}

/** @param {number} id @param {boolean} failedOnly */
export const rerun = (id, failedOnly) =>
  run("gh", ["run", "rerun", String(id), ...(failedOnly ? ["--failed"] : [])], { most: 1000 });
