// What the whole plan may use, as options of `copilot-tap plan resume`.

import { Failure, usage } from "../failure.mjs";

/** @param {{budget?: string, tokens?: string}} given @returns {{aiCredits?: number, tokens?: number} | undefined} undefined: it stays as it is */
export function budgetOf({ budget, tokens }) {
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
