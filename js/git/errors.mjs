// Why an operation on a repository was not done: a code for programs, a sentence for people, and what git said.

import { wrapInQuotes, visible } from "../lib/visible.mjs";

const MAX_SAID = 600;
const MAX_LOCK_LINES = 2;
const MAX_FILES = 5;

/**
 * Rows are tried in order. `advice`: what to do; `shown`: the part of what git said that matters.
 * @type {{code: string, said: RegExp, advice: string, shown?: (said: string) => string}[]}
 */
const CAUSES = [
  {
    code: "REF_CHANGED",
    said: /cannot lock ref .*(?:but expected|reference already exists|reference is missing|unable to resolve reference)/,
    advice: "Somebody else has moved the ref; look at it and try again.",
  },
  {
    code: "LOCKED",
    said: /\.lock': File exists|could not lock config file|another git process seems to be running/i,
    advice: "If no git is at work in this repository, remove the lock file.",
    shown: lockLines,
  },
  {
    code: "RACE",
    // `git gc --prune=now` also removes the folder of objects that are written just then.
    said: /(?:failed to read|Invalid path) .*worktrees[\\/']|(?:create temporary|tmp_objdir|bulk_fsync).*No such file/,
    advice: "Another git changes or prunes this repository; try again.",
  },
  {
    code: "DISK_FULL",
    said: /No space left on device|Disk quota exceeded|Out of diskspace/,
    advice: "Free some space and try again.",
  },
  {
    code: "NO_LFS",
    said: /filter '?lfs'? failed|git-lfs/,
    advice:
      "Files of Git LFS have to be in the repository, since a node has no network: run `git lfs fetch --all` in your checkout, and retry. tap does not support `lfs.storage`.",
  },
  {
    code: "FILTER_FAILED",
    said: /external filter '|filter '[^']*' failed/,
    advice:
      "A filter of your git config did not work. Its program is looked for on the PATH of the session or the terminal that made the plan.",
  },
  {
    code: "NO_SUBMODULE",
    said: /(?:into|[Ff]etch(?:ed)? in) submodule path/,
    advice:
      "Each worktree fetches the submodules from their URLs: make those reachable, and retry. One that is a path on this machine needs `git config --global protocol.file.allow always`.",
  },
  {
    code: "UNSAFE_OWNER",
    said: /dubious ownership|unsafe repository/,
    advice:
      "The folder belongs to another user; `git config --global --add safe.directory` permits it.",
  },
  {
    code: "NOT_A_REPOSITORY",
    said: /not a git repository|must be run in a work tree/i,
    advice: "Go to a folder of one, or make one there: `git init`.",
  },
  {
    code: "NO_IDENTITY",
    said: /tell me who you are|auto-detect email|empty ident name/i,
    advice: "Set user.name and user.email with `git config --global`.",
  },
  {
    code: "UNRELATED",
    said: /refusing to merge unrelated histories/,
    advice:
      "The work of a node has left the history that it began with. Let it go on from the commit that it finds there: retry that node from the start, or make a new plan.",
  },
  {
    code: "NESTED_REPOSITORY",
    said: /does not have a commit checked out/,
    advice: "A repository inside the worktree cannot be committed; move or remove it.",
  },
  {
    code: "DAMAGED",
    said: /bad object|object file .* is empty|loose object .* corrupt|unable to read (?:tree|sha1|object)/i,
    advice: "`git fsck` says what is missing.",
  },
  {
    code: "READ_ONLY",
    said: /Read-only file system|Permission denied/,
    advice: "This user needs to be able to write there.",
  },
];

/** The end of what was said, on one line. @param {string} text */
export const formatOutput = (text) =>
  visible(
    text
      .trim()
      .split(/\s*\n\s*/)
      .join("; ")
      .slice(-MAX_SAID),
  );

/** @param {string[]} files @returns {string} the first of them */
export const formatFiles = (files) =>
  files
    .slice(0, MAX_FILES)
    .map((file) => wrapInQuotes(visible(file)))
    .join(", ") + (files.length > MAX_FILES ? " and others" : "");

/** Git's own advice is long, and names no file. @param {string} said */
function lockLines(said) {
  const [before] = said.split("Another git process");
  const lines = before.split("\n").filter((line) => /lock/.test(line));
  return lines.slice(0, MAX_LOCK_LINES).join("\n") || said.split(/, e\.g\.|\n/)[0];
}

/** @param {string} said @returns {string} the file that is in the way; "": unknown */
function lockFile(said) {
  const [, file, locked] =
    /'([^'\n]+\.lock)': File exists|lock config file (.+): File exists/.exec(said) ?? [];
  return file ?? (locked ? `${locked}.lock` : "");
}

/** An operation that was refused or failed. `details` depend on the code. */
export class GitError extends Error {
  /**
   * @param {string} code @param {string} message
   * @param {{said?: string, exitCode?: number | null, cause?: unknown, [detail: string]: unknown}} [details]
   */
  constructor(code, message, { cause, ...details } = {}) {
    super(message, { cause });
    this.name = "GitError";
    this.code = code;
    /** What git itself said, as it was. */
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
  const said = stderr.trim() === "" ? stdout : stderr;
  const cause = CAUSES.find((one) => one.said.test(said));
  const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
  const file = cause?.code === "LOCKED" ? visible(lockFile(said)) : "";
  const advice = cause
    ? ` ${cause.advice.replace("the lock file", () => file || "the lock file")}`
    : "";
  const shown = formatOutput(cause?.shown?.(said) ?? said).replace(/\.$/, "");
  const text = `git ${words.join(" ")} failed (${how}): ${shown || "it said nothing"}.${advice}`;
  return new GitError(cause?.code ?? "GIT_FAILED", text, { said, exitCode: code });
}
