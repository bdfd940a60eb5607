// The connection of a program in a sandbox to hosts that its policy names: a proxy on a socket file outside, and a
// bridge to it inside (host-bridge.mjs). There is no other connection.

import dns from "node:dns/promises";
import fs from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { matchesHost } from "../lib/values.mjs";

const MAX_CONNECTIONS = 256;
/** Reported refusals of hosts, per program. */
const MAX_REPORTED = 20;
const CONNECT_MS = 30_000;

/** This machine, and addresses that only it can reach. Its network may have a registry of the user's. */
const forbidden = new net.BlockList();
forbidden.addSubnet("0.0.0.0", 8);
forbidden.addSubnet("127.0.0.0", 8);
forbidden.addSubnet("169.254.0.0", 16);
forbidden.addAddress("::", "ipv6");
forbidden.addAddress("::1", "ipv6");
forbidden.addSubnet("fe80::", 10, "ipv6");

/** @typedef {{address: string, family: number}} Address */
/**
 * @typedef {object} ProxyOptions
 * @property {string[]} hosts names, or `*.example.com` for subdomains
 * @property {(host: string) => void} onRefused
 * @property {(host: string) => Promise<Address[]>} [lookup]
 * @property {(address: Address) => boolean} [isForbidden]
 */

/** Includes IPv4 addresses written as IPv6. @param {Address} address */
function isLocal({ address, family }) {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped) return forbidden.check(mapped);
  return forbidden.check(address, family === 6 ? "ipv6" : "ipv4");
}

/** A host that is forbidden or does not answer. */
class Unreachable extends Error {
  /** @param {number} status of HTTP @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export class HostProxy {
  #options;
  #server;
  /** @type {Set<net.Socket>} */
  #sockets = new Set();

