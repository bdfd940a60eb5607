// The state of a session in the words of tap. What the CLI does not say is `{ unknown: <why> }`, never left out and
// never guessed. Everything is bounded, since the answer goes to a model.

import { messageOf } from "../base/errors.mjs";
import { shortened, visible } from "../base/visible.mjs";
import { answered, NotSaid, READS } from "./rpc.mjs";

const MOST_ITEMS = 20;
const MOST_BEFORE = 4;
const MOST_TEXT = 120;
/** Of the whole as JSON: a tool of a feature can say a little more. */
const MOST_STATE = 28_000;
const MOST_PLAN = 4000;

/** @typedef {import("./rpc.mjs").Session} Session */

/** @param {unknown} value @param {number} [most] */
const text = (value, most = MOST_TEXT) => shortened(visible(String(value ?? "")), most);

/** Without what is not there. @param {Record<string, unknown>} fields */
const present = (fields) =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );

/** @param {unknown} value @param {number} [most] */
const textIfThere = (value, most) => (typeof value === "string" ? text(value, most) : undefined);
/** @param {unknown} value */
const numberIfThere = (value) =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;

/** @param {unknown} list @param {(item: any) => object} show */
function items(list, show) {
  if (!Array.isArray(list)) throw new NotSaid("the CLI's answer has another form than expected");
  const shown = list.slice(0, MOST_ITEMS).map((item) => present(/** @type {any} */ (show(item))));
  return list.length > MOST_ITEMS ? { items: shown, leftOut: list.length - MOST_ITEMS } : shown;
}

/** @param {any} plan */
function planOf({ exists, content }) {
  if (!exists) return { exists: false };
  const all = String(content ?? "")
    .split("\n")
    .map(visible)
    .join("\n");
  return { exists: true, content: shortened(all, MOST_PLAN), cut: all.length > MOST_PLAN };
}

/** @param {any} answer */
function todosOf({ rows, dependencies = [] }) {
  return items(rows, ({ id, title, status }) => {
    const after = dependencies.filter((/** @type {any} */ one) => one.todoId === id);
    return {
      ...{ id: text(id, 64), title: textIfThere(title), status: textIfThere(status, 32) },
      ...(after.length > 0 && {
        after: after.slice(0, MOST_BEFORE).map((/** @type {any} */ one) => text(one.dependsOn, 64)),
      }),
    };
  });
}

/** @param {any} answer */
function contextOf({ contextInfo }) {
  if (!contextInfo) throw new NotSaid("the CLI has not counted it yet");
  const { totalTokens, limit, promptTokenLimit, compactionThreshold } = contextInfo;
  return present({
    tokens: numberIfThere(totalTokens),
    limit: numberIfThere(limit) ?? numberIfThere(promptTokenLimit),
    compactsAt: numberIfThere(compactionThreshold),
  });
}

/** @param {any} metrics of the session since its beginning, also where it was resumed */
function usageOf({ totalUserRequests, modelMetrics, codeChanges, ...metrics }) {
  const models = Object.entries(modelMetrics ?? {}).slice(0, MOST_ITEMS);
  return present({
    userRequests: numberIfThere(totalUserRequests),
    models: models.map(([name, { requests, usage }]) =>
      present({
        model: text(name, 64),
        requests: numberIfThere(requests?.count),
        inputTokens: numberIfThere(usage?.inputTokens),
        cachedTokens: numberIfThere(usage?.cacheReadTokens),
        outputTokens: numberIfThere(usage?.outputTokens),
      }),
    ),
    linesAdded: numberIfThere(codeChanges?.linesAdded),
    linesRemoved: numberIfThere(codeChanges?.linesRemoved),
    premiumRequests: numberIfThere(metrics.totalPremiumRequestCost),
    credits:
      metrics.aiCreditsStatus === "unavailable"
        ? { unknown: "the CLI says that credits are not available here" }
        : numberIfThere(metrics.totalNanoAiu / 1e9),
  });
}

