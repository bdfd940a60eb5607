// Watches a build and tells the session about it: what `push` and `tools.update` are for. Here the
// build is made up; replace `nextBuild` by a question to your CI. Needs the `ws` package.
//
//   keep     every build goes into the stream, nobody is bothered
//   surface  a change from green to red (or back) is a line in the timeline
//   inject   the first red build of a series is put before the model
//
// While a build is red there is one more tool, `ci_log`: tools come and go within a turn.

import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import WebSocket from "ws";

const url = `ws://localhost:${process.env.TAP_GATEWAY_PORT || 9400}`;
const home = process.env.COPILOT_HOME || path.join(os.homedir(), ".copilot");
const tokenFile = path.join(home, "extensions", "tap", ".provider-token");
const BUILD_EVERY_MS = Number(process.env.CI_BUILD_EVERY_MS || 20_000);

const noParameters = { type: "object", properties: {} };
const statusTool = {
  name: "ci_status",
  description: "Says how the last builds went.",
  parameters: noParameters,
};
const logTool = {
  name: "ci_log",
  description: "The log of the build that is red now.",
  parameters: noParameters,
};

// ---- the builds ----------------------------------------------------------------------------------

const builds = [];

/** Two green builds, then two red ones, and so on. */
function nextBuild() {
  const number = builds.length + 1;
  const green = (number - 1) % 4 < 2;
  const build = {
    number,
    green,
    log: green ? "all tests passed" : "test/login: expected 200, got 500",
  };
  builds.push(build);
  return build;
}

const isRed = () => builds.length > 0 && !builds.at(-1).green;
const describe = ({ number, green }) => `build ${number} is ${green ? "green" : "red"}`;

const handlers = {
  ci_status: () => builds.slice(-5).map(describe).join("\n") || "no build yet",
  ci_log: () => builds.at(-1)?.log ?? "no build yet",
};

// ---- the connection ------------------------------------------------------------------------------

let ws;
let bound = false;
const send = (message) => ws?.readyState === WebSocket.OPEN && ws.send(JSON.stringify(message));
const currentTools = () => (isRed() ? [statusTool, logTool] : [statusTool]);

function watch() {
  const wasRed = isRed();
  const first = builds.length === 0;
  const build = nextBuild();
  if (!bound) return;
  const metadata = { number: build.number, green: build.green };
  const push = (level, event) => send({ type: "push", level, event, stream: "builds", metadata });
  if (first || build.green !== wasRed) return push("keep", describe(build));
  // The colour has changed, and with it the tools.
  send({ type: "tools.update", tools: currentTools() });
  if (build.green) push("surface", `${describe(build)} again`);
  else push("inject", `${describe(build)}: ${build.log}`);
}

function onMessage(message) {
  switch (message.type) {
    case "sessions":
    case "sessions.updated": {
      if (bound || message.active.length === 0) return;
      const session = message.active[0].id;
      send({
        type: "hello",
        name: "ci-watcher",
        protocolVersion: 2,
        session,
        tools: currentTools(),
      });
      return;
    }
    case "hello.ack":
      bound = true;
      return;
    case "tool.call":
      send({ type: "tool.result", id: message.id, data: handlers[message.tool]() });
      return;
    case "tool.cancel":
      send({ type: "tool.result", id: message.id, error: "Cancelled", errorCode: "CANCELLED" });
      return;
    case "session.lifecycle":
      if (message.state === "shutdown.pending") {
        bound = false;
        send({ type: "goodbye", reason: "the session ends" });
      }
      return;
    case "error":
      console.error(`${message.code}: ${message.message}`);
      if (message.code === "AUTH_FAILED" && process.env.TAP_PROVIDER_TOKEN) process.exit(1);
      if (message.replyTo === "hello" && !bound) ws.close();
  }
}

function connect() {
  let token;
  try {
    token = process.env.TAP_PROVIDER_TOKEN || readFileSync(tokenFile, "utf8").trim();
  } catch {
    setTimeout(connect, 1000);
    return;
  }
  ws = new WebSocket(url);
  ws.on("open", () => send({ type: "auth", token }));
  ws.on("message", (raw) => onMessage(JSON.parse(raw.toString())));
  ws.on("error", () => {});
  ws.on("close", () => {
    bound = false;
    setTimeout(connect, 1000);
  });
}

connect();
setInterval(watch, BUILD_EVERY_MS);
