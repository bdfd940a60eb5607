// `trace`: what providers say and are told, for people or as a recording (docs/tracing.md).

import fs from "node:fs";
import { Failure } from "../failure.mjs";
import { withGateway } from "../gateway.mjs";
import { filesOf } from "../given.mjs";
import { untilInterrupted } from "../interruption.mjs";
import { bad, faint, good, Output, strong } from "../output.mjs";
import { eventLine, headerLine, toEvent, TraceFilter } from "../../develop/trace.mjs";
import { version } from "../../base/paths.mjs";
import { cut } from "../table.mjs";

/** @typedef {import("../../develop/trace.mjs").TraceEvent} TraceEvent */
/** @typedef {import("../given.mjs").Given & {file?: string, provider?: string, session?: string, force?: boolean}} TraceGiven */

/** A recording that nobody ends does not fill the disk. */
const MOST_BYTES = 256 * 1024 * 1024;

/** From the provider's point of view. @type {Record<TraceEvent["kind"], import("../output.mjs").Part>} */
const SIGNS = {
  opened: faint("··"),
  received: good("→"),
  sent: strong("←"),
  closed: bad("××"),
};

/** @param {Output} output @param {TraceEvent} event */
function show(output, { at, connection, provider, kind, message, text }) {
  const time = new Date(at).toISOString().slice(11, 23);
  const who = provider || `#${connection}`;
  const what = kind === "opened" ? `opened ${text}`.trim() : (text ?? JSON.stringify(message));
  const used = time.length + who.length + 5;
  output.say(
    faint(time),
    " ",
    strong(who),
    " ",
    SIGNS[kind],
    " ",
    cut(what, Math.max(20, output.width - used)),
  );
}

/** The recording, once per event; nobody else may read it. */
class Recording {
  events = 0;
  calls = 0;
  #file;
  #bytes = 0;
  #path;

  /** @param {string} path @param {boolean} force */
  constructor(path, force) {
    this.#path = path;
    try {
      if (force && fs.lstatSync(path, { throwIfNoEntry: false })?.isFile()) fs.rmSync(path);
      this.#file = fs.openSync(path, "wx", 0o600);
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      if (code !== "EEXIST") throw new Failure(`${path} cannot be written: ${message}`);
      throw new Failure(`${path} is there already`, { advice: "name another, or use --force" });
    }
    this.#write(headerLine({ version, at: Date.now() }));
  }

  /** @param {TraceEvent} event */
  add(event) {
    this.#write(eventLine(event));
    this.events += 1;
    if (event.kind === "received" && event.message?.type === "tool.result") this.calls += 1;
  }

  /** @param {string} line */
  #write(line) {
    try {
      fs.appendFileSync(this.#file, line);
    } catch (error) {
      throw new Failure(`${this.#path} cannot be written: ${/** @type {Error} */ (error).message}`);
    }
    this.#bytes += Buffer.byteLength(line);
  }

  get isFull() {
    return this.#bytes > MOST_BYTES;
  }

  end() {
    fs.closeSync(this.#file);
  }
}

/** @param {TraceGiven} given @param {import("../control.mjs").Control} control */
async function filterOf({ provider, session }, control) {
  const filter = new TraceFilter({ provider, session });
  const { providers, sessions } = await control.inspect();
  if (session !== undefined && !sessions.some(({ id }) => id === session)) {
    throw new Failure(`there is no session "${session}"`, {
      advice: "copilot-tap status lists the sessions",
      code: "INVALID_SESSION",
    });
  }
  for (const one of providers) {
    if (one.name !== "")
      filter.know(
        one.connection,
        one.name,
        one.bindings.map((bound) => bound.session),
      );
  }
  return filter;
}

/**
 * Hands each event on until the signal, the gateway's end, or a failure of `take`.
 * @param {import("../control.mjs").Control} control @param {TraceFilter} filter
 * @param {(event: TraceEvent) => boolean} take false: that was the last
 * @param {AbortSignal} ending
 * @param {() => void} [onBegun] nothing is missed from now on
 * @returns {Promise<string>} why it has ended; empty: by the signal
 */
function follow(control, filter, take, ending, onBegun = () => {}) {
  return new Promise((resolve, reject) => {
    ending.addEventListener("abort", () => resolve(""));
    const onFrame = (/** @type {import("../control.mjs").TraceFrame} */ frame) => {
      try {
        if (!filter.take(toEvent(frame)).every(take)) resolve("the recording is full");
      } catch (error) {
        reject(error);
      }
    };
    control
      .trace(onFrame)
      .then(({ ended }) => {
        onBegun();
        return ended;
      })
      .then((reason) => resolve(`the gateway's link ended: ${reason}`), reject);
  });
}

/** @param {TraceGiven} given */
async function run(given) {
  const output = new Output(given);
  await withGateway(filesOf(given), async (control) => {
    const filter = await filterOf(given, control);
    if (given.file === undefined) await showAll(output, control, filter);
    else await record(output, control, filter, given.file, given.force ?? false);
  });
}

/** @param {Output} output @param {import("../control.mjs").Control} control @param {TraceFilter} filter */
async function showAll(output, control, filter) {
  const take = (/** @type {TraceEvent} */ event) => {
    output.item(event, () => show(output, event));
    return true;
  };
  const ended = await untilInterrupted((ending) => follow(control, filter, take, ending));
  if (ended !== "") output.complain(ended);
}

/**
 * @param {Output} output @param {import("../control.mjs").Control} control @param {TraceFilter} filter
 * @param {string} file @param {boolean} force
 */
async function record(output, control, filter, file, force) {
  const recording = new Recording(file, force);
  const take = (/** @type {TraceEvent} */ event) => {
    recording.add(event);
    return !recording.isFull;
  };
  try {
    const begun = () => output.say(`recording into ${file}; Ctrl-C ends it`);
    const ended = await untilInterrupted((ending) => follow(control, filter, take, ending, begun));
    if (ended !== "") output.complain(ended);
    const { events, calls } = recording;
    output.result({ file, events, calls, ended: ended || "interrupted" }, () =>
      output.say(`${events} events with ${calls} answered calls are in ${file}`),
    );
  } finally {
    recording.end();
  }
}

/** @type {import("../given.mjs").Command} */
export default {
  command: "trace [file]",
  describe: "show or record what providers say",
  builder: (parser) =>
    parser
      .usage(
        "$0 trace [file]\n\n" +
          "Shows what providers say (→) and are told (←), until Ctrl-C, or records it for replay. " +
          "Tokens, and what stands under names such as password, are taken out.",
      )
      .positional("file", { describe: "where to record; else it is shown", type: "string" })
      .option("provider", { describe: "only of that name", type: "string", requiresArg: true })
      .option("session", {
        describe: "only in the session of that id",
        type: "string",
        requiresArg: true,
      })
      .option("force", { describe: "replace the file", type: "boolean", default: false })
      .example("$0 trace --provider ci", "what ci and the gateway say to each other")
      .example("$0 trace ci.jsonl", "a recording, for replay"),
  handler: run,
};
