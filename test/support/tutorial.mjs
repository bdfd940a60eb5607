// The prompts of docs/tutorial.md, and a scripted stand-in for the model that plays its part.

import { callTool, say, userTexts } from "./model.mjs";

/** @typedef {import("./model.mjs").ModelRequest} ModelRequest */

/** The page speaks of 30 s until a provider counts as gone; that is too long for a test. */
export const hostEnv = { TAP_RECONNECT_TTL_MS: "1000" };

/** @param {string} prompt @returns {{label: string, seconds: number} | undefined} */
export function timerOf(prompt) {
  const [, label, seconds] = /timer for my (\w+), (\d+) seconds/.exec(prompt) ?? [];
  return label ? { label, seconds: Number(seconds) } : undefined;
}

/** @param {ModelRequest} request */
export function tutorialModel(request) {
  const last = request.body.messages.at(-1);
  if (last.role === "tool") return say("The timer is set.");
  const prompt = userTexts(request).at(-1) ?? "";
  const timer = timerOf(prompt);
  if (timer) return callTool("set_timer", timer);
  const [, ready] = /(\w+) is ready/.exec(prompt) ?? [];
  return say(ready ? `Your ${ready} is ready.` : "I do not know that.");
}
