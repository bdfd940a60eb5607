// Which entry reads the output of a command, and with which options that output is easier to read. It does no I/O.

/** @typedef {import("./entries.mjs").Tool} Tool */
/** @typedef {import("./entries.mjs").Entry} Entry */
/** A word of a command line, without quotes, and where it stands. @typedef {{text: string, start: number, end: number}} Word */
/**
 * The command of a script in package.json.
 * @callback ReadScript
 * @param {string} name such as dev
 * @param {string} [folder] of the package, as the command gives it
 * @returns {string | undefined}
 */
/**
 * @typedef {object} Found
 * @property {Entry} entry
 * @property {"argv" | "script"} by script: package.json has the command
 * @property {string[]} words the tool's command, without its starter
 * @property {Word[]} parts the same where it stands
 * @property {number} at after so many words options may follow; 0: nowhere
 * @property {Entry[]} [parallel] the tools that the command runs at the same time
 */

const BLANKS = /(?:[^\S\n]|\\\r?\n)+/uy;
const WORD = /(?:[^\s'"\\|&;()<>]|'[^']*'|"(?:\\.|[^"\\])*"|\\.)+/suy;
const REDIRECTION = /(?:\d*|&)[<>]+&?[^\S\n]*(?:[^\s'"\\|&;()<>]|'[^']*'|"(?:\\.|[^"\\])*")*/suy;
const MAX_COMMAND = 16 * 1024;
const MAX_LINE = 1000;

/** @param {string} text of a command line */
const unquote = (text) =>
  text.replaceAll(
    /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/gsu,
    (_all, single, double, escaped) =>
      single ?? (double === undefined ? escaped : double.replaceAll(/\\(["\\$`])/g, "$1")),
  );

/**
 * The commands of a command line, which `&&`, `|`, `;` and the like separate. Redirections are left out.
 * @param {string} line @returns {Word[][]}
 */
function splitCommands(line) {
  const source = line.slice(0, MAX_COMMAND);
  /** @type {Word[][]} */
  const commands = [[]];
  let at = 0;
  const take = (/** @type {RegExp} */ pattern) => {
    pattern.lastIndex = at;
    const text = pattern.exec(source)?.[0] ?? "";
    at += text.length;
    return text;
  };
  while (at < source.length) {
    if (take(BLANKS) || take(REDIRECTION)) continue;
    const start = at;
    const text = take(WORD);
    if (text) {
      commands[commands.length - 1].push({ text: unquote(text), start, end: at });
    } else {
      at += 1;
      commands.push([]);
    }
  }
  return commands.filter((words) => words.length > 0);
}

/** @param {string | readonly string[]} command */
const toCommands = (command) =>
  typeof command === "string"
    ? splitCommands(command)
    : [command.map((text, at) => ({ text, start: at, end: at + 1 }))];

/** Without folders, the ending of a program, and a version. @param {string} word */
const readProgram = (word) =>
  (/^@[^/]+\/[^/]+$/.test(word) ? word : (word.split(/[\\/]/).at(-1) ?? word))
    .replace(/\.(?:exe|cmd|bat|ps1)$/i, "")
    .replace(/(?<=.)@[\w.^~-]+$/, "");

/** Programs that start others, and those of their options that have a value. */
const STARTERS = new Map(
  Object.entries({
    npx: "-p --package -w --workspace",
    bunx: "-p --package",
    uvx: "--from --with -p --python",
    env: "-u -C",
    "cross-env": "",
    dotenv: "-e",
    time: "-f -o",
    exec: "-a",
    command: "",
    nohup: "",
    sudo: "-u -g",
    nice: "-n",
    stdbuf: "-o -e -i",
    "npm exec": "-p --package -w --workspace",
    "npm x": "-p --package -w --workspace",
    "pnpm exec": "",
    "pnpm dlx": "--package",
    "yarn exec": "",
    "yarn dlx": "-p --package",
    "bun x": "-p --package",
    "uv run":
      "--with --extra --group -p --python --package --project --directory --env-file --with-requirements",
    "poetry run": "",
    "pdm run": "-p --project",
    "pipenv run": "",
    "hatch run": "",
    "rye run": "",
    "pipx run": "--spec",
  }).map(([name, options]) => [name, options.split(" ")]),
);

/** Programs that run a script of package.json, and their options that have a value. */
const MANAGERS = new Map(
  Object.entries({
    npm: "--prefix -w --workspace",
    pnpm: "-C --dir -F --filter",
    yarn: "--cwd",
    bun: "--cwd --filter",
    poetry: "-C --directory",
    uv: "--directory --project",
  }).map(([name, options]) => [name, options.split(" ")]),
);
const FOLDER_OPTIONS = ["--prefix", "-C", "--dir", "--cwd", "--directory", "--project"];
const IN_MODULES = /(?:^|[\\/])node_modules[\\/]/;
const ASSIGNMENT = /^[A-Za-z_]\w*=/;
const PYTHON = /^(?:python[\d.]*|py|coverage)$/;

/**
 * The options at the beginning.
 * @param {Word[]} words @param {string[]} withValue @returns {{rest: Word[], folder?: string, isElsewhere: boolean}}
 */
function skipOptions(words, withValue) {
  let at = 0;
  let folder;
  let isElsewhere = false;
  for (; words[at]?.text.startsWith("-"); ++at) {
    const { text } = words[at];
    if (text === "--") return { rest: words.slice(at + 1), folder, isElsewhere };
    const [name, joined] = text.split("=", 2);
    const hasNext = joined === undefined && withValue.includes(name);
    const value = hasNext ? words[at + 1]?.text : joined;
    if (FOLDER_OPTIONS.includes(name) && value !== undefined) folder = value;
    if (/^(?:-w|--workspaces?|-F|--filter|-r|--recursive)$/.test(name)) isElsewhere = true;
    if (hasNext) at += 1;
  }
  return { rest: words.slice(at), folder, isElsewhere };
}

/** @typedef {{name: string, extra: Word[], isSure: boolean}} Script isSure: it is not a program */

const RUN = /^(?:run|run-script|rum|urn)$/;
const SHORT_SCRIPTS = new Map([
  ["t", "test"],
  ["tst", "test"],
  ["test", "test"],
  ["start", "start"],
]);

/**
 * The script that a package manager runs.
 * @param {string} manager @param {Word[]} words after its name and options @returns {Script | undefined}
 */
function findScript(manager, words) {
  const [verb, ...rest] = words;
  if (!verb || manager === "uv" || manager === "poetry") return undefined;
  const isSure = manager === "npm";
  if (RUN.test(verb.text)) {
    const [name, ...extra] = skipOptions(rest, []).rest;
    return name && { name: name.text, extra, isSure };
  }
  const short = SHORT_SCRIPTS.get(verb.text);
  if (manager === "bun" && short === "test") return undefined;
  if (isSure) return short ? { name: short, extra: rest, isSure } : undefined;
  return { name: short ?? verb.text, extra: rest, isSure };
}

/** A program that Node.js or Python runs by its file or module. @param {string} program @param {Word[]} rest */
function findInterpreted(program, rest) {
  if (PYTHON.test(program)) {
    const at = rest.findIndex(({ text }) => text === "-m" || !/^-|^run$/.test(text));
    if (at < 0) return undefined;
    return rest[at].text === "-m" ? rest.slice(at + 1) : rest.slice(at);
  }
  if (program !== "node") return undefined;
  const at = rest.findIndex(({ text }) => !text.startsWith("-"));
  const isTool = at >= 0 && IN_MODULES.test(rest[at].text);
  const isOwn = rest.slice(0, Math.max(at, 0)).some(({ text }) => /^--(?:test|watch)/.test(text));
  return isTool && !isOwn ? rest.slice(at) : undefined;
}

/** @param {string} program @param {string[]} withValue of its options @param {Word[]} words that follow it */
function stripManager(program, withValue, words) {
  const before = skipOptions(words, withValue);
  const { rest } = before;
  const options = STARTERS.get(`${program} ${rest[0]?.text}`);
  if (options) return { words: skipOptions(rest.slice(1), options).rest };
  const script = findScript(program, rest);
  if (!script) return undefined;
  // npm has its own options there, too; the others pass on the following words.
  const after = skipOptions(script.extra, withValue);
  const isNpm = program === "npm";
  return {
    words: rest,
    script: {
      ...script,
      extra: isNpm ? after.rest : script.extra.filter(({ text }) => text !== "--"),
    },
    folder: before.folder ?? (isNpm ? after.folder : undefined),
    isElsewhere: before.isElsewhere || (isNpm && after.isElsewhere),
  };
}

/**
 * A step towards the tool.
 * @param {Word[]} words
 * @returns {{words: Word[], script?: Script, folder?: string, isElsewhere?: boolean} | undefined} undefined: this is the tool
 */
function stripStarter(words) {
  const [first, ...rest] = words;
  if (ASSIGNMENT.test(first.text)) return { words: rest };
  const program = readProgram(first.text);
  const manager = MANAGERS.get(program);
  if (manager) return stripManager(program, manager, rest);
  const starter = STARTERS.get(program) ?? STARTERS.get(`${program} ${rest[0]?.text}`);
  if (starter) {
    const given = STARTERS.has(program) ? rest : rest.slice(1);
    return { words: skipOptions(given, starter).rest };
  }
  if (program === "timeout") return { words: skipOptions(rest, ["-s", "-k"]).rest.slice(1) };
  if (program === "node" && rest[0]?.text === "--run" && rest[1])
    return { words: [], script: { name: rest[1].text, extra: [], isSure: true } };
  const interpreted = findInterpreted(program, rest);
  return interpreted && { words: interpreted };
}

/** @param {Word[]} words @param {readonly Tool[]} tools @returns {{tool: Tool, words: string[], at: number} | undefined} */
function matchWords(words, tools) {
  const [program, ...rest] = words.map(({ text }) => text);
  if (program === undefined) return undefined;
  const name = readProgram(program);
  const texts = [IN_MODULES.test(program) ? name.replace(/\.[cm]?js$/, "") : name];
  texts.push(...rest);
  const line = texts.join(" ");
  for (const tool of tools) {
    const match = tool.argv?.exec(line);
    if (!match) continue;
    const end = match.index + match[0].length;
    return { tool, words: texts, at: line.slice(0, end).trimEnd().split(" ").length };
  }
  return undefined;
}

/** Not the tool's own, such as `sh -c`. @param {Word[]} words */
function findShellText(words) {
  if (!/^(?:ba|da|z)?sh$/.test(readProgram(words[0]?.text ?? ""))) return undefined;
  const at = words.findIndex(({ text }) => /^-[a-z]*c$/.test(text));
  return at < 0 ? undefined : words[at + 1]?.text;
}

/** The result for a command line within a command line: its words have no place. @param {Found | undefined} found @param {Found["by"]} by */
const toInner = (found, by) => found && { ...found, by, parts: [], at: 0 };

/**
 * @param {Word[]} given @param {readonly Tool[]} tools
 * @param {ReadScript} readScript @param {string} [folder] that the command has changed to
 * @returns {Found | undefined}
 */
function recognizeOne(given, tools, readScript, folder) {
  let words = given;
  for (let step = stripStarter(words); step;) {
    const { script } = step;
    words = step.words;
    if (script) {
      const source = !step.isElsewhere && readScript(script.name, step.folder ?? folder);
      const extra = script.extra.map(({ text }) => `'${text.replaceAll("'", "'\\''")}'`);
      // A script of a script is not read.
      if (source) return toInner(recognize([source, ...extra].join(" "), tools), "script");
      if (script.isSure) return undefined;
      if (words[0].text === "run") words = skipOptions(words.slice(1), []).rest;
      break;
    }
    step = words.length > 0 ? stripStarter(words) : undefined;
  }
  const inner = findShellText(words);
  if (inner !== undefined) return toInner(recognize(inner, tools, readScript), "argv");
  const match = matchWords(words, tools);
  return (
    match && {
      entry: match.tool.read(),
      by: "argv",
      words: match.words,
      parts: words,
      at: match.at,
    }
  );
}

/**
 * Several tools in a line, as `tsc && vite`: the tool that does not end has the state, or the first. The failures of
 * the others count, too.
 * @param {Found[]} all @returns {Found | undefined}
 */
function combine(all) {
  const found = all.find(({ entry, words }) => runsForever(entry, words)) ?? all[0];
  const others = new Set(all.map(({ entry }) => entry.tool));
  others.delete(found?.entry.tool);
  if (!found || others.size === 0) return found;
  const entry = Object.freeze({ ...found.entry, uses: [...(found.entry.uses ?? []), ...others] });
  return { ...found, entry };
}

/** A single `&` outside of quotes: the command before it runs in the background. */
const IN_PARALLEL = /(?<![&<>|\\])&(?![&>])\s*\S/u;

/** @param {string | readonly string[]} command @param {Found[]} all */
function listParallel(command, all) {
  if (typeof command !== "string") return [];
  const isParallel = IN_PARALLEL.test(command.replaceAll(/'[^']*'|"(?:\\.|[^"\\])*"/gsu, ""));
  return isParallel ? [...new Set(all.map(({ entry }) => entry))] : [];
}

/**
 * @param {string | readonly string[]} command for a shell, or a program and its arguments
 * @param {readonly Tool[]} tools @param {ReadScript} [readScript]
 * @returns {Found | undefined} undefined: no entry knows a command in it
 */
export function recognize(command, tools, readScript = () => undefined) {
  /** @type {string | undefined} */
  let folder;
  const all = toCommands(command).flatMap((words) => {
    if (words[0].text === "cd") folder = words[1]?.text ?? folder;
    return recognizeOne(words, tools, readScript, folder) ?? [];
  });
  const found = combine(all);
  const parallel = listParallel(command, all);
  return found && parallel.length > 1 ? { ...found, parallel } : found;
}

/** By its output. @param {string} line without colours @param {readonly Tool[]} tools @returns {Entry | undefined} */
export const matchFirst = (line, tools) =>
  tools.find(({ first }) => first?.test(line.slice(0, MAX_LINE)))?.read();

/** Whether the command is not expected to end. @param {Entry} entry @param {readonly string[]} words those of `Found` */
export const runsForever = ({ runsOn }, words) =>
  runsOn !== undefined && new RegExp(runsOn, "u").test(words.join(" "));

/** @param {string} option @returns {string} such as --pretty */
const readName = (option) => option.split(/[ =]/, 1)[0];

/**
 * The command with the options that make its output easier to read. A script of package.json stays as it is.
 * @template {string | readonly string[]} T
 * @param {T} command @param {Found} found for it @param {{asIs?: boolean}} [how]
 * @returns {{command: T, env: Record<string, string>, changed: string[]}} changed: for people
 */
export function improve(command, { entry, parts, at, by }, { asIs = false } = {}) {
  const { better } = entry;
  // A quoted word with blanks may count as several.
  if (asIs || by !== "argv" || !better || at === 0 || at > parts.length)
    return { command, env: {}, changed: [] };
  const end = parts.findIndex(({ text }) => text === "--");
  const own = end < 0 ? parts : parts.slice(0, end);
  const names = own.map(({ text }) => readName(text));
  const added = (better.args ?? []).filter((one) => !names.includes(readName(one)));
  const watch = new Map(Object.entries(better.watch ?? {}));
  const replaced = own.flatMap((part) => {
    const option = watch.get(part.text);
    return option === undefined ? [] : [{ ...part, option }];
  });
  const last = parts[at - 1].end;
  const edits = replaced.map(({ start, end: to, option }) => ({ start, end: to, option }));
  if (added.length > 0) edits.push({ start: last, end: last, option: added.join(" ") });
  edits.sort((a, b) => b.start - a.start);
  const given = typeof command === "string" ? command : command.join(" ");
  const env = Object.fromEntries(
    Object.entries(better.env ?? {}).filter(([name]) => !new RegExp(`\\b${name}=`).test(given)),
  );
  const changed = [
    ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
    ...replaced.map(({ text, option }) => `${text} → ${option}`),
    ...added,
  ];
  return { command: /** @type {T} */ (applyEdits(command, edits)), env, changed };
}

/** @param {string | readonly string[]} command @param {{start: number, end: number, option: string}[]} edits the last first */
function applyEdits(command, edits) {
  if (typeof command !== "string") {
    const words = [...command];
    for (const { start, end, option } of edits)
      words.splice(start, end - start, ...option.split(" "));
    return words;
  }
  return edits.reduce((text, { start, end, option }) => {
    const isInserted = start === end;
    return `${text.slice(0, start)}${isInserted ? " " : ""}${option}${text.slice(end)}`;
  }, command);
}
