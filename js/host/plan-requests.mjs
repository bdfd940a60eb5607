// What plans ask of configs, on its way through the gateway host.

import path from "node:path";
import { readUserConfig } from "../projects/user-config.mjs";
import { only, RequestError } from "./requests.mjs";

/**
 * As the files are now. A project's config needs no consent here: it only forbids.
 * @param {{home: string}} files of gatewayFiles() @param {string} folder of a repository
 * @returns {Promise<{patterns: string[], trouble: string}>} trouble: a config has a mistake, so it is not known
 */
async function protectedBranches(files, folder) {
  const { loadProjectConfig } = await import("../projects/config.mjs");
  const user = await readUserConfig(files);
  const project = loadProjectConfig(folder)?.result;
  const problems = project?.ok === false ? project.problems.map(({ text }) => text) : [];
  const [trouble = ""] = [...user.problems, ...problems];
  if (user.isUnread || (project?.ok === false && project.isUnread)) {
    throw new RequestError("UNAVAILABLE", `a config cannot be read now: ${trouble}`);
  }
  const own = project?.ok ? (project.protectedBranches ?? []) : [];
  return { patterns: [...(user.protectedBranches ?? []), ...own], trouble };
}

/** @param {import("./requests.mjs").HostRequests} requests @param {{home: string}} files of gatewayFiles() */
export function servePlanRequests(requests, files) {
  requests.register("plans.settings", async (_params, from) => {
    only(from, "feature");
    return (await readUserConfig(files)).plans ?? {};
  });
  requests.register("plans.protected", ({ folder }, from) => {
    only(from, "feature");
    if (typeof folder === "string" && path.isAbsolute(folder)) {
      return protectedBranches(files, folder);
    }
    throw new RequestError("INVALID", "folder: expected an absolute path");
  });
}
