// `mcp`: MCP servers as tools of sessions: adds, shows, restarts and removes them, and keeps their secrets.

import path from "node:path";
import { setMcpServer } from "../../config/edit.mjs";
import { userConfigFile } from "../../config/file.mjs";
import { loadUserConfig } from "../../config/load.mjs";
import {
  listSecretNames,
  readSecrets,
  removeSecret,
  resolveSecrets,
  setSecret,
} from "../../config/mcp.mjs";
import { redact } from "../../lib/redact.mjs";
import { errorMessage } from "../../lib/values.mjs";
import { bad, good, Output, warning } from "../../views/output.mjs";
import { table } from "../../views/table.mjs";
import { Failure, usage } from "../exit.mjs";
import { withGateway } from "../gateway.mjs";
import { getGatewayFiles, isRunByAgent } from "../options.mjs";

/** @typedef {import("../../config/mcp.mjs").McpServerConfig} McpServerConfig */
/**
 * @typedef {import("../options.mjs").CommandOptions & {action: string, name?: string, key?: string, url?: string,
 *   env: string[], header: string[], tools?: string, prefix?: string, cwd?: string, timeout?: string,
 *   replace: boolean, noCheck: boolean, rest: string[]}} McpOptions
 */

const MAX_STDIN = 128 * 1024;

/** What changes a config or a secret is the user's to decide. */
function requireUser() {
  if (!isRunByAgent()) return;
  throw new Failure("which MCP servers run, and their secrets, are yours to decide", {
    advice: "run this in a terminal of your own",
    code: "NOT_FOR_AGENTS",
  });
}

/** @param {McpOptions} given @returns {McpServerConfig[]} of the user's config */
function loadServers(given) {
  const loaded = loadUserConfig(userConfigFile(getGatewayFiles(given)));
  if (!loaded) return [];
  if (loaded.result.ok) return loaded.result.mcpServers ?? [];
  const [first, ...others] = loaded.result.problems.map(({ text }) => text);
  throw new Failure(first, { advice: others.join("\n"), code: "INVALID_CONFIG" });
}

/** @param {McpOptions} given @returns {string} */
function requireName({ action, name }) {
  if (name !== undefined) return name;
  throw usage(`which server? As in: copilot-tap mcp ${action} github`);
}

/** @param {McpOptions} given @param {readonly McpServerConfig[]} servers @returns {McpServerConfig} */
function requireServer(given, servers) {
  const name = requireName(given);
  const found = servers.find((one) => one.name === name);
  if (found) return found;
  const known = servers.map((one) => one.name).join(", ") || "none";
  throw new Failure(`there is no MCP server "${name}" in your config; there are: ${known}`, {
    advice: "copilot-tap mcp add adds one",
    code: "NOT_FOUND",
  });
}

/**
 * Asks a running gateway.
 * @param {McpOptions} given @param {string} method @param {object} [params]
 * @returns {Promise<any>} undefined: none runs
 */
const requestIfRunning = (given, method, params = {}) =>
  withGateway(getGatewayFiles(given), (control) => control.request(method, params)).catch(
    (error) => {
      if (error.code === "NO_GATEWAY") return undefined;
      throw error;
    },
  );

// ---- add -----------------------------------------------------------------------------------------

/** @param {string[]} pairs @param {string} separator @param {string} form for the message */
const splitPairs = (pairs, separator, form) =>
  pairs.map((pair) => {
    const at = pair.indexOf(separator);
    if (at > 0) return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    throw usage(`expected ${form}, found "${pair.slice(0, 40)}"`);
  });

/**
 * A value that looks like a secret is stored as one, and the entry names it.
 * @param {string} server @param {string[][]} pairs @param {Record<string, string>} secrets gets them
 */
function extractSecrets(server, pairs, secrets) {
  return Object.fromEntries(
    pairs.map(([name, value]) => {
      if (value.includes("${") || redact({ [name]: value })[name] === value) return [name, value];
      const key = `${server}_${name}`
        .toUpperCase()
        .replaceAll(/\W/g, "_")
        .replace(/^(?=\d)/, "_");
      secrets[key.slice(0, 64)] = value;
      return [name, `\${secret:${key.slice(0, 64)}}`];
    }),
  );
}

