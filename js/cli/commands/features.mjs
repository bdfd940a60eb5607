// `features`: what tap's features may do and have; which are on.

import { readUserConfig } from "../../config/user-config.mjs";
import { setFeature } from "../../config/edit.mjs";
import { adviceFor, listNamedFeatures } from "../../config/entries.mjs";
import { visible } from "../../lib/visible.mjs";
import { Failure, usage } from "../exit.mjs";
import { withGateway } from "../gateway.mjs";
import { getGatewayFiles, isRunByAgent } from "../options.mjs";
import { Output } from "../../views/output.mjs";
import { showFeatures, showReport } from "../../views/features-view.mjs";
import { table } from "../../views/table.mjs";

/** @typedef {import("../options.mjs").CommandOptions & {action: string, id?: string}} FeaturesOptions */
/** @typedef {import("../../feature-host/report.mjs").Report} Report */

/** @param {FeaturesOptions} given */
const requestReport = (given) =>
  withGateway(getGatewayFiles(given), (control) => control.request("features.report", {}));

/** @param {Output} output @param {Report[]} features */
function list(output, features) {
  const columns = [
    { title: "feature" },
    { title: "state" },
    { title: "runtime" },
    { title: "contributes", flexible: true },
  ];
  const rows = features.map(
    ({ id, enabled, runtime, tools, hooks, commands, skipped, diagnostics }) => {
      const names = [...tools, ...hooks, ...commands.map((name) => `/${name}`)].join(", ");
      const trouble =
        skipped.length + diagnostics.length > 0 ? " (see: copilot-tap features report)" : "";
      return [id, enabled ? "on" : "disabled", runtime, names + trouble];
    },
  );
  table(output, columns, rows, 0);
}

/** @param {Output} output @param {FeaturesOptions} given */
async function show(output, given) {
  const seen = await requestReport(given);
  const wanted = (/** @type {Report} */ { id }) => given.id === undefined || id === given.id;
  const features = seen.features.filter(wanted);
  if (features.length === 0) {
    const known = seen.features.map((/** @type {Report} */ { id }) => id).join(", ");
    throw new Failure(`there is no feature "${given.id}"`, {
      advice: `there are ${known}`,
      code: "NOT_FOUND",
    });
  }
  if (given.action === "list") return output.result(features, () => list(output, features));
  output.result({ ...seen, features }, () => {
    if (given.id === undefined) showFeatures(output, { ...seen, features });
    else for (const report of features) showReport(output, report);
  });
}

/** @param {Output} output @param {FeaturesOptions} given */
async function change(output, given) {
  const { id, action } = given;
  if (id === undefined)
    throw usage(`which feature? As in: copilot-tap features ${action} builtin:records`);
  if (isRunByAgent()) {
    throw new Failure("which features are on is yours to decide, not the agent's", {
      advice: "run this in a terminal of your own",
      code: "NOT_FOR_AGENTS",
    });
  }
  const enabled = action === "enable";
  const { file, live } = await changeLive(given, id).catch((error) => {
    if (error.code !== "NO_GATEWAY") throw withAdvice(error);
    requireNamed(given, id);
    return { ...setFeature(getGatewayFiles(given), id, enabled), live: false };
  });
  output.result({ id, enabled, file, live }, () => {
    output.print(`${id} is ${enabled ? "on" : "disabled"}, as ${file} says`);
    if (!live) output.print("  no gateway runs: the next one reads it");
  });
}

/** Where the user is: a folder that was removed has no config. */
function here() {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

/** @param {FeaturesOptions} given @param {string} id */
async function changeLive(given, id) {
  const { file } = await withGateway(getGatewayFiles(given), (control) =>
    control.request(`features.${given.action}`, { id, cwd: here() }),
  );
  return { file, live: true };
}

/** What the gateway refuses says in further lines what to do. @param {any} error */
function withAdvice(error) {
  const [what, ...advice] = String(error.message).split("\n");
  if (error.code !== "INVALID" || advice.length === 0) return error;
  return new Failure(what, { advice: advice.join("\n"), code: "INVALID", cause: error });
}

/** Where no gateway knows which there are: those of configs. @param {FeaturesOptions} given @param {string} id */
function requireNamed(given, id) {
  if (!/^(user|project):/.test(id)) return;
  const named = listNamedFeatures(getGatewayFiles(given), here());
  if (named.ids.includes(id)) return;
  const known = named.ids.map((one) => visible(one)).join(", ") || "none";
  throw new Failure(`there is no feature "${visible(id)}"; configs name: ${known}`, {
    advice: adviceFor(id, named),
    code: "NOT_FOUND",
  });
}

/** @param {FeaturesOptions} given */
async function run(given) {
  const output = new Output(given);
  const { problems } = await readUserConfig(getGatewayFiles(given));
  const [problem, ...others] = problems;
  const isLook = given.action === "list" || given.action === "report";
  if (problem && !isLook) {
    throw new Failure(problem, { advice: others.join("\n"), code: "INVALID_CONFIG" });
  }
  // A running gateway goes on with what it has read before.
  if (problem) output.printError(problem, others.join("\n"));
  await (isLook ? show : change)(output, given);
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "features [action] [id]",
  describe: "show tap's features, and switch them",
  usages: ["features [list|report|enable|disable] [id]"],
  about:
    "`list` shows each feature in a line. `report` says what each was granted and denied, what it has " +
    "installed, and what was left out and why. `enable` and `disable` write your config and take " +
    "effect at once, in running sessions too.",
  positionals: {
    action: {
      describe: "what to do",
      choices: ["list", "report", "enable", "disable"],
      default: "list",
    },
    id: { describe: "a feature, such as builtin:records" },
  },
  examples: [
    ["$0 features", "which there are"],
    ["$0 features report builtin:records", "what one may do, and what it has"],
    ["$0 features disable builtin:records", "take its tools out of every session"],
  ],
  handler: run,
};
