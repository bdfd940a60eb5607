// A port for a gateway of our own.

import { randomInt } from "node:crypto";
import { once } from "node:events";
import net from "node:net";

/**
 * Below the ports that systems give to outgoing connections and to listeners on port 0 (32768 on Linux):
 * nobody else takes such a port between the look at it and its use, unless by a chance of 1 in 12,000.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;
const MAX_ATTEMPTS = 100;

/** @param {number} port @param {string} host @returns {Promise<boolean>} whether another process listens there */
async function isTaken(port, host) {
  const server = net.createServer().listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    // A machine may lack one of the two families.
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EADDRINUSE";
  }
  server.close();
  await once(server, "close");
  return false;
}

/**
 * @returns {Promise<number>} a port that was free a moment ago, on both loopback families
 * @throws {Error} where a hundred ports were taken
 */
export async function findFreePort() {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (!(await isTaken(port, "127.0.0.1")) && !(await isTaken(port, "::1"))) return port;
  }
  throw new Error(`no free port was found between ${FIRST_PORT} and ${LAST_PORT}`);
}
