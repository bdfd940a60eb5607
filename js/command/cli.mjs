#!/usr/bin/env node
// The `tap` command: allowing what a repository wants started, looking at what runs, and turning paired
// providers out.

import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { parseArgs } from "node:util";
import { allow, commandLine, consentFile, isAllowed, list, revoke } from "../projects/consent.mjs";
import { readDescriptor } from "../base/host-files.mjs";
import { askPort } from "../host/host-process.mjs";
import { gatewayFiles, version } from "../base/paths.mjs";
import { CONFIG_NAME } from "../projects/config-file.mjs";
import { loadProjectConfig } from "../projects/project-config.mjs";
import { visible } from "../base/visible.mjs";

/** @typedef {import("../base/paths.mjs").GatewayFiles} GatewayFiles */

const HELP = `tap ${version}: tools for GitHub Copilot CLI from any process

  tap allow [path] [--yes]   show what a ${CONFIG_NAME} would start, and allow it
  tap revoke [path]          take that back, for every content of the file
  tap status                 show whether a gateway runs, and what is allowed
  tap paired                 list the providers that were let in by a pairing code
  tap unpair <name>          void their tokens, and end their connections
  tap dev [--json] [-- command …]
                             a gateway and a pretend session, to develop a provider with
  tap new <node|python> <name>
                             write a provider with a test into a new folder of that name
  tap --help | --version
  --home <folder>            the COPILOT_HOME that is meant

path is a ${CONFIG_NAME} or its folder; the current folder if none is given. Consent holds for the
content that was shown: a changed file asks again. It does not cover the files that a command runs.

exit codes: 0 done, 1 not done (or no gateway runs), 2 wrong usage
`;

/** @param {string} text each line is made safe; the line breaks are ours */
function say(text) {
  process.stdout.write(`${text.split("\n").map(visible).join("\n")}\n`);
}

/** @param {string} text */
function complain(text) {
  process.stderr.write(`${visible(`tap: ${text}`)}\n`);
}

class Usage extends Error {}

