// The built-in features. A feature.mjs is loaded by both hosts, for its descriptor: it imports nothing large before
// install() runs.

import * as companions from "./reviews/feature.mjs";
import * as emitters from "./emitters/feature.mjs";
import * as goals from "./goals/feature.mjs";
import * as orchestrator from "./plans/feature.mjs";
import * as pairing from "./pairing/feature.mjs";
import * as projects from "./projects/feature.mjs";
import * as records from "./records/feature.mjs";
import * as session from "./session/feature.mjs";
import * as status from "./status/feature.mjs";

/**
 * @typedef {object} Feature
 * @property {import("../feature-host/descriptor.mjs").Descriptor} descriptor
 * @property {import("../feature-host/installation.mjs").Install} install
 * @property {string} [fixed] why it cannot be disabled
 */

/** In the order in which they are installed. @type {readonly Feature[]} */
export const FEATURES = [
  ...[status, projects, pairing, records, emitters, goals],
  ...[session, companions, orchestrator],
];
