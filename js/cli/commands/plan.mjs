// `plan`: plans of agents and commands (docs/plans.md), for people and for CI.

import { randomBytes } from "node:crypto";
import { openControl } from "../../link/control.mjs";
import { inLine } from "../../lib/visible.mjs";
import { Output } from "../../views/output.mjs";
import { EXIT, Failure, pause, usage, runInterruptible } from "../exit.mjs";
import { openOrStartGateway } from "../gateway.mjs";
import { getEnvironment, getGatewayFiles, isRunByAgent } from "../options.mjs";
import {
  askWithConsent,
  createPlanClient,
  cliFor,
  parseReference,
  parseBudget,
  parseChanges,
  withOptions,
} from "../plan/client.mjs";
import {
  createChangePrinter,
  followLog,
  followPlan,
  followToEnd,
  showLog,
} from "../plan/follow.mjs";
import { formatMermaid } from "../plan/graph.mjs";
import { land } from "../plan/land.mjs";
import { NODE_FIELDS, PLAN_FIELDS, writeNewPlan } from "../plan/new-plan.mjs";
import { clean, importPlan, restore } from "../plan/restore.mjs";
import { readNodes, readPlan } from "../plan/plan-file.mjs";
import { showDiff, showList, showNode, showPlan } from "../plan/show.mjs";
import { requireConfirmation } from "../confirm.mjs";

/** @typedef {import("../plan/client.mjs").SendRequest} SendRequest */
/**
 * @typedef {import("../options.mjs").CommandOptions & {action: string, target?: string, file?: string,
 *   phase?: string, follow: boolean, detach: boolean, yes: boolean, fromStart: boolean, take: boolean,
 *   instructions?: string, budget?: string, tokens?: string, format: string, to?: string, replaces?: string,
 *   work?: string, prechecks?: string, postchecks?: string, dependencies?: string, timeout?: string}} PlanOptions
 * @typedef {{given: PlanOptions, target: string, output: Output, ask: SendRequest}} ActionContext
 * @typedef {object} Action
 * @property {"file" | "plan" | "node" | "either" | "none"} target
 * @property {string} [tool] what the agent has instead; "": nothing
 * @property {(asked: ActionContext) => Promise<import("../options.mjs").Exit>} run
 */

const ENDED_STATUSES = ["succeeded", "failed", "partial", "canceled"];
/** Ids in a message. */
const MAX_NAMED = 10;
/** Between two looks for a plan. */
const LOOK_MS = 1000;

/** Of a plan. */
const newId = () => `p${randomBytes(4).toString("hex")}`;

/** @param {Output} output @param {string[]} notes */
const printNotes = (output, notes) => notes.forEach((note) => output.print(`note: ${note}`));

/** @param {ActionContext} asked */
async function runFile({ given, target, output, ask }) {
  const plan = await readPlan(target);
  const what = { do: "create", as: newId(), plan, ...(await cliFor(plan)) };
  const { planId, notes } = await askWithConsent({ given, output, ask }, what);
  if (given.detach) {
    return output.result({ planId, notes }, () => {
      printNotes(output, notes);
      output.print(`plan ${planId} runs: copilot-tap plan watch ${planId}`);
    });
  }
  output.item({ planId, notes }, () => {
    printNotes(output, notes);
    output.print(`plan ${planId} runs`);
  });
  return runInterruptible((ending) => followToEnd(ask, planId, output, ending));
}

/** @param {ActionContext} asked */
async function validate({ target, output, ask }) {
  const { notes } = await ask({ do: "validate", plan: await readPlan(target) });
  output.result({ valid: true, notes }, () => {
    printNotes(output, notes);
    output.print(`${target} can be run`);
  });
}

