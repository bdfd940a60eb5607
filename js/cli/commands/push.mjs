// `push`: one event into a session, by a provider that lives as long as that takes.

import { randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import { text as textOf } from "node:stream/consumers";
import { Failure, usage } from "../exit.mjs";
import { requireGateway, withGateway } from "../gateway.mjs";
import { getGatewayFiles } from "../options.mjs";
import { Output } from "../../views/output.mjs";
import { resolveSessionId, formatId } from "../reference.mjs";

/** @typedef {import("../options.mjs").CommandOptions & {text?: string, rest: string[], level: string, stream: string, name: string, session?: string}} PushOptions */

const LEVELS = ["keep", "surface", "inject"];
/** To bind to a session, and then for its receipt. */
const PATIENCE_MS = 5000;

/** @param {PushOptions} given @returns {Promise<string>} */
async function readEvent(given) {
  const { text, rest } = given;
  const words = [...(text === undefined ? [] : [text]), ...rest];
  const piped = words.length === 0 && !process.stdin.isTTY;
  const event = piped ? (await textOf(process.stdin)).trim() : words.join(" ");
  if (event !== "") return event;
  throw usage(
    "there is no text to push",
    'give it as an argument, as in copilot-tap push "build 5 is red", or on stdin',
  );
}

/** @param {PushOptions} given @param {string} status what the provider was doing @returns {Failure} */
function createUnboundFailure({ session }, status) {
  const what =
    session === undefined
      ? "no session took the event"
      : `session "${session}" did not take the event`;
  return new Failure(`${what} within ${PATIENCE_MS / 1000} s${status && ` (${status})`}`, {
    advice: "copilot-tap status lists the sessions; one starts with the Copilot CLI",
    code: "INVALID_SESSION",
  });
}

function loadProvider() {
  // With require() it loads in a third of the time that import() takes. Node.js 22 has its own.
  globalThis.WebSocket ??= createRequire(import.meta.url)("ws").WebSocket;
  return import("../../../sdk/node/provider.mjs");
}

/** @param {PushOptions} given */
async function run(given) {
  const output = new Output(given);
  const event = await readEvent(given);
  const files = getGatewayFiles(given);
  const wanted =
    given.session === undefined
      ? "latest"
      : await withGateway(files, (control) => resolveSessionId(control, given.session));
  const { provider } = await loadProvider();
  const { name, level, stream } = given;
  // Several may run at once, also in one process.
  const instance = randomBytes(4).toString("hex");
  const url = `ws://127.0.0.1:${files.port}`; // "localhost" takes a look-up
  const pusher = provider(name, { home: files.home, url, session: wanted, instance });
  let status = "";
  pusher.on("status", (text) => (status = text));
  pusher.on("error", () => {}); // it waits, or is refused for good
  try {
    await requireGateway(files); // it would wait for one; another program gets no token
    const signal = AbortSignal.timeout(PATIENCE_MS);
    await pusher.connect({ signal }).catch((error) => {
      throw error?.name === "TimeoutError" ? createUnboundFailure(given, status) : error;
    });
    const receipt = await pusher.push(stream, event, { level: /** @type {any} */ (level) });
    if (!receipt) throw createUnboundFailure(given, "the session has ended");
    output.result(receipt, () =>
      output.print(`${receipt.outcome} in session ${formatId(receipt.session)}`),
    );
  } finally {
    await pusher.close("done");
  }
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "push [text]",
  describe: "send an event to a session",
  about:
    "Sends one event to a session and prints its outcome. The event is shown in the timeline; the model reads " +
    "it only with `--level inject`. Without a text, it reads the event " +
    "from stdin; give a text that begins with - in this way.",
  positionals: { text: { describe: "the event; default: stdin" } },
  options: {
    level: {
      short: "l",
      describe: "keep it, surface it in the timeline (default), or inject it before the model",
      choices: LEVELS,
      default: "surface",
    },
    session: { describe: "its id or label, or the beginning of one; else the one last used" },
    stream: { describe: "its stream; default: events", default: "events" },
    name: { describe: "the name of the provider; default: shell", default: "shell" },
  },
  examples: [
    ['$0 push "build 5 is red"', "a line in the timeline, not for the model"],
    ["make 2>&1 | tail -20 | $0 push --level inject", "the model reacts to it"],
  ],
  handler: run,
  takesRest: true,
};
