// Common to install, update and uninstall: the place, and how an install is shown.

import fs from "node:fs";
import path from "node:path";
import { programFolder } from "../lib/paths.mjs";
import { install } from "../install/install.mjs";
import { projectTarget, userTarget } from "../install/target.mjs";
import { usage } from "./exit.mjs";
import { getGatewayFiles } from "./options.mjs";
import { ProgressBar } from "./progress.mjs";

/** @typedef {import("../install/target.mjs").Target} Target */
/** @typedef {import("./options.mjs").CommandOptions & {local?: boolean, folder?: string, force?: boolean}} InstallCommandOptions */

/** What says where, for each of them. @type {Required<Pick<import("./options.mjs").Command, "positionals" | "options">>} */
export const TARGET = {
  positionals: { folder: { describe: "of the project, with --local" } },
  options: {
    local: {
      describe: "for the project of the current folder: its .github/extensions/tap",
      type: "boolean",
    },
  },
};

/** @param {InstallCommandOptions} given @returns {Target} */
export function resolveTarget(given) {
  if (given.local) return projectTarget(path.resolve(given.folder ?? "."));
  if (given.folder === undefined) return userTarget(getGatewayFiles(given).home);
  throw usage("a folder goes with --local only");
}

/** @param {Target} target @param {InstallCommandOptions} given @returns {string | undefined} where tap is a second time */
function otherInstall(target, given) {
  const other =
    target.scope === "user"
      ? projectTarget(process.cwd())
      : userTarget(getGatewayFiles(given).home);
  return fs.existsSync(path.join(other.folder, "extension.mjs")) ? other.folder : undefined;
}

const EXPERIMENTAL =
  'Start the CLI with `copilot --experimental`, or put "experimental": true into its';

/** The steps that only the user can do, for each scope. @type {Record<Target["scope"], string[]>} */
const REMAINING = {
  user: [
    EXPERIMENTAL,
    "settings.json: one start with it is enough, the CLI keeps it there. Say that you trust the folder, when it asks.",
  ],
  project: [
    EXPERIMENTAL,
    "settings.json: one start with it is enough, the CLI keeps it there. Start it in this project, and say that",
    "you trust the folder: until then nothing of it is loaded.",
  ],
};
const CONSENT = [
  "If it asks whether tap may have elevated permissions (rules of providers need them), answer",
  '"Yes, and always allow": with a plain "Yes" Copilot asks again after every reload.',
];
const PROMPT_MODE =
  "`copilot -p`: pass --allow-all-tools; otherwise the call hangs, since nobody can approve it.";
const PROMPT_MODE_IN_PROJECT =
  "It loads a project's extensions only with GITHUB_COPILOT_PROMPT_MODE_EXTENSIONS=true.";

/** @param {Target} target @param {import("../views/output.mjs").Output} output */
function printRemainingSteps({ scope }, output) {
  const last = scope === "project" ? [PROMPT_MODE, PROMPT_MODE_IN_PROJECT] : [PROMPT_MODE];
  output.print("What is left for you to do:");
  [REMAINING[scope], CONSENT, last].forEach((lines, at) =>
    lines.forEach((line, row) => output.print(`  ${row === 0 ? `${at + 1}.` : "  "} ${line}`)),
  );
}

/** @param {import("../install/target.mjs").InstallState} before */
const getFormerVersion = (before) => ("version" in before ? before.version : null);

/**
 * Installs this package, and says how it goes.
 * @param {Target} target @param {InstallCommandOptions} given @param {import("../views/output.mjs").Output} output
 */
export function performInstall(target, given, output) {
  const bar = new ProgressBar(process.stderr, !given.json);
  const onProgress = (/** @type {import("../install/install.mjs").Progress} */ progress) => {
    if (progress.step === "copy") bar.show(progress);
    else bar.clear();
  };
  output.print(`installing into ${target.folder} …`);
  let done;
  try {
    done = install(programFolder, target, { force: given.force, onProgress });
  } finally {
    bar.clear();
  }
  const { version, id, before, copied } = done;
  const also = otherInstall(target, given);
  const result = {
    ...{ folder: target.folder, scope: target.scope, version, release: id },
    ...{ before: getFormerVersion(before), copied, ...(also && { also }) },
  };
  output.result(result, () => {
    output.print(
      copied ? `tap ${version} is installed` : `tap ${version} was there already, complete`,
    );
    if (before.state === "installed" && before.id !== id) {
      output.print(
        `It replaces ${before.version}. Sessions that are open keep that one until they end;`,
      );
      output.print("the next session that starts replaces a gateway of an older version.");
    }
    if (also)
      output.printError(`tap is in ${also}, too`, "the CLI would start both; uninstall one");
    printRemainingSteps(target, output);
  });
}
