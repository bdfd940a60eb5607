// The entries of configs: which were allowed and still say what was allowed, and those of emitters.

import path from "node:path";
import { visible } from "../lib/visible.mjs";
import { consentFile, isAllowed, listEntries, listGrants } from "./consent.mjs";
import { CONFIG_NAMES, configFile, readStamp, userConfigFile } from "./file.mjs";
import { loadProjectConfig, loadUserConfig } from "./load.mjs";
import { isOn } from "./user-config.mjs";

/** @typedef {import("./load.mjs").LoadedConfig} LoadedConfig */
/** @typedef {import("./load.mjs").Owner} Owner */
/** @typedef {import("../lib/paths.mjs").GatewayFiles} GatewayFiles */

/** @typedef {{path: string, at: string, changed: boolean, gone: boolean}} AllowedConfig `changed`: it has an entry that is not allowed */

/** @param {import("../lib/paths.mjs").GatewayFiles} files @returns {AllowedConfig[]} one for each file */
export function listAllowedConfigs(files) {
  const store = consentFile(files);
  const latest = new Map(listGrants(store).map(({ path: file, at }) => [file, at]));
  return [...latest].map(([file, at]) => {
    const config = loadProjectConfig(path.dirname(file), path.basename(file));
    const same =
      config?.result.ok === true &&
      listEntries(config.result).every((entry) => isAllowed(store, config.file, entry));
    return { path: file, at, changed: !same, gone: config === undefined };
  });
}

// The features that the configs of the user and of a folder name, whether or not a session has them. Reading what a
// config names allows nothing of it.

/**
 * @param {{home: string}} files of gatewayFiles() @param {string} [folder] of a project
 * @returns {{ids: string[], advice: string}} `advice`: for one who has named another one, with what is wrong with a config
 */
export function listNamedFeatures(files, folder) {
  const user = loadUserConfig(userConfigFile(files));
  const project = folder === undefined ? undefined : loadProjectConfig(folder);
  const ids = Object.entries({ user, project }).flatMap(([owner, config]) =>
    config?.result.ok ? listEntries(config.result).map(({ name }) => `${owner}:${name}`) : [],
  );
  const switched = user?.result.ok ? Object.keys(user.result.features) : [];
  const servers = user?.result.ok ? (user.result.mcpServers ?? []) : [];
  const where = folder === undefined ? "" : `, and this is ${visible(folder)}`;
  const problems = project?.result.ok === false ? project.result.problems : [];
  const advice = [
    `run this in the folder of its project, or while a session there is open${where}`,
    ...problems.map(({ text }) => text),
  ];
  const bridges = servers.map(({ name }) => `mcp:${name}`);
  return { ids: [...new Set([...ids, ...bridges, ...switched])], advice: advice.join("\n") };
}

/** @param {string} id @param {{ids: string[], advice: string}} named @returns {string} "": it is no project's */
export const adviceFor = (id, { advice }) => (id.startsWith("project:") ? advice : "");

// The emitters and streams that the configs of a session name, for the feature that runs them.

/**
 * @typedef {object} ConfiguredEmitter
 * @property {string} name
 * @property {Owner} file whose config
 * @property {string} path of it
 * @property {boolean} allowed whether it may begin without a further question
 * @property {string} digest of the entry: what consent is to
 * @property {import("./emitter-spec.mjs").EmitterSpec} spec
 * @property {string[]} notes what of it has no effect
 *
 * @typedef {{file: Owner, path: string, spec: import("./emitter-spec.mjs").StreamSpec}} ConfiguredStream
 * @typedef {object} ConfiguredEmitters
 * @property {string} stamp of the files: another one where one of them has changed
 * @property {ConfiguredEmitter[]} emitters
 * @property {ConfiguredStream[]} streams
 * @property {import("./load.mjs").ToolEntry[]} tools that are allowed, and files that could not be read
 * @property {string[]} problems with file, line and column; nothing of such a config is there
 */

/** What changes with each change of a config or of the user's consent. @param {GatewayFiles} files @param {string} folder */
export const readConfigStamp = (files, folder) =>
  [
    ...CONFIG_NAMES.map((name) => configFile(folder, name)),
    ...[userConfigFile(files), consentFile(files)],
  ]
    .map(readStamp)
    .join("|");

/**
 * @param {string} store @param {Owner} owner @param {LoadedConfig} loaded
 * @param {Record<string, boolean>} switches of the user's config
 * @returns {Omit<ConfiguredEmitters, "stamp">}
 */
function toConfiguredEmitters(store, owner, loaded, switches) {
  const { file, result } = loaded;
  if (result.ok === false) {
    const problems = result.problems.map(({ text }) => text);
    return { emitters: [], streams: [], tools: [], problems };
  }
  const isWanted = (/** @type {{name: string}} */ { name }) =>
    isOn(`${owner}:${name}`, result.features, switches);
  const emitters = listEntries(result).flatMap((entry) => {
    if (entry.kind !== "emitter" || !isWanted(entry)) return [];
    const { name, digest, config: spec } = entry;
    const allowed = owner === "user" || isAllowed(store, file, entry);
    const all = [...result.emitters, ...result.watch];
    const notes = all.find((one) => one.name === name)?.notes ?? [];
    return [{ name, file: owner, path: file, allowed, digest, spec, notes }];
  });
  const streams = result.streams.map(({ spec }) => ({ file: owner, path: file, spec }));
  const allowedTools = listEntries(result).flatMap((entry) =>
    entry.kind === "tool" && (owner === "user" || isAllowed(store, file, entry))
      ? [entry.config]
      : [],
  );
  const isTaken = (/** @type {import("./load.mjs").ToolEntry} */ { given }) =>
    owner === "user" || given === undefined || allowedTools.some((one) => one === given);
  return { emitters, streams, tools: result.tools.filter(isTaken), problems: [] };
}

/**
 * @param {GatewayFiles} files @param {string} folder of the session
 * @returns {ConfiguredEmitters} the project's first
 */
export function readConfiguredEmitters(files, folder) {
  // Taken first: a change during the reading gives another one.
  const stamp = readConfigStamp(files, folder);
  const store = consentFile(files);
  const project = loadProjectConfig(folder);
  const user = loadUserConfig(userConfigFile(files));
  const switches = user?.result.ok ? user.result.features : {};
  const parts = [
    ...(project ? [toConfiguredEmitters(store, "project", project, switches)] : []),
    ...(user ? [toConfiguredEmitters(store, "user", user, switches)] : []),
  ];
  return {
    stamp,
    emitters: parts.flatMap(({ emitters }) => emitters),
    streams: parts.flatMap(({ streams }) => streams),
    tools: parts.flatMap(({ tools }) => tools),
    problems: parts.flatMap(({ problems }) => problems),
  };
}
