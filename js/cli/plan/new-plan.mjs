// `plan new`: a commented plan to begin with; and the fields of a plan, for the help. docs/plans.md says more.

import fs from "node:fs";
import path from "node:path";
import { Failure } from "../exit.mjs";

/** @type {[string, string][]} */
const SANDBOX_FIELDS = [
  ["sandbox", "on, or off: none"],
  ["allowedFolders", "folders that are writable besides the worktree"],
  ["readFolders", "folders that are readable besides the system"],
  ["allowedUrls", "hosts, such as example.com; *: all; default: no network"],
  ["caches", "writable caches, such as npm or cargo"],
];

/** @type {[string, string][]} */
export const PLAN_FIELDS = [
  ["name", "required"],
  ["nodes", "required: a list"],
  ["targetBranch", "where the work lands; without it nothing is merged"],
  ["baseBranch", "where the nodes begin; default: the repository's default branch"],
  ["fetch", "true: fetch the base first"],
  ["repo", "the folder of the repository; default: this one"],
  ["maxParallel", "nodes at a time; default: 4"],
  ["setup", "a command that runs once in each worktree, before the work"],
  ["copy", "untracked files that each worktree gets a copy of"],
  ["link", "the same as links, such as node_modules"],
  ["env", "variables of the commands"],
  ["budget", "aiCredits, tokens: the plan pauses there"],
  ["startPaused", "true: start nothing until plan resume"],
  ["cleanUpSuccessfulWork", "false: keep the worktrees"],
  ["gitignore", "true: add .worktrees/ to .gitignore"],
  ...SANDBOX_FIELDS,
];

/** @type {[string, string][]} */
export const NODE_FIELDS = [
  ["id", "required: letters, digits, - and _"],
  ["work", 'a command; "@agent …" and what an agent is to do; or an object with a type'],
  ["dependencies", "ids of nodes whose commits it begins with"],
  ["prechecks", "what must succeed before the work; as work"],
  ["postchecks", "what must succeed before it lands; as work"],
  ["timeout", "of each phase, such as 30m; default: 60m for agents, else 10m"],
  ["retry", "max, from: failed-phase or start"],
  ["cwd", "where its commands start, from the root of its worktree"],
  ["expectsNoChanges", "true: it may succeed without a change"],
  ["name", "for display"],
  ["group", "for display: a path such as parser/front"],
  ...SANDBOX_FIELDS.map(
    ([name]) => /** @type {[string, string]} */ ([name, "in place of the plan's"]),
  ),
];

const TEMPLATE = `# Check this file: copilot-tap plan validate <file>. Run it: copilot-tap plan run <file>.
# copilot-tap plan --help lists all fields. The lines that begin with # are comments.

name: my plan

# The branch on which the work lands. It is made if it is missing. Without it, nothing is merged.
targetBranch: feature/my-plan

# baseBranch: main       # where the nodes begin
# maxParallel: 4         # nodes at a time
# setup: npm ci          # runs once in each worktree, before the work; the network needs allowedUrls
# link: [node_modules]   # untracked files of your checkout that each worktree gets

nodes:
  # A command. It runs in a git worktree of its own, and its changes become one commit.
  - id: hello
    work: echo Hello > hello.txt
    postchecks: test -s hello.txt # must succeed before the work lands

  # It begins with the commits of the nodes that it depends on.
  - id: shout
    dependencies: [hello]
    work: tr a-z A-Z < hello.txt > shout.txt

  # An agent of the Copilot CLI.
  # - id: readme
  #   dependencies: [shout]
  #   work: "@agent Describe hello.txt and shout.txt in README.md."
`;

/** @param {{target: string, output: import("../../views/output.mjs").Output}} asked */
export function writeNewPlan({ target, output }) {
  const file = path.resolve(target);
  try {
    fs.writeFileSync(file, TEMPLATE, { flag: "wx" });
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
    throw new Failure(`${file} exists`, { advice: "name another file", code: "EXISTS" });
  }
  output.result({ file }, () => output.print(`copilot-tap plan run ${target} runs it`));
}
