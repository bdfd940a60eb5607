// The cost of a run. The CLI reports totals of a session, so a run is the difference of two totals.

/** @typedef {import("./job.mjs").Totals} Totals */
/** @typedef {import("./job.mjs").Tokens} Tokens */

/** The CLI counts billionths of AI credits. */
const NANO = 1e9;

/** @param {unknown} value */
const count = (value) => (Number.isFinite(value) ? Math.max(0, Number(value)) : 0);

/** @returns {Totals} */
export const noTotals = () => ({ aiCredits: 0, premiumRequests: 0, apiMs: 0, models: {} });

/** @returns {Tokens} */
const noTokens = () => ({ requests: 0, input: 0, output: 0, cached: 0 });

/** @param {any} metrics of `usage.getMetrics` @returns {Totals} */
export function parseTotals(metrics) {
  const models = Object.entries(metrics?.modelMetrics ?? {}).map(([model, { requests, usage }]) => [
    model,
    {
      requests: count(requests?.count),
      input: count(usage?.inputTokens),
      output: count(usage?.outputTokens),
      cached: count(usage?.cacheReadTokens),
    },
  ]);
  return {
    aiCredits: count(metrics?.totalNanoAiu) / NANO,
    premiumRequests: count(metrics?.totalPremiumRequestCost),
    apiMs: count(metrics?.totalApiDurationMs),
    models: Object.fromEntries(models),
  };
}

/** @param {Tokens} a @param {Tokens} b @param {(a: number, b: number) => number} combine @returns {Tokens} */
const combineTokens = (a, b, combine) => ({
  requests: combine(a.requests, b.requests),
  input: combine(a.input, b.input),
  output: combine(a.output, b.output),
  cached: combine(a.cached, b.cached),
});

/** @param {Totals} a @param {Totals} b @param {(a: number, b: number) => number} combine @returns {Totals} */
function combineTotals(a, b, combine) {
  const names = [...new Set([...Object.keys(a.models), ...Object.keys(b.models)])];
  const models = names
    .map((name) => {
      const tokens = combineTokens(
        a.models[name] ?? noTokens(),
        b.models[name] ?? noTokens(),
        combine,
      );
      return /** @type {const} */ ([name, tokens]);
    })
    .filter(([, tokens]) => Object.values(tokens).some((value) => value > 0));
  return {
    aiCredits: combine(a.aiCredits, b.aiCredits),
    premiumRequests: combine(a.premiumRequests, b.premiumRequests),
    apiMs: combine(a.apiMs, b.apiMs),
    models: Object.fromEntries(models),
  };
}

/** @param {Totals} after @param {Totals} before */
export const difference = (after, before) =>
  combineTotals(after, before, (a, b) => Math.max(0, a - b));

/** @param {Totals} a @param {Totals} b */
export const sum = (a, b) => combineTotals(a, b, (x, y) => x + y);

/** The totals of a single request to a model. @param {any} data of the event `assistant.usage` @returns {Totals} */
export const requestTotals = (data) => ({
  aiCredits: count(data?.copilotUsage?.totalNanoAiu) / NANO,
  premiumRequests: count(data?.cost),
  apiMs: count(data?.duration),
  models: {
    [String(data?.model ?? "unknown")]: {
      requests: 1,
      input: count(data?.inputTokens),
      output: count(data?.outputTokens),
      cached: count(data?.cacheReadTokens),
    },
  },
});