/** @param {any} answer */
function quotaOf({ planTier, snapshots }) {
  const known = Object.entries(snapshots ?? {}).slice(0, MOST_ITEMS);
  if (known.length === 0) throw new NotSaid("the CLI has no quota for this account");
  return {
    plan: text(planTier, 32),
    quotas: known.map(([name, one]) =>
      present({
        name: text(name, 64),
        used: numberIfThere(one?.usedRequests),
        of: one?.isUnlimitedEntitlement ? undefined : numberIfThere(one?.entitlementRequests),
        unlimited: one?.isUnlimitedEntitlement ? true : undefined,
        remainingPercent: numberIfThere(one?.remainingPercentage),
        resets: textIfThere(one?.resetDate, 32),
      }),
    ),
  };
}

/** How each part is shown. @type {Record<keyof typeof READS, (answer: any) => unknown>} */
const SHOW = {
  mode: (mode) => text(mode, 32),
  model: ({ modelId, reasoningEffort }) =>
    present({ id: textIfThere(modelId, 128), effort: textIfThere(reasoningEffort, 32) }),
  plan: planOf,
  todos: todosOf,
  context: contextOf,
  usage: usageOf,
  quota: quotaOf,
  tasks: ({ tasks }) =>
    items(tasks, ({ type, id, displayName, description, status, startedAt }) => ({
      ...{ id: text(id, 64), type: textIfThere(type, 32), status: textIfThere(status, 32) },
      ...{ name: textIfThere(displayName ?? description), since: textIfThere(startedAt, 32) },
    })),
  schedules: ({ entries }) =>
    items(entries, ({ id, intervalMs, cron, tz, displayPrompt, prompt, nextRunAt }) => ({
      ...{ id: text(id, 32), everyMs: numberIfThere(intervalMs), cron: textIfThere(cron, 64) },
      ...{ zone: textIfThere(tz, 64), prompt: textIfThere(displayPrompt ?? prompt) },
      next: textIfThere(nextRunAt, 32),
    })),
  canvases: ({ openCanvases }) =>
    items(openCanvases, ({ instanceId, canvasId, title, status }) => ({
      ...{ id: text(instanceId, 64), canvas: text(canvasId, 64) },
      ...{ title: textIfThere(title), status: textIfThere(status) },
    })),
  permissions: ({ mode }) => text(mode, 32),
};

/** What the CLI can show. @param {Session} session */
function abilitiesOf({ capabilities }) {
  const ui = capabilities?.ui;
  if (!ui) return { unknown: "this version of the CLI does not say it" };
  return { dialogs: ui.elicitation === true, canvases: ui.canvases === true };
}

/** Without its largest parts, where it is too long. @param {Record<string, unknown>} state */
function bounded(state) {
  const size = (/** @type {unknown} */ value) => JSON.stringify(value).length;
  while (size(state) > MOST_STATE) {
    const [largest] = Object.keys(state).sort((a, b) => size(state[b]) - size(state[a]));
    state[largest] = { unknown: "it is too long to be shown here" };
  }
  return state;
}

/**
 * Never rejects.
 * @param {Session} session @param {import("./agent-mode.mjs").ModeChooser | undefined} chosenBy
 * @returns {Promise<Record<string, unknown>>}
 */
export async function readState(session, chosenBy) {
  const names = /** @type {(keyof typeof READS)[]} */ (Object.keys(READS));
  const parts = await Promise.all(
    names.map(async (name) => {
      try {
        return [name, SHOW[name](await answered(() => READS[name](session)))];
      } catch (error) {
        return [name, { unknown: text(messageOf(error)) }];
      }
    }),
  );
  const { permissions, ...state } = Object.fromEntries(parts);
  return bounded({
    ...state,
    modeChosenBy: chosenBy ?? { unknown: "the mode has not been read yet" },
    permissionMode: permissions,
    ui: abilitiesOf(session),
  });
}