/** @param {McpOptions} given @param {string} name @param {Record<string, string>} secrets */
function createEntry(given, name, secrets) {
  const { url, rest, tools, prefix, cwd, timeout } = given;
  const [command, ...args] = rest;
  if ((url === undefined) === (command === undefined))
    throw usage('give a command after "--", or --url');
  const env = extractSecrets(name, splitPairs(given.env, "=", "NAME=VALUE"), secrets);
  const headers = extractSecrets(name, splitPairs(given.header, ":", '"Name: value"'), secrets);
  const isGiven = (/** @type {object} */ some) => Object.keys(some).length > 0;
  return {
    ...(url === undefined ? { command } : { url }),
    ...(args.length > 0 && { args }),
    ...(cwd !== undefined && { cwd }),
    ...(isGiven(env) && { env }),
    ...(isGiven(headers) && { headers }),
    ...(tools !== undefined && { tools: tools.split(",").map((one) => one.trim()) }),
    ...(prefix !== undefined && { prefix }),
    ...(timeout !== undefined && { timeout }),
  };
}

/** @param {McpOptions} given @param {McpServerConfig} config */
async function checkServer(given, config) {
  const { home, logs } = getGatewayFiles(given);
  const { tryServer } = await import("../../mcp-host/connection.mjs");
  const logFile = path.join(logs, "mcp", `${config.name}.log`);
  /** @type {ReturnType<typeof resolveSecrets> | undefined} */
  let resolved;
  try {
    resolved = resolveSecrets(config, readSecrets(home));
    return await tryServer(config, { resolved, logFile });
  } catch (error) {
    const text = errorMessage(error);
    throw new Failure(
      `the entry is written, but the server does not work: ${resolved?.mask(text) ?? text}`,
      {
        advice: `its log: ${logFile}\ncopilot-tap mcp remove ${config.name} removes the entry`,
        code: "NOT_READY",
      },
    );
  }
}

/** @param {Output} output @param {McpOptions} given */
async function add(output, given) {
  requireUser();
  const name = requireName(given);
  if (loadServers(given).some((one) => one.name === name) && !given.replace)
    throw usage(`there is an MCP server "${name}" already: give another name, or --replace`);
  /** @type {Record<string, string>} */
  const secrets = {};
  const entry = createEntry(given, name, secrets);
  const files = getGatewayFiles(given);
  let written;
  try {
    written = setMcpServer(files, name, entry);
  } catch (error) {
    throw new Failure(errorMessage(error), {
      advice: "nothing was written",
      code: "INVALID_CONFIG",
    });
  }
  for (const [key, value] of Object.entries(secrets)) setSecret(files.home, key, value);
  const config = /** @type {McpServerConfig} */ (written.servers.find((one) => one.name === name));
  const checked = given.noCheck ? undefined : await checkServer(given, config);
  const live = (await requestIfRunning(given, "mcp.reload")) !== undefined;
  const stored = Object.keys(secrets);
  const offered = checked?.tools.filter(({ why }) => why === undefined) ?? [];
  const characters = offered.reduce((sum, tool) => sum + tool.characters, 0);
  const tools = checked?.tools.map(({ parameters: _parameters, ...tool }) => tool);
  const about = checked && { protocol: checked.about.protocol, server: checked.about.server };
  const value = { name, file: written.file, entry, secrets: stored, live };
  output.result({ ...value, ...about, ...(tools && { tools, characters }) }, () => {
    output.print(`${name} is in ${written.file}`);
    for (const key of stored)
      output.print(`  stored as the secret ${key}, since it looks like one`);
    if (checked) {
      const { server, protocol } = checked.about;
      output.print(`${server.name} ${server.version}, protocol ${protocol}`);
      printTools(output, checked.tools);
      output.print(`${offered.length} tools, ${characters} characters in each request`);
    }
    if (!live) output.print("no gateway runs: the next one starts it");
  });
}

/** @param {Output} output @param {readonly any[]} tools */
function printTools(output, tools) {
  const columns = [
    { title: "tool" },
    { title: "characters", right: true },
    { title: "hints" },
    { title: "not offered", flexible: true },
  ];
  const rows = tools.map(({ name, characters, hints, why = "" }) => [
    ...[name, String(characters), hints.join(", "), warning(why)],
  ]);
  if (rows.length > 0) table(output, columns, rows, 2);
}

