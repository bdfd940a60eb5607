// The command line: what is typed, read by util.parseArgs, against what the commands say of themselves.

import { parseArgs } from "node:util";
import { visible } from "../lib/visible.mjs";
import { findNearest } from "../lib/suggestion.mjs";
import { usage } from "./exit.mjs";
import { GLOBAL_OPTIONS, NAME } from "./options.mjs";

/** @typedef {import("./options.mjs").Command} Command */
/** @typedef {import("./options.mjs").Option} Option */
/** @typedef {ReturnType<typeof tokenize>[number]} Token */

/** The longest part of a word that a message repeats, and the most words. */
const MAX_SHOWN_LENGTH = 64;
const MAX_SHOWN_WORDS = 5;
/** Of more words and short options than these, parseArgs takes minutes, or fails. */
const MAX_PARTS = 20_000;
const MAX_LETTERS = 64;

/** @param {string} word of the command line, which may hold anything */
const formatWord = (word) => visible(word).slice(0, MAX_SHOWN_LENGTH);

/** @param {string[]} words to show */
const formatList = (words) =>
  [
    ...words.slice(0, MAX_SHOWN_WORDS),
    ...(words.length > MAX_SHOWN_WORDS ? [`and ${words.length - MAX_SHOWN_WORDS} more`] : []),
  ].join(", ");

/** @param {Command} command */
const commandName = ({ command }) => command.split(" ")[0];

/** The line to look at next, after a mistake. @param {Command} [command] */
const advice = (command) =>
  command === undefined
    ? `${NAME} --help shows what there is`
    : `usage: ${NAME} ${command.command}\n${NAME} ${commandName(command)} --help shows more`;

