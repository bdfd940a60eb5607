// `inbox`: what waits for the user in all sessions and plans, and his answers.

import { faint, Output, strong, warning } from "../../views/output.mjs";
import { duration } from "../../views/wording.mjs";
import { askLine, confirm, mayConfirm } from "../confirm.mjs";
import { Failure, pause, runInterruptible, usage } from "../exit.mjs";
import { withGateway } from "../gateway.mjs";
import { getGatewayFiles, isRunByAgent } from "../options.mjs";

/** @typedef {import("../../link/control.mjs").Control} Control */
/** @typedef {import("../../lib/inbox.mjs").Item} Item */
/** @typedef {import("../../lib/inbox.mjs").Act} Act */
/** @typedef {import("../../lib/inbox.mjs").Counts} Counts */
/** @typedef {{items: Item[], counts: Counts}} Inbox */
/**
 * @typedef {import("../options.mjs").CommandOptions & {action: string, id?: string, act?: string, watch: boolean,
 *   wait: boolean, class?: string, set: string[], text?: string, yes: boolean, all: boolean}} InboxOptions
 * @typedef {{control: Control, output: Output, given: InboxOptions}} Asked
 */

const ACTIONS = ["list", "show", "answer", "read"];
const CLASSES = ["blocks", "decides", "knows"];
const POLL_MS = 500;
const LABEL_COLUMNS = 24;

/** @param {Item} item @param {number} index */
function formatRow({ class: name, at, who, title, id }, index) {
  const age =
    at > 0
      ? duration(Date.now() - at)
          .split(" ")
          .slice(0, 2)
          .join(" ")
      : "";
  const label = who.label.slice(0, LABEL_COLUMNS).padEnd(LABEL_COLUMNS);
  return `${String(index + 1).padStart(3)} ${name.padEnd(8)}${age.padStart(7)}  ${label}  ${title}  ${id}`;
}

/** @param {Output} output @param {Item[]} items */
function printList(output, items) {
  if (items.length === 0) return output.print("Nothing waits for you.");
  items.forEach((item, index) => output.print(formatRow(item, index)));
}

/** @param {Record<string, any>} field */
const formatField = ({ name, type, title, enum: allowed, required }) =>
  `  ${name}${required ? "" : " (optional)"}: ${allowed ? allowed.join(", ") : type}${title ? `, ${title}` : ""}`;

/** @param {Output} output @param {Item} item */
function printItem(output, { who, title, text, form = [], acts, note, terminal, id, cut }) {
  output.print(strong(who.label), `: ${title}`);
  if (text) output.printText(text, "  ");
  if (cut) output.print(warning("  The text is cut."));
  for (const field of form) output.print(formatField(field));
  for (const act of acts) output.print(faint(`  ${act.id}: ${act.label}`));
  if (note) output.print(note);
  if (terminal) output.print(faint(terminal));
  if (acts.length > 0) output.print(faint(`copilot-tap inbox answer ${id} ${acts[0].id}`));
}

/** @param {Control} control @param {InboxOptions} given @returns {Promise<Inbox>} */
async function requestInbox(control, { class: wanted }) {
  const { items, counts } = await control.request("inbox.list", {});
  return {
    items: wanted ? items.filter((/** @type {Item} */ item) => item.class === wanted) : items,
    counts,
  };
}

/** @param {Item[]} items @param {string} [id] or its number in the list */
function findItem(items, id) {
  const item = items.find((one) => one.id === id) ?? items[Number(id) - 1];
  if (item) return item;
  const advice = "copilot-tap inbox lists what waits";
  throw new Failure(`there is no item ${id ?? ""}`.trim(), { code: "GONE", advice });
}

/** @param {Record<string, any>} field @param {string} text */
function parseValue({ type }, text) {
  if (type === "boolean" && /^(?:true|false)$/.test(text)) return text === "true";
  if (type === "array") return text === "" ? [] : text.split(",");
  return (type === "number" || type === "integer") && text.trim() !== "" ? Number(text) : text;
}

/** @param {Item} item @param {string[]} set */
function parseValues({ form = [] }, set) {
  const fields = /** @type {Record<string, any>[]} */ (form);
  const entries = set.map((pair) => {
    const [, name, text] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (name === undefined) throw usage(`--set: expected field=value, got "${pair}"`);
    return [name, parseValue(fields.find((field) => field.name === name) ?? {}, text)];
  });
  return Object.fromEntries(entries);
}

/** Asks for the fields of a form that were not given. @param {Item} item @param {Record<string, unknown>} values */
async function askValues({ form = [] }, values) {
  for (const field of /** @type {Record<string, any>[]} */ (form)) {
    if (Object.hasOwn(values, field.name)) continue;
    const line = await askLine(`${formatField(field).trim()}: `);
    if (line !== "" || field.required) values[field.name] = parseValue(field, line);
  }
  return values;
}

/** @param {Asked} asked @param {Item} item @param {Act} act */
async function sendAnswer({ control, output, given }, item, act) {
  const isAsking = mayConfirm(output);
  const values = parseValues(item, given.set);
  if (act.id === "accept" && isAsking) await askValues(item, values);
  let { text } = given;
  if (act.asks && text === undefined && isAsking) text = await askLine(`${act.asks} `);
  if (act.confirm && !given.yes) {
    const question = `${act.confirm} ${act.label}?`;
    if (!isAsking) {
      throw new Failure(question, { code: "CONSENT_NEEDED", advice: "--yes confirms it" });
    }
    if (!(await confirm(`${question} [y/N] `))) {
      throw new Failure("Nothing was changed.", { code: "REFUSED" });
    }
  }
  const { id, digest } = item;
  const answer = { id, digest, act: act.id, values, ...(text !== undefined && { text }) };
  const done = await control.request("inbox.answer", answer);
  output.result(done, () => output.print(done.done));
}

