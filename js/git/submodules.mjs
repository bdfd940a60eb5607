// The submodules of a worktree: from their URLs, and where these cannot be reached, from the user's checkout.

import fs from "node:fs/promises";
import path from "node:path";
import { isGitError } from "./git-error.mjs";

/** The settings with which a submodule needs no entry in the user's config. */
const ACTIVE = "submodule.active=.";
/** A commit that the user's checkout has is no work of the worktree. */
const ALL_REFS = "remote.origin.fetch=+refs/*:refs/remotes/checkout/*";
const UPDATE = ["submodule", "--quiet", "update", "--force"];

/** @typedef {import("./repository.mjs").Repository} Repository */
/** @typedef {import("./run-git.mjs").RunOptions} Limits */

/** Those of which the user's checkout has the commits. @param {Repository} repository @param {Limits} limits */
async function inCheckout(repository, limits) {
  const file = path.join(limits.cwd, ".gitmodules");
  const args = ["config", "--file", file, "-z", "--get-regexp", String.raw`^submodule\..*\.path$`];
  const { stdout } = await repository.ask(args, { codes: [0, 1] });
  const found = [...stdout.matchAll(/^submodule\.([\w./-]+)\.path\n([^\0]+)\0/gm)];
  const all = found.map(([, name, place]) => {
    return { name, place, folder: path.join(repository.commonDir, "modules", name) };
  });
  const inside = all.filter(({ name }) => !name.split("/").includes(".."));
  const there = await Promise.all(
    inside.map(({ folder }) =>
      fs.access(path.join(folder, "HEAD")).then(
        () => true,
        () => false,
      ),
    ),
  );
  return inside.filter((_, at) => there[at]);
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
      await repository.change([...UPDATE, "--", place], { ...limits, settings });
      // What is pushed does not go into the user's checkout.
      const origin = ["config", "--file", path.join(folder, "config"), "remote.origin.url"];
      const { stdout } = await repository.ask(origin, { codes: [0, 1] });
      const own = ["config", "--file", path.join(admin, "modules", name, "config")];
      await repository.change([...own, "remote.origin.url", stdout.trim()], {});
    }
    await all();
  }
}
