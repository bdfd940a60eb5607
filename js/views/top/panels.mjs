// The panels of `copilot-tap top`, in the order of the screen. Add a new panel here.

import { calls, spans } from "./call-panels.mjs";
import { injected, pushes, streams } from "./event-panels.mjs";
import { emitters, features, goals } from "./feature-panels.mjs";
import { providers, rules, sessions } from "./gateway-panels.mjs";

/** @type {readonly import("./panel.mjs").Panel[]} */
export const PANELS = [
  ...[sessions, providers, rules, calls, spans, streams],
  ...[pushes, injected, goals, features, emitters],
];

/** The first panel: some rows of each panel, as many as fit. */
export const OVERVIEW = "overview";
export const IN_OVERVIEW = [
  ...[sessions, providers, calls, streams, injected, goals],
  ...[emitters, rules, features],
];

/** The places that Tab visits. */
export const PLACES = [OVERVIEW, ...PANELS.map(({ id }) => id)];

/** Collections whose records panels show. */
export const COLLECTIONS = ["push", "notify", "stream_entry", "span", "goal", "emitter_run"];
