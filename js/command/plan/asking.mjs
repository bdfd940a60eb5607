// Plans are asked for in the feature host, through the gateway.

import fs from "node:fs";
import path from "node:path";
import { messageOf } from "../../base/errors.mjs";
import { sleep } from "../../base/patience.mjs";
import { Failure, usage } from "../failure.mjs";
import { shown } from "./progress.mjs";

/** @typedef {import("../../base/control.mjs").Control} Control */
/** @typedef {{planId: string, nodeId?: string}} Reference */
/** @typedef {(what: Record<string, unknown>, how?: {starting?: boolean}) => Promise<any>} Ask
 *   `starting`: false: once, and only where a gateway runs */

const PATIENCE_MS = 25_000;
/** For what moves files or asks other machines. A feature host that hangs is ended, and that is an answer. */
const LASTING_MS = 3_600_000;
const LASTING = [
  ...["create", "validate", "land", "delete_copilot_plan", "cancel_copilot_plan"],
  ...["orphans", "clean", "restore", "export", "import", "diff"],
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

/** @param {{code?: string, message: string, problems?: {path: string, message: string, node?: string}[], more?: number}} error */
function failureOf({ code = "FAILED", message, problems = [], more = 0 }) {
  if (code === "UNKNOWN_PLAN") {
    const text = message.split(";")[0];
    return new Failure(text, { advice: "copilot-tap plan list shows those that there are", code });
  }
  const lines = problems.map(
    ({ path: place, message: text, node }) =>
      `${place || "the plan"}: ${text}${node ? ` (node ${node})` : ""}`,
  );
  if (more > 0) lines.push(`and ${more} more`);
  return new Failure(message, { advice: lines.join("\n"), code });
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
  if (error !== undefined) throw failureOf(error);
  return answer;
}

/**
 * Asks over one link after the other: a gateway ends with the last plan, and plans go on over its crash. What
 * does nothing twice is asked again.
 * @param {() => Promise<Control>} open starts a gateway where none runs
 * @param {() => Promise<Control>} [reach] does not
 * @returns {{ask: Ask, close: () => void}}
 */
export function askingFrom(open, reach = open) {
  /** @type {Control | undefined} */
  let control;
  let isClosed = false;
  const drop = () => {
    control?.close();
    control = undefined;
  };
  /** @type {Ask} */
  const ask = async (what, { starting = true } = {}) => {
    for (let left = starting && REPEATABLE.includes(String(what.do)) ? TRIES : 0; ; left -= 1) {
      try {
        control ??= await (starting ? open() : reach());
        const link = control;
        const steps = () => request(link, { do: "progress" });
        return await shown(String(what.do), steps, request(link, what));
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
export function referenceOf(text, { node }) {
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

const MB = 1024 * 1024;
/** As native/plan/spec.h has it. */
const MOST_PLAN = 16 * MB;
/** The parser of YAML takes two seconds for 1 MB. */
const MOST_YAML = 2 * MB;
/** Of JSON that is read as YAML, which finds a name that is there twice. */
const MOST_CHECKED = MB / 4;

/** @param {string} file @returns {string} what is in it; @throws a text says why not */
function readText(file) {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (!stat) throw new Error("there is no such file");
  // Reading a pipe waits for somebody who writes.
  if (!stat.isFile()) throw new Error("it is not a regular file");
  if (stat.size > MOST_PLAN) throw new Error(`it is larger than ${MOST_PLAN / MB} MB`);
  return fs.readFileSync(file, "utf8");
}

/** @param {string} text @returns {unknown} undefined: it is small, or not JSON */
function parseLarge(text) {
  if (text.length <= MOST_CHECKED) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (text.length <= MOST_YAML) return undefined;
    const most = `and as YAML it may have ${MOST_YAML / MB} MB`;
    throw new Error(`it is not JSON (${messageOf(error)}), ${most}`, { cause: error });
  }
}

/** @param {string} text YAML or JSON @returns {Promise<unknown>} */
async function parsePlan(text) {
  const large = parseLarge(text);
  if (large !== undefined) return large;
  const { parseDocument } = await import("yaml");
  const document = parseDocument(text, { prettyErrors: true });
  if (document.errors.length > 0) throw new Error(document.errors[0].message.split("\n")[0]);
  return document.toJS(); // throws where there are more aliases than it follows
}

/** @param {string} file YAML or JSON @returns {Promise<object>} */
export async function readPlan(file) {
  const invalid = (/** @type {string} */ why) =>
    new Failure(`${path.resolve(file)}: ${why}`, { code: "INVALID_PLAN" });
  /** @type {unknown} */
  let plan;
  try {
    plan = await parsePlan(readText(file));
  } catch (error) {
    throw invalid(messageOf(error));
  }
  if (typeof plan === "object" && plan !== null && !Array.isArray(plan)) return plan;
  throw invalid("expected a plan, an object with `name` and `nodes`");
}

/** @param {any} work */
const isAgent = (work) =>
  work?.type === "agent" || (typeof work === "string" && /^@agent(\s|$)/.test(work));

/**
 * What agents of a plan need where no session has told it.
 * @param {any} plan that nobody has checked yet @returns {Promise<{cli?: {cli: string, sdk: string}}>}
 */
export async function cliFor(plan) {
  const nodes = Array.isArray(plan.nodes) ? plan.nodes : [];
  const works = nodes.flatMap((/** @type {any} */ node) => [
    ...[node?.prechecks, node?.work, node?.postchecks],
  ]);
  if (!works.some(isAgent)) return {};
  const { findCopilot } = await import("../../base/copilot-cli.mjs");
  const cli = await findCopilot();
  return cli ? { cli } : {};
}