// ---- list, show, restart, remove -----------------------------------------------------------------

/** Of one that no gateway knows. @param {McpServerConfig} config */
const createIdleState = ({ name, url }) => ({
  ...{ id: `mcp:${name}`, name, owner: "user", scope: "shared", state: "idle" },
  reason: "no gateway runs",
  transport: url === undefined ? "stdio" : "http",
  ...{ sessions: 0, pids: [], protocol: "", server: { name: "", version: "" } },
  ...{ tools: 0, offered: 0, characters: 0, restarts: 0, calls: 0, p50Ms: null, lastError: null },
  details: { instructions: "", tools: /** @type {any[]} */ ([]) },
});

/** @param {McpOptions} given @returns {Promise<any[]>} */
async function listStates(given) {
  const seen = await requestIfRunning(given, "mcp.list");
  const servers = seen?.servers ?? loadServers(given).map(createIdleState);
  const file = userConfigFile(getGatewayFiles(given));
  return servers.map((/** @type {any} */ { id, name, owner, ...rest }) => ({
    ...{ id, name, owner, file },
    ...rest,
    group: null,
  }));
}

/** @param {string} state */
const styleState = (state) => {
  if (state === "ready") return good(state);
  return state === "failed" ? bad(state) : state;
};

/** @param {Output} output @param {McpOptions} given */
async function list(output, given) {
  const states = await listStates(given);
  const servers = states.map(({ details: _details, ...state }) => state);
  output.result({ servers }, () => {
    if (servers.length === 0) return output.print("no MCP servers: copilot-tap mcp add adds one");
    const columns = [
      { title: "server" },
      { title: "state" },
      { title: "tools", right: true },
      { title: "characters", right: true },
      { title: "calls", right: true },
      { title: "reason", flexible: true },
    ];
    const rows = servers.map(({ name, state, offered, characters, calls, reason }) => [
      ...[name, styleState(state), String(offered), String(characters), String(calls), reason],
    ]);
    table(output, columns, rows, 0);
  });
}

/** @param {Output} output @param {McpOptions} given */
async function show(output, given) {
  const name = requireName(given);
  const states = await listStates(given);
  const found = states.find((one) => one.name === name);
  if (!found) return void requireServer(given, loadServers(given));
  const { details, ...state } = found;
  output.result({ ...state, instructions: details.instructions, list: details.tools }, () => {
    output.print(`${name}: `, styleState(state.state), state.reason && ` (${state.reason})`);
    if (state.server.name)
      output.print(`  ${state.server.name} ${state.server.version}, protocol ${state.protocol}`);
    if (state.pids.length > 0) output.print(`  pid ${state.pids.join(", ")}`);
    if (state.lastError)
      output.print(`  last error, ${state.lastError.at}: ${state.lastError.text}`);
    if (details.instructions) output.printText(details.instructions, "  ");
    printTools(output, details.tools);
  });
}

/** @param {Output} output @param {McpOptions} given */
async function restart(output, given) {
  requireUser();
  const { name } = requireServer(given, loadServers(given));
  await withGateway(getGatewayFiles(given), async (control) => {
    await control.request("mcp.reload", {});
    await control.request("mcp.restart", { name });
  });
  output.result({ name, restarted: true }, () => output.print(`${name} starts again`));
}

/** @param {Output} output @param {McpOptions} given */
async function remove(output, given) {
  requireUser();
  const { name } = requireServer(given, loadServers(given));
  const { file } = setMcpServer(getGatewayFiles(given), name);
  const live = (await requestIfRunning(given, "mcp.reload")) !== undefined;
  output.result({ name, file, removed: true, live }, () => {
    output.print(`${name} is not in ${file} any more`);
    output.print("  its secrets stay: copilot-tap mcp secret list");
  });
}

// ---- secrets -------------------------------------------------------------------------------------

/** @returns {Promise<string>} without the last line's end */
async function readStdin() {
  if (process.stdin.isTTY)
    throw usage("the value comes from stdin: copilot-tap mcp secret set NAME < file");
  let text = "";
  process.stdin.setEncoding("utf8");
  for await (const piece of process.stdin) {
    text += piece;
    if (text.length > MAX_STDIN) throw usage("the value is too long for a secret");
  }
  return text.replace(/\r?\n$/, "");
}