  /** @param {ProxyOptions} options */
  constructor(options) {
    const resolve = (/** @type {string} */ host) => dns.lookup(host, { all: true });
    const { lookup = resolve, isForbidden = isLocal } = options;
    this.#options = { ...options, lookup, isForbidden };
    this.#server = http.createServer((request, response) => void this.#forward(request, response));
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on("connect", (request, socket, head) => void this.#tunnel(request, socket, head));
    this.#server.on("connection", (socket) => this.#track(socket));
    this.#server.on("clientError", (_error, socket) => socket.destroy());
  }

  /** @param {string} file the socket, in an existing folder @returns {Promise<void>} */
  listen(file) {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(file, resolve);
    });
  }

  /** Also ends open connections. */
  close() {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** @param {net.Socket} socket */
  #track(socket) {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    socket.on("error", () => socket.destroy());
  }

  /** @param {string} host @param {number} port @returns {Promise<net.Socket>} @throws {Unreachable} */
  async #connect(host, port) {
    const { hosts, onRefused, lookup, isForbidden } = this.#options;
    const name = host.replace(/^\[|\]$/g, "");
    const refuse = () => {
      onRefused(name);
      return new Unreachable(403, `tap: the sandbox does not let this program reach ${name}`);
    };
    if (!hosts.some((allowed) => matchesHost(allowed, name))) throw refuse();
    const all = await lookup(name).catch(() => {
      throw new Unreachable(502, `tap: ${name} has no address`);
    });
    const address = all.find((candidate) => !isForbidden(candidate));
    if (!address) throw refuse();
    return new Promise((resolve, reject) => {
      const socket = net.connect({ host: address.address, port, timeout: CONNECT_MS });
      this.#track(socket);
      const fail = () => {
        socket.destroy();
        reject(new Unreachable(502, `tap: ${name}:${port} cannot be reached`));
      };
      socket.once("error", fail);
      socket.once("timeout", fail);
      socket.once("connect", () => {
        socket.setTimeout(0);
        resolve(socket);
      });
    });
  }

  /** @param {http.IncomingMessage} request @param {import("node:stream").Duplex} socket @param {Buffer} head */
  async #tunnel({ url = "" }, socket, head) {
    const [, host, port] = /^(.+):(\d{1,5})$/.exec(url) ?? [];
    try {
      if (host === undefined) throw new Unreachable(400, "tap: expected host:port");
      const target = await this.#connect(host, Number(port));
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      target.write(head);
      target.pipe(socket).pipe(target);
      socket.on("close", () => target.destroy());
      target.on("close", () => socket.destroy());
    } catch (error) {
      const { status = 502, message } = /** @type {Unreachable} */ (error);
      const text = `${message}\n`;
      socket.end(
        `HTTP/1.1 ${status} Refused\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
      );
    }
  }

  /** Forwards plain HTTP. @param {http.IncomingMessage} request @param {http.ServerResponse} response */
  async #forward(request, response) {
    try {
      if (!URL.canParse(request.url ?? "")) throw new Unreachable(400, "tap: expected a whole URL");
      const url = new URL(String(request.url));
      if (url.protocol !== "http:") throw new Unreachable(400, "tap: expected http:");
      const target = await this.#connect(url.hostname, Number(url.port || 80));
      const { "proxy-connection": _, ...headers } = request.headers;
      const onward = http.request({
        ...{ method: request.method, path: url.pathname + url.search },
        headers: { ...headers, host: url.host },
        createConnection: () => target,
      });
      onward.on("error", () => response.destroy());
      response.on("close", () => target.destroy());
      onward.on("response", (answer) => passAnswer(answer, response));
      onward.flushHeaders(); // headers that Node.js refuses throw here, and not in the pipe
      request.pipe(onward);
    } catch (error) {
      const { status = 502, message } = /** @type {Unreachable} */ (error);
      response.writeHead(status, { "content-type": "text/plain" }).end(`${message}\n`);
    }
  }
}

/** @param {http.IncomingMessage} answer of a host, which may be anything @param {http.ServerResponse} response */
function passAnswer(answer, response) {
  try {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  } catch {
    response.destroy(); // Node.js refuses its status or headers
  }
}

/** Forwards to a port of this machine. @param {number} port @returns {{listen: (file: string) => Promise<void>, close: () => void}} */
function createForwarder(port) {
  /** @type {Set<net.Socket>} */
  const sockets = new Set();
  const server = net.createServer((inner) => {
    const outer = net.connect({ host: "127.0.0.1", port });
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ]) {
      sockets.add(from);
      from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  server.maxConnections = MAX_CONNECTIONS;
  const listen = (/** @type {string} */ file) =>
    new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(file, () => resolve(undefined));
    });
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { listen, close };
}

/** Reports each host once, up to a limit. @param {(host: string) => void} report @returns {(host: string) => void} */
function reportOnce(report) {
  const reported = new Set();
  return (host) => {
    if (reported.has(host) || reported.size === MAX_REPORTED) return;
    reported.add(host);
    report(host);
  };
}

/**
 * Opens the connections of a program out of its sandbox: to its allowed hosts, and to a port of this machine.
 * @param {string[] | "*"} hosts
 * @param {{onRefused: (host: string) => void, port?: number}} options
 * @returns {Promise<{ways: import("./sandbox.mjs").Ways, close: () => Promise<void>} | undefined>} undefined: it needs
 *   no connections
 */
export async function openWays(hosts, { onRefused, port }) {
  if (hosts === "*" || (hosts.length === 0 && port === undefined)) return undefined;
  const servers = {
    ...(hosts.length > 0 && { proxy: new HostProxy({ hosts, onRefused: reportOnce(onRefused) }) }),
    ...(port !== undefined && { [port]: createForwarder(port) }),
  };
  const folder = await fs.realpath(await fs.mkdtemp(path.join(os.tmpdir(), "tap-hosts-")));
  const close = async () => {
    for (const server of Object.values(servers)) server.close();
    await fs.rm(folder, { recursive: true, force: true });
  };
  /** @type {Record<string, string>} */
  const ways = {};
  try {
    for (const [way, server] of Object.entries(servers)) {
      ways[way] = path.join(folder, way);
      await server.listen(ways[way]);
    }
    return { ways, close };
  } catch (error) {
    await close();
    throw error;
  }
}