/** @param {string | undefined} given @returns {{folder: string, name: string}} */
function locate(given) {
  const target = path.resolve(given ?? ".");
  const isFolder = fs.statSync(target, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const file = isFolder ? path.join(target, CONFIG_NAME) : target;
  if (path.basename(file) !== CONFIG_NAME) throw new Usage(`${file} is not a ${CONFIG_NAME}`);
  return { folder: path.dirname(file), name: CONFIG_NAME };
}

/** @param {string | undefined} given */
function load(given) {
  const { folder, name } = locate(given);
  const config = loadProjectConfig(folder, name);
  if (!config) throw new Error(`there is no ${path.join(folder, name)}`);
  return config;
}

/**
 * Anything but a clear yes is a no, the end of the input included.
 * @param {string} question @returns {Promise<boolean>}
 */
function confirmed(question) {
  const terminal = readline.createInterface({ input: process.stdin, output: process.stdout });
  return new Promise((resolve) => {
    terminal.on("close", () => resolve(false));
    terminal.question(question, (answer) => {
      resolve(/^\s*y(es)?\s*$/i.test(answer));
      terminal.close();
    });
  });
}

/** @param {import("../projects/project-config.mjs").ProviderConfig[]} providers */
function showProviders(providers) {
  for (const provider of providers) {
    say(`  ${provider.name} (restart: ${provider.restart.policy})\n    ${commandLine(provider)}`);
  }
}

/**
 * The consent is the user's: a command that the agent runs cannot give it.
 * @param {NodeJS.ProcessEnv} env
 */
const runByAgent = (env) => Boolean(env.COPILOT_AGENT_SESSION_ID);

/** @param {string | undefined} given @param {boolean} yes @param {GatewayFiles} files */
async function runAllow(given, yes, files) {
  const { file, digest, result } = load(given);
  if (!result.ok) {
    for (const { text } of result.problems) complain(text);
    return 1;
  }
  if (runByAgent(process.env)) {
    complain("consent is yours to give, not the agent's: run this in a terminal of your own");
    return 1;
  }
  const store = consentFile(files);
  if (isAllowed(store, file, digest)) {
    say(`${file} is allowed already`);
    return 0;
  }
  say(`${file} would start, in each session of that folder:`);
  showProviders(result.providers);
  if (!yes && !(process.stdin.isTTY && process.stdout.isTTY)) {
    complain("nobody to ask, since this is no terminal: use --yes if you have read the above");
    return 1;
  }
  if (!yes && !(await confirmed("Allow this? [y/N] "))) {
    say("Not allowed; nothing will be started.");
    return 1;
  }
  allow(store, file, digest);
  say("Allowed, until the file changes.");
  return 0;
}

/** A config that is gone or broken can be revoked all the same. @param {string | undefined} given @param {GatewayFiles} files */
function runRevoke(given, files) {
  const { folder, name } = locate(given);
  const real = fs.existsSync(folder) ? fs.realpathSync(folder) : folder;
  const file = path.join(real, name);
  const count = revoke(consentFile(files), file);
  say(count > 0 ? `${file} is not allowed any more` : `${file} was not allowed`);
  return 0;
}

/** @type {Record<import("../host/host-process.mjs").PortHolder, string>} */
const HOLDERS = {
  ours: "a gateway runs",
  nobody: "no gateway runs; one starts with the next session of the Copilot CLI",
  "other-home":
    "the gateway of another COPILOT_HOME or user has the port; TAP_GATEWAY_PORT names another",
  foreign: "a program other than tap has the port; TAP_GATEWAY_PORT names another",
  silent: "what has the port does not answer",
};

/** @param {GatewayFiles} files */
async function runStatus(files) {
  const holder = await askPort(files.port, files.homeHash);
  const descriptor = readDescriptor(files.descriptor);
  const detail =
    holder === "ours" && descriptor
      ? ` (version ${descriptor.version}, pid ${descriptor.pid})`
      : "";
  say(`port ${files.port}: ${HOLDERS[holder]}${detail}`);
  say(`home: ${files.home}\nlogs: ${files.logs}`);
  const grants = list(consentFile(files));
  say(grants.length === 0 ? "allowed configs: none" : "allowed configs:");
  for (const grant of grants) say(`  ${grant.path} (since ${grant.at})`);
  return holder === "ours" ? 0 : 1;
}

/** @param {import("./paired.mjs").PairedProvider} provider */
function pairedLine({ name, origin, sessionId, label }) {
  const from = origin ? ` (${origin})` : "";
  return `${name}${from}, in session ${label || sessionId}`;
}

/** @param {GatewayFiles} files */
async function runPaired(files) {
  const providers = await ask(files, { type: "paired.list" });
  say(providers.length === 0 ? "paired providers: none" : "paired providers:");
  for (const provider of providers) say(`  ${pairedLine(provider)}`);
  return 0;
}

/** @param {string | undefined} name @param {GatewayFiles} files */
async function runUnpair(name, files) {
  if (name === undefined) throw new Usage("unpair: expected the name of a paired provider");
  const revoked = await ask(files, { type: "paired.revoke", name });
  for (const provider of revoked) say(`${pairedLine(provider)}: its token is void`);
  if (revoked.length > 0) return 0;
  complain(`no provider is paired by the name "${name}"; tap paired lists them`);
  return 1;
}

/** Only these two need the addon. @type {typeof import("./paired.mjs").askPaired} */
const ask = async (files, question) => (await import("./paired.mjs")).askPaired(files, question);

/** @param {boolean} json @param {string[]} command */
async function runDevelopment(json, command) {
  if (json && command.length > 0) throw new Usage("--json takes no command");
  const { runDev, runJsonDev } = await import("../develop/dev.mjs");
  const streams = { input: process.stdin, output: process.stdout };
  await (json ? runJsonDev(streams) : runDev(command, streams));
  process.stdin.destroy(); // it would keep the process alive
  return 0;
}

/** @param {string[]} rest */
async function runNew([language, name, ...surplus]) {
  const { createProject, LANGUAGES } = await import("../develop/new.mjs");
  if (language === undefined || !LANGUAGES.includes(language)) {
    throw new Usage(`new: expected one of ${LANGUAGES.join(", ")}`);
  }
  if (name === undefined || surplus.length > 0) throw new Usage("new: expected one name");
  say(createProject(language, name));
  return 0;
}

/**
 * @typedef {{given: string | undefined, rest: string[], yes: boolean, json: boolean, files: GatewayFiles}} Arguments
 * @typedef {{takes: number, run: (given: Arguments) => number | Promise<number>}} Command
 */
/** @type {Map<string, Command>} */
const COMMANDS = new Map([
  ["allow", { takes: 1, run: ({ given, yes, files }) => runAllow(given, yes, files) }],
  ["revoke", { takes: 1, run: ({ given, files }) => runRevoke(given, files) }],
  ["status", { takes: 0, run: ({ files }) => runStatus(files) }],
  ["paired", { takes: 0, run: ({ files }) => runPaired(files) }],
  ["unpair", { takes: 1, run: ({ given, files }) => runUnpair(given, files) }],
  ["dev", { takes: Infinity, run: ({ rest, json }) => runDevelopment(json, rest) }],
  ["new", { takes: Infinity, run: ({ rest }) => runNew(rest) }],
]);

/** @param {string[]} args */
function parse(args) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        help: { type: "boolean", short: "h" },
        version: { type: "boolean" },
        home: { type: "string" },
        yes: { type: "boolean", short: "y" },
        json: { type: "boolean" },
      },
    });
  } catch (error) {
    throw new Usage(error instanceof Error ? error.message : String(error));
  }
}

/** @param {string} name @returns {Command} */
function commandNamed(name) {
  const command = COMMANDS.get(name);
  if (!command) throw new Usage(`unknown command "${name}"`);
  return command;
}

/** @param {string[]} args @returns {Promise<number>} the exit code */
async function main(args) {
  const { values, positionals } = parse(args);
  const [command, ...rest] = positionals;
  if (values.help || command === "help") {
    process.stdout.write(HELP);
    return 0;
  }
  if (values.version) {
    say(version);
    return 0;
  }
  if (command === undefined) throw new Usage("expected a command");
  const { takes, run } = commandNamed(command);
  const unexpected = rest[takes];
  if (unexpected !== undefined) throw new Usage(`unexpected argument "${unexpected}"`);
  if (values.yes && command !== "allow") throw new Usage("--yes goes with allow only");
  if (values.json && command !== "dev") throw new Usage("--json goes with dev only");
  const home = values.home === undefined ? {} : { COPILOT_HOME: values.home };
  const files = gatewayFiles({ ...process.env, ...home });
  const { yes = false, json = false } = values;
  return run({ given: rest[0], rest, yes, json, files });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  complain(error instanceof Error ? error.message : String(error));
  if (error instanceof Usage) process.stderr.write("tap --help shows what there is\n");
  process.exitCode = error instanceof Usage ? 2 : 1;
}
