// The candidates that a shell offers for the words of a command line (docs/command.md, "completion"). A
// script of commands/completion.mjs asks with `copilot-tap --complete <words>`; the last word is being typed.
// The first line of the answer is "files" where a file is meant, else "words"; each other line is a
// candidate, a tab and what it means. It is quick and silent, because a user who has pressed Tab waits for
// it.

import path from "node:path";
import { isBuiltin } from "../lib/inspection.mjs";
import { runtimeTimeout } from "../lib/timers.mjs";
import { visible } from "../lib/visible.mjs";
import { consentFile, listGrants } from "../config/consent.mjs";
import { load, loadAll, NAMES } from "./commands/index.mjs";
import { getGatewayFiles, GLOBAL_OPTIONS } from "./options.mjs";
import { formatId } from "./reference.mjs";
import { firstLine } from "../views/wording.mjs";

/** @typedef {import("./options.mjs").Command} Command */
/** @typedef {import("./options.mjs").CommandOptions} CommandOptions */
/** @typedef {import("./options.mjs").Option} Option */
/** @typedef {{value: string, about?: string}} Candidate */

/** The gateway of a machine that is busy answers in less. */
const PATIENCE_MS = 1000;
/** A label that is longer is a sentence, which nobody types. */
const MAX_LABEL = 60;

// ---- what the gateway and the disk have ---------------------------------------------------------------

/** @param {CommandOptions} given @param {(control: import("../link/control.mjs").Control) => Promise<Candidate[]>} ask */
async function queryGateway(given, ask) {
  const { openControl } = await import("../link/control.mjs");
  const control = await openControl(getGatewayFiles(given));
  try {
    return await ask(control);
  } finally {
    control.close();
  }
}

/** @param {CommandOptions} given */
const tools = (given) =>
  queryGateway(given, async (control) =>
    (await control.inspect()).providers.flatMap(({ bindings }) =>
      bindings.flatMap((binding) =>
        binding.tools.map((tool) => ({
          value: tool.name,
          about: firstLine(tool.description ?? ""),
        })),
      ),
    ),
  );

/** @param {CommandOptions} given */
const sessions = (given) =>
  queryGateway(given, async (control) =>
    (await control.inspect()).sessions.flatMap(({ id, label }) => [
      { value: formatId(id), about: label },
      ...(label === "" || label.length > MAX_LABEL ? [] : [{ value: label, about: formatId(id) }]),
    ]),
  );

/** @param {CommandOptions} given */
const providers = (given) =>
  queryGateway(given, async (control) =>
    (await control.inspect()).providers
      .filter((provider) => !isBuiltin(provider) && provider.name !== "")
      .map(({ name }) => ({ value: name })),
  );

/** @param {CommandOptions} given */
const paired = (given) =>
  queryGateway(given, async (control) =>
    (await control.listPairedProviders()).map(({ name, origin }) => ({
      value: name,
      about: origin,
    })),
  );

/** @param {CommandOptions} given */
const plans = (given) =>
  queryGateway(given, async (control) => {
    const { createPlanClient } = await import("./plan/client.mjs");
    const { ask } = createPlanClient(async () => control);
    const { plans: all } = await ask({ do: "list_copilot_plans" });
    return all.map((/** @type {{planId: string, name?: string}} */ { planId, name }) => ({
      value: planId,
      about: name,
    }));
  });

/** @param {CommandOptions} given */
const configs = async (given) => {
  const grants = listGrants(consentFile(getGatewayFiles(given)));
  const folders = new Set(grants.map((grant) => path.dirname(grant.path)));
  return [...folders].map((value) => ({ value }));
};

/** By command and argument, or command and option. @type {Record<string, (given: CommandOptions) => Promise<Candidate[]>>} */
const SOURCES = {
  "call tool": tools,
  "tools name": tools,
  "doctor tool": tools,
  "call session": sessions,
  "tools session": sessions,
  "push session": sessions,
  "trace session": sessions,
  "trace provider": providers,
  "plan target": plans,
  "push name": providers,
  "unpair name": paired,
  "revoke path": configs,
};
/** With the command's first argument where the others depend on it. */
const FILES = [
  "allow path",
  "revoke path",
  "import-config path",
  "plan run target",
  "plan validate target",
  "replay file",
  "trace file",
  "call output",
  "eval cases",
  "eval cli",
  "eval output",
];

// ---- the command line ----------------------------------------------------------------------------------

/** @param {Map<string, Option>} options @param {string} word such as --level or -l @returns {[string, Option] | undefined} */
function optionNamed(options, word) {
  const name = word.replace(/^--?/, "");
  const isLong = word.startsWith("--");
  if (!word.startsWith("-") || name === "") return undefined;
  return [...options].find(([long, { short }]) => (isLong ? long === name : short === name));
}

const takesValue = (/** @type {Option} */ { type }) => type !== "boolean";

/**
 * The words before the one that is typed, told apart.
 * @param {string[]} words @param {Map<string, Option>} options
 */
