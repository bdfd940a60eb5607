// What waits for the user in a session, as its events show it. No I/O and no clock: the events carry their time.

import { shortenText, visible, visibleLines } from "../lib/visible.mjs";

/**
 * A field of a question's form.
 * @typedef {object} FormField
 * @property {string} name
 * @property {"string" | "number" | "integer" | "boolean" | "array"} type
 * @property {string} [title] @property {string} [description]
 * @property {string[]} [enum] the values that it may have; of an array: its items
 * @property {boolean} [required]
 * @property {number} [minLength] @property {number} [maxLength]
 */
/** @typedef {{id: string, label: string, key: string, primary?: true, asks?: string, confirm?: string}} Act */
/**
 * `key`: of the request in this session.
 * @typedef {object} Wait
 * @property {string} key
 * @property {"question" | "plan-review" | "permission" | "consent" | "turn-ended" | "error" | "rate-limit" | "context"} kind
 * @property {"blocks" | "knows"} class
 * @property {number} at Unix ms
 * @property {string} title @property {string} text @property {boolean} [cut]
 * @property {Act[]} acts @property {FormField[]} [form] @property {string} [note]
 * @property {true} [isPlain] its answer is a text, not the values of a form
 */

const MAX_WAITS = 32;
const MAX_TEXT_LENGTH = 4096;
const MAX_TITLE_LENGTH = 120;
const MAX_FIELDS = 16;
const MAX_ANSWER_LENGTH = 300;
/** In percent of the context: above the first it is an item, until it falls below the second. */
const CONTEXT_FULL = 85;
const CONTEXT_FREE = 70;

/** The field of a question without a form. */
export const PLAIN_FIELD = "answer";
const IN_TERMINAL = "Answer it in the session's terminal.";
/** What a plan review may answer, of what the CLI offers. @type {Record<string, Omit<Act, "id">>} */
const REVIEW_ACTS = {
  interactive: { label: "Go on, and ask me", key: "i", primary: true },
  exit_only: { label: "Accept the plan, and stop", key: "e" },
};

/** @param {unknown} text */
function bound(text) {
  const shown = visibleLines(String(text ?? ""));
  const cut = shown.length > MAX_TEXT_LENGTH;
  return { text: shortenText(shown, MAX_TEXT_LENGTH), ...(cut && { cut }) };
}

/** @param {unknown} text */
const toTitle = (text) => shortenText(visible(String(text ?? "")), MAX_TITLE_LENGTH);

/** @param {unknown} values @returns {values is string[]} */
const isTexts = (values) =>
  Array.isArray(values) && values.every((value) => typeof value === "string");

/** @param {string} name @param {any} schema @param {boolean} required @returns {FormField | undefined} */
function readField(name, schema, required) {
  const { type, title, description, minLength, maxLength, items } = schema ?? {};
  const shared = {
    name,
    ...(typeof title === "string" && { title: toTitle(title) }),
    ...(typeof description === "string" && { description: toTitle(description) }),
    ...(required && { required }),
  };
  if (type === "array") {
    return isTexts(items?.enum) ? { ...shared, type, enum: items.enum } : undefined;
  }
  const isKnown = Object.hasOwn(FIELD_PROBLEMS, String(type));
  if (!isKnown || (schema.enum !== undefined && !isTexts(schema.enum))) return undefined;
  return {
    ...shared,
    type: /** @type {FormField["type"]} */ (type),
    ...(schema.enum && { enum: schema.enum }),
    ...(Number.isInteger(minLength) && { minLength }),
    ...(Number.isInteger(maxLength) && { maxLength }),
  };
}

/**
 * @param {any} schema of the request @param {any} asked the tool's arguments: the request lacks what is required
 * @returns {FormField[] | undefined} undefined: it has a field that only the terminal can show
 */
export function readForm(schema, asked) {
  const fields = Object.entries(schema?.properties ?? {});
  if (fields.length > MAX_FIELDS) return undefined;
  const required = asked?.requestedSchema?.required ?? schema?.required ?? [];
  const form = fields.map(([name, field]) => readField(name, field, required.includes(name)));
  return form.every((field) => field !== undefined) ? form : undefined;
}

/** @param {FormField} field @param {string} value */
function findTextProblem({ enum: allowed, minLength = 0, maxLength = MAX_TEXT_LENGTH }, value) {
  if (typeof value !== "string") return "expected a text";
  if (allowed) return allowed.includes(value) ? "" : `expected one of ${allowed.join(", ")}`;
  const most = Math.min(maxLength, MAX_TEXT_LENGTH);
  const fits = value.length >= minLength && value.length <= most;
  return fits ? "" : `expected ${minLength} to ${most} characters`;
}

