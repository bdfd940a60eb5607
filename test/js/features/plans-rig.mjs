// Plans in a feature host, with a real repository.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { openControl } from "../../../js/link/control.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";

const GIT_ENV = {
  PATH: process.env.PATH,
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@example.com",
  GIT_COMMITTER_NAME: "A",
  GIT_COMMITTER_EMAIL: "a@example.com",
};

/** @param {string} cwd */
export const gitIn =
  (cwd) =>
  (/** @type {string[]} */ ...args) =>
    execFileSync("git", args, { cwd, encoding: "utf8", env: GIT_ENV, stdio: "pipe" }).trim();

/** Beside a repository: where nodes and their test say something to each other. @param {string} repo */
export const flagsFolder = (repo) => `${repo}-flags`;

/** @param {string} repo @param {string} name */
export const flagFile = (repo, name) => path.join(flagsFolder(repo), name);

/** The pids that run a command line, also in a sandbox, where they have others. @param {string} line */
export const findCommands = (line) =>
  fs.readdirSync("/proc").filter((pid) => {
    try {
      const words = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return words.join(" ").trim() === line;
    } catch {
      return false;
    }
  });

/** A repository with a few files and an own identity. @param {import("node:test").TestContext} t @param {string} [folder] */
export function makeRepository(t, folder = temporaryFolder(t)) {
  const repo = fs.realpathSync(folder);
  const git = gitIn(repo);
  git("init", "--quiet", "--initial-branch=main");
  fs.mkdirSync(flagsFolder(repo));
  t.after(() => fs.rmSync(flagsFolder(repo), { recursive: true, force: true }));
  git("config", "user.name", "A");
  git("config", "user.email", "a@example.com");
  for (const name of ["a", "b", "c"]) fs.writeFileSync(path.join(repo, `${name}.txt`), `${name}\n`);
  git("add", "--all");
  git("commit", "--quiet", "--message=first");
  return { repo, git };
}

/** What no plan may change. @param {string} repo */
export function checkoutOf(repo) {
  const git = gitIn(repo);
  return {
    head: git("rev-parse", "HEAD"),
    branch: git("symbolic-ref", "HEAD"),
    status: git("status", "--porcelain=v2", "--untracked-files=all"),
    stash: git("stash", "list"),
  };
}

/**
 * What `copilot-tap plan` asks for, as a person at a terminal.
 * @param {{control: import("../../../js/link/control.mjs").Control, repo: string}} at @param {object} what @returns {Promise<any>}
 */
export async function typeCommand({ control, repo }, what) {
  const asked = { name: "tap-plan", arguments: JSON.stringify(what), cwd: repo };
  const { text } = /** @type {any} */ (await control.request("features.command", asked));
  const { answer, error } = JSON.parse(text);
  if (error) throw Object.assign(new Error(error.message), error);
  return answer;
}

/** @typedef {{host: Host | LocalHost, session: import("../../support/harness.mjs").TestSession, control: import("../../../js/link/control.mjs").Control}} Now */

/** @param {() => Now} now what there is at the moment @param {string} repo */
function createRequests(now, repo) {
  /** What the tool answers, or how it failed. */
  const ask = async (/** @type {string} */ name, /** @type {object} */ args = {}) => {
    const { result } = await waitFor(
      async () => {
        const outcome = /** @type {any} */ (await now().session.call(name, args));
        return outcome?.code !== "DISCONNECTED" && { result: outcome };
      },
      { what: () => `${name}\n${now().host.log}` },
    );
    return typeof result === "string" ? JSON.parse(result) : result;
  };
  /** @param {object} plan @returns {Promise<string>} its id */
  const create = async (plan) => {
    const all = { name: "test", allowedFolders: [flagsFolder(repo)], ...plan };
    const answer = await ask("create_copilot_plan", all);
    if (!answer.planId) throw new Error(JSON.stringify(answer));
    return answer.planId;
  };
  /** @param {string} planId @returns {Promise<any>} its status, once it has ended */
  const ended = (planId) =>
    waitFor(
      async () => {
        const status = await ask("wait_copilot_plan", { planId, timeout: 5 });
        return status.endedAt !== undefined && status;
      },
      {
        what: async () => JSON.stringify(await ask("get_copilot_plan_status", { planId })),
      },
    );
  return { ask, create, ended };
}

/**
 * @param {import("node:test").TestContext} t
 * @param {{home?: string, repo?: string, config?: object, processes?: boolean, main?: string, env?: Record<string, string>, folders?: string[]}} [given] folders: that nodes may write; config: of the user;
 *   processes: the hosts are processes of their own; main: one of them, in place of js/gateway-host/main.mjs
 */
export async function plansRig(t, given = {}) {
  const made = given.repo ? { repo: given.repo, git: gitIn(given.repo) } : makeRepository(t);
  const { repo, git } = made;
  const home = given.home ?? temporaryFolder(t);
  fs.mkdirSync(path.join(home, "tap"), { recursive: true, mode: 0o700 });
  const config = path.join(home, "tap", "config.json");
  const sandbox = { allow: { folders: [flagsFolder(repo), ...(given.folders ?? [])] } };
  fs.writeFileSync(config, JSON.stringify({ toolGroups: ["plans"], sandbox, ...given.config }), {
    mode: 0o600,
  });
  /** @type {Now} */
  let now;
  const join = (/** @type {object} */ more = {}) =>
    now.host.session(t, { cwd: repo, cliPid: 4711, ...more });
  /** A gateway host and a session; again, once it was killed. */
  const start = async () => {
    const env = { COPILOT_HOME: home, ...given.env };
    const isLocal = !given.processes && given.main === undefined;
    const host = await (isLocal ? LocalHost.elected(t, env) : Host.elected(t, env, given.main));
    now = { ...now, host };
    const [session, control] = [await join(), await openControl(host.files)];
    t.after(() => control.close());
    now = { host, session, control };
  };
  await start();
  const { ask, create, ended } = createRequests(() => now, repo);
  const hostPid = () =>
    waitFor(async () => (await now.control.request("features.report", {})).host.pid);
  const rest = { repo, git, home, join, start, ask, create, ended, hostPid };
  return {
    ...rest,
    get host() {
      return now.host;
    },
    get session() {
      return now.session;
    },
    get control() {
      return now.control;
    },
  };
}