/** @param {ActionContext["ask"]} ask */
async function listAll(ask) {
  /** @type {any[]} */
  const plans = [];
  let cursor;
  do {
    const page = await ask({ do: "list_copilot_plans", args: { cursor } });
    plans.push(...page.plans);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return plans;
}

/** @param {ActionContext} asked */
async function list({ output, ask }) {
  const plans = await listAll(ask);
  output.result({ plans }, () => showList(output, plans));
}

/**
 * The default plan of a command: the one plan that has not ended, else the only plan. Waits until there is a plan.
 * @param {ActionContext} asked @returns {Promise<string>}
 */
async function findOnlyPlan({ output, ask }) {
  let planId = "";
  await runInterruptible(async (ending) => {
    for (let looks = 0; planId === "" && !ending.aborted; looks += 1) {
      const plans = await listAll(ask);
      const running = plans.filter(({ status }) => !ENDED_STATUSES.includes(status));
      const meant = running.length > 0 ? running : plans;
      if (meant.length > 1) {
        const ids = meant.slice(0, MAX_NAMED).map((one) => one.planId);
        throw usage(`say which plan: ${ids.join(", ")}`, "copilot-tap plan list shows all");
      }
      planId = meant[0]?.planId ?? "";
      if (planId !== "") return;
      if (looks === 0 && !output.json) output.print("There is no plan yet. This waits for one.");
      await pause(LOOK_MS, ending);
    }
  });
  return planId;
}

/** @param {ActionContext} asked */
async function show({ target, output, ask }) {
  const of = parseReference(target, { node: "may" });
  const answer = await ask({ do: of.nodeId ? "node" : "show", ...of });
  output.result(answer, () => (of.nodeId ? showNode : showPlan)(output, answer));
}

/** @param {ActionContext} asked */
async function logs({ given, target, output, ask }) {
  const of = { ...parseReference(target, { node: "must" }), phase: given.phase };
  if (!given.follow) return showLog(ask, of, output);
  await runInterruptible((ending) => followLog(ask, of, output, ending));
}

/** @param {ActionContext} asked */
async function watch(asked) {
  const { output, ask } = asked;
  const isScreen = process.stdin.isTTY && process.stdout.isTTY && process.env.TERM !== "dumb";
  if (!output.json && !isScreen) {
    const advice = "copilot-tap plan show shows the same once, watch --json each change";
    throw usage("plan watch needs a terminal that can move its cursor", advice);
  }
  const target = asked.target || (await findOnlyPlan(asked));
  if (target === "") return;
  const { planId } = parseReference(target, { node: "no" });
  if (output.json) {
    await runInterruptible((ending) =>
      followPlan(ask, planId, createChangePrinter(output), ending),
    );
    return;
  }
  await ask({ do: "show", planId }); // that there is one is known before the screen is taken
  const { watch: watchOnScreen } = await import("../plan/watch.mjs");
  await watchOnScreen(ask, planId);
}

/** @param {Output} output @param {any} plan */
const printState = (output, plan) =>
  output.result(plan, () => output.print(`plan ${plan.planId}: ${plan.summary}`));

/** @param {string} tool @returns {(asked: ActionContext) => Promise<void>} what takes nothing but the plan */
const createToolAction =
  (tool) =>
  async ({ target, output, ask }) => {
    const { planId } = parseReference(target, { node: "no" });
    printState(output, await ask({ do: tool, args: { planId } }));
  };

/** @param {ActionContext} asked */
async function cancel({ given, target, output, ask }) {
  const { planId, name, counts, endedAt } = await ask({
    do: "show",
    ...parseReference(target, { node: "no" }),
  });
  const running = counts.running ? `, ${counts.running} running` : "";
  const isOver = endedAt !== undefined; // which the answer says
  if (!isOver)
    await requireConfirmation(output, given, `Cancel plan ${planId} (${inLine(name)}${running})?`);
  printState(output, await ask({ do: "cancel_copilot_plan", args: { planId } }));
}

/** @param {ActionContext} asked */
async function remove({ given, target, output, ask }) {
  const { planId, name } = await ask({ do: "show", ...parseReference(target, { node: "no" }) });
  await requireConfirmation(
    output,
    given,
    `Delete plan ${planId} (${inLine(name)}) and its worktrees?`,
  );
  const answer = await ask({ do: "delete_copilot_plan", args: { planId } });
  output.result(answer, () => {
    output.print(`plan ${planId} is deleted`);
    for (const why of answer.stay) output.print(why);
    if (answer.next) output.print(answer.next);
  });
  return answer.stay.length > 0 ? EXIT.notDone : EXIT.done;
}

/** What is in its worktree is its work. @param {ActionContext} asked */
async function take({ given, target, output, ask }) {
  if (given.fromStart || given.instructions !== undefined)
    throw usage("--take runs no work: leave out --from-start and --instructions");
  const of = parseReference(target, { node: "must" });
  const answer = await ask({ do: "take", ...of, args: { take: true } });
  output.result(answer, () => {
    if (answer.status) output.print(`${inLine(answer.id ?? of.nodeId)}: ${answer.status}`);
    if (!answer.kept) return;
    const { ref, commit } = answer.kept;
    output.print(`the worktree as it was: ${ref} (${commit.slice(0, 10)})`);
    output.print(`copilot-tap plan restore ${of.planId}/${of.nodeId} brings it back`);
  });
}

/** @param {ActionContext} asked */
async function retry(asked) {
  const { given, target, output, ask } = asked;
  if (given.take) return take(asked);
  const of = parseReference(target, { node: "may" });
  const { instructions } = given;
  const from = given.fromStart ? "start" : "failed-phase";
  const args = { ...of, from, ...(instructions && { instructions }) };
  const answer = await ask({ do: `retry_copilot_${of.nodeId ? "node" : "plan"}`, args });
  output.result(answer, () =>
    output.print(
      of.nodeId
        ? `${inLine(answer.id)}: ${answer.status}`
        : `retried: ${answer.retried.join(", ")}`,
    ),
  );
}

/** @param {ActionContext} asked */
async function edit({ given, target, output, ask }) {
  const of = parseReference(target, { node: "must" });
  const changes = parseChanges(given);
  const node = await askWithConsent({ given, output, ask }, { do: "edit", ...of, changes });
  const isOver = ["failed", "canceled"].includes(node.status);
  output.result(node, () => {
    output.print(`${inLine(node.id)}: ${node.status}`);
    if (isOver) output.print(`copilot-tap plan retry ${target} begins it again`);
  });
}

/** @param {ActionContext} asked */
async function add({ given, target, output, ask }) {
  const { planId } = parseReference(target, { node: "no" });
  if (given.file === undefined) throw usage("say which: copilot-tap plan add <id> <file>");
  const { replaces } = given;
  const nodes = await readNodes(given.file);
  const what = { do: "add", planId, nodes, ...(replaces && { replaces }) };
  printState(output, await askWithConsent({ given, output, ask }, what));
}

/** @param {ActionContext} asked */
async function resume({ given, target, output, ask }) {
  const { planId } = parseReference(target, { node: "no" });
  const budget = parseBudget(given);
  const args = { planId, ...(budget && { budget }) };
  const plan = await ask({ do: "resume_copilot_plan", args }).catch((error) => {
    throw withOptions(error);
  });
  printState(output, plan);
  return plan.status === "paused" ? EXIT.notDone : EXIT.done;
}

/** @param {ActionContext} asked */
async function diff({ target, output, ask }) {
  const answer = await ask({ do: "diff", ...parseReference(target, { node: "may" }) });
  output.result(answer, () => showDiff(output, answer));
}

/** @param {ActionContext} asked */
async function exportPlan({ given, target, output, ask }) {
  const plan = await ask({ do: "export", ...parseReference(target, { node: "no" }) });
  if (given.format === "json") return new Output({ json: true }).result(plan);
  const mermaid = formatMermaid(plan.graph.nodes);
  output.result({ mermaid }, () => output.printText(mermaid.trimEnd()));
}

/** @type {Record<string, Action>} */
const ACTIONS = {
  list: { target: "none", run: list },
  new: { target: "file", run: async (asked) => writeNewPlan(asked) },
  run: { target: "file", tool: "create_copilot_plan", run: runFile },
  validate: { target: "file", run: validate },
  show: { target: "either", run: show },
  watch: { target: "plan", run: watch },
  logs: { target: "node", run: logs },
  diff: { target: "either", run: diff },
  retry: { target: "either", tool: "retry_copilot_node", run: retry },
  edit: { target: "node", tool: "", run: edit },
  add: { target: "plan", tool: "add_copilot_nodes", run: add },
  pause: {
    ...{ target: "plan", tool: "pause_copilot_plan" },
    run: createToolAction("pause_copilot_plan"),
  },
  resume: { target: "plan", tool: "resume_copilot_plan", run: resume },
  cancel: { target: "plan", tool: "cancel_copilot_plan", run: cancel },
  land: { target: "plan", tool: "", run: land },
  delete: { target: "plan", tool: "delete_copilot_plan", run: remove },
  restore: { target: "either", tool: "", run: restore },
  clean: { target: "none", tool: "", run: clean },
  export: { target: "plan", run: exportPlan },
  import: { target: "file", tool: "", run: importPlan },
};
const TARGETS = { file: "<file>", plan: "<id>", node: "<id>/<node>", either: "<id>[/<node>]" };

/** @param {PlanOptions} given */
async function run(given) {
  const output = new Output(given);
  const { target: wanted, tool, run: act } = ACTIONS[given.action];
  const { target = "", file } = given;
  if (file !== undefined && given.action !== "add")
    throw usage(`plan ${given.action} takes no "${file}"`);
  if (wanted === "none" && target !== "") throw usage(`plan ${given.action} takes no "${target}"`);
  if (wanted !== "none" && target === "" && act !== watch) {
    throw usage(`say which: copilot-tap plan ${given.action} ${TARGETS[wanted]}`);
  }
  if (tool !== undefined && isRunByAgent()) {
    throw new Failure(`plan ${given.action} is not for the agent`, {
      advice: tool
        ? `call tap_tools with the group plans, then ${tool}`
        : "ask the user to run it in a terminal",
      code: "NOT_FOR_THE_AGENT",
    });
  }
  const files = getGatewayFiles(given);
  const { ask, close } = createPlanClient(
    () => openOrStartGateway(files, getEnvironment(given)),
    () => openControl(files),
  );
  try {
    return await act({ given, target, output, ask });
  } finally {
    close();
  }
}

/** @param {string} describe */
const flag = (describe) => /** @type {const} */ ({ describe, type: "boolean" });
/** @param {string} describe */
const createList = (describe) => ({
  describe: `${describe}, with commas; "": none`,
  mayBeEmpty: true,
});

/** @type {import("../options.mjs").Command} */
export default {
  command: "plan [action] [target] [file]",
  describe: "run plans of agents and commands in git worktrees",
  about:
    "`new` writes a plan with comments to begin with. `run` starts a plan from a file (YAML or JSON) and follows it; its exit code is 0 only " +
    "if all nodes succeeded. `validate` only checks the file. `show`, `watch`, `logs`, `diff` " +
    "and `export` only read; `retry`, `edit`, `add`, `pause`, `resume`, `cancel`, `land` and " +
    "`delete` change a plan. `restore` brings back what was in a worktree, `clean` removes folders that " +
    "belong to no plan, and `import` reads what `export` has written. The target is a file, the " +
    "id of a plan or the beginning of one, or <id>/<node>. If no gateway runs, one is started.",
  positionals: {
    action: {
      describe: "what to do",
      choices: Object.keys(ACTIONS),
      default: "list",
    },
    target: { describe: "a file, an id, or <id>/<node>" },
    file: { describe: "add: a file with nodes, as a plan has them" },
  },
  options: {
    detach: flag("run: do not follow it"),
    follow: { ...flag("logs: keep showing what comes"), short: "f" },
    phase: { describe: "logs: of this phase, such as work or postchecks" },
    "from-start": flag("retry: from the start, not from the phase that failed"),
    take: flag("retry: take what is in the node's worktree for its work"),
    instructions: { describe: "retry: more instructions for the agent" },
    work: { describe: "edit: what the node does, as in a plan; null: nothing" },
    prechecks: { describe: "edit: what runs before the work; null: nothing" },
    postchecks: { describe: "edit: what runs after the work; null: nothing" },
    dependencies: createList("edit: the ids of nodes"),
    timeout: { describe: "edit: of each phase, in seconds or as 30m; null: the usual one" },
    sandbox: { describe: "edit: on or off; null: what the plan says, as of the next four" },
    "allowed-folders": createList("edit: writable folders"),
    "read-folders": createList("edit: readable folders"),
    "allowed-urls": createList("edit: reachable hosts, or *"),
    caches: createList("edit: writable caches, such as npm"),
    replaces: { describe: "add: the node whose place the new one takes" },
    budget: { describe: "resume: how many AI credits the whole plan may use" },
    tokens: { describe: "resume: how many tokens the whole plan may use" },
    to: { describe: "restore: also copy the files into this folder" },
    yes: {
      ...flag("cancel, delete, clean, and what opens the sandbox of agents: do not ask"),
      short: "y",
    },
    format: {
      describe: "export: json for the whole plan, mermaid for its graph",
      choices: ["json", "mermaid"],
      default: "json",
    },
  },
  tables: [
    ["Fields of a plan", PLAN_FIELDS],
    ["Fields of a node", NODE_FIELDS],
  ],
  examples: [
    ["$0 plan new plan.yaml", "a plan to begin with"],
    ["$0 plan run plan.yaml", "run it, and follow it to its end"],
    ["$0 plan watch p7", "the plan whose id begins with p7, live"],
    ["$0 plan logs p7/tests -f", "what a node prints, as it comes"],
    ["$0 plan retry p7/tests", "from the phase that failed"],
    ['$0 plan edit p7/tests --work "npm test"', "correct it, then retry it"],
    ["$0 plan add p7 node.yaml --replaces tests", "another node in its place"],
  ],
  handler: run,
};
