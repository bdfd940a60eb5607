// Why an operation on a repository failed: a code for programs, a sentence for people, and git's output.

import { wrapInQuotes, visible } from "../lib/visible.mjs";

const MAX_OUTPUT = 600;
const MAX_LOCK_LINES = 2;
const MAX_FILES = 5;

/**
 * The first matching row counts. `advice`: the next step; `shown`: the important part of git's output.
 * @type {{code: string, pattern: RegExp, advice: string, shown?: (output: string) => string}[]}
 */
const CAUSES = [
  {
    code: "REF_CHANGED",
    pattern:
      /cannot lock ref .*(?:but expected|reference already exists|reference is missing|unable to resolve reference)/,
    advice: "A different program changed the ref; check it and try again.",
  },
  {
    code: "LOCKED",
    pattern:
      /\.lock': File exists|could not lock config file|another git process seems to be running/i,
    advice: "If no git is at work in this repository, remove the lock file.",
    shown: lockLines,
  },
  {
    code: "RACE",
    // `git gc --prune=now` also removes the folder of objects that are written just then.
    pattern:
      /(?:failed to read|Invalid path) .*worktrees[\\/']|(?:create temporary|tmp_objdir|bulk_fsync).*No such file/,
    advice: "A different git process changes or prunes this repository; try again.",
  },
  {
    code: "DISK_FULL",
    pattern: /No space left on device|Disk quota exceeded|Out of diskspace/,
    advice: "Free some space and try again.",
  },
  {
    code: "NO_LFS",
    pattern: /filter '?lfs'? failed|git-lfs/,
    advice:
      "Files of Git LFS have to be in the repository, since a node has no network: run `git lfs fetch --all` in your checkout, and retry. tap does not support `lfs.storage`.",
  },
  {
    code: "FILTER_FAILED",
    pattern: /external filter '|filter '[^']*' failed/,
    advice:
      "A filter of your git config did not work. Its program is looked for on the PATH of the session or the terminal that made the plan.",
  },
  {
    code: "NO_SUBMODULE",
    pattern: /(?:into|[Ff]etch(?:ed)? in) submodule path/,
    advice:
      "Each worktree fetches the submodules from their URLs: make those reachable, and retry. A submodule whose URL is a path on this machine needs `git config --global protocol.file.allow always`.",
  },
  {
    code: "UNSAFE_OWNER",
    pattern: /dubious ownership|unsafe repository/,
    advice:
      "The folder belongs to another user; `git config --global --add safe.directory` allows git to use it.",
  },
  {
    code: "NOT_A_REPOSITORY",
    pattern: /not a git repository|must be run in a work tree/i,
    advice: "Change to a folder of a repository, or create a repository: `git init`.",
  },
  {
    code: "NO_IDENTITY",
    pattern: /tell me who you are|auto-detect email|empty ident name/i,
    advice: "Set user.name and user.email with `git config --global`.",
  },
  {
    code: "UNRELATED",
    pattern: /refusing to merge unrelated histories/,
    advice:
      "The work of a node has left the history that it began with. It has to continue from the commit in its worktree: retry that node from the start, or make a new plan.",
  },
  {
    code: "NESTED_REPOSITORY",
    pattern: /does not have a commit checked out/,
    advice: "A repository inside the worktree cannot be committed; move or remove it.",
  },
  {
    code: "DAMAGED",
    pattern:
      /bad object|object file .* is empty|loose object .* corrupt|unable to read (?:tree|sha1|object)/i,
    advice: "`git fsck` lists the missing objects.",
  },
  {
    code: "READ_ONLY",
    pattern: /Read-only file system|Permission denied/,
    advice: "This user needs to be able to write there.",
  },
];

/** The end of git's output, on a single line. @param {string} text */
export const formatOutput = (text) =>
  visible(
    text
      .trim()
      .split(/\s*\n\s*/)
      .join("; ")
      .slice(-MAX_OUTPUT),
  );

/** @param {string[]} files @returns {string} the first of them */
export const formatFiles = (files) =>
  files
    .slice(0, MAX_FILES)
    .map((file) => wrapInQuotes(visible(file)))
    .join(", ") + (files.length > MAX_FILES ? " and others" : "");

/** Git's own advice is long, and names no file. @param {string} output */
function lockLines(output) {
  const [before] = output.split("Another git process");
  const lines = before.split("\n").filter((line) => /lock/.test(line));
  return lines.slice(0, MAX_LOCK_LINES).join("\n") || output.split(/, e\.g\.|\n/)[0];
}

/** @param {string} output @returns {string} the lock file; "" if it is unknown */
function lockFile(output) {
  const [, file, locked] =
    /'([^'\n]+\.lock)': File exists|lock config file (.+): File exists/.exec(output) ?? [];
  return file ?? (locked ? `${locked}.lock` : "");
}

/** `details` depend on the code. */
export class GitError extends Error {
  /**
   * @param {string} code @param {string} message
   * @param {{said?: string, exitCode?: number | null, cause?: unknown, [detail: string]: unknown}} [details]
   */
  constructor(code, message, { cause, ...details } = {}) {
    super(message, { cause });
    this.name = "GitError";
    this.code = code;
    /** Git's output, unchanged. */
    this.said = details.said ?? "";
    this.details = details;
  }
}

/** @param {unknown} error @param {...string} codes */
export const isGitError = (error, ...codes) =>
  error instanceof GitError && (codes.length === 0 || codes.includes(error.code));

/**
 * @param {string[]} words the command, for people
 * @param {{code: number | null, signal: string | null, stdout: string, stderr: string}} ended
 */
export function toGitError(words, { code, signal, stdout, stderr }) {
  const output = stderr.trim() === "" ? stdout : stderr;
  const cause = CAUSES.find(({ pattern }) => pattern.test(output));
  const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
  const file = cause?.code === "LOCKED" ? visible(lockFile(output)) : "";
  const advice = cause
    ? ` ${cause.advice.replace("the lock file", () => file || "the lock file")}`
    : "";
  const shown = formatOutput(cause?.shown?.(output) ?? output).replace(/\.$/, "");
  const text = `git ${words.join(" ")} failed (${how}): ${shown || "without output"}.${advice}`;
  return new GitError(cause?.code ?? "GIT_FAILED", text, { said: output, exitCode: code });
}
