// A free port for a gateway.

import { randomInt } from "node:crypto";
import { once } from "node:events";
import net from "node:net";

/**
 * Below the ports that systems give to outgoing connections and to listeners on port 0 (32768 on Linux),
 * so a collision between this check and the use of the port is unlikely (1 in 12,000).
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;
const MAX_ATTEMPTS = 100;

/** @param {number} port @param {string} host @returns {Promise<boolean>} whether a process listens there */
async function isTaken(port, host) {
  const server = net.createServer().listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    // A machine may lack IPv4 or IPv6.
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EADDRINUSE";
  }
  server.close();
  await once(server, "close");
  return false;
}

/**
 * @returns {Promise<number>} a port that was free a moment ago, on both loopback families
 * @throws {Error} if a hundred ports were taken
 */
export async function findFreePort() {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (!(await isTaken(port, "127.0.0.1")) && !(await isTaken(port, "::1"))) return port;
  }
  throw new Error(`no free port was found between ${FIRST_PORT} and ${LAST_PORT}`);
}
