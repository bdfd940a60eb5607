// What a shell command names: programs, paths, hosts. A reading of its text and no sandbox: a command can hide what it
// does (docs/workers.md).

import path from "node:path";

/** A simple command. `before`: what stands before its program. @typedef {{program: string, before: string[], words: string[]}} Segment */

const SHELLS = new Set(["sh", "bash", "dash", "zsh", "ksh", "eval", "ssh", "xargs", "su"]);
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
const GIT_WITH_VALUE = new Set(["-C", "-c", "--git-dir", "--work-tree", "--namespace"]);
/** Their words are text. */
const PRINTING = new Set(["echo", "printf", "grep", "rg", "sed", "awk"]);
const MOST_DEPTH = 4;

/** The bodies of here-documents are data, but for a shell's. @param {string} text */
const withoutBodies = (text) =>
  text.replace(
    /^(.*<<-?[ \t]*(['"]?)([A-Za-z_]\w*)\2.*)\n[\s\S]*?\n[ \t]*\3(?=\n|$)/gm,
    (whole, line) => (/\b(ba|z|da|k)?sh\b/.test(line) ? whole : line),
  );

/**
 * The words of each simple command. What is in quotes stays one word; substitutions are commands of their own.
 * @param {string} text @returns {string[][]}
 */
function split(text) {
  /** @type {string[][]} */
  const commands = [[]];
  let word = "";
  let open = false;
  const endWord = () => {
    if (open) commands.at(-1)?.push(word);
    word = "";
    open = false;
  };
  const endCommand = () => {
    endWord();
    commands.push([]);
  };
  for (let at = 0; at < text.length; at += 1) {
    const one = text[at];
    if (one === "'" || one === '"') {
      const end = closing(text, at);
      word += text.slice(at + 1, end).replace(/\\(["\\$`])/g, one === '"' ? "$1" : "\\$1");
      open = true;
      at = end;
    } else if (one === "\\") {
      at += 1;
      if (text[at] === "\n") continue;
      word += text[at] ?? "";
      open = true;
    } else if (/[;&|\n()`]/.test(one)) endCommand();
    else if (/\s/.test(one)) endWord();
    else if (/[<>]/.test(one)) endWord();
    else {
      word += one;
      open = true;
    }
  }
  endCommand();
  return commands.filter((words) => words.length > 0);
}

/** Where the quotes end that begin there. @param {string} text @param {number} at */
function closing(text, at) {
  const quote = text[at];
  for (let end = at + 1; end < text.length; end += 1) {
    if (text[end] === quote) return end;
    if (quote === '"' && text[end] === "\\") end += 1;
  }
  return text.length;
}

/** @param {string[]} words @returns {Segment} */
function segmentOf(words) {
  const first = words.findIndex(
    (word) => !BEFORE.has(word) && !/^\w+=/.test(word) && !word.startsWith("-"),
  );
  if (first === -1) return { program: "", before: words, words: [] };
  const program = path.posix.basename(words[first]);
  return { program, before: words.slice(0, first), words: words.slice(first + 1) };
}

/**
 * Every simple command in a text, those within substitutions and arguments of shells too.
 * @param {string} text @returns {Segment[]}
 */
export function segmentsOf(text, depth = 0) {
  const segments = split(withoutBodies(text)).map(segmentOf);
  if (depth >= MOST_DEPTH) return segments;
  const inner = segments.flatMap(({ program, words }) => {
    const shell =
      SHELLS.has(program) || words.some((word) => SHELLS.has(path.posix.basename(word)));
    return words.filter((word) => /\s/.test(word) && (shell || /\$\(|`/.test(word)));
  });
  return [...segments, ...inner.flatMap((word) => segmentsOf(word, depth + 1))];
}

/** The subcommands of each git in a command. @param {Segment} segment @returns {string[]} */
function gitCommands({ program, before, words }) {
  const all = [...before, program, ...words];
  return all.flatMap((word, at) => {
    if (path.posix.basename(word) !== "git") return [];
    let next = at + 1;
    while (all[next]?.startsWith("-")) next += GIT_WITH_VALUE.has(all[next]) ? 2 : 1;
    return all[next] ?? [];
  });
}

/** @param {Segment[]} segments */
export const pushes = (segments) =>
  segments.some((one) => gitCommands(one).some((name) => name === "push" || name === "send-pack"));

/** @param {string} word @returns {string | undefined} the host of a URL, or of `user@host:path` */
export function hostOf(word) {
  if (/^file:/i.test(word)) return undefined;
  const url = /^[a-z][a-z0-9+.-]*:\/\/(?:[^@/]*@)?(\[[^\]]+\]|[^:/?#]+)/i.exec(word);
  const remote = url ?? /^[\w.-]+@([\w.-]+):/.exec(word);
  return remote?.[1].toLowerCase().replace(/\.$/, "");
}

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
    if (PRINTING.has(program)) continue;
    const named = words.flatMap((word) => hostOf(word.replace(/^-*[\w-]+=/, "")) ?? []);
    use.hosts.push(...named);
    if (named.length > 0) continue;
    if (NETWORK.has(program)) {
      const bare = words.filter((word) => !word.startsWith("-") && /^[\w-]+(\.[\w-]+)+/.test(word));
      use.hosts.push(...bare.map((word) => word.replace(/[:/].*$/, "").toLowerCase()));
      if (bare.length === 0) use.unnamed.push(program);
    }
    const remote = gitCommands(segment).find((name) => GIT_NETWORK.has(name));
    if (remote && !(remote === "clone" && words.some((word) => /^[./]/.test(word)))) {
      use.unnamed.push(`git ${remote}`);
    }
  }
  return use;
}

/** Where a shell reads its programs and their libraries from, and devices without a content. */
const SYSTEM =
  /^\/(usr|bin|sbin|lib|lib32|lib64|libx32|opt|nix|System|Library|Applications|snap)(\/|$)|^\/dev\/(null|zero|u?random|std(in|out|err)|tty|fd\/\d+)$/;

/**
 * The paths that a command names, as absolute ones; not programs and what belongs to the system.
 * @param {Segment[]} segments @param {string} cwd @param {string} home
 * @param {(folder: string) => boolean} exists whether a text that begins with / is a path at all
 * @returns {string[]}
 */
export function pathsOf(segments, cwd, home, exists) {
  const found = segments
    .flatMap(({ before, words }) => [...before, ...words])
    .flatMap((word) => {
      const value = word
        .replace(/^-*[\w-]+=(?=[~/.$])/, "")
        .replace(/^(~|\$HOME|\$\{HOME\})(?=\/|$)/, home)
        .replace(/^(\$PWD|\$\{PWD\})(?=\/|$)/, cwd);
      if (/\s/.test(value) || hostOf(value) || !/^\/|(^|\/)\.\.(\/|$)|\//.test(value)) return [];
      const file = path.resolve(cwd, value);
      const top = /^\/[^/]+/.exec(file)?.[0] ?? file;
      if (SYSTEM.test(file) || (value.startsWith("/") && !exists(top))) return [];
      return [file];
    });
  return [...new Set(found)];
}
