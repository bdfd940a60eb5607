// Plans are asked for in the feature host, through the gateway.

import fs from "node:fs";
import { sleep } from "../../lib/timers.mjs";
import { isAgentWork } from "../../lib/values.mjs";
import { Failure, usage } from "../exit.mjs";
import { mayConfirm, requireConfirmation } from "../confirm.mjs";
import { showProgress } from "../progress.mjs";

/** @typedef {import("../../link/control.mjs").Control} Control */
/** @typedef {{planId: string, nodeId?: string}} Reference */
/** @typedef {(what: Record<string, unknown>, how?: {starting?: boolean}) => Promise<any>} SendRequest
 *   `starting`: false: once, and only where a gateway runs */

const PATIENCE_MS = 25_000;
/** For what moves files or asks other machines. A feature host that hangs is ended, and that is an answer. */
const LASTING_MS = 3_600_000;
const LASTING = [
  ...["create", "validate", "land", "delete_copilot_plan", "cancel_copilot_plan"],
  ...["orphans", "clean", "restore", "export", "import", "diff", "add", "take"],
];
/** The gateway is the first to give up. */
const SPARE_MS = 10_000;
/** A plan is made once, however often it is asked for: it has its id from here. */
const REPEATABLE = [
  ...["create", "validate", "list_copilot_plans", "show", "node", "follow", "log", "logs", "diff"],
  "export",
];
const TRIES = 10;
const RETRY_MS = 200;

/**
 * @param {{code?: string, message: string, problems?: {path: string, message: string, node?: string}[], more?: number,
 *   question?: string}} error
 */
function createFailure({ code = "FAILED", message, problems = [], more = 0, question }) {
  if (code === "UNKNOWN_PLAN") {
    const text = message.split(";")[0];
    return new Failure(text, { advice: "copilot-tap plan list shows those that there are", code });
  }
  const lines = problems.map(
    ({ path: place, message: text, node }) =>
      `${place || "the plan"}: ${text}${node ? ` (node ${node})` : ""}`,
  );
  if (more > 0) lines.push(`and ${more} more`);
  const listed = problems.length > 0 ? { problems } : {};
  const failure = new Failure(message, { advice: lines.join("\n"), code, ...listed });
  return question === undefined ? failure : Object.assign(failure, { question });
}

/**
 * What a plan opens of its sandbox, whoever runs it at a terminal is asked for.
 * @param {{given: {yes: boolean, action: string}, output: import("../../views/output.mjs").Output, ask: SendRequest}} context
 * @param {Record<string, unknown>} what
 */
export async function askWithConsent({ given, output, ask }, what) {
  try {
    return await ask(given.yes ? { ...what, yes: true } : what);
  } catch (error) {
    const { question } = /** @type {{question?: string}} */ (error);
    if (question === undefined || !mayConfirm(output)) throw error;
    await requireConfirmation(output, given, `${question}\nAllow it?`);
    return ask({ ...what, yes: true });
  }
}

/** @param {Control} control @param {Record<string, unknown>} what @returns {Promise<any>} */
async function request(control, what) {
  const patienceMs = LASTING.includes(String(what.do)) ? LASTING_MS : PATIENCE_MS;
  const asked = {
    name: "tap-plan",
    arguments: JSON.stringify({ ...what, path: process.env.PATH }),
    cwd: fs.realpathSync(process.cwd()),
    patienceMs,
  };
  const limit = { timeoutMs: patienceMs + SPARE_MS };
  const { text } = await control.request("features.command", asked, limit);
  if (!text.startsWith("{")) throw new Error(text.replace(/^tap: /, ""));
  const { answer, error } = JSON.parse(text);
  if (error !== undefined) throw createFailure(error);
  return answer;
}

/**
 * Asks over one link after the other: a gateway ends with the last plan, and plans go on over its crash. What
 * does nothing twice is asked again.
 * @param {() => Promise<Control>} open starts a gateway where none runs
 * @param {() => Promise<Control>} [reach] does not
 * @returns {{ask: SendRequest, close: () => void}}
 */
export function createPlanClient(open, reach = open) {
  /** @type {Control | undefined} */
  let control;
  let isClosed = false;
  const drop = () => {
    control?.close();
    control = undefined;
  };
  /** @type {SendRequest} */
  const ask = async (what, { starting = true } = {}) => {
    for (let left = starting && REPEATABLE.includes(String(what.do)) ? TRIES : 0; ; left -= 1) {
      try {
        control ??= await (starting ? open() : reach());
        const link = control;
        const steps = () => request(link, { do: "progress" });
        return await showProgress(String(what.do), steps, request(link, what));
      } catch (error) {
        if (error instanceof Failure || isClosed) throw error;
        drop();
        if (left === 0) throw error;
        await sleep(RETRY_MS);
      }
    }
  };
  const close = () => {
    isClosed = true; // what is on its way is not asked again
    drop();
  };
  return { ask, close };
}