/** By type: why a value may not be given; "": it may. @type {Record<string, (field: FormField, value: any) => string>} */
const FIELD_PROBLEMS = {
  string: findTextProblem,
  integer: (_, value) => (Number.isSafeInteger(value) ? "" : "expected a whole number"),
  number: (_, value) => (Number.isFinite(value) ? "" : "expected a number"),
  boolean: (_, value) => (typeof value === "boolean" ? "" : "expected true or false"),
  array: ({ enum: allowed = [] }, value) => {
    const fits = isTexts(value) && value.every((item) => allowed.includes(item));
    return fits ? "" : `expected a list of ${allowed.join(", ")}`;
  },
};

/** The CLI checks no values. @param {FormField[]} form @param {Record<string, unknown>} values @returns {string} "": good */
export function findValuesProblem(form, values) {
  const unknown = Object.keys(values).find((name) => !form.some((field) => field.name === name));
  if (unknown !== undefined) return `${visible(unknown)}: there is no such field`;
  for (const field of form) {
    const isGiven = Object.hasOwn(values, field.name);
    if (!isGiven && field.required) return `${visible(field.name)}: a value is required`;
    const problem = isGiven ? FIELD_PROBLEMS[field.type](field, values[field.name]) : "";
    if (problem) return `${visible(field.name)}: ${visible(problem)}`;
  }
  return "";
}

/** @typedef {{type: string, data: any, timestamp?: string}} SessionEvent */

export class Waits {
  /** @type {Map<string, Wait>} by the key of the request */
  #open = new Map();
  /** The tool call of each question. @type {Map<string, string>} */
  #toolCalls = new Map();
  /** Arguments of the calls that run. @type {Map<string, unknown>} */
  #running = new Map();
  /** @type {Map<string, Wait>} by kind */
  #news = new Map();
  #answer = "";
  #isOwn;

  /** @param {(message: string) => boolean} isOwn whether tap has opened the dialog with this message */
  constructor(isOwn) {
    this.#isOwn = isOwn;
  }

  /** A permission can wait only for one of these. */
  get hasRunningTool() {
    return this.#running.size > 0;
  }