function classifyWords(words, options) {
  /** @type {string[]} */
  const plain = [];
  /** @type {string | undefined} */
  let waiting;
  let home;
  for (const word of words.filter((each) => each !== "=")) {
    if (waiting !== undefined) {
      if (waiting === "home") home = word;
      waiting = undefined;
      continue;
    }
    const named = optionNamed(options, word);
    if (named && takesValue(named[1])) waiting = named[0];
    else if (!word.startsWith("-")) plain.push(word);
  }
  return { plain, waiting, home };
}

/** @param {Map<string, Option>} options @param {string[]} given @returns {Candidate[]} */
const listRemainingOptions = (options, given) =>
  [...options]
    .filter(([name, { hidden }]) => !hidden && !given.includes(`--${name}`))
    .map(([name, { describe }]) => ({ value: `--${name}`, about: String(describe ?? "") }));

/** @param {readonly unknown[]} choices */
const asCandidates = (choices) => choices.map((value) => ({ value: String(value) }));

/** As a shell hands it on: with its quotes. @param {string} word */
const unquote = (word) => word.replace(/^["']/, "").replace(/\\(.)/g, "$1");

/** @typedef {{files: boolean, candidates: Candidate[]}} Offer */

/** @param {string[]} words @param {string} current @returns {Promise<Offer>} */
async function offerFor(words, current) {
  const none = { files: false, candidates: [] };
  if (words[0] === "help") return words.length > 1 ? none : offerFor([], current);
  if (words.includes("--")) return { ...none, files: true };
  const globals = new Map(Object.entries(GLOBAL_OPTIONS));
  const [name] = classifyWords(words, globals).plain;
  if (name === undefined) {
    if (classifyWords(words, globals).waiting === "home") return { ...none, files: true };
    if (current.startsWith("-"))
      return { ...none, candidates: listRemainingOptions(globals, words) };
    const all = (await loadAll()).map(({ command, describe }) => ({
      value: command.split(" ")[0],
      about: describe,
    }));
    return { ...none, candidates: all };
  }
  return NAMES.includes(name) ? offerForCommand(await load(name), words, current) : none;
}

/** No candidates if there is no gateway, or if it does not answer soon. @param {Promise<Candidate[]>} asked @returns {Promise<Candidate[]>} */
function withTimeout(asked) {
  return new Promise((resolve) => {
    const stop = runtimeTimeout(PATIENCE_MS, () => resolve([]));
    asked
      .catch(() => [])
      .then(resolve)
      .finally(stop);
  });
}

/** @param {Command} command @param {string[]} words @param {string} current @returns {Promise<Offer>} */
async function offerForCommand(command, words, current) {
  const options = new Map(Object.entries({ ...GLOBAL_OPTIONS, ...command.options }));
  const positionals = new Map(Object.entries(command.positionals ?? {}));
  const { plain, waiting, home } = classifyWords(words, options);
  const [name] = command.command.split(" ");
  if (waiting === undefined && current.startsWith("-")) {
    return { files: false, candidates: listRemainingOptions(options, words) };
  }
  const expected = waiting ?? [...positionals.keys()][plain.length - 1];
  if (expected === undefined) return { files: false, candidates: [] };
  const { choices } = (waiting === undefined ? positionals : options).get(expected) ?? {};
  if (choices) return { files: false, candidates: asCandidates(/** @type {any} */ (choices)) };
  const key = `${name} ${expected}`;
  const files = FILES.includes(`${name} ${plain[1]} ${expected}`);
  const candidates =
    Object.hasOwn(SOURCES, key) && !files ? await withTimeout(SOURCES[key]({ home })) : [];
  return { files: files || waiting === "home" || FILES.includes(key), candidates };
}

/**
 * @param {string[]} words of the command line, without the program; the last is being typed
 * @returns {Promise<Offer>} nothing where nothing can be said in time
 */
export async function complete(words) {
  // bash gives = as a word of its own; others give --level=s as one.
  const current = words.at(-1) === "=" ? "" : unquote(words.at(-1) ?? "");
  const [whole, option] = /^(--[\w-]+)=/.exec(current) ?? [""];
  if (option !== undefined) {
    const { candidates } = await complete([
      ...words.slice(0, -1),
      option,
      current.slice(whole.length),
    ]);
    const joined = candidates.map(({ value, about }) => ({ value: whole + value, about }));
    return { files: false, candidates: joined };
  }
  const nothing = { files: false, candidates: [] };
  const offer = offerFor(words.slice(0, -1), current).catch(() => nothing); // of words that mean nothing
  const { files, candidates } = await offer;
  const known = new Map(
    candidates
      .filter(({ value }) => value.startsWith(current) && visible(value) === value)
      .map(({ value, about = "" }) => [value, visible(about) === about ? about : ""]),
  );
  return { files, candidates: [...known].map(([value, about]) => ({ value, about })) };
}

/** Answers a script. @param {string[]} words @returns {Promise<void>} once the answer is written */
export async function answerShell(words) {
  const { files, candidates } = await complete(words);
  const lines = candidates.map(({ value, about }) => `${value}\t${about}`);
  const text = [files ? "files" : "words", ...lines].map((line) => `${line}\n`).join("");
  await new Promise((resolve) => process.stdout.write(text, resolve));
}
