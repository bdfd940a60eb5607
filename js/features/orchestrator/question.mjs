// What the user is asked before the model's plan runs: everything that it starts.

import { inLine, shortened, visible } from "../../base/visible.mjs";
import { variableLines } from "../../base/work-consent.mjs";

const MOST_LINES = 8;
const MOST_LINE = 120;

/** @param {any} work that nobody has checked yet */
const isAgent = (work) =>
  work?.type === "agent" || (typeof work === "string" && /^@agent(\s|$)/.test(work));

/** @param {string} text */
const line = (text) => `  ${shortened(visible(text), MOST_LINE)}`;

/** @param {any[]} works @returns {string[]} what agents may do besides */
function allowances(works) {
  const all = (/** @type {string} */ field) => [
    ...new Set(works.flatMap((work) => (Array.isArray(work?.[field]) ? work[field] : []))),
  ];
  const said = /** @type {const} */ ([
    ["write in", all("allowedFolders")],
    ["reach", all("allowedUrls")],
    ["call", all("tools")],
  ]);
  return said.flatMap(([what, list]) =>
    list.length === 0 ? [] : [line(`agents may ${what} ${list.join(", ")}`)],
  );
}

/** @param {any} budget that nobody has checked yet @returns {string} */
function budgetText(budget) {
  const kinds = [
    [budget?.aiCredits, "AI credits"],
    [budget?.tokens, "tokens"],
  ];
  const given = kinds.filter(([amount]) => typeof amount === "number");
  return given.map(([amount, what]) => `${amount} ${what}`).join(" and ") || "nothing";
}

/** @param {{planId: string, name: string}} plan @param {unknown} budget @returns {string} */
export const budgetQuestion = ({ planId, name }, budget) =>
  `The model asks tap to go on with the plan ${inLine(name)} (${planId}) with a budget of ${budgetText(budget)}.`;

/**
 * @param {{name?: unknown, targetBranch?: unknown, env?: any, nodes: any[]}} given a plan, or nodes for one
 * @param {string[]} commands distinct
 * @returns {string}
 */
export function questionOf({ name, targetBranch, env, nodes }, commands) {
  const works = nodes.flatMap((node) => [node?.prechecks, node?.work, node?.postchecks]);
  const agents = works.filter(isAgent).length;
  const tools = works.filter((work) => work?.type === "tool").map((work) => `tool ${work.tool}`);
  const lines = [...new Set([...commands, ...tools])];
  const what = typeof name === "string" ? `run the plan ${inLine(name)}` : "add to a plan";
  const lands = typeof targetBranch === "string" ? `, onto ${inLine(targetBranch)}` : "";
  const more = lines.length > MOST_LINES ? [`  and ${lines.length - MOST_LINES} more`] : [];
  const runs = lines.length > 0 ? ["It runs:", ...lines.slice(0, MOST_LINES).map(line)] : [];
  const count =
    nodes.length === 1 ? "1 node in a git worktree" : `${nodes.length} nodes in worktrees`;
  const which = agents === 0 ? "" : `, ${agents} with an agent`;
  const variables = Object.assign({}, env, ...works.map((work) => work?.env));
  const rest = [...more, ...allowances(works), ...variableLines(variables)];
  return [`The model asks tap to ${what}: ${count}${which}${lands}.`, ...runs, ...rest].join("\n");
}
