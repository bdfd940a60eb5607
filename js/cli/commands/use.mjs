// `use`: brings a provider that serves another session to this one.

import { bySessionUse } from "../../lib/inspection.mjs";
import { sleep } from "../../lib/timers.mjs";
import { Failure } from "../exit.mjs";
import { withGateway } from "../gateway.mjs";
import { getGatewayFiles, isRunByAgent } from "../options.mjs";
import { Output } from "../../views/output.mjs";
import { shortId } from "../../views/wording.mjs";

/** @typedef {import("../options.mjs").CommandOptions & {provider: string, session?: string}} UseOptions */
/** @typedef {import("../../link/control.mjs").Control} Control */
/** @typedef {import("../../link/control.mjs").InspectedSession} InspectedSession */

/** A provider says hello to the session within that, or does not take offers. */
const COMING_MS = 3000;
const POLL_MS = 100;

/**
 * @param {InspectedSession[]} sessions @param {string} [wanted] its id, or the beginning of one; else the last used
 * @returns {InspectedSession}
 */
function resolveSession(sessions, wanted) {
  const open = sessions.filter(({ ending }) => !ending).toSorted(bySessionUse);
  const fitting = open.filter(({ id }) => wanted === undefined || id.startsWith(wanted));
  const found = open.find(({ id }) => id === wanted) ?? fitting[0];
  if (found && (wanted === undefined || found.id === wanted || fitting.length === 1)) return found;
  const what = wanted === undefined ? "there is no session" : `there is no session "${wanted}"`;
  throw new Failure(fitting.length > 1 ? `several sessions begin with "${wanted}"` : what, {
    advice: "copilot-tap status lists the sessions; one starts with the Copilot CLI",
    code: "INVALID_SESSION",
  });
}

/** @param {Control} control @param {string} name @param {string} session */
async function hasCome(control, name, session) {
  for (const end = performance.now() + COMING_MS; ; await sleep(POLL_MS)) {
    const { providers } = await control.inspect();
    const its = providers.filter((provider) => provider.name === name);
    if (its.some(({ bindings }) => bindings.some((bound) => bound.session === session)))
      return true;
    if (performance.now() > end) return false;
  }
}

/** @param {UseOptions} given */
async function run(given) {
  const output = new Output(given);
  if (isRunByAgent()) {
    throw new Failure("the agent cannot move providers: their rules would go with them", {
      advice: "run it in a terminal of yours, or type /tap-use in the session",
      code: "NOT_FOR_THE_AGENT",
    });
  }
  const { provider } = given;
  await withGateway(getGatewayFiles(given), async (control) => {
    const { id, label } = resolveSession((await control.inspect()).sessions, given.session);
    const { outcome, message } = await control.use(provider, id);
    if (outcome === "refused" || outcome === "unknown") {
      throw new Failure(message, { code: outcome === "unknown" ? "NOT_FOUND" : "UNAUTHORIZED" });
    }
    if (outcome === "asked" && !(await hasCome(control, provider, id))) {
      throw new Failure(`"${provider}" was asked, and did not come within ${COMING_MS / 1000} s`, {
        advice:
          "its program chooses its session itself: stop it and start it again, or see its output",
        code: "NO_ANSWER",
      });
    }
    const result = { provider, session: id, label, moved: outcome === "asked" };
    output.result(result, () =>
      output.print(
        `${provider} serves ${label || id} (${shortId(id)})${result.moved ? " now" : " already"}`,
      ),
    );
  });
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "use <provider>",
  describe: "bring a provider to another session",
  about:
    "Asks a provider to serve another session: the one that --session names, or the one last " +
    "used. A provider made with an SDK moves if it follows the session last used. A program " +
    "that chooses its own session may stay where it is.",
  positionals: { provider: { describe: "its name" } },
  options: {
    session: { describe: "its id, or the beginning of it; else the one last used" },
  },
  examples: [
    ["$0 use weather", "into the session last used"],
    ["$0 use weather --session 0d6f", "into that one"],
  ],
  handler: run,
};