/** @param {string} text ID or ID/NODE @param {{node: "no" | "may" | "must"}} wanted @returns {Reference} */
export function parseReference(text, { node }) {
  const [, planId, nodeId] = /^([^/]+)(?:\/(.+))?$/s.exec(text) ?? [];
  if (!planId) throw usage(`"${text}" is not the id of a plan`, "copilot-tap plan list has ids");
  if (node === "no" && nodeId !== undefined) {
    throw usage(`this is about a whole plan: give ${planId} without "/${nodeId}"`);
  }
  if (node === "must" && nodeId === undefined) {
    throw usage("say which node: <id>/<node>", `copilot-tap plan show ${planId} lists its nodes`);
  }
  return { planId, nodeId };
}

/**
 * What agents of a plan need where no session has told it.
 * @param {any} plan not checked yet @returns {Promise<{cli?: {cli: string, sdk: string}}>}
 */
export async function cliFor(plan) {
  const nodes = Array.isArray(plan.nodes) ? plan.nodes : [];
  const works = nodes.flatMap((/** @type {any} */ node) => [
    ...[node?.prechecks, node?.work, node?.postchecks],
  ]);
  if (!works.some(isAgentWork)) return {};
  const { findCopilot } = await import("../../process/copilot-cli.mjs");
  const cli = await findCopilot();
  return cli ? { cli } : {};
}

// What the whole plan may use, as options of `copilot-tap plan resume`.

/** @param {{budget?: string, tokens?: string}} given @returns {{aiCredits?: number, tokens?: number} | undefined} undefined: it stays as it is */
export function parseBudget({ budget, tokens }) {
  if (budget !== undefined && !/^\d+(\.\d+)?$/.test(budget)) {
    throw usage(`--budget must be a number of AI credits (got "${budget}")`);
  }
  if (tokens !== undefined && !/^\d+$/.test(tokens)) {
    throw usage(`--tokens must be a whole number (got "${tokens}")`);
  }
  if (budget === undefined && tokens === undefined) return undefined;
  return {
    ...(budget !== undefined && { aiCredits: Number(budget) }),
    ...(tokens !== undefined && { tokens: Number(tokens) }),
  };
}

/** Where the budget is spent, the advice for the model becomes one for a terminal. @param {any} error */
export function withOptions(error) {
  const [, why, json] = /^(.*), as in (\{"budget": .*\})$/s.exec(error.message) ?? [];
  if (why === undefined) return error;
  const { aiCredits, tokens } = JSON.parse(json).budget;
  const credits = aiCredits === undefined ? "" : ` --budget ${aiCredits}`;
  const advice = `for example with${credits}${tokens === undefined ? "" : ` --tokens ${tokens}`}`;
  return new Failure(why, { advice, code: error.code });
}

// What of a node is to be something else, as options of `copilot-tap plan edit`.

/** @param {string} text a command line, "@agent …", or an object of JSON */
function parseWork(text) {
  if (text === "null") return null;
  if (!text.startsWith("{")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text; // a command line can begin so, too
  }
}

/** @param {string} text */
const parseIds = (text) =>
  text === "null" || text.trim() === "" ? [] : text.split(",").map((id) => id.trim());

/** @param {string} text */
const parseTimeout = (text) =>
  text === "null" ? null : /^\d+(\.\d+)?$/.test(text) ? Number(text) : text;

/** @param {string} text */
const parseWord = (text) => (text === "null" ? null : text);

/** @param {string} text */
const parseList = (text) => (text === "null" ? null : parseIds(text));

const CHANGES = {
  ...{ work: parseWork, prechecks: parseWork, postchecks: parseWork },
  ...{ dependencies: parseIds, timeout: parseTimeout, sandbox: parseWord },
  ...{ allowedFolders: parseList, readFolders: parseList, allowedUrls: parseList },
  caches: parseList,
};

/** @param {string} name */
const toOption = (name) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** @param {Record<string, any>} given @returns {Record<string, unknown>} */
export function parseChanges(given) {
  const named = Object.entries(CHANGES).filter(([name]) => given[name] !== undefined);
  if (named.length === 0) {
    const names = Object.keys(CHANGES).map(toOption);
    throw usage(`say what to change: ${names.join(", ")}`);
  }
  return Object.fromEntries(named.map(([name, parse]) => [name, parse(given[name])]));
}
