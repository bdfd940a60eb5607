// Inside a sandbox: a port of it leads to the proxy of host-proxy.mjs, for as long as a command runs.
// host-bridge.mjs SOCKET COMMAND [ARGUMENT…]

import { spawn } from "node:child_process";
import net from "node:net";
import os from "node:os";

const [, , file, command, ...args] = process.argv;
const LOCAL = "localhost,127.0.0.1,::1";

const server = net.createServer((socket) => {
  const proxy = net.connect(file);
  for (const [one, other] of [
    [socket, proxy],
    [proxy, socket],
  ]) {
    one.pipe(other);
    one.on("error", () => other.destroy());
    one.on("close", () => other.destroy());
  }
});
server.listen(0, "127.0.0.1", () => {
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  const proxy = `http://127.0.0.1:${port}`;
  const names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
  const env = {
    ...process.env,
    ...Object.fromEntries(names.map((name) => [name, proxy])),
    ...{ no_proxy: LOCAL, NO_PROXY: LOCAL, NODE_USE_ENV_PROXY: "1" },
  };
  const child = spawn(command, args, { env, stdio: "inherit" });
  child.on("error", (error) => {
    process.stderr.write(`tap: ${error.message}\n`);
    process.exit(127);
  });
  child.on("exit", (code, signal) => {
    process.exit(code ?? 128 + (signal ? os.constants.signals[signal] : 0));
  });
  // The group gets the signal, and the command decides.
  for (const name of /** @type {const} */ (["SIGTERM", "SIGINT", "SIGHUP"]))
    process.on(name, () => {});
});
