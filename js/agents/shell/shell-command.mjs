// What a shell command names: programs, paths, hosts. A reading of its text and no sandbox: a command can hide what it
// does (docs/workers.md).

import path from "node:path";
import { gitCommands, TEXT_COMMANDS } from "../git-policy.mjs";
import { parseHost } from "../hosts.mjs";
import { toPlainText } from "./shell-quotes.mjs";
import { createReadBudget, Reader, AmbiguousCommand } from "./shell-reader.mjs";

/** @typedef {import("./shell-reader.mjs").Command} Command */

/**
 * A simple command. `before`: what stands before its program; `files`: where it reads from and writes to; `lead`: the
 * separators in front of it; `isInner`: it stands in a word of another one; `name`: its program as it is written.
 * @typedef {{program: string, name: string, before: string[], words: string[], files: string[], lead: string,
 *   isInner: boolean}} Segment
 */

/** They run their words, or what they read. */
const SHELLS = new Set(["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "eval", "ssh", "xargs"])
  .add("su")
  .add("trap")
  .add("watch")
  .add("parallel")
  .add("script");
/** What stands before a program and is not one. */
const BEFORE = new Set([
  "sudo",
  "env",
  "time",
  "nohup",
  "exec",
  "command",
  "builtin",
  "nice",
  "then",
])
  .add("do")
  .add("else")
  .add("if")
  .add("while")
  .add("!")
  .add("{");
const NETWORK = new Set(["curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat"])
  .add("telnet")
  .add("ftp")
  .add("socat")
  .add("gh")
  .add("hub");
const GIT_NETWORK = new Set(["fetch", "pull", "clone", "ls-remote"]);
const MAX_DEPTH = 4;

const MAX_WORDS = 256;
/** {a,b} is a b. @param {string} word @returns {string[]} */
function expanded(word) {
  const braces = word.match(/\{[^{}]*\}/g)?.find((one) => one.includes(","));
  if (!braces) return [word];
  const at = word.indexOf(braces);
  const [before, after] = [word.slice(0, at), word.slice(at + braces.length)];
  const parts = braces.slice(1, -1).split(",");
  const words = parts.slice(0, MAX_WORDS + 1).flatMap((part) => expanded(before + part + after));
  if (words.length > MAX_WORDS) throw new AmbiguousCommand("too many words in { }");
  return words;
}

/** Patterns that stand for .. in some shells: .* .? .[.] */
const UPWARDS = /(^|\/)\.(?=[^/]*[*?[])\**(([.?]|\[(?!\w+(-\w+)*\])\]?[^\]/]*\])\**)?(?=\/|$)/g;

/** @param {Command} command @param {boolean} isInner @param {import("./shell-reader.mjs").ReadBudget} left @returns {Segment} */
function toSegment({ words: given, files, lead }, isInner, left) {
  const expandWords = (/** @type {string} */ word) =>
    expanded(word).map((one) => {
      left.text -= one.length + 16;
      if (left.text < 0) throw new AmbiguousCommand("too many words");
      return toPlainText(one.replace(UPWARDS, "$1.."));
    });
  const rest = { files: files.flatMap(expandWords), lead, isInner };
  const words = given.flatMap(expandWords);
  const first = words.findIndex(
    (word) => !BEFORE.has(word) && !/^\w+=/.test(word) && !word.startsWith("-"),
  );
  if (first === -1) return { program: "", name: "", before: words, words: [], ...rest };
  const name = words[first];
  const program = path.posix.basename(name);
  return { program, name, before: words.slice(0, first), words: words.slice(first + 1), ...rest };
}

/** A command in a word of git's own. */
const GIT_RUNS =
  /^(--exec|--extcmd|--open-files-in-pager|-[xO]|foreach|run|filter-branch|--\w+-filter)(=|$)|^-[xO].*\s/;
/** A setting that may be one. Names of people have blanks, too. */
const SETTING = /^(?!(user|author|committer)\.)[\w-]+\.\S+=\S+\s/;
const RUNS = /^(env$|(GIT_\w+|PS[0-4]|PROMPT_COMMAND|(BASH_)?ENV|\w*(PAGER|EDITOR|VISUAL))=)/;
/** A command in a word of tar's, which takes the beginning of a long option for it. */
const TAR_RUNS = /^(--(checkpoint-|to-c|us|rsh?|info-?s?|new-v)|-[A-Za-z]*[IF])/;

