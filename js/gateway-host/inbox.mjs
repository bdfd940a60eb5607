// The requests of the inbox: what waits for the user in sessions and plans, and his answers. Nothing is kept here but
// the ids of items: each list asks those who know. Only the user's own link may ask.

import path from "node:path";
import { countItems, InboxIds } from "../lib/inbox.mjs";
import { redactLine } from "../lib/redact.mjs";
import { errorMessage } from "../lib/values.mjs";
import { inLine, quoteWord, shortenText, visible } from "../lib/visible.mjs";
import { RequestError, requireOrigin } from "./requests.mjs";

/** @typedef {import("../lib/inbox.mjs").Waiting} Waiting */
/** @typedef {import("../lib/inbox.mjs").Item & {key: string}} Item */
/** @typedef {{id: string, label: string, cwd: string, linked: boolean, ending: boolean}} Session */
/** What an act of the user's needs of the item's source. @typedef {(item: Item, answer: Answer) => Promise<unknown>} Decide */
/** @typedef {{act: string, values?: object, text?: string}} Answer */

/** A session that has not answered by then has no items now. */
const SESSION_MS = 4000;
const PLANS_MS = 10_000;
const DECIDE_MS = 30_000;
const MAX_TEXT_LENGTH = 4096;
const PLAN_COMMAND = "tap-plan";
const SOURCE = "builtin:inbox";

