// `allow`: the user's consent to what a tap.config.json starts.

import path from "node:path";
import {
  allow,
  commandLine,
  consentFile,
  listEntries,
  isAllowed,
  ruleLines,
  startLines,
  toolLines,
  emitterLines,
} from "../../config/consent.mjs";
import { userConfigFile } from "../../config/file.mjs";
import { loadUserConfig } from "../../config/load.mjs";
import { loadConfig, PATH_ARGUMENT } from "../config-file.mjs";
import { confirm } from "../confirm.mjs";
import { Failure } from "../exit.mjs";
import { getGatewayFiles, isRunByAgent } from "../options.mjs";
import { inLine } from "../../lib/visible.mjs";
import { Output, strong } from "../../views/output.mjs";

/** @typedef {import("../../config/consent.mjs").Entry} Entry */
/** @typedef {import("../../views/output.mjs").Part} Part */

/** @param {Entry} entry @returns {Part[][]} */
function entryLines({ kind, name, config }) {
  const title = ["  ", strong(inLine(name))];
  if (kind === "declarative") {
    const rules = ruleLines(config).map((line) => [`    ${line}`]);
    return [[...title, " (rules and context, no program)"], ...rules];
  }
  if (kind === "emitter") {
    return [[...title, " (emitter)"], ...emitterLines(config).map((line) => [`    ${line}`])];
  }
  if (kind === "tool") {
    return [
      [...title, " (how output is read)"],
      ...toolLines(config).map((line) => [`    ${line}`]),
    ];
  }
  return [
    [...title, ` (restart: ${config.restart.policy})`],
    [`    ${commandLine(config)}`],
    ...startLines(config).map((line) => [`      ${line}`]),
  ];
}

/** @param {Part} part */
const getLength = (part) => (typeof part === "string" ? part : part.text).length;

/**
 * In full, since a yes is to all of it. A config's bound on its size is the bound on this.
 * @param {Output} output @param {string} file @param {Entry[]} entries that are not allowed
 */
function show(output, file, entries) {
  const lines = entries.flatMap(entryLines);
  output.print(`${file} would start, in each session of that folder:`);
  for (const line of lines) output.print(...line);
  const { columns = 80, rows = Infinity } = process.stdout;
  const tall = lines.reduce((sum, line) => {
    const length = line.reduce((total, part) => total + getLength(part), 0);
    return sum + Math.max(1, Math.ceil(length / columns));
  }, 0);
  if (tall >= rows)
    output.print(`These are ${tall} lines of this terminal: scroll up to read all.`);
}

/** @param {Output} output @param {boolean} yes @throws where nobody agrees */
async function askForConsent(output, yes) {
  if (yes) return;
  if (output.json || !(process.stdin.isTTY && process.stdout.isTTY)) {
    throw new Failure(
      "nobody to ask, since this is no terminal: use --yes if you have read the above",
      {
        advice: "or run it in a terminal, without --json",
        code: "CONSENT_NEEDED",
      },
    );
  }
  if (await confirm("Allow this? [y/N] ")) return;
  throw new Failure("Not allowed; nothing will be started.", { code: "REFUSED" });
}

/** @param {import("../options.mjs").CommandOptions & {path: string, yes: boolean}} given */
async function run(given) {
  const output = new Output(given);
  const loaded = loadConfig(given.path);
  const { file, digest, result } = loaded;
  if (!result.ok) {
    const [first, ...others] = result.problems.map(({ text }) => text);
    throw new Failure(first, { advice: others.join("\n"), code: "INVALID_CONFIG" });
  }
  if (isRunByAgent()) {
    throw new Failure("consent is yours to give, not the agent's", {
      advice: "run this in a terminal of your own",
      code: "NOT_FOR_AGENTS",
    });
  }
  const store = consentFile(getGatewayFiles(given));
  const providers = result.providers.map((provider) => ({
    name: provider.name,
    restart: provider.restart.policy,
    commandLine: commandLine(provider),
    env: provider.env,
    ...(provider.cwd !== undefined && { cwd: provider.cwd }),
    ...(provider.sandbox && { sandbox: provider.sandbox }),
  }));
  const declarative = result.declarative.map((config) => ({ ...config, lines: ruleLines(config) }));
  const entries = listEntries(result);
  const { toPlanned } = await import("../../watch/plan.mjs");
  const user = loadUserConfig(userConfigFile(getGatewayFiles(given)))?.result;
  const own = [...(user?.ok ? user.tools : []), ...result.tools];
  const toShown = (/** @type {Entry} */ entry) =>
    entry.kind === "emitter"
      ? { ...entry, config: toPlanned(entry.config, path.dirname(file), own) }
      : entry;
  const emitters = entries.flatMap((entry) => {
    const shown = toShown(entry);
    return shown.kind === "emitter" ? [{ ...shown.config, lines: emitterLines(shown.config) }] : [];
  });
  const summary = {
    path: file,
    digest,
    providers,
    ...(declarative.length > 0 && { declarative }),
    ...(emitters.length > 0 && { emitters }),
  };
  const asked = entries.filter((entry) => !isAllowed(store, file, entry));
  if (asked.length === 0) {
    output.result({ ...summary, allowed: true, changed: false }, () =>
      output.print(`${file} is allowed already`),
    );
    return;
  }
  show(output, file, asked.map(toShown));
  await askForConsent(output, given.yes);
  allow(store, file, entries);
  output.result({ ...summary, allowed: true, changed: true }, () =>
    output.print("Allowed, until one of these entries changes."),
  );
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "allow [path]",
  describe: "let a tap.config.json start its providers",
  about:
    "Shows what the file would start in each session of its folder, asks, and allows it. " +
    "Consent holds for the entries that were shown: one that is new or changes needs it again. " +
    "It does not cover the files that a command runs. The command refuses to run in the shell of the agent.",
  positionals: { path: PATH_ARGUMENT },
  options: {
    yes: {
      short: "y",
      describe: "allow without asking: you have read what it starts",
      type: "boolean",
    },
  },
  examples: [
    ["$0 allow", "the config of this folder"],
    ["$0 allow ~/shop --yes", "without a question, for scripts"],
  ],
  handler: run,
};
