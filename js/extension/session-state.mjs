// The state of a session in tap's format. A part that the CLI does not report is `{ unknown: <why> }`. All parts are
// bounded, since the answer is sent to a model.

import { errorMessage } from "../lib/values.mjs";
import { shortenText, visible } from "../lib/visible.mjs";
import { awaitAnswer, AnswerUnavailable, READS } from "./copilot-rpc.mjs";

/** @typedef {import("./copilot-rpc.mjs").Session} Session */

const MAX_ITEMS = 20;
const MAX_DEPENDENCIES = 4;
const MAX_TEXT_LENGTH = 120;
/** Of the whole as JSON, below the limit for a feature's tool. */
const MAX_STATE_LENGTH = 28_000;
const MAX_PLAN_LENGTH = 4000;

/** @param {unknown} value @param {number} [most] */
const formatText = (value, most = MAX_TEXT_LENGTH) =>
  shortenText(visible(String(value ?? "")), most);

/** Without undefined and null. @param {Record<string, unknown>} fields */
const omitMissing = (fields) =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );

/** @param {unknown} value @param {number} [most] */
const formatOptionalText = (value, most) =>
  typeof value === "string" ? formatText(value, most) : undefined;
/** @param {unknown} value */
const toOptionalNumber = (value) =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;

/** @param {unknown} list @param {(item: any) => object} show */
function formatItems(list, show) {
  if (!Array.isArray(list)) throw new AnswerUnavailable("the CLI's answer has an unexpected form");
  const shown = list
    .slice(0, MAX_ITEMS)
    .map((item) => omitMissing(/** @type {any} */ (show(item))));
  return list.length > MAX_ITEMS ? { items: shown, leftOut: list.length - MAX_ITEMS } : shown;
}

/** @param {any} plan */
function formatPlan({ exists, content }) {
  if (!exists) return { exists: false };
  const all = String(content ?? "")
    .split("\n")
    .map(visible)
    .join("\n");
  return {
    exists: true,
    content: shortenText(all, MAX_PLAN_LENGTH),
    cut: all.length > MAX_PLAN_LENGTH,
  };
}

/** @param {any} answer */
function formatTodos({ rows, dependencies = [] }) {
  return formatItems(rows, ({ id, title, status }) => {
    const after = dependencies.filter((/** @type {any} */ dependency) => dependency.todoId === id);
    return {
      ...{
        id: formatText(id, 64),
        title: formatOptionalText(title),
        status: formatOptionalText(status, 32),
      },
      ...(after.length > 0 && {
        after: after
          .slice(0, MAX_DEPENDENCIES)
          .map((/** @type {any} */ dependency) => formatText(dependency.dependsOn, 64)),
      }),
    };
  });
}

/** @param {any} answer */
function formatContext({ contextInfo }) {
  if (!contextInfo) throw new AnswerUnavailable("the CLI has not counted it yet");
  const { totalTokens, limit, promptTokenLimit, compactionThreshold } = contextInfo;
  return omitMissing({
    tokens: toOptionalNumber(totalTokens),
    limit: toOptionalNumber(limit) ?? toOptionalNumber(promptTokenLimit),
    compactsAt: toOptionalNumber(compactionThreshold),
  });
}

/** @param {any} metrics of the session since its start, even if it was resumed */
function formatUsage({ totalUserRequests, modelMetrics, codeChanges, ...metrics }) {
  const models = Object.entries(modelMetrics ?? {}).slice(0, MAX_ITEMS);
  return omitMissing({
    userRequests: toOptionalNumber(totalUserRequests),
    models: models.map(([name, { requests, usage }]) =>
      omitMissing({
        model: formatText(name, 64),
        requests: toOptionalNumber(requests?.count),
        inputTokens: toOptionalNumber(usage?.inputTokens),
        cachedTokens: toOptionalNumber(usage?.cacheReadTokens),
        outputTokens: toOptionalNumber(usage?.outputTokens),
      }),
    ),
    linesAdded: toOptionalNumber(codeChanges?.linesAdded),
    linesRemoved: toOptionalNumber(codeChanges?.linesRemoved),
    premiumRequests: toOptionalNumber(metrics.totalPremiumRequestCost),
    credits:
      metrics.aiCreditsStatus === "unavailable"
        ? { unknown: "the CLI says that credits are not available here" }
        : toOptionalNumber(metrics.totalNanoAiu / 1e9),
  });
}

