// A session's process, without a CLI: the link as an extension has it, and the parent's orders.

import process from "node:process";
import { GatewayLink } from "../../js/gateway-link.mjs";
import { gatewayFiles } from "../../js/paths.mjs";

const [sessionId] = process.argv.slice(2);
/** Provider to digest and names, as the gateway has told. @type {Map<string, {digest: string, tools: string[]}>} */
const has = new Map();
/** The gateway's id of a call, by the parent's. @type {Map<number, string>} */
const open = new Map();

const tell = (message) => process.connected && process.send(message);

const link = new GatewayLink({
  files: gatewayFiles(),
  register: () => ({
    sessionId,
    label: sessionId,
    cwd: "/",
    cliPid: process.pid,
    mode: "live",
    joined: true,
    have: Object.fromEntries([...has].map(([name, { digest }]) => [name, digest])),
  }),
  onEvent: (event) => {
    if (event.type !== "tools") return;
    for (const name of event.drop) has.delete(name);
    for (const { provider, digest, definitions } of event.set) {
      has.set(provider, { digest, tools: definitions.map(({ name }) => name) });
    }
    link.send({ type: "synced", revision: event.revision });
    tell({ tools: [...has.values()].flatMap(({ tools }) => tools) });
  },
  onWelcome: () => tell({ up: true }),
  onLost: () => tell({ up: false }),
  onTrouble: (text) => tell({ trouble: text }),
  log: () => {},
});

/** How late this process is at most: stopped, or kept from the processor. */
const BEAT_MS = 500;
let beatAt = performance.now();
setInterval(() => {
  const late = performance.now() - beatAt - BEAT_MS;
  beatAt += late + BEAT_MS;
  if (late > 1000) tell({ late });
}, BEAT_MS).unref();

const orders = {
  call: ({ id, tool, args, timeoutMs }) => {
    const call = link.call(tool, args, timeoutMs);
    open.set(id, call.id);
    call.result.then((outcome) => {
      open.delete(id);
      tell({ settled: id, outcome });
    });
  },
  cancel: ({ id }) => {
    if (open.has(id)) link.cancel(open.get(id), "not wanted any more");
  },
  end: () => {
    link.send({ type: "end", reason: "the session is over" });
    // What was sent must leave before the process does.
    setTimeout(() => process.exit(0), 300);
  },
};

process.on("message", (/** @type {any} */ order) => orders[order.do](order));
process.on("disconnect", () => process.exit(0));
link.start();