/** @param {McpOptions} given @param {string} key */
async function restartUsers(given, key) {
  const users = loadServers(given).filter((config) => listSecretNames(config).includes(key));
  for (const { name } of users)
    await requestIfRunning(given, "mcp.restart", { name }).catch(() => {});
  return users.map(({ name }) => name);
}

/** @template T @param {() => T} work @returns {T} */
function withSecretErrors(work) {
  try {
    return work();
  } catch (error) {
    const isUsage = error instanceof RangeError;
    throw isUsage ? usage(error.message) : new Failure(errorMessage(error), { code: "SECRETS" });
  }
}

/** @param {Output} output @param {McpOptions} given */
async function changeSecrets(output, given) {
  const { name: action, key } = given;
  const { home } = getGatewayFiles(given);
  if (action === "list") {
    const names = Object.keys(withSecretErrors(() => readSecrets(home))).sort();
    return output.result({ secrets: names }, () => {
      for (const one of names) output.print(one);
    });
  }
  if ((action !== "set" && action !== "remove") || key === undefined)
    throw usage("expected: mcp secret set NAME, mcp secret list or mcp secret remove NAME");
  requireUser();
  if (action === "remove") {
    if (!withSecretErrors(() => removeSecret(home, key)))
      throw new Failure(`there is no secret ${key}`, {
        advice: "copilot-tap mcp secret list shows which there are",
        code: "NOT_FOUND",
      });
    return output.result({ name: key, removed: true }, () => output.print(`${key} is removed`));
  }
  const value = await readStdin();
  withSecretErrors(() => setSecret(home, key, value));
  const servers = await restartUsers(given, key);
  output.result({ name: key, stored: true, servers }, () => output.print(`${key} is stored`));
}

const ACTIONS = { add, list, show, restart, remove, secret: changeSecrets };

/** @param {McpOptions} given */
const run = (given) =>
  ACTIONS[/** @type {keyof typeof ACTIONS} */ (given.action)](new Output(given), given);

/** @type {import("../options.mjs").Command} */
export default {
  command: "mcp [action] [name] [key]",
  describe: "give sessions the tools of MCP servers",
  usages: [
    "mcp add <name> [options] -- <command…>",
    "mcp add <name> --url <address> [options]",
    "mcp [list|show|restart|remove] [name]",
    "mcp secret [set|list|remove] [NAME]",
  ],
  about:
    "`add` writes an MCP server to your config, connects once, and shows its tools; running sessions have " +
    "them at once. A value that looks like a secret is stored apart from the config. `secret set` reads the " +
    `value from stdin; env and headers of an entry name it as \${secret:NAME}. What changes something refuses ` +
    "to run in the shell of the agent.",
  positionals: {
    action: { describe: "what to do", choices: Object.keys(ACTIONS), default: "list" },
    name: { describe: "of a server; after secret: set, list or remove" },
    key: { describe: "the name of a secret" },
  },
  options: {
    url: { describe: "the address of a server, in place of a command" },
    env: { describe: "a variable of the server: NAME=VALUE", multiple: true },
    header: { describe: 'a header of requests to the server: "Name: value"', multiple: true },
    tools: { describe: 'which tools, by globs with commas, such as "list_*,!list_secrets"' },
    prefix: { describe: "of the names of its tools; else <name>_", mayBeEmpty: true },
    cwd: { describe: "the folder of the server, from your home folder" },
    timeout: { describe: "of a call, such as 30s; else 5m" },
    replace: { describe: "replace the server of that name", type: "boolean" },
    "no-check": { describe: "do not connect now", type: "boolean" },
  },
  examples: [
    ["$0 mcp add files -- npx -y @modelcontextprotocol/server-filesystem .", "a program"],
    ["$0 mcp add docs --url https://docs.example.com/mcp", "over HTTP"],
    ["$0 mcp show files", "its tools, and what each costs"],
    ["$0 mcp secret set GITHUB_TOKEN < token.txt", `for \${secret:GITHUB_TOKEN}`],
  ],
  takesRest: true,
  handler: run,
};
