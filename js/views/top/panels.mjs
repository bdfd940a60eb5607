// The panels of `copilot-tap top`, in the order in which the screen names them. A new one is a line here.

import { calls, spans } from "./call-panels.mjs";
import { injected, pushes, streams } from "./event-panels.mjs";
import { emitters, features, goals } from "./feature-panels.mjs";
import { providers, rules, sessions } from "./gateway-panels.mjs";

/** @type {readonly import("./panel.mjs").Panel[]} */
export const PANELS = [
  ...[sessions, providers, rules, calls, spans, streams],
  ...[pushes, injected, goals, features, emitters],
];

/** The first panel: some rows of each of these, as many as there is room for. */
export const OVERVIEW = "overview";
export const IN_OVERVIEW = [
  ...[sessions, providers, calls, streams, injected, goals],
  ...[emitters, rules, features],
];

/** What Tab goes through. */
export const PLACES = [OVERVIEW, ...PANELS.map(({ id }) => id)];

/** Collections whose records panels show. */
export const COLLECTIONS = ["push", "notify", "stream_entry", "span", "goal", "emitter_run"];