/** @param {string} command with its arguments @returns {{name: string, required: boolean, many: boolean}[]} */
const parsePlaces = (command) =>
  [...command.matchAll(/([<[])(\w+)(\.\.)?/g)].map(([, bracket, name, dots]) => ({
    ...{ name, required: bracket === "<", many: dots !== undefined },
  }));

/** @param {string} word such as -abc @param {Record<string, Option>} options @returns {number} its short options, in part */
function countLetters(word, options) {
  if (!/^-[^-]/.test(word)) return 0;
  const letters = [...word.slice(1, MAX_LETTERS + 2)];
  const takers = Object.values(options).filter(({ type }) => type !== "boolean");
  const last = letters.findIndex((letter) => takers.some(({ short }) => short === letter));
  return last === -1 ? letters.length : last + 1;
}

/**
 * @param {string[]} args @param {Record<string, Option>} options @param {Command} [command]
 * @throws {import("./exit.mjs").Failure}
 */
function requireFew(args, options, command) {
  const letters = args.map((word) => countLetters(word, options));
  const long = letters.findIndex((count) => count > MAX_LETTERS);
  if (long !== -1) throw usage(`unknown option ${formatWord(args[long])}`, advice(command));
  const parts = letters.reduce((sum, count) => sum + count, args.length);
  if (parts > MAX_PARTS) throw usage("there are too many words", advice(command));
}

/** @param {string[]} args without what follows -- @param {Record<string, Option>} options */
function tokenize(args, options) {
  const shapes = Object.fromEntries(
    Object.entries(options).map(([name, { type = "string", short }]) => [
      name,
      { type, ...(short && { short }) },
    ]),
  );
  return parseArgs({
    ...{ args, options: shapes, tokens: true, strict: false, allowPositionals: true },
  }).tokens;
}

/** What is wrong with a value that is missing, or looks like an option. @param {Token & {kind: "option"}} token */
const noValue = ({ rawName, value }) =>
  `${rawName} needs a value` +
  (value ? `; one that begins with - goes behind "=": ${rawName}=${formatWord(value)}` : "");

/**
 * What looks like an option is one, if it does not follow an equals sign. An empty value is a variable that is not set,
 * and an empty --home would mean the user's own home.
 * @param {Token & {kind: "option"}} token @param {Option} option
 */
const hasNoValue = ({ value = "", inlineValue }, { mayBeEmpty }) =>
  value === "" ? !mayBeEmpty : !inlineValue && /^-./.test(value);

/** @param {string} name as it is typed */
const noValueHere = (name) => `${name} takes no value: write ${name}, or leave it out`;

/** @param {string} word such as -f=true @param {Record<string, Option>} options @returns {string | undefined} f, if it takes no value */
function flagWithValue(word, options) {
  const [, letters = ""] = /^-(\w+)=/.exec(word) ?? [];
  const flags = Object.values(options).filter(({ type }) => type === "boolean");
  const areFlags = [...letters].every((letter) => flags.some(({ short }) => short === letter));
  return areFlags ? letters.at(-1) : undefined;
}

/** @param {Record<string, Option>} options @param {string[]} args without what follows -- */
function sortTokens(options, args) {
  /** @type {Map<string, (string | true)[]>} */
  const values = new Map();
  /** @type {string[]} */
  const words = [];
  /** @type {Set<string>} */
  const unknown = new Set();
  /** @type {string[]} */
  const wrong = [];
  const tokens = tokenize(args, options);
  /** @param {Token & {kind: "option"}} token @param {Option} option */
  const readValues = (token, option) => {
    const { value, rawName, inlineValue, index } = token;
    if (option.type === "boolean") {
      if (value !== undefined) wrong.push(noValueHere(rawName));
      return [/** @type {const} */ (true)];
    }
    if (value === undefined || hasNoValue(token, option)) {
      wrong.push(noValue(token));
      return [];
    }
    const isShort = !rawName.startsWith("--");
    const given = [inlineValue && isShort ? value.replace(/^=/, "") : value]; // -n=5 as --last=5
    while (given.length < (option.values ?? 1) && tokens[0]?.kind === "positional") {
      if (tokens[0].index !== index + given.length + (inlineValue ? 0 : 1)) break;
      given.push(args[tokens[0].index]);
      tokens.shift();
    }
    return given;
  };
  for (let token = tokens.shift(); token; token = tokens.shift()) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
    if (option) {
      const before = option.multiple ? (values.get(token.name) ?? []) : [];
      values.set(token.name, [...before, ...readValues(token, option)]);
      continue;
    }
    const word = args[token.index];
    const flag = flagWithValue(word, options);
    if (flag !== undefined) wrong.push(noValueHere(`-${flag}`));
    // A word of several letters is one mistake.
    else unknown.add(token.rawName.startsWith("--") ? token.rawName : word);
  }
  return { values, words, unknown: [...unknown].map(formatWord), wrong };
}

/** @param {readonly string[]} words the last is joined by "or" */
const formatChoices = (words) =>
  [words.slice(0, -1).join(", "), words.at(-1)].filter(Boolean).join(" or ");

/** @param {string} label @param {Option} option @param {string[]} given @returns {string[]} what is wrong */
const notAllowed = (label, { choices }, given) =>
  given
    .filter((value) => choices && !choices.includes(value))
    .map(
      (value) => `${label} must be ${formatChoices(choices ?? [])} (got "${formatWord(value)}")`,
    );

/** from-start as fromStart @param {string} name */
const toCamelCase = (name) => name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());

/**
 * The value of one that is given once, or of one that is given more often. @param {Option} option
 * @param {boolean} many @param {(string | true)[] | undefined} given
 */
function resolveValue({ type, default: otherwise, values }, many, given) {
  if (type === "boolean") return given !== undefined;
  if (many) return given ?? [];
  if (values !== undefined) return given;
  return given?.at(-1) ?? otherwise;
}

/**
 * The words of the command, in their places.
 * @param {Command} command @param {string[]} words
 * @returns {{given: Record<string, any>, wrong: string[]}}
 */
