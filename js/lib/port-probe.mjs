// Finds the holder of the gateway's port.

import http from "node:http";
import { runtimeTimeout } from "./timers.mjs";

/**
 * The holder of the port; busy: a gateway of any home that accepts no connection at the moment.
 * @typedef {"nobody" | "ours" | "other-home" | "foreign" | "silent" | "busy"} PortHolder
 */

/**
 * Sends GET / to the port. A gateway needs it on both loopback addresses.
 * @param {number} port @param {string} homeHash @param {number} patienceMs
 * @returns {Promise<PortHolder>}
 */
export async function probePort(port, homeHash, patienceMs = 1000) {
  const holder = await probeAddress("127.0.0.1", port, homeHash, patienceMs);
  return holder === "nobody" ? probeAddress("::1", port, homeHash, patienceMs) : holder;
}

/** No process listens, or this machine has no such address. */
const UNREACHABLE = [
  "ECONNREFUSED",
  "EADDRNOTAVAIL",
  "EAFNOSUPPORT",
  "ENETUNREACH",
  "EHOSTUNREACH",
];

/**
 * @param {string} host @param {number} port @param {string} homeHash @param {number} patienceMs
 * @returns {Promise<PortHolder>}
 */
function probeAddress(host, port, homeHash, patienceMs) {
  return new Promise((resolve) => {
    const request = http.get({ host, port, path: "/", agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (piece) => {
        body += piece;
        if (body.length > 4096) request.destroy();
      });
      response.on("close", () => settle(readAnswer(body, homeHash, response)));
    });
    // The timeout covers the whole response, so a slow trickle also fails.
    const cancelTimeout = runtimeTimeout(patienceMs, () => {
      resolve("silent");
      request.destroy();
    });
    /** @param {PortHolder} holder */
    const settle = (holder) => {
      cancelTimeout();
      resolve(holder);
    };
    request.on("error", (/** @type {NodeJS.ErrnoException} */ error) =>
      settle(UNREACHABLE.includes(error.code ?? "") ? "nobody" : "foreign"),
    );
  });
}

/**
 * @param {string} body @param {string} homeHash @param {http.IncomingMessage} response
 * @returns {PortHolder}
 */
function readAnswer(body, homeHash, { statusCode }) {
  try {
    const answer = JSON.parse(body);
    if (answer.program !== "tap") return "foreign";
    if (statusCode === 503) return "busy";
    return answer.home === homeHash ? "ours" : "other-home";
  } catch {
    return "foreign";
  }
}