/** @param {any} answer */
function formatQuota({ planTier, snapshots }) {
  const known = Object.entries(snapshots ?? {}).slice(0, MAX_ITEMS);
  if (known.length === 0) throw new AnswerUnavailable("the CLI has no quota for this account");
  return {
    plan: formatText(planTier, 32),
    quotas: known.map(([name, quota]) =>
      omitMissing({
        name: formatText(name, 64),
        used: toOptionalNumber(quota?.usedRequests),
        of: quota?.isUnlimitedEntitlement
          ? undefined
          : toOptionalNumber(quota?.entitlementRequests),
        unlimited: quota?.isUnlimitedEntitlement ? true : undefined,
        remainingPercent: toOptionalNumber(quota?.remainingPercentage),
        resets: formatOptionalText(quota?.resetDate, 32),
      }),
    ),
  };
}

/** How each part is shown. @type {Record<keyof typeof READS, (answer: any) => unknown>} */
const SHOW = {
  mode: (mode) => formatText(mode, 32),
  model: ({ modelId, reasoningEffort }) =>
    omitMissing({
      id: formatOptionalText(modelId, 128),
      effort: formatOptionalText(reasoningEffort, 32),
    }),
  plan: formatPlan,
  todos: formatTodos,
  context: formatContext,
  usage: formatUsage,
  quota: formatQuota,
  tasks: ({ tasks }) =>
    formatItems(tasks, ({ type, id, displayName, description, status, startedAt }) => ({
      ...{
        id: formatText(id, 64),
        type: formatOptionalText(type, 32),
        status: formatOptionalText(status, 32),
      },
      ...{
        name: formatOptionalText(displayName ?? description),
        since: formatOptionalText(startedAt, 32),
      },
    })),
  schedules: ({ entries }) =>
    formatItems(entries, ({ id, intervalMs, cron, tz, displayPrompt, prompt, nextRunAt }) => ({
      ...{
        id: formatText(id, 32),
        everyMs: toOptionalNumber(intervalMs),
        cron: formatOptionalText(cron, 64),
      },
      ...{ zone: formatOptionalText(tz, 64), prompt: formatOptionalText(displayPrompt ?? prompt) },
      next: formatOptionalText(nextRunAt, 32),
    })),
  canvases: ({ openCanvases }) =>
    formatItems(openCanvases, ({ instanceId, canvasId, title, status }) => ({
      ...{ id: formatText(instanceId, 64), canvas: formatText(canvasId, 64) },
      ...{ title: formatOptionalText(title), status: formatOptionalText(status) },
    })),
  permissions: ({ mode }) => formatText(mode, 32),
};

/** The CLI's abilities. @param {Session} session */
function formatAbilities({ capabilities }) {
  const ui = capabilities?.ui;
  if (!ui) return { unknown: "this version of the CLI does not report it" };
  return { dialogs: ui.elicitation === true, canvases: ui.canvases === true };
}

/** Omits the largest parts of a state that is too long. @param {Record<string, unknown>} state */
function limitState(state) {
  const size = (/** @type {unknown} */ value) => JSON.stringify(value).length;
  while (size(state) > MAX_STATE_LENGTH) {
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
        return [name, SHOW[name](await awaitAnswer(() => READS[name](session)))];
      } catch (error) {
        return [name, { unknown: formatText(errorMessage(error)) }];
      }
    }),
  );
  const { permissions, ...state } = Object.fromEntries(parts);
  return limitState({
    ...state,
    modeChosenBy: chosenBy ?? { unknown: "the mode has not been read yet" },
    permissionMode: permissions,
    ui: formatAbilities(session),
  });
}
