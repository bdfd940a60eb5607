// The features that the configs of the user and of a folder name, whether or not a session has them. Reading what a
// config names allows nothing of it.

import { visible } from "../base/visible.mjs";
import { userConfigFile } from "./config-file.mjs";
import { loadProjectConfig, loadUserConfig } from "./config.mjs";
import { entriesOf } from "./consent.mjs";

/**
 * @param {{home: string}} files of gatewayFiles() @param {string} [folder] of a project
 * @returns {{ids: string[], advice: string}} `advice`: for one who has named another one, with what is wrong with a config
 */
export function namedFeatures(files, folder) {
  const user = loadUserConfig(userConfigFile(files));
  const project = folder === undefined ? undefined : loadProjectConfig(folder);
  const ids = Object.entries({ user, project }).flatMap(([owner, config]) =>
    config?.result.ok ? entriesOf(config.result).map(({ name }) => `${owner}:${name}`) : [],
  );
  const switched = user?.result.ok ? Object.keys(user.result.features) : [];
  const where = folder === undefined ? "" : `, and this is ${visible(folder)}`;
  const problems = project?.result.ok === false ? project.result.problems : [];
  const advice = [
    `run this in the folder of its project, or while a session there is open${where}`,
    ...problems.map(({ text }) => text),
  ];
  return { ids: [...new Set([...ids, ...switched])], advice: advice.join("\n") };
}

/** @param {string} id @param {{ids: string[], advice: string}} named @returns {string} "": it is no project's */
export const adviceFor = (id, { advice }) => (id.startsWith("project:") ? advice : "");