/** @param {Item} item @param {string} [name] its id, or its letter */
function findAct({ acts, terminal, note }, name) {
  const act = name === undefined ? (acts.find(({ primary }) => primary) ?? acts[0]) : undefined;
  const found = act ?? acts.find(({ id, key }) => id === name || key === name);
  if (found) return found;
  if (acts.length > 0) throw usage(`say how: ${acts.map(({ id }) => id).join(", ")}`);
  const advice = terminal ?? note ?? "";
  throw new Failure("it cannot be answered here", { code: "TERMINAL_ONLY", advice });
}

/** @param {Asked} asked */
async function answer(asked) {
  const { control, given } = asked;
  if (given.id === undefined) throw usage("say which: copilot-tap inbox answer <id> [act]");
  const { items } = await requestInbox(control, { ...given, class: undefined });
  const item = findItem(items, given.id);
  await sendAnswer(asked, item, findAct(item, given.act));
}

/** @param {Asked} asked */
async function show({ control, output, given }) {
  const { items } = await requestInbox(control, given);
  const item = findItem(items, given.id);
  output.result(item, () => printItem(output, item));
}

/** @param {Asked} asked */
async function read({ control, output, given }) {
  if (given.id === undefined && !given.all)
    throw usage("say which: copilot-tap inbox read <id>, or --all");
  const asked = given.all ? { all: true } : { id: given.id };
  const done = await control.request("inbox.read", asked);
  output.result(done, () => output.print(`${done.read.length} marked as read`));
}

/** The list, and in a terminal an item of the user's choice. @param {Asked} asked */
async function list(asked) {
  const { control, output, given } = asked;
  const inbox = await requestInbox(control, given);
  output.result(inbox, () => printList(output, inbox.items));
  if (inbox.items.length === 0 || !mayConfirm(output) || isRunByAgent()) return;
  const choice = await askLine(`Which? (1-${inbox.items.length}, Enter ends) `);
  if (choice === "") return;
  const item = findItem(inbox.items, choice);
  printItem(output, item);
  if (item.acts.length === 0) return;
  const letters = item.acts.map(({ key, label }) => `${key}: ${label}`).join(", ");
  const letter = await askLine(`${letters}, Enter ends: `);
  if (letter !== "") await sendAnswer(asked, item, findAct(item, letter));
}

/** Until Ctrl-C, or with --wait until there is an item. @param {Asked} asked */
async function follow({ control, output, given }) {
  let shown = "";
  await runInterruptible(async (ending) => {
    while (!ending.aborted) {
      const inbox = await requestInbox(control, given);
      const state = JSON.stringify(inbox);
      const isChanged = state !== shown;
      shown = state;
      if (given.wait) {
        if (inbox.items.length > 0)
          return output.result(inbox, () => printList(output, inbox.items));
      } else if (output.json) {
        if (isChanged) output.jsonLine(inbox);
      } else output.screen(() => printList(output, inbox.items));
      await pause(POLL_MS, ending);
    }
  });
}

/** @type {Record<string, (asked: Asked) => Promise<void>>} */
const RUN = { list, show, answer, read };

/** @param {InboxOptions} given */
async function run(given) {
  const { action, watch, wait } = given;
  if (isRunByAgent() && (action === "answer" || action === "read")) {
    throw new Failure("only the user answers, in a terminal of his own", {
      code: "NOT_FOR_THE_AGENT",
    });
  }
  const output = new Output(given);
  await withGateway(getGatewayFiles(given), (control) => {
    const asked = { control, output, given };
    return action === "list" && (watch || wait) ? follow(asked) : RUN[action](asked);
  });
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "inbox [action] [id] [act]",
  describe: "what waits for you in all sessions and plans, and answer it",
  usages: [
    "inbox [--class name] [--watch|--wait]",
    "inbox show <id>",
    "inbox answer <id> [act] [--set field=value] [--text text] [--yes]",
    "inbox read <id>|--all",
  ],
  about:
    "One list of all sessions and plans: questions and plan reviews of agents, permissions, failed and " +
    "paused nodes, results that wait to land, configs that wait for consent. `blocks`: work stands " +
    "still until you answer; `decides`: a decision is yours; `knows`: to know. Permissions, consents " +
    "and dialogs of tap are shown here, and answered in their terminal. In a terminal the list asks which " +
    "item to show and how to answer.",
  positionals: {
    action: { describe: "what to do", choices: ACTIONS, default: "list" },
    id: { describe: "of the item, or its number in the list" },
    act: { describe: "how to answer; default: the first that `show` names" },
  },
  options: {
    class: { describe: "items of this class only", choices: CLASSES },
    watch: { describe: "keep the list up to date, until Ctrl-C", type: "boolean" },
    wait: { describe: "wait until there is an item, and print it", type: "boolean" },
    set: { describe: "a field of a question's form: color=red", multiple: true },
    text: { describe: "what the act asks for: a hint, feedback, a budget" },
    yes: { describe: "confirm what the act would ask", type: "boolean" },
    all: { describe: "mark all as read", type: "boolean" },
  },
  examples: [
    ["$0 inbox", "what waits; in a terminal, answer it"],
    ["$0 inbox answer k7qd accept --set color=red", "answer a question"],
    ["$0 inbox --wait --class blocks --json", "for scripts: until an agent waits"],
  ],
  handler: run,
};