function assignPositionals({ command, positionals = {} }, words) {
  const left = [...words];
  /** @type {Record<string, any>} */
  const given = {};
  /** @type {string[]} */
  const missing = [];
  /** @type {string[]} */
  const wrong = [];
  for (const { name, required, many } of parsePlaces(command)) {
    const own = left.splice(0, many ? left.length : 1);
    if (own.length === 0 && required) missing.push(name);
    wrong.push(...notAllowed(name, positionals[name], own));
    given[name] = resolveValue(positionals[name], many, own.length > 0 ? own : undefined);
  }
  const extra = formatList(left.map((word) => `"${formatWord(word)}"`));
  const first = [
    ...(extra ? [`unexpected argument ${extra}`] : []),
    ...(missing.length > 0 ? [`missing: ${missing.join(", ")}`] : []),
  ];
  return { given, wrong: [...first, ...wrong] };
}

/**
 * @param {string[]} args
 * @returns {{name?: string, rest: string[]}} the command that is meant, and the words without it
 * @throws {import("./exit.mjs").Failure} USAGE, where an option of a command comes before it
 */
export function splitCommand(args) {
  let at = 0;
  while (/^-./.test(args[at] ?? "") && args[at] !== "--") at += args[at] === "--home" ? 2 : 1;
  if (at >= args.length || args[at] === "--") return { rest: args };
  const before = args.slice(0, at);
  requireFew(before, GLOBAL_OPTIONS);
  for (const token of tokenize(before, GLOBAL_OPTIONS)) {
    if (token.kind !== "option" || Object.hasOwn(GLOBAL_OPTIONS, token.name)) continue;
    // What it takes would be read as the command.
    throw usage(`${formatWord(token.rawName)} goes after the command`, advice());
  }
  return { name: args[at], rest: args.toSpliced(at, 1) };
}

/** @param {string[]} unknown options @param {Record<string, Option>} options that there are */
function unknownOption(unknown, options) {
  const names = Object.keys(options).filter((name) => !options[name].hidden);
  const [only] = unknown;
  const meant = unknown.length === 1 && /^--./.test(only) && findNearest(only.slice(2), names);
  return `unknown option ${formatList(unknown)}${meant ? `: did you mean --${meant}?` : ""}`;
}

/**
 * What a command is given.
 * @param {string[]} args without the command @param {Command} [command] without one: of the program alone
 * @returns {Record<string, any>} by camelCase names; `rest`: what follows after --
 * @throws {import("./exit.mjs").Failure} USAGE, with all that is wrong of the first kind
 */
export function parse(args, command) {
  const options = { ...command?.options, ...GLOBAL_OPTIONS };
  const end = args.indexOf("--");
  const own = end === -1 ? args : args.slice(0, end);
  const rest = end === -1 ? [] : args.slice(end + 1);
  requireFew(own, options, command);
  const { values, words, unknown, wrong } = sortTokens(options, own);
  /** @type {Record<string, any>} */
  const asked = { help: values.has("help"), version: values.has("version") };
  if (asked.help || asked.version) return asked;
  if (unknown.length > 0) throw usage(unknownOption(unknown, options), advice(command));
  if (wrong.length > 0) throw usage(wrong[0], advice(command));
  const inPlaces = command ? assignPositionals(command, words) : { given: {}, wrong: [] };
  const unfit = Object.entries(options).flatMap(([name, option]) =>
    notAllowed(`--${name}`, option, /** @type {string[]} */ (values.get(name) ?? [])),
  );
  const [first] = [...inPlaces.wrong, ...unfit];
  if (first !== undefined) throw usage(first, advice(command));
  if (rest.length > 0 && !command?.takesRest)
    throw usage(`nothing goes after -- here, such as "${formatWord(rest[0])}"`, advice(command));
  const named = Object.entries(options).map(([name, option]) => [
    toCamelCase(name),
    resolveValue(option, option.multiple ?? false, values.get(name)),
  ]);
  return { ...Object.fromEntries(named), ...inPlaces.given, rest };
}

/** @param {string} word @param {string[]} names of all commands */
export function unknownCommand(word, names) {
  const meant = findNearest(word, names);
  const question = meant === undefined ? "" : `: did you mean "${meant}"?`;
  return usage(`unknown command "${formatWord(word)}"${question}`, advice());
}
