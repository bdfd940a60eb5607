// `trace`: the messages from and to providers, for people or as a recording (docs/recordings.md).

import fs from "node:fs";
import { connectedProviders } from "../../lib/inspection.mjs";
import { Failure, runInterruptible } from "../exit.mjs";
import { providerToCome, findSession } from "../reference.mjs";
import { TraceFormatter } from "../trace-formatter.mjs";
import { formatCount } from "../../views/wording.mjs";
import { withGateway } from "../gateway.mjs";
import { getGatewayFiles } from "../options.mjs";
import { bad, faint, good, Output, strong } from "../../views/output.mjs";
import { eventLine, headerLine, toEvent, TraceFilter } from "../../develop/trace.mjs";
import { version } from "../../lib/paths.mjs";
import { cut } from "../../views/table.mjs";

/** @typedef {import("../../develop/trace.mjs").TraceEvent} TraceEvent */
/** @typedef {import("../options.mjs").CommandOptions & {file?: string, provider?: string, session?: string, force?: boolean, raw: boolean, full: boolean}} TraceOptions */

/** A recording that nobody ends does not fill the disk. */
const MAX_BYTES = 256 * 1024 * 1024;

/** From the provider's point of view. @type {Record<TraceEvent["kind"], import("../../views/output.mjs").Part>} */
const SIGNS = {
  opened: faint("··"),
  received: good("→"),
  sent: strong("←"),
  closed: bad("××"),
};

/** As it was sent. @param {TraceEvent} event */
const rawText = ({ kind, message, text }) =>
  kind === "opened" ? `opened ${text}`.trim() : (text ?? JSON.stringify(message));

/** @param {Output} output @param {TraceEvent} event @param {string} what */
function show(output, { at, connection, provider, kind }, what) {
  const time = new Date(at).toISOString().slice(11, 23);
  const who = provider || `#${connection}`;
  const used = time.length + who.length + 5;
  output.print(
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
    return this.#bytes > MAX_BYTES;
  }

  end() {
    fs.closeSync(this.#file);
  }
}

/**
 * The selection, with the beginnings of ids and names completed. A recording may wait for its provider, so
 * its name is taken as it is.
 * @param {TraceOptions} given @param {import("../../link/control.mjs").Control} control
 */
async function createFilter(given, control) {
  const { providers, sessions } = await control.inspect();
  const session = given.session === undefined ? undefined : findSession(sessions, given.session).id;
  const others = connectedProviders({ providers });
  const names = others.map(({ name }) => name);
  const provider =
    given.provider === undefined || given.file !== undefined
      ? given.provider
      : providerToCome(names.filter(Boolean), given.provider);
  const filter = new TraceFilter({ provider, session });
  for (const one of providers) {
    if (one.name !== "")
      filter.addConnection(
        one.connection,
        one.name,
        one.bindings.map((bound) => bound.session),
      );
  }
  const watched = others.filter(
    (one) =>
      (provider === undefined || one.name === provider) &&
      (session === undefined || one.bindings.some((bound) => bound.session === session)),
  );
  return { filter, watched: watched.length };
}

/**
 * Hands each event on until the signal, the gateway's end, or a failure of `take`.
 * @param {import("../../link/control.mjs").Control} control @param {TraceFilter} filter
 * @param {(event: TraceEvent) => boolean} take false: that was the last
 * @param {AbortSignal} ending
 * @param {() => void} [onBegun] nothing is missed from now on
 * @returns {Promise<string>} why it has ended; empty: by the signal
 */
function follow(control, filter, take, ending, onBegun = () => {}) {
  return new Promise((resolve, reject) => {
    ending.addEventListener("abort", () => resolve(""));
    const onFrame = (/** @type {import("../../link/control.mjs").TraceFrame} */ frame) => {
      try {
        if (!filter.select(toEvent(frame)).every(take)) resolve("the recording is full");
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

/** @param {TraceOptions} given */
async function run(given) {
  const output = new Output(given);
  await withGateway(getGatewayFiles(given), async (control) => {
    const { filter, watched } = await createFilter(given, control);
    if (given.file !== undefined) {
      return record(output, control, filter, given.file, given.force ?? false);
    }
    const begun = () =>
      output.print(faint(`watching ${formatCount(watched, "provider")}; Ctrl-C ends it`));
    return showAll(output, control, filter, begun, given);
  });
}

/**
 * @param {Output} output @param {import("../../link/control.mjs").Control} control @param {TraceFilter} filter
 * @param {() => void} begun @param {TraceOptions} given
 */
async function showAll(output, control, filter, begun, { raw, full }) {
  const words = new TraceFormatter({ full });
  const printEvent = (/** @type {TraceEvent} */ event) => {
    output.item(event, () => show(output, event, raw ? rawText(event) : words.format(event)));
    return true;
  };
  const ended = await runInterruptible((ending) =>
    follow(control, filter, printEvent, ending, begun),
  );
  if (ended !== "") output.printError(ended);
}

/**
 * @param {Output} output @param {import("../../link/control.mjs").Control} control @param {TraceFilter} filter
 * @param {string} file @param {boolean} force
 */
async function record(output, control, filter, file, force) {
  const recording = new Recording(file, force);
  const writeEvent = (/** @type {TraceEvent} */ event) => {
    recording.add(event);
    return !recording.isFull;
  };
  try {
    const begun = () => output.print(`recording into ${file}; Ctrl-C ends it`);
    const ended = await runInterruptible((ending) =>
      follow(control, filter, writeEvent, ending, begun),
    );
    if (ended !== "") output.printError(ended);
    const { events, calls } = recording;
    output.result({ file, events, calls, ended: ended || "interrupted" }, () =>
      output.print(
        `Recorded ${formatCount(events, "event")} (${formatCount(calls, "call")}) to ${file}`,
      ),
    );
  } finally {
    recording.end();
  }
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "trace [file]",
  describe: "show or record the messages of providers",
  about:
    "Shows the messages that providers send (→) and receive (←), one line of words for each, " +
    "until Ctrl-C. With a file, it records the messages for replay. Tokens, and values under names " +
    "such as password, are removed.",
  positionals: { file: { describe: "a file to record into" } },
  options: {
    provider: { describe: "only the provider of this name" },
    session: { describe: "only this session: its id or label, or the beginning of one" },
    force: { describe: "replace the file", type: "boolean" },
    raw: { describe: "the messages as they are", type: "boolean" },
    full: { describe: "whole ids", type: "boolean" },
  },
  examples: [
    ["$0 trace --provider ci", "what ci and the gateway send each other"],
    ["$0 trace ci.jsonl", "a recording, for replay"],
  ],
  handler: run,
};
