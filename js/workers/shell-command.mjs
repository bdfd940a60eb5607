// What a shell command names: programs, paths, hosts. A reading of its text and no sandbox: a command can hide what it
// does (docs/workers.md).

import path from "node:path";
import { gitCommands, TELLING } from "./git-command.mjs";

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
const MOST_DEPTH = 4;

/** Whether what follows << is a here-document, and not a number or a text. @param {string} before */
const isHereDocument = (before) =>
  before.lastIndexOf("((") <= before.lastIndexOf("))") &&
  before.lastIndexOf("${") <= before.lastIndexOf("}");

/** What reads its input as commands. */
const READS_COMMANDS =
  /(?<![.\w-])((?:ba|da|z|k|mk|a|fi|rba|c|tc|pw)?sh|source|eval|xargs|su|sudo|busybox|at|batch|parallel)\b|stdin|(^|\s)\.\s/;

/** A here-document that has begun. @typedef {{end: string, tabs: boolean, plain: boolean}} Here `plain`: nothing in it is replaced */

/** @param {string} text @param {number} at behind << @returns {{here: Here, next: number}} */
function hereAt(text, at) {
  const [whole, dash, word] = /^(-?)[ \t]*((?:\\.|'[^']*'|"[^"]*"|[^\s;&|<>()])*)/.exec(
    text.slice(at),
  ) ?? ["", "", ""];
  const end = word.replace(/\\(.)|['"]/g, "$1");
  return { here: { end, tabs: dash !== "", plain: end !== word }, next: at + whole.length };
}

/** @param {string} text @param {number} at its first line @param {Here} here @returns {number} where the line begins that ends it; -1: nowhere */
function endOfHere(text, at, { end, tabs }) {
  for (let line = at; line <= text.length;) {
    const next = text.indexOf("\n", line);
    const stop = next === -1 ? text.length : next;
    const found = text.slice(line, stop);
    if ((tabs ? found.replace(/^\t+/, "") : found) === end) return line;
    line = stop + 1;
  }
  return -1;
}

const ESCAPES = /** @type {Record<string, string>} */ ({ n: "\n", t: "\t", r: "\r" });
/** Of $'…'. @param {string} text */
const unescaped = (text) =>
  text.replace(
    /\\(?:x([0-9a-f]{1,2})|u([0-9a-f]{1,4})|U([0-9a-f]{1,8})|([0-7]{1,3})|([\s\S]))/gi,
    (_, x, u, long, octal, one) => {
      if (one !== undefined) return ESCAPES[one] ?? one;
      const point = parseInt(x ?? u ?? long ?? octal, octal === undefined ? 16 : 8);
      return point <= 0x10ffff ? String.fromCodePoint(point) : "";
    },
  );

/** What a shell does not replace stands for itself: as characters that nobody writes. @param {string} text */
const literal = (text) => text.replaceAll("`", "\uE000").replaceAll("$(", "\uE001(");
/** @param {string} text */
const plainOf = (text) => text.replaceAll("\uE000", "`").replaceAll("\uE001", "$");

/** @typedef {{words: string[], files: string[], lead: string}} Command with `literal` texts */

/** Reads a text into the words of its simple commands. What is in quotes stays one word. */
class Splitter {
  /** @type {Command[]} */
  commands = [{ words: [], files: [], lead: "" }];
  #text;
  #at = 0;
  #word = "";
  #open = false;
  #lineAt = 0;
  /** Whether the next word is a file to read from or write to. */
  #isFile = false;
  /** That begin with the next line. @type {Here[]} */
  #here = [];

  /** @param {string} text */
  constructor(text) {
    this.#text = text;
  }

  /** @returns {Command[]} */
  split() {
    for (; this.#at < this.#text.length; this.#at += 1) this.#take(this.#text[this.#at]);
    this.#endCommand("");
    let lead = "";
    return this.commands.flatMap((command) => {
      lead += command.lead;
      if (command.words.length + command.files.length === 0) return [];
      const whole = { ...command, lead };
      lead = "";
      return [whole];
    });
  }

  /** @param {string} one character */
  #take(one) {
    const next = this.#text[this.#at + 1];
    if (/['"\\$]/.test(one)) this.#takeQuote(one, next);
    else if (one === "#" && !this.#open) {
      const end = this.#text.indexOf("\n", this.#at);
      this.#at = end === -1 ? this.#text.length : end - 1;
    } else if (one === "\n") this.#newLine();
    else if (one === "<" && next === "<") this.#hereDocument();
    else if (/[<>]/.test(one) || (one === "&" && next === ">")) this.#redirected();
    else if (/[;&|()`]/.test(one)) this.#endCommand(one);
    else if (/\s/.test(one)) this.#endWord();
    else this.#add(one);
  }

  /** @param {string} one @param {string} next */
  #takeQuote(one, next) {
    if (one === "\\") {
      this.#at += 1;
      if (next !== "\n") this.#add(next === "$" ? "\uE001" : literal(next ?? ""));
    } else if (one !== "$") this.#quoted(one, false);
    else if (next === "'" || next === '"') {
      this.#at += 1;
      this.#quoted(next, next === "'");
    } else this.#add(one);
  }

  /** @param {string} text */
  #add(text) {
    this.#word += text;
    this.#open = true;
  }

  /** @param {string} quote @param {boolean} escapes of C */
  #quoted(quote, escapes) {
    const end = closing(this.#text, this.#at, escapes || quote === '"');
    const inner = this.#text.slice(this.#at + 1, end);
    this.#at = end;
    if (escapes) return this.#add(literal(unescaped(inner)));
    if (quote === "'") return this.#add(literal(inner));
    const marked = inner.replace(/\\(`|\$(?=\())/g, (_, sign) =>
      sign === "$" ? "\uE001" : "\uE000",
    );
    this.#add(marked.replace(/\\(["\\$])/g, "$1"));
  }

  #redirected() {
    if (/^\d+$/.test(this.#word)) this.#dropWord(); // a descriptor
    this.#endWord();
    while (/[<>&|]/.test(this.#text[this.#at + 1])) this.#at += 1;
    this.#isFile = true;
  }

  #hereDocument() {
    this.#endWord();
    this.#at += 1;
    if (this.#text[this.#at + 1] === "<") this.#at += 1;
    else if (isHereDocument(this.#text.slice(0, this.#at))) {
      const { here, next } = hereAt(this.#text, this.#at + 1);
      this.#here.push(here);
      this.#at = next - 1;
    }
  }

  /** The bodies of here-documents are data, but for what a shell reads and what is replaced in them. */
  #newLine() {
    const line = this.#text.slice(this.#lineAt, this.#at);
    for (const here of this.#here.splice(0)) {
      const begin = this.#at + 1;
      const end = endOfHere(this.#text, begin, here);
      if (end === -1) break; // no shell would read it as this
      const body = this.#text.slice(begin, end);
      if (READS_COMMANDS.test(line)) {
        const next = { words: [], files: [], lead: "\n" };
        this.commands.push(...new Splitter(body).split(), next);
      } else if (!here.plain && /\$\(|`/.test(body)) this.commands.at(-1)?.words.push(` ${body}`);
      const next = this.#text.indexOf("\n", end);
      this.#at = next === -1 ? this.#text.length : next;
    }
    this.#lineAt = this.#at + 1;
    this.#endCommand("\n");
  }

  #dropWord() {
    this.#word = "";
    this.#open = false;
  }

  #endWord() {
    if (!this.#open) return;
    this.commands.at(-1)?.[this.#isFile ? "files" : "words"].push(this.#word);
    this.#isFile = false;
    this.#dropWord();
  }

  /** @param {string} lead of the next one */
  #endCommand(lead) {
    this.#endWord();
    this.#isFile = false;
    this.commands.push({ words: [], files: [], lead });
  }
}

/** Where the quotes end that begin there. @param {string} text @param {number} at @param {boolean} escapes */
function closing(text, at, escapes) {
  const quote = text[at];
  for (let end = at + 1; end < text.length; end += 1) {
    if (text[end] === quote) return end;
    if (escapes && text[end] === "\\") end += 1;
  }
  return text.length;
}

/** @param {Command} command @returns {Segment} */
function segmentOf({ words: given, files, lead }) {
  const rest = { files, lead, isInner: false };
  // {a,b} is a b.
  const words = given.flatMap((word) =>
    /^\{[^{}\s]+,[^{}\s]*\}$/.test(word) ? word.slice(1, -1).split(",") : [word],
  );
  const first = words.findIndex(
    (word) => !BEFORE.has(word) && !/^\w+=/.test(word) && !word.startsWith("-"),
  );
  if (first === -1) return { program: "", name: "", before: words, words: [], ...rest };
  const name = words[first];
  const program = path.posix.basename(name);
  return { program, name, before: words.slice(0, first), words: words.slice(first + 1), ...rest };
}

/** A command in a word of git's own. */
const GIT_RUNS = /^(--exec|-x|foreach|run|filter-branch|--\w+-filter)(=|$)/;

/** Whether words of a command are commands again. @param {Segment} segment */
function runsWords({ program, before, words }) {
  if (SHELLS.has(program) || before.includes("env")) return true;
  if (program === "git" && words.some((word) => GIT_RUNS.test(word))) return true;
  return words.some((word) => SHELLS.has(path.posix.basename(word)));
}

/**
 * Every simple command in a text, those within substitutions and arguments of shells too.
 * @param {string} text @returns {Segment[]}
 */
export function segmentsOf(text, depth = 0) {
  const marked = new Splitter(text.replace(/\$\{IFS\}|\$IFS\b/g, " ")).split().map(segmentOf);
  const segments = marked.map(({ program, name, before, words, files, lead }) => ({
    ...{ lead, isInner: depth > 0, name: plainOf(name) },
    program: plainOf(program),
    before: before.map(plainOf),
    words: words.map(plainOf),
    files: files.map(plainOf),
  }));
  if (depth >= MOST_DEPTH) return segments;
  const inner = marked.flatMap((segment, at) => {
    const runs = runsWords(segments[at]);
    return [...segment.before, segment.program, ...segment.words, ...segment.files]
      .filter((word) => /\s/.test(word) && (runs || /\$\(|`/.test(word)))
      .map((word) => plainOf(word).replace(/^--?[\w-]+=/, ""));
  });
  return [...segments, ...inner.flatMap((word) => segmentsOf(word, depth + 1))];
}

const SCHEMES = /^(https?|ftps?|wss?|ssh|git|sftp):[/\\]+/i;

/** @param {string} word @returns {string | undefined} the host of a URL, or of `user@host:path` */
export function hostOf(word) {
  if (/^file:/i.test(word)) return undefined;
  const begin = /^[a-z][a-z0-9+.-]*:\/\//i.exec(word) ?? SCHEMES.exec(word);
  if (!begin) return /^[\w.-]+@([\w.-]+):/.exec(word)?.[1].toLowerCase();
  const authority = /^[/\\]*([^/?#]*)/.exec(word.slice(begin[0].length))?.[1] ?? "";
  // Programs do not agree on such a one: it is no host that could be allowed.
  if (/\\|\s|@.*@/.test(authority)) return authority;
  const host = /^(?:[^@]*@)?(\[[^\]]+\]|[^:]+)/.exec(authority)?.[1];
  return host?.toLowerCase().replace(/\.$/, "");
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
    .filter((word) => hostOf(word) === undefined)
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
    if (TELLING.has(program)) continue;
    const named = words.flatMap((word) => hostOf(word.replace(/^-*[\w-]+=/, "")) ?? []);
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