  /** @type {Record<string, (data: any, at: number) => void>} */
  #handlers = {
    "tool.execution_start": ({ toolCallId, arguments: args }) =>
      this.#running.set(toolCallId, args),
    "tool.execution_complete": ({ toolCallId }) => this.#endTool(toolCallId),
    "elicitation.requested": (data, at) => this.#addQuestion(data, at),
    "user_input.requested": (data, at) => this.#addQuestion(toElicitation(data), at),
    "exit_plan_mode.requested": (data, at) => this.#addReview(data, at),
    "elicitation.completed": ({ requestId }) => this.remove(requestId),
    "user_input.completed": ({ requestId }) => this.remove(requestId),
    "exit_plan_mode.completed": ({ requestId }) => this.remove(requestId),
    "assistant.message": ({ content, parentToolCallId }) => {
      if (content && !parentToolCallId) this.#answer = String(content);
    },
    "user.message": () =>
      ["turn-ended", "error", "rate-limit"].forEach((kind) => this.#news.delete(kind)),
    abort: () => this.#endTurn(),
    "session.shutdown": () => this.#endTurn(),
    "session.idle": (_, at) => {
      const message = shortenText(this.#answer, MAX_ANSWER_LENGTH);
      if (message) this.#addNews("turn-ended", at, { title: "Its turn has ended", message });
      this.#endTurn();
    },
    "session.error": (data, at) =>
      this.#addNews(data.errorType === "rate_limit" ? "rate-limit" : "error", at, data),
    "session.usage_info": (data, at) => this.#readContext(data, at),
  };

  /** @param {SessionEvent} event */
  observe({ type, data, timestamp }) {
    if (!Object.hasOwn(this.#handlers, type)) return;
    this.#handlers[type](data ?? {}, Date.parse(timestamp ?? "") || 0);
  }

  /** @param {string} key */
  find(key) {
    return this.#open.get(key) ?? [...this.#news.values()].find((news) => news.key === key);
  }

  /** The request was answered, or has gone. @param {string} key */
  remove(key) {
    this.#open.delete(key);
    this.#toolCalls.delete(key);
  }

  /** @param {any[]} [permissions] which the CLI has open @returns {Wait[]} the oldest first */
  list(permissions = []) {
    const asked = permissions.flatMap((pending) => describePermission(pending));
    return [...this.#open.values(), ...asked, ...this.#news.values()].slice(0, MAX_WAITS);
  }

  /** @param {Wait} wait @param {string} [toolCall] */
  #add(wait, toolCall) {
    if (!this.#open.has(wait.key) && this.#open.size >= MAX_WAITS) return;
    this.#open.set(wait.key, wait);
    if (toolCall) this.#toolCalls.set(wait.key, toolCall);
  }

  /** @param {any} data @param {number} at */
  #addQuestion({ requestId, toolCallId, message, requestedSchema, mode, url, isPlain }, at) {
    const texts = { ...bound(url ? `${message}\n${url}` : message), title: toTitle(message) };
    const isOwn = this.#isOwn(String(message));
    const form =
      mode === "url" || isOwn || texts.cut
        ? undefined
        : readForm(requestedSchema, this.#running.get(toolCallId));
    const acts = /** @type {Act[]} */ (
      form
        ? [
            { id: "accept", label: "Answer", key: "a", primary: true },
            { id: "decline", label: "Decline", key: "d" },
          ]
        : []
    );
    this.#add(
      {
        key: String(requestId),
        kind: isOwn ? "consent" : "question",
        class: "blocks",
        ...{ at, ...texts, acts, ...(isPlain && { isPlain }) },
        ...(form ? { form } : { note: IN_TERMINAL }),
      },
      toolCallId,
    );
  }

  /** @param {any} data @param {number} at */
  #addReview({ requestId, toolCallId, summary, planContent, actions = [] }, at) {
    const texts = { ...bound(planContent || summary), title: "Its plan is ready for review" };
    const offered = texts.cut ? [] : Object.keys(REVIEW_ACTS).filter((id) => actions.includes(id));
    /** @type {Act[]} */
    const acts = offered.map((id) => ({ id, ...REVIEW_ACTS[id] }));
    const asks = "What should change?";
    if (!texts.cut) acts.push({ id: "feedback", label: "Ask for changes", key: "f", asks });
    const note = texts.cut ? { note: IN_TERMINAL } : {};
    const key = String(requestId);
    this.#add(
      { key, kind: "plan-review", class: "blocks", at, ...texts, acts, ...note },
      toolCallId,
    );
  }

  /** @param {"error" | "rate-limit" | "turn-ended" | "context"} kind @param {number} at @param {any} data */
  #addNews(kind, at, { title, message }) {
    const words = { ...bound(message), title: toTitle(title ?? message) };
    const acts = [{ id: "read", label: "Mark as read", key: "r" }];
    this.#news.set(kind, { key: `${kind}-${at}`, kind, class: "knows", at, ...words, acts });
  }

  /** @param {string} toolCallId */
  #endTool(toolCallId) {
    this.#running.delete(toolCallId);
    for (const [key, own] of this.#toolCalls) if (own === toolCallId) this.remove(key);
  }

  #endTurn() {
    this.#open.clear();
    this.#toolCalls.clear();
    this.#running.clear();
    this.#answer = "";
  }

  /** @param {any} data @param {number} at */
  #readContext({ currentTokens, tokenLimit }, at) {
    const percent = (100 * currentTokens) / tokenLimit;
    if (percent < CONTEXT_FREE) this.#news.delete("context");
    if (!(percent >= CONTEXT_FULL) || this.#news.has("context")) return;
    const title = `Its context is ${Math.floor(percent)} % full`;
    this.#addNews("context", at, { title, message: `${currentTokens} of ${tokenLimit} tokens` });
  }
}

/** A question of an older CLI as a form of one field. @param {any} data */
function toElicitation({ requestId, toolCallId, question, choices, allowFreeform }) {
  const isChoice = isTexts(choices) && choices.length > 0 && !allowFreeform;
  const field = { type: "string", ...(isChoice && { enum: choices }) };
  const requestedSchema = { properties: { [PLAIN_FIELD]: field }, required: [PLAIN_FIELD] };
  return { requestId, toolCallId, message: question, requestedSchema, isPlain: true };
}

/** A permission that the CLI asks for in its terminal. @param {any} pending @returns {Wait[]} */
function describePermission(pending) {
  const {
    kind = "permission",
    fullCommandText,
    path,
    url,
    intention,
    toolName,
  } = pending?.request ?? {};
  const subject = fullCommandText ?? path ?? url ?? toolName ?? intention ?? "";
  const key = pending?.requestId;
  if (typeof key !== "string") return [];
  const title = toTitle(`Asks to use ${kind}: ${subject}`);
  const shared = {
    key,
    kind: /** @type {const} */ ("permission"),
    class: /** @type {const} */ ("blocks"),
  };
  return [{ ...shared, at: 0, title, ...bound(subject), acts: [], note: IN_TERMINAL }];
}
