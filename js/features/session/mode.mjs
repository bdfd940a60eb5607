// tap_set_session_mode: who decides, and what the model is told. docs/session-control.md has the rules.

import { errorMessage } from "../../lib/values.mjs";
import { redactLine } from "../../lib/redact.mjs";
import { shortenText } from "../../lib/visible.mjs";

/** @typedef {import("../../feature-host/service-access.mjs").Services} Services */
/** @typedef {"interactive" | "plan" | "autopilot"} Mode */

const MAX_REASON = 300;

/** What the user should know before he says yes. @type {Record<Mode, string>} */
const MEANING = {
  interactive: "In interactive mode the agent stops after each answer.",
  plan: "In plan mode the agent makes a plan first, and does not change the project.",
  autopilot: "In autopilot the agent goes on by itself, without waiting for you.",
};

/** @param {string} why */
const formatUnchanged = (why) => `The mode was not changed: ${why.replace(/\.$/, "")}.`;

/**
 * Whether the user has to be asked. A mode that he chose himself is his, whatever he allows in general.
 * @param {string} policy "deny": the gateway refuses the change @param {unknown} chosenBy
 */
const mustAsk = (policy, chosenBy) =>
  policy === "ask" || (policy === "allow" && !["start", "tap"].includes(String(chosenBy)));

/** @param {string} from @param {Mode} to @param {string} reason @param {unknown} chosenBy */
function formatQuestion(from, to, reason, chosenBy) {
  const own = chosenBy === "user" ? " You have chosen the mode that it is in now." : "";
  return (
    `The model asks tap to change this session from ${from} to ${to} mode. ${MEANING[to]}${own} ` +
    `It gives this reason: "${reason}"`
  );
}

/**
 * @param {Services} services @param {string} session @param {string} text
 * @returns {Promise<string>} why he has not said yes; "": he has
 */
async function askUser(services, session, text) {
  const { answer, reason } = await services.sessions.ask({ session, text });
  if (answer === "yes") return "";
  const why = reason ? ` (${reason})` : "";
  if (answer === "no") return `the user has refused${why}. Do not ask for the same again`;
  return (
    `the user could not be asked${why}. He can change it himself, ` +
    'or allow it in his tap config: "session": { "mode": "allow" }'
  );
}

/** The change itself. @param {Services} services @param {{session: string, mode: Mode, from: string, why: string}} change */
async function applyMode(services, change) {
  try {
    const { applied, reason } = await services.sessions.setMode(change);
    if (!applied) return formatUnchanged(String(reason));
    return `The session is in ${change.mode} mode now, and was in ${change.from} mode.`;
  } catch (error) {
    return formatUnchanged(errorMessage(error).replace(/^unavailable: /, ""));
  }
}

/**
 * @param {Services} services @param {string} session @param {{mode: Mode, reason: string}} wanted
 * @returns {Promise<string>} for the model
 */
export async function changeMode(services, session, { mode, reason }) {
  const why = shortenText(redactLine(reason), MAX_REASON);
  const { mode: policy } = await services.sessions.policy();
  const { mode: from, modeChosenBy } = await services.sessions.state({ session });
  if (typeof from !== "string") {
    return formatUnchanged(`the CLI does not say which one is in force (${from.unknown})`);
  }
  if (from === mode) return `The session is in ${mode} mode already.`;
  if (mustAsk(policy, modeChosenBy)) {
    const refused = await askUser(services, session, formatQuestion(from, mode, why, modeChosenBy));
    if (refused) return formatUnchanged(refused);
  }
  return applyMode(services, { session, mode, from, why });
}
