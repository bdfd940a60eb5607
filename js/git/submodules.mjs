// The submodules of a worktree: from their URLs, and where these cannot be reached, from the user's checkout.

import path from "node:path";
import { isGitError } from "./git-error.mjs";
import { exists } from "./regular-file.mjs";

/** The settings with which a submodule needs no entry in the user's config. */
const ACTIVE = "submodule.active=.";
/** A commit that the user's checkout has is no work of the worktree. */
const ALL_REFS = "remote.origin.fetch=+refs/*:refs/remotes/checkout/*";
const UPDATE = ["submodule", "--quiet", "update", "--force"];
/** A path and no pattern. @param {string} place */
const literal = (place) => `:(literal)${place}`;

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {import("./run-git.mjs").RunOptions} Limits */

/**
 * What .gitmodules says, which a commit may have brought. Of two with one name or one path, git takes one and tap might
 * take the other.
 * @param {Repository} repository @param {Limits} limits
 */
async function named(repository, limits) {
  const file = path.join(limits.cwd, ".gitmodules");
  const args = ["config", "--file", file, "-z", "--get-regexp", String.raw`^submodule\..*\.path$`];
  const { stdout } = await repository.ask(args, { codes: [0, 1] });
  const all = [...stdout.matchAll(/submodule\.([^\n\0]+)\.path\n([^\0]*)\0/g)];
  const [names, places] = [1, 2].map((part) => all.map((one) => one[part]));
  const isOnly = (/** @type {string[]} */ list, /** @type {string} */ one) =>
    list.indexOf(one) === list.lastIndexOf(one);
  return all
    .map(([, name, place]) => ({ name, place }))
    .filter(({ name, place }) => isOnly(names, name) && isOnly(places, place));
}

/** Those of which the user's checkout has the commits. @param {Repository} repository @param {Limits} limits */
async function inCheckout(repository, limits) {
  const found = [];
  for (const { name, place } of await named(repository, limits)) {
    if (!/^[\w./-]+$/.test(name) || name.split("/").includes("..")) continue;
    const folder = path.join(repository.commonDir, "modules", name);
    if (!(await exists(path.join(folder, "HEAD")))) continue;
    // Git takes a path for all that is beneath it, too: there may be others.
    const args = ["ls-files", "--stage", "-z", "--", literal(place)];
    const { stdout } = await repository.ask(args, limits);
    const [, only] = /^160000 [^\t\0]+\t([^\0]+)\0$/.exec(stdout) ?? [];
    if (only === place) found.push({ name, place, folder });
  }
  return found;
}

/** @param {Repository} repository @param {string} admin git's folder of the worktree @param {Limits} limits */
export async function updateSubmodules(repository, admin, limits) {
  const all = () =>
    repository.change([...UPDATE, "--recursive"], { ...limits, settings: [ACTIVE] });
  try {
    await all();
  } catch (error) {
    const found = isGitError(error, "NO_SUBMODULE") ? await inCheckout(repository, limits) : [];
    if (found.length === 0) throw error;
    for (const { name, place, folder } of found) {
      const from = [`submodule.${name}.url=${folder}`, "protocol.file.allow=always", ALL_REFS];
      const settings = [ACTIVE, ...from];
      await repository.change([...UPDATE, "--", literal(place)], { ...limits, settings });
      // What is pushed does not go into the user's checkout.
      const origin = ["config", "--file", path.join(folder, "config"), "remote.origin.url"];
      const { stdout } = await repository.ask(origin, { codes: [0, 1] });
      const own = ["config", "--file", path.join(admin, "modules", name, "config")];
      await repository.change([...own, "remote.origin.url", stdout.trim()], {});
    }
    await all();
  }
}