/** Whether words of a command are commands again. @param {Segment} segment */
function runsWords({ program, before, words }) {
  if (SHELLS.has(program) || program === "env") return true;
  const set = program === "export" ? [...before, ...words] : before;
  if (set.some((word) => RUNS.test(word))) return true;
  const isRun = (/** @type {string} */ word, /** @type {number} */ at) =>
    GIT_RUNS.test(word) || (words[at - 1] === "-c" && SETTING.test(word));
  if (program === "git" && words.some(isRun)) return true;
  if (
    /^(bsd|g)?tar$/.test(program) &&
    [`-${words[0]}`, ...words].some((word) => TAR_RUNS.test(word))
  )
    return true;
  return words.some((word) => SHELLS.has(path.posix.basename(word)));
}

/** A word that may hold more than one command, or hide one. */
const IS_TEXT = /[\s;&|<`]|\$[({I]/;

/**
 * Every simple command in a text, those within substitutions and arguments of shells too.
 * @param {string} text @returns {Segment[]}
 * @throws {AmbiguousCommand}
 */
export function parseSegments(text, depth = 0, left = createReadBudget()) {
  if (/[\uE000-\uE00F]/.test(text)) throw new AmbiguousCommand("a character of no language");
  const { commands, inner } = new Reader(text, left).read();
  const segments = [
    ...commands.map((one) => toSegment(one, depth > 0, left)),
    ...inner.map((one) => toSegment(one, true, left)),
  ];
  if (depth >= MAX_DEPTH) return segments;
  const isRead = segments.some(({ program, lead }) => SHELLS.has(program) && lead.includes("|"));
  const texts = segments
    .filter((one) => runsWords(one) || (isRead && /^(echo|printf)$/.test(one.program)))
    .flatMap(({ before, program, words, files }) => [...before, program, ...words, ...files])
    .filter((word) => IS_TEXT.test(word))
    .map((word) => word.replace(/^(-[xOSIF](?=\w+\s)|[\w.-]+=(exec=)?)/, ""));
  return [...segments, ...texts.flatMap((one) => parseSegments(one, depth + 1, left))];
}

/** Options of curl and wget whose value is no host. */
const WITH_VALUE =
  /^(-[odHFTuAebcwXmPDQrYyzC]|--(output|data(-\w+)?|json|header|form(-string)?|upload-file|user|user-agent|referer|cookie|cookie-jar|write-out|request|max-time|connect-timeout|retry|output-document|directory-prefix|post-data|post-file|timeout|tries))$/;
/** They say where to go by something else than the URL. */
const ELSEWHERE =
  /^(-[a-zA-Z]*[xK]|--(proxy|preproxy|socks\w*|resolve|connect-to|config|input-file|execute|dns-servers))/;

/** The hosts that programs of the network get as plain words. @param {Segment} segment */
function bareHosts({ program, words }) {
  const isFile = (/** @type {string} */ before) =>
    WITH_VALUE.test(before) || (program === "wget" && before === "-O");
  // Without a colon a word of these is a file here.
  const isLocal = (/** @type {string} */ word) =>
    /^(scp|rsync)$/.test(program) && !word.includes(":");
  return words
    .filter((word, at) => !word.startsWith("-") && !isFile(words[at - 1] ?? "") && !isLocal(word))
    .filter((word) => parseHost(word) === undefined)
    .filter((word) =>
      /^[\w-]+(\.[\w-]+)+|^localhost\b|^(0x[0-9a-f]+|\d{4,})([:/]|$)|^\[/i.test(word),
    )
    .map((word) => word.replace(/[:/].*$/, "").toLowerCase());
}

/** @param {Segment} segment */
const goesElsewhere = ({ program, before, words }) =>
  before.some((word) => /^(all|https?|ftp)_proxy=/i.test(word)) ||
  (/^(curl|wget)$/.test(program) &&
    words.some((word) => ELSEWHERE.test(word) || (program === "wget" && /^-[ie]/.test(word))));

/**
 * The hosts that a command names.
 * @param {Segment[]} segments
 * @returns {{hosts: string[], unnamed: string[]}} `unnamed`: programs that go to the network and do not say where
 */
export function networkUse(segments) {
  /** @type {{hosts: string[], unnamed: string[]}} */
  const use = { hosts: [], unnamed: [] };
  for (const segment of segments) {
    const { program, words } = segment;
    if (TEXT_COMMANDS.has(program)) continue;
    const named = words.flatMap((word) => parseHost(word.replace(/^[\w-]+=/, "")) ?? []);
    const bare = NETWORK.has(program) ? bareHosts(segment) : [];
    use.hosts.push(...named, ...bare);
    if (goesElsewhere(segment)) use.unnamed.push(program);
    if (named.length + bare.length > 0) continue;
    if (NETWORK.has(program)) use.unnamed.push(program);
    const remote = gitCommands(segment).find(([name]) => GIT_NETWORK.has(name))?.[0];
    if (remote && !(remote === "clone" && words.some((word) => /^[./]/.test(word)))) {
      use.unnamed.push(`git ${remote}`);
    }
  }
  return use;
}
