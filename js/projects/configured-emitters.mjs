// The emitters and streams that the configs of a session name, for the feature that runs them.

import { CONFIG_NAMES, configFile, stampOf, userConfigFile } from "./config-file.mjs";
import { loadProjectConfig, loadUserConfig } from "./config.mjs";
import { consentFile, entriesOf, isAllowed } from "./consent.mjs";
import { isOn } from "./user-config.mjs";

/** @typedef {import("./config.mjs").LoadedConfig} LoadedConfig */
/** @typedef {import("./config.mjs").Owner} Owner */
/** @typedef {import("../base/paths.mjs").GatewayFiles} GatewayFiles */
/**
 * @typedef {object} ConfiguredEmitter
 * @property {string} name
 * @property {Owner} file whose config
 * @property {string} path of it
 * @property {boolean} allowed whether it may begin without a further question
 * @property {string} digest of the entry: what consent is to
 * @property {import("../base/emitter-spec.mjs").EmitterSpec} spec
 * @property {string[]} notes what of it has no effect
 *
 * @typedef {{file: Owner, path: string, spec: import("../base/emitter-spec.mjs").StreamSpec}} ConfiguredStream
 * @typedef {object} Configured
 * @property {string} stamp of the files: another one where one of them has changed
 * @property {ConfiguredEmitter[]} emitters
 * @property {ConfiguredStream[]} streams
 * @property {string[]} problems with file, line and column; nothing of such a config is there
 */

/** What changes with each change of a config or of the user's consent. @param {GatewayFiles} files @param {string} folder */
export const configStamp = (files, folder) =>
  [
    ...CONFIG_NAMES.map((name) => configFile(folder, name)),
    ...[userConfigFile(files), consentFile(files)],
  ]
    .map(stampOf)
    .join("|");

/**
 * @param {string} store @param {Owner} owner @param {LoadedConfig} loaded
 * @param {Record<string, boolean>} switches of the user's config
 * @returns {Omit<Configured, "stamp">}
 */
function read(store, owner, loaded, switches) {
  const { file, result } = loaded;
  if (result.ok === false) {
    return { emitters: [], streams: [], problems: result.problems.map(({ text }) => text) };
  }
  const isWanted = (/** @type {{name: string}} */ { name }) =>
    isOn(`${owner}:${name}`, result.features, switches);
  const emitters = entriesOf(result).flatMap((entry) => {
    if (entry.kind !== "emitter" || !isWanted(entry)) return [];
    const { name, digest, config: spec } = entry;
    const allowed = owner === "user" || isAllowed(store, loaded, entry);
    const notes = result.emitters.find((one) => one.name === name)?.notes ?? [];
    return [{ name, file: owner, path: file, allowed, digest, spec, notes }];
  });
  const streams = result.streams.map(({ spec }) => ({ file: owner, path: file, spec }));
  return { emitters, streams, problems: [] };
}

/**
 * @param {GatewayFiles} files @param {string} folder of the session
 * @returns {Configured} the project's first
 */
export function configuredEmitters(files, folder) {
  // Taken first: a change during the reading gives another one.
  const stamp = configStamp(files, folder);
  const store = consentFile(files);
  const project = loadProjectConfig(folder);
  const user = loadUserConfig(userConfigFile(files));
  const switches = user?.result.ok ? user.result.features : {};
  const parts = [
    ...(project ? [read(store, "project", project, switches)] : []),
    ...(user ? [read(store, "user", user, switches)] : []),
  ];
  return {
    stamp,
    emitters: parts.flatMap(({ emitters }) => emitters),
    streams: parts.flatMap(({ streams }) => streams),
    problems: parts.flatMap(({ problems }) => problems),
  };
}
