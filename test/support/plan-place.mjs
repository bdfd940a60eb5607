// Where agents of plans work in a test on the real CLI.

import fs from "node:fs";
import path from "node:path";
import { gitIn } from "../js/features/plans-rig.mjs";

/**
 * A repository with a file in the CLI's folder, and workers that reach the scripted model.
 * @param {any} rig @param {string[]} [toolGroups] that are on from the start
 */
export function prepareForPlans(rig, toolGroups = []) {
  const repo = rig.cli.workFolder;
  const git = gitIn(repo);
  git("config", "user.name", "A");
  git("config", "user.email", "a@example.com");
  fs.writeFileSync(path.join(repo, "a.txt"), "a\n");
  git("add", "--all");
  git("commit", "--quiet", "--message=first");
  const folder = path.join(rig.cli.home, "tap");
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const provider = { type: "openai", baseUrl: rig.model.url, model: "fake" };
  const config = { workers: { provider }, ...(toolGroups.length > 0 && { toolGroups }) };
  fs.writeFileSync(path.join(folder, "config.json"), JSON.stringify(config), { mode: 0o600 });
  return { repo, git };
}
