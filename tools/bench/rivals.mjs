// The rivals. Each lives in a process of its own (subject.mjs) with its caller, and offers the same
// interface: a port for providers, and `call`, as the handler of a session's tool has it.

import { fork, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { createGateway } from "copilot-tap/gateway";
import { WebSocketServer } from "ws";
import { findFreePort } from "../../js/lib/free-port.mjs";
import { HOST_FLAGS } from "../../js/lib/host-process.mjs";
import { GatewayLink } from "../../js/extension/gateway-link.mjs";
import { gatewayFiles, programFolder } from "../../js/lib/paths.mjs";
import { userConfigFile } from "../../js/config/file.mjs";
import { SessionRunner } from "../../js/extension/session-runner.mjs";
import { waitFor } from "../../test/support/wait.mjs";
import { JsGateway, toToolResult } from "./js-gateway.mjs";
import { onFrames, sendFrame } from "./js-link.mjs";

/**
 * @typedef {object} Rival
 * @property {"tools" | "websocket" | "tcp"} speaks the protocol of its provider
 * @property {number} port
 * @property {string} token
 * @property {number} gatewayPid
 * @property {(tool: string, args: object) => Promise<any>} call
 * @property {(tool: string) => boolean} [has] whether the session has it
 * @property {() => number} toolCount how many tools of providers the session has
 * @property {() => number} syncCount how often they were changed
 * @property {() => boolean} [hooksInForce]
 * @property {(use: object) => Promise<unknown>} [preToolUse]
 * @property {() => void} close
 */

const here = path.dirname(fileURLToPath(import.meta.url));
const noop = () => {};

/** The part of a CopilotSession that a gateway needs; the CLI's side is played here. */
class BenchSession {
  sessionId = randomUUID();
  handlers = new Map();
  offered = 0;
  syncs = 0;
  /** @type {any} */
  hooks;
  rpc = {
    tools: { getBuiltinDescriptors: async () => ({ tools: [{ name: "bash" }] }) },
    metadata: { isProcessing: async () => ({ processing: false }) },
  };
  connection = {
    sendRequest: async (_method, { tools }) => {
      if (!tools) return;
      this.offered = tools.filter(({ name }) => !name.startsWith("tap_")).length; // without tap's tools
      this.syncs += 1;
    },
  };

  registerTools(tools) {
    this.handlers = new Map(tools.map((tool) => [tool.name, tool.handler]));
  }
  registerHooks(hooks) {
    this.hooks = hooks;
  }
  registerTransformCallbacks() {}
  async log() {}
  async send() {}
  on() {
    return noop;
  }
}

/** @param {BenchSession} session */
const createCaller = (session) => ({
  call: (tool, args) => session.handlers.get(tool)(args, {}),
  has: (tool) => session.handlers.has(tool),
  toolCount: () => session.offered,
  syncCount: () => session.syncs,
  hooksInForce: () => session.hooks !== undefined,
  preToolUse: (use) => session.hooks.onPreToolUse(use, {}),
});

/** @returns {Promise<Rival>} */
async function tapEmbedded() {
  const gateway = createGateway();
  const session = new BenchSession();
  await gateway.attachSession(session);
  return {
    speaks: "tools",
    port: gateway.port,
    token: gateway.token,
    gatewayPid: process.pid,
    ...createCaller(session),
    close: () => gateway.close(),
  };
}

/** @param {{records?: boolean, spans?: boolean}} [config] the user's; most runs have no settings @returns {Promise<Rival>} */
async function tapDetached(config) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "tap-bench-"));
  const port = await findFreePort();
  const env = { ...process.env, COPILOT_HOME: home, TAP_GATEWAY_PORT: String(port) };
  const files = gatewayFiles(env);
  if (config) {
    const file = userConfigFile(files);
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    fs.writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  }
  const main = path.join(programFolder, "js", "gateway-host", "main.mjs");
  const host = spawn(process.execPath, [...HOST_FLAGS, main], {
    env,
    stdio: "ignore",
  });
  let welcomed = false;
  const link = new GatewayLink({
    files,
    log: noop,
    register: () => runner.registration(),
    onEvent: (event) => runner.receive(event),
    onWelcome: () => {
      welcomed = true;
      runner.resendState();
    },
    onLost: noop,
    onTrouble: (text) => process.stderr.write(`${text}\n`),
  });
  const session = new BenchSession();
  const runner = new SessionRunner(link, {
    id: session.sessionId,
    cwd: process.cwd(),
    cliPid: process.pid,
    sync: "live",
    log: noop,
  });
  runner.adopt(session);
  await waitFor(() => fs.existsSync(files.descriptor), { what: "the gateway's descriptor" });
  link.start();
  await waitFor(() => welcomed && fs.existsSync(files.token), { what: "the gateway" });
  return {
    speaks: "tools",
    port,
    token: fs.readFileSync(files.token, "utf8"),
    gatewayPid: host.pid,
    ...createCaller(session),
    close: () => {
      link.stop("the bench is over");
      host.kill();
      setTimeout(() => fs.rmSync(home, { recursive: true, force: true }), 200);
    },
  };
}

