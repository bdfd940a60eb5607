// The gateway in JavaScript in a process of its own. The caller links to it and calls through it.

import net from "node:net";
import { JsGateway } from "./js-gateway.mjs";
import { onFrames, sendFrame } from "./js-link.mjs";

const [path, token] = process.argv.slice(2);
const gateway = new JsGateway({ token });
const port = await gateway.listen();

const server = net.createServer((socket) => {
  gateway.on("tools", (tools) => sendFrame(socket, { type: "tools", tools }));
  onFrames(socket, async ({ callId, tool, args }) => {
    sendFrame(socket, { type: "result", callId, ...(await gateway.call(tool, args)) });
  });
  sendFrame(socket, { type: "welcome", port });
  // It lives as long as its caller.
  socket.on("close", () => process.exit(0));
});
server.listen(path, () => process.send?.("ready"));
