// What the user and the model are told of plans.

import { bySessionUse } from "../../base/inspection.mjs";
import { inLine, visible } from "../../base/visible.mjs";
import { traceOf } from "./spans.mjs";

/** @typedef {import("../../registry/installation.mjs").Context} Context */
/** @typedef {import("../../base/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("./plans.mjs").Known} Known */

/** @param {Record<string, any>} seen view of a plan */
export function outcomeText({ status, counts, canceling, landed, notLanded, unlanded }) {
  const parts = Object.entries(counts).map(([word, count]) => `${count} ${word}`);
  const filesText = (
    /** @type {{files: number} | undefined} */ changes,
    /** @type {string} */ how,
  ) =>
    changes?.files ? `, ${changes.files} ${changes.files === 1 ? "file" : "files"} ${how}` : "";
  if (canceling) return `being canceled (${parts.join(", ")}): it ends once what ran has stopped`;
  const lines = filesText(landed, "landed") + filesText(notLanded, "not landed yet");
  return `${status} (${parts.join(", ")})${lines}${unlanded ? `. ${unlanded.message}` : ""}`;
}

/** A line of the timeline. @param {string} kind @param {Record<string, any>} seen view of a plan @param {string} [node] */
export function noticeText(kind, seen, node = "") {
  const texts = /** @type {Record<string, string>} */ ({
    started: `started: ${seen.total} ${seen.total === 1 ? "node" : "nodes"}`,
    failed: `${inLine(node)} failed`,
    "budget-near": "has used 80 % of its budget",
    "budget-spent": "has used its budget, and is paused",
    waiting: `${inLine(node)} waits for a limit of the model`,
    ended: `ended: ${outcomeText(seen)}`,
  });
  return texts[kind];
}

/** Of the notices, those that the model is told, too. */
export const TOLD = ["ended", "failed", "budget-spent"];

/** @param {Record<string, any>} seen view of a plan @param {string} kind @param {string} [node] */
function modelText(seen, kind, node = "") {
  const plan = `Plan ${seen.planId} (${visible(seen.name)})`;
  if (kind === "ended") {
    return `${plan} ended: ${outcomeText(seen)}. get_copilot_plan_status has the rest.`;
  }
  if (kind === "failed") {
    return `${plan}: node ${node} failed; what does not depend on it goes on. get_copilot_node_failure_context says why.`;
  }
  return `${plan} has used its budget and is paused. Ask the user: resume_copilot_plan with a larger budget goes on, cancel_copilot_plan ends it.`;
}

export class News {
  #context;
  /** One after the other. @type {Promise<unknown>} */
  #recorded = Promise.resolve();
  #known;
  #describe;
  /** Plans of which a session was told whose process was gone, by plan. @type {Map<string, string>} */
  #doubtful = new Map();

  /** @param {Context} context @param {Map<string, Known>} known @param {(planId: string) => Promise<void>} describe keeps what is known of a plan */
  constructor(context, known, describe) {
    this.#context = context;
    this.#known = known;
    this.#describe = describe;
  }

  /** A line for the user. @param {Record<string, any>} seen view of a plan @param {string} text */
  show(seen, text) {
    const { planId, name, facts } = seen;
    const summary = `plan ${planId} (${visible(name)}): ${text}`;
    const session = facts.session === "" ? undefined : facts.session;
    this.#context.events.emit("plans", { summary, session }).catch(() => {});
  }

  /** @param {string} why */
  noteSleep(why) {
    const summary = `the machine may go to sleep while plans run: ${visible(why)}`;
    this.#context.events.emit("plans", { summary }).catch(() => {});
  }

  /** @param {string} why the journal cannot be written; "": it can again @returns {string} what was told */
  tellTrouble(why) {
    const advice = "Free some space on its disk: they go on by themselves";
    const summary = why
      ? `plans stand still: their journal cannot be written: ${visible(why)}. ${advice}`
      : "plans go on: their journal can be written again";
    this.#context.events.emit("plans", { summary }).catch(() => {});
    return summary;
  }

  /** A record of what has happened. @param {Record<string, any>} seen view of a plan @param {string} event @param {string} [node] */
  record(seen, event, node) {
    const { planId, name, status, counts, usage, landed, facts } = seen;
    const body = {
      ...{ event, plan: planId, name, status, ...(node && { node }), counts },
      ...(event === "ended" && { usage, landed, repo: facts.repo }),
    };
    const session = facts.session === "" ? undefined : facts.session;
    const { append } = this.#context.services.records;
    this.#recorded = this.#recorded
      .then(() => traceOf({ id: planId, facts }))
      .then((trace) => append({ collection: "plan", trace, session, body }))
      .then(undefined, () => {});
  }

  /** The session that made it; or the one of its folder that was used last. @param {{session?: string, cwd: string, repo: string}} facts @returns {Promise<InspectedSession | undefined>} */
  async #listener({ session, cwd, repo }) {
    const all = /** @type {InspectedSession[]} */ (await this.#context.services.sessions.list());
    const open = all.filter(({ ending }) => !ending);
    const own = open.find(({ id }) => id === session);
    if (own) return own;
    const near = open.filter((one) => one.cwd === cwd || one.cwd === repo);
    return near.sort(bySessionUse)[0];
  }

  /** @param {Record<string, any>} seen view of a plan @param {string} kind of TOLD @param {string} [node] */
  async tellModel(seen, kind, node) {
    const { planId } = seen;
    if (seen.facts.session === "") return; // a person looks on
    const session = await this.#listener(seen.facts);
    const about = this.#known.get(planId)?.about;
    if (about && !session?.linked) {
      about.untold = true;
      await this.#describe(planId);
    }
    if (session === undefined) return;
    // Its process may come back and have the text, or the session ends.
    if (!session.linked) this.#doubtful.set(planId, session.id);
    const text = modelText(seen, kind, node);
    await this.#context.notify.model(text, { level: "info", session: session.id });
  }

  /** A session is there: it hears of what ended while there was none. @param {{id: string, cwd: string}} session */
  async sessionStarted({ id, cwd }) {
    const all = /** @type {InspectedSession[]} */ (await this.#context.services.sessions.list());
    for (const [planId, { about }] of this.#known) {
      if (!about.untold || (about.cwd !== cwd && about.repo !== cwd)) continue;
      const teller = all.find((one) => one.id === this.#doubtful.get(planId));
      if (teller && !teller.linked && teller.id !== id) continue; // its end is waited for
      about.untold = false;
      this.#doubtful.delete(planId);
      await this.#describe(planId);
      if (teller) continue; // it is back, and has the text
      const text = `Plan ${planId} (${visible(about.name)}) ended while no session was here: ${about.status}. get_copilot_plan_status has the rest.`;
      await this.#context.notify.model(text, { level: "info", session: id });
    }
  }

  /** What it was told last may not have reached anybody. @param {string} id of a session */
  async sessionEnded(id) {
    for (const [planId, teller] of this.#doubtful) {
      if (teller !== id) continue;
      this.#doubtful.delete(planId);
      const about = this.#known.get(planId)?.about;
      const next = about?.untold && (await this.#listener({ cwd: about.cwd, repo: about.repo }));
      if (next && next.id !== id) await this.sessionStarted(next);
    }
  }
}
