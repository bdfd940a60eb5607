// A session's process: the extension's runtime in a CLI that is played, and the parent's orders. It
// measures its calls itself, and for how long it did not run meanwhile.

import process from "node:process";
import { Runtime } from "../../js/extension/runtime.mjs";
import { PlayedCli } from "./played-cli.mjs";
import { clock, Pulse } from "./pulse.mjs";

const cli = new PlayedCli(process.env.SESSION_ID ?? "");
/** How a call is given up, by the parent's id. @type {Map<number, AbortController>} */
const open = new Map();

const sendToParent = (message) => process.connected && process.send(message);
const pulse = new Pulse((busyMs) => sendToParent({ busyMs }));

/** @param {() => Promise<object>} work @returns {Promise<object>} its outcome, and how long it took */
async function measured(work) {
  const startedAt = clock();
  const before = pulse.lateMs;
  const outcome = await work();
  const lateMs = pulse.lateMs - before;
  return { ...outcome, ms: clock() - startedAt - lateMs, lateMs };
}

async function call(id, tool, args) {
  const handler = cli.handlers.get(tool);
  if (!handler) return { absent: true };
  const control = new AbortController();
  open.set(id, control);
  const { resultType, textResultForLlm } = await handler(args, { signal: control.signal });
  open.delete(id);
  return { failed: resultType === "failure", text: textResultForLlm };
}

async function check(command) {
  const hook = cli.hooks?.onPreToolUse;
  if (!hook) return { absent: true };
  const use = { toolName: "bash", toolArgs: { command }, workingDirectory: "/", timestamp: 0 };
  const { permissionDecision } = await hook({ ...use, sessionId: cli.sessionId }, {});
  return { denied: permissionDecision === "deny" };
}

const orders = {
  call: ({ id, tool, args }) => report(id, () => call(id, tool, args)),
  check: ({ id, command }) => report(id, () => check(command)),
  cancel: ({ id }) => open.get(id)?.abort(),
  end: () => {
    for (const listener of cli.listeners) listener({ type: "session.shutdown", data: {} });
    process.kill(process.pid, "SIGTERM");
  },
};

/** @param {number} id @param {() => Promise<object>} work */
async function report(id, work) {
  const heardAt = clock();
  sendToParent({ settled: id, heardAt, outcome: await measured(work) });
}

process.on("message", (/** @type {any} */ order) => orders[order.do](order));
process.on("disconnect", () => process.exit(0));
setInterval(() => sendToParent({ lateMs: pulse.most }), 1000).unref();
void new Runtime().join(cli.join);