/** @template T @param {Promise<T>} promise @param {number} ms @returns {Promise<T | undefined>} undefined: too late, or it failed */
async function settleWithin(promise, ms) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms, undefined)));
  try {
    return await Promise.race([promise.catch(() => undefined), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** @param {any} given */
function parseAnswer({ id, digest, act, values = {}, text }) {
  if ([id, digest, act].some((part) => typeof part !== "string")) {
    throw new RequestError("INVALID", "expected the texts id, digest and act");
  }
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    throw new RequestError("INVALID", "values: expected an object");
  }
  if (text !== undefined && (typeof text !== "string" || text.length > MAX_TEXT_LENGTH)) {
    throw new RequestError("INVALID", `text: expected at most ${MAX_TEXT_LENGTH} characters`);
  }
  return { id, digest, answer: { act, values, ...(text !== undefined && { text }) } };
}

/** Configs with entries that wait for consent. @param {import("./project-providers.mjs").EntryState[]} entries @returns {Waiting[]} */
function listConsents(entries) {
  const waiting = entries.filter(({ state }) => state === "waiting");
  const files = [...new Set(waiting.map(({ file }) => file))];
  return files.map((file) => {
    const names = [
      ...new Set(waiting.filter((entry) => entry.file === file).map(({ name }) => name)),
    ];
    return {
      ...{ key: `consent:${file}:${names.join()}`, kind: "consent", class: "decides", at: 0 },
      ...{ who: { label: visible(file), folder: path.dirname(file) }, acts: [] },
      title: `${names.length} of its entries ${names.length === 1 ? "waits" : "wait"} for your consent`,
      text: names.map(inLine).join("\n"),
      terminal: `copilot-tap allow ${quoteWord(file)}`,
    };
  });
}

export class Inbox {
  #gateway;
  #features;
  #records;
  #entries;
  #ids = new InboxIds();

  /**
   * @param {object} parts
   * @param {Pick<import("../lib/addon.js").Gateway, "askSession" | "inspect" | "tellTimeline">} parts.gateway
   * @param {Pick<import("./features.mjs").HostFeatures, "command" | "hostState">} parts.features
   * @param {Pick<import("./records.mjs").HostRecords, "note">} parts.records
   * @param {() => import("./project-providers.mjs").EntryState[]} parts.entries of configs
   */
  constructor({ gateway, features, records, entries }) {
    this.#entries = entries;
    this.#gateway = gateway;
    this.#features = features;
    this.#records = records;
  }

  /** @param {import("./requests.mjs").HostRequests} requests */
  serve(requests) {
    requests.register("inbox.list", async (_params, from) => {
      requireOrigin(from, "control");
      const items = (await this.#list()).map(({ key: _, ...item }) => item);
      return { items, counts: countItems(items) };
    });
    requests.register("inbox.answer", async (given, from) => {
      requireOrigin(from, "control");
      return this.#answer(given);
    });
    requests.register("inbox.read", async ({ id, all }, from) => {
      requireOrigin(from, "control");
      const items = await this.#list();
      const read = items.filter(
        (item) => item.class === "knows" && (all === true || item.id === id),
      );
      if (read.length === 0 && all !== true) {
        throw new RequestError("GONE", "there is no such item to mark as read");
      }
      for (const { key } of read) this.#ids.markRead(key);
      return { read: read.map((item) => item.id) };
    });
  }

  async #list() {
    const { sessions } = /** @type {{sessions: Session[]}} */ (JSON.parse(this.#gateway.inspect()));
    const open = sessions.filter(({ linked, ending }) => linked && !ending);
    const lists = await Promise.all([
      this.#listPlans(),
      ...open.map((one) => this.#listSession(one)),
    ]);
    return this.#ids.list([...lists.flat(), ...listConsents(this.#entries())]);
  }

  /** @param {Session} session @returns {Promise<Waiting[]>} */
  async #listSession({ id, label, cwd }) {
    const json = await settleWithin(this.#gateway.askSession(id, "waits.list", "{}"), SESSION_MS);
    const waits = json ? (JSON.parse(json).result?.waits ?? []) : [];
    const who = { label: visible(label), session: id, folder: cwd };
    return waits.map((/** @type {any} */ wait) => ({ ...wait, key: `${id}\n${wait.key}`, who }));
  }

  /** @returns {Promise<Waiting[]>} */
  async #listPlans() {
    if (this.#features.hostState().state !== "running") return [];
    const answer = await settleWithin(this.#askPlans({ do: "waits" }, PLANS_MS), PLANS_MS);
    return Array.isArray(answer) ? answer : [];
  }

  /** @param {object} what @param {number} ms @returns {Promise<any>} */
  async #askPlans(what, ms) {
    const command = this.#features.command(PLAN_COMMAND, ms);
    if (!command) throw new RequestError("UNAVAILABLE", "plans are disabled");
    const session = { id: "", cwd: "/" };
    const text = await command({
      args: JSON.stringify(what),
      session,
      left: new AbortController().signal,
    });
    if (!text.startsWith("{")) throw new RequestError("UNAVAILABLE", text);
    const { answer, error } = JSON.parse(text);
    if (error) throw new RequestError(error.code ?? "REFUSED", error.message);
    return answer;
  }

  /** @param {any} given */
  async #answer(given) {
    const { id, digest, answer } = parseAnswer(given);
    const item = (await this.#list()).find((one) => one.id === id);
    if (!item) throw new RequestError("GONE", "it does not wait any more");
    if (item.digest !== digest) {
      throw new RequestError("CHANGED", "it has changed since it was shown: look at it again");
    }
    const act = item.acts.find((one) => one.id === answer.act);
    if (!act) {
      const known = item.acts.map((one) => one.id).join(", ");
      throw new RequestError("INVALID", `act: expected ${known || item.terminal || item.note}`);
    }
    if (act.asks && !answer.text?.trim()) throw new RequestError("INVALID", `text: ${act.asks}`);
    try {
      await (act.id === "read" ? this.#ids.markRead(item.key) : this.#decide(item, answer));
      this.#note(item, act, "answered");
    } catch (error) {
      this.#note(item, act, errorMessage(error));
      throw error;
    }
    return { done: `${act.label} (${item.title})` };
  }

  /** @param {Item} item @param {Answer} answer */
  async #decide({ key, who, kind }, answer) {
    if (who.plan !== undefined) {
      const { plan: planId, node: nodeId } = who;
      const decision = { planId, ...(nodeId !== undefined && { nodeId }), ...answer };
      return this.#askPlans({ do: "decide", ...decision }, DECIDE_MS);
    }
    const params = JSON.stringify({ ...answer, key: key.slice(key.indexOf("\n") + 1) });
    const session = String(who.session);
    const { error } = JSON.parse(await this.#gateway.askSession(session, "waits.answer", params));
    if (error) throw new RequestError(error.code, `${kind}: ${error.message}`);
  }

  /** @param {Item} item @param {import("../lib/inbox.mjs").Act} act @param {string} reason */
  #note({ kind, who, title, digest }, act, reason) {
    const outcome = reason === "answered" ? act.id : "refused";
    const shown = shortenText(redactLine(`${title} (${reason})`), 300);
    const body = {
      gate: "inbox",
      by: "user",
      via: "terminal",
      kind,
      outcome,
      reason: shown,
      digest,
    };
    this.#records.note("gate", { session: who.session ?? "", source: SOURCE, body });
    if (!who.session || outcome === "refused" || act.id === "read") return;
    const text = `tap: answered from the inbox: ${act.label} (${inLine(shortenText(title, 80))})`;
    this.#gateway.tellTimeline(who.session, "info", text);
  }
}