/** @param {{on: (event: "tools", listener: (tools: object[]) => void) => unknown}} gateway */
function countTools(gateway) {
  const count = { tools: 0, syncs: 0 };
  gateway.on("tools", (tools) => {
    count.tools = tools.length;
    count.syncs += 1;
  });
  return { toolCount: () => count.tools, syncCount: () => count.syncs };
}

/** @returns {Promise<Rival>} */
async function jsEmbedded() {
  const token = randomUUID();
  const gateway = new JsGateway({ token });
  const port = await gateway.listen();
  return {
    speaks: "tools",
    port,
    token,
    gatewayPid: process.pid,
    call: async (tool, args) => toToolResult(await gateway.call(tool, args)),
    ...countTools(gateway),
    close: () => gateway.close(),
  };
}

/** @returns {Promise<Rival>} */
async function jsDetached() {
  const token = randomUUID();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "js-bench-"));
  const link = path.join(folder, "link");
  const host = fork(path.join(here, "js-gateway-host.mjs"), [link, token]);
  await new Promise((resolve) => host.once("message", resolve));
  host.disconnect();
  const socket = net.connect(link);
  const count = { tools: 0, syncs: 0 };
  let calls = 0;
  /** @type {Map<number, (outcome: any) => void>} */
  const waiting = new Map();
  const port = await new Promise((resolve) => {
    onFrames(socket, (message) => {
      if (message.type === "welcome") return resolve(message.port);
      if (message.type === "tools") {
        count.tools = message.tools.length;
        count.syncs += 1;
        return;
      }
      waiting.get(message.callId)(message);
      waiting.delete(message.callId);
    });
  });
  return {
    speaks: "tools",
    port,
    token,
    gatewayPid: host.pid,
    call: (tool, args) =>
      new Promise((resolve) => {
        const callId = ++calls;
        waiting.set(callId, (outcome) => resolve(toToolResult(outcome)));
        sendFrame(socket, { callId, tool, args });
      }),
    toolCount: () => count.tools,
    syncCount: () => count.syncs,
    close: () => {
      socket.destroy();
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A message there and back: no gateway at all. @returns {Promise<Rival>} */
async function wsEcho() {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await new Promise((resolve) => server.once("listening", resolve));
  /** @type {((text: string) => void)[]} in the order of the calls */
  const waiting = [];
  /** @type {import("ws").WebSocket} */
  let socket;
  server.on("connection", (connected) => {
    socket = connected;
    socket.on("message", (data) => waiting.shift()(data.toString()));
  });
  return echoing("websocket", /** @type {net.AddressInfo} */ (server.address()).port, (args) => {
    return new Promise((resolve) => {
      waiting.push(resolve);
      socket.send(echoText(args));
    });
  });
}

/** The same with a bare socket of Node.js. Only a single call in flight: there are no frames. @returns {Promise<Rival>} */
async function nodeTcp() {
  /** @type {net.Socket} */
  let socket;
  let left = 0;
  /** @type {(value?: unknown) => void} */
  let settle = noop;
  const server = net.createServer({ noDelay: true }, (connected) => {
    socket = connected;
    socket.on("data", (bytes) => {
      left -= bytes.length;
      if (left <= 0) settle();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  return echoing("tcp", /** @type {net.AddressInfo} */ (server.address()).port, (args) => {
    return new Promise((resolve) => {
      settle = resolve;
      const text = echoText(args);
      left = text.length;
      socket.write(text);
    });
  });
}

/** As long as a small tool.call. @param {object} args */
const echoText = (args) =>
  `{"type":"tool.call","id":"96355f9b-9e0f-4a75-b352-5277b6ca5bf0","args":${JSON.stringify(args)}}`;

/** @param {"websocket" | "tcp"} speaks @param {number} port @param {(args: object) => Promise<any>} call */
const echoing = (speaks, port, call) => ({
  speaks,
  port,
  token: "-",
  gatewayPid: process.pid,
  call: (/** @type {string} */ _tool, /** @type {object} */ args) => call(args),
  toolCount: () => 0,
  syncCount: () => 0,
  close: noop,
});

/** @type {Record<string, () => Promise<Rival>>} */
export const rivals = {
  "tap embedded": tapEmbedded,
  "tap detached": () => tapDetached(),
  "tap detached, no spans": () => tapDetached({ spans: false }),
  "tap detached, no records": () => tapDetached({ records: false }),
  "js embedded": jsEmbedded,
  "js detached": jsDetached,
  "ws echo": wsEcho,
  "tcp from node": nodeTcp,
  // The caller's own loop, which is subtracted from the other rivals.
  nothing: async () => ({ ...echoing("tcp", 0, async () => "done") }),
};
