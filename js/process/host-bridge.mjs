// Runs in a sandbox: connects its ports to sockets of host-proxy.mjs, while a command runs.
// host-bridge.mjs [proxy=SOCKET] [PORT=SOCKET]… -- COMMAND [ARGUMENT…]

import { spawn } from "node:child_process";
import net from "node:net";
import os from "node:os";

const words = process.argv.slice(2);
const end = words.indexOf("--");
const ways = words.slice(0, end).map((word) => word.split(/=(.*)/s));
const [command, ...args] = words.slice(end + 1);
const LOCAL = "localhost,127.0.0.1,::1";

/** @param {string} socket @param {number} port 0: any @returns {Promise<number>} the port */
const listen = (socket, port) =>
  new Promise((resolve, reject) => {
    const server = net.createServer((inner) => {
      const outer = net.connect(socket);
      for (const [from, to] of [
        [inner, outer],
        [outer, inner],
      ]) {
        from.pipe(to);
        from.on("error", () => to.destroy());
        from.on("close", () => to.destroy());
      }
    });
    server.on("error", reject);
    server.listen(port, "127.0.0.1", () => {
      resolve(/** @type {net.AddressInfo} */ (server.address()).port);
    });
  });

/** @param {number} port @returns {NodeJS.ProcessEnv} */
function createProxyVariables(port) {
  const proxy = `http://127.0.0.1:${port}`;
  const names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
  return {
    ...Object.fromEntries(names.map((name) => [name, proxy])),
    ...{ no_proxy: LOCAL, NO_PROXY: LOCAL, NODE_USE_ENV_PROXY: "1" },
  };
}

const env = { ...process.env };
for (const [way, socket] of ways) {
  const port = await listen(socket, way === "proxy" ? 0 : Number(way));
  if (way === "proxy") Object.assign(env, createProxyVariables(port));
}
const child = spawn(command, args, { env, stdio: "inherit" });
child.on("error", (error) => {
  process.stderr.write(`tap: ${error.message}\n`);
  process.exit(127);
});
child.on("exit", (code, signal) => {
  process.exit(code ?? 128 + (signal ? os.constants.signals[signal] : 0));
});
// The whole group gets the signal, and the command decides.
for (const name of /** @type {const} */ (["SIGTERM", "SIGINT", "SIGHUP"]))
  process.on(name, () => {});
