// Plans in a run of chaos: each has a branch of its own, on which all that its nodes made has to be in the end, though
// hosts and sessions are killed meanwhile. The user's checkout stays as it is.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { waitFor } from "../../test/support/wait.mjs";

/** For all plans to end, for a retry of those that could not, and for worktrees to go. */
const PATIENCE_MS = 180_000;
const ROUNDS = 3;
const RETRY = "retry_copilot_plan";
const OPEN = ["pending", "running", "paused"];
const UNSUCCESSFUL = ["failed", "partial", "canceled"];
const NODES = [
  { id: "root" },
  { id: "left", dependencies: ["root"] },
  { id: "right", dependencies: ["root"] },
  { id: "join", dependencies: ["left", "right"], postchecks: "test -f left.txt -a -f right.txt" },
];

export class Plans {
  counts = { landed: 0, unanswered: 0, retried: 0 };
  /** Why nodes had failed, and how often. @type {Record<string, number>} */
  reasons = {};
  #before = "";

  #made;

  /** @param {string} folder in which the repository is made @param {Set<number>} made numbers of plans whose making was answered */
  constructor(folder, made) {
    this.repo = path.join(folder, "repo");
    this.#made = made;
  }

  /** @param {...string} args */
  git(...args) {
    const { PATH } = process.env;
    const who = { name: "A", email: "a@example.com" };
    const env = {
      ...{ PATH, HOME: this.repo, GIT_CONFIG_NOSYSTEM: "1", GIT_OPTIONAL_LOCKS: "0" },
      ...{ GIT_AUTHOR_NAME: who.name, GIT_AUTHOR_EMAIL: who.email },
      ...{ GIT_COMMITTER_NAME: who.name, GIT_COMMITTER_EMAIL: who.email },
    };
    return execFileSync("git", args, { cwd: this.repo, env, encoding: "utf8" }).trim();
  }

  start() {
    fs.mkdirSync(this.repo);
    this.git("init", "--quiet", "--initial-branch=main");
    this.git("config", "user.name", "A");
    this.git("config", "user.email", "a@example.com");
    const write = (/** @type {string} */ name, /** @type {string} */ text) =>
      fs.writeFileSync(path.join(this.repo, name), text);
    write("a.txt", "a\n");
    write("b.txt", "b\n");
    this.git("add", "--all");
    this.git("commit", "--quiet", "--message=first");
    write("a.txt", "staged\n");
    this.git("add", "a.txt");
    write("b.txt", "changed\n");
    write("new.txt", "new\n");
    this.#before = this.#checkout();
  }

  #checkout() {
    const index = fs.readFileSync(path.join(this.repo, ".git", "index")).toString("base64");
    const status = this.git("status", "--porcelain=v2", "--untracked-files=all");
    return [this.git("rev-parse", "HEAD"), status, index].join("\n");
  }

  /** @param {number} number */
  plan(number) {
    const nodes = NODES.map((node) => ({
      ...{ ...node, work: `sleep 0.3; echo ${number} > ${node.id}.txt` },
      retry: { max: 2 },
    }));
    return { name: `plan ${number}`, targetBranch: `plans/${number}`, nodes };
  }

  /** @param {any} session @param {string} tool @param {object} [args] @returns {Promise<any>} */
  async #ask(session, tool, args = {}) {
    const { text, failed, absent } = await session.ask(tool, args);
    if (failed || absent) throw new Error(`${tool}: ${text ?? "not there"}`);
    return JSON.parse(text);
  }

  /** @param {any} session @param {string[]} statuses @returns {Promise<any[]>} a page of each */
  async #list(session, statuses) {
    const pages = [];
    for (const status of statuses) {
      pages.push(...(await this.#ask(session, "list_copilot_plans", { status })).plans);
    }
    return pages;
  }

  /** A plan is retried by the session that made it: to the others it is not theirs. @param {any[]} sessions @param {string} planId */
  async #retry(sessions, planId) {
    const refusals = [];
    for (const session of sessions) {
      const { text = "not there", failed, absent } = await session.ask(RETRY, { planId });
      if (!failed && !absent) return;
      refusals.push(text);
      if (!text.includes("NOT_YOURS")) break;
    }
    throw new Error(`${RETRY}: ${refusals.join("; ")}`);
  }

  /** All have ended; those that could not succeed meanwhile do now. @param {any[]} sessions */
  async settle(sessions) {
    const [session] = sessions;
    for (let round = 0; round < ROUNDS; round += 1) {
      await this.#ended(session);
      const open = await this.#list(session, UNSUCCESSFUL);
      if (open.length === 0) return;
      for (const { planId } of open) {
        const { nodes } = await this.#ask(session, "get_copilot_plan_status", { planId });
        for (const { status, error = "" } of nodes) {
          if (status !== "failed") continue;
          const reason = error.replaceAll(/"[^"]*"|\d+/g, "…").slice(0, 120);
          this.reasons[reason] = (this.reasons[reason] ?? 0) + 1;
        }
        await this.#retry(sessions, planId);
        this.counts.retried += 1;
      }
    }
    throw new Error(`plans do not succeed: ${JSON.stringify(this.reasons)}`);
  }

  /** @param {any} session */
  async #ended(session) {
    let left = "";
    const ended = async () => {
      const open = await this.#list(session, OPEN);
      left = open.map(({ planId, status }) => `${planId} ${status}`).join(", ");
      return open.length === 0;
    };
    const what = () => `plans have ended: ${left}`;
    await waitFor(ended, { timeoutMs: PATIENCE_MS, intervalMs: 500, what });
  }

  /** @param {number} asked how many were @returns {Promise<string[]>} the problems */
  async problems(asked) {
    const branches = this.git("for-each-ref", "--format=%(refname:short)", "refs/heads/plans");
    const numbers = branches
      .split("\n")
      .filter(Boolean)
      .map((name) => Number(name.slice(6)));
    this.counts.landed = numbers.length;
    this.counts.unanswered = asked - this.#made.size;
    const missing = [...this.#made].filter((number) => !numbers.includes(number));
    const folder = path.join(this.repo, ".worktrees");
    const left = () => (fs.existsSync(folder) ? fs.readdirSync(folder) : []);
    await waitFor(() => left().length === 0, { timeoutMs: PATIENCE_MS }).catch(() => {});
    const linked = this.git("worktree", "list").split("\n").slice(1);
    return [
      ...missing.map((number) => `plan ${number} has not landed`),
      ...numbers.flatMap((number) => this.#wrong(number)),
      ...left().map((name) => `the worktree ${name} is left`),
      ...linked.map((line) => `git knows the worktree ${line}`),
      ...(this.#checkout() === this.#before ? [] : ["the user's checkout has changed"]),
      ...(this.git("fsck", "--no-dangling") === "" ? [] : ["git fsck finds something"]),
    ];
  }

  /** @param {number} number @returns {string[]} */
  #wrong(number) {
    const branch = `plans/${number}`;
    const files = this.git("ls-tree", "-r", "--name-only", branch).split("\n");
    const wanted = ["a.txt", "b.txt", ...NODES.map(({ id }) => `${id}.txt`)].sort();
    const texts = NODES.map(({ id }) => this.git("show", `${branch}:${id}.txt`));
    const commits = this.git("rev-list", "--count", `main..${branch}`);
    const good =
      files.join() === wanted.join() &&
      texts.every((text) => text === String(number)) &&
      commits === "1";
    return good ? [] : [`${branch} has ${commits} commits with ${files.join(", ")}`];
  }
}
