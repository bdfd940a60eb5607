// A connection to an MCP server by the official SDK, which no other file imports. Lists and results are read without
// the SDK's schemas: these refuse a whole list for a single tool.

import {
  Client,
  StreamableHTTPClientTransport,
  UnsupportedProtocolVersionError,
} from "@modelcontextprotocol/client";
import { version } from "../lib/paths.mjs";
import { isMap } from "../config/schema.mjs";

/** @typedef {import("@modelcontextprotocol/client").Transport} Transport */
/**
 * @typedef {object} CallRequest
 * @property {string} name the server's own @property {object} args @property {string} [traceparent]
 * @property {AbortSignal} signal @property {number} timeoutMs @property {(message: string) => void} onProgress
 */

/** @type {any} */
const ANYTHING = {
  "~standard": {
    version: 1,
    vendor: "copilot-tap",
    validate: (/** @type {any} */ value) => ({ value }),
  },
};
/** A server without the handshake of 2025: it has no such method, or no such version. */
const NEWER_SERVER = [-32601, -32022];
const PROBE_MS = 5000;
const MAX_PAGES = 64;
const MAX_TOOLS = 1000;
const MAX_LIST_LENGTH = 4 * 1024 * 1024;
const MAX_CALL_MS = 3_600_000;
/** After the gateway's own timeout, which counts. */
const SPARE_MS = 5000;

/** A further attempt does not help. */
export class ServerRefused extends Error {}

/** @param {{progress: number, total?: number, message?: string}} progress */
const formatProgress = ({ progress, total, message }) =>
  message ?? `${progress}${total === undefined ? "" : `/${total}`}`;

export class McpClient {
  #client;

  /** @param {Client} client */
  constructor(client) {
    this.#client = client;
  }

  get about() {
    const { name = "", version: serverVersion = "" } = this.#client.getServerVersion() ?? {};
    const protocol = this.#client.getNegotiatedProtocolVersion?.() ?? "";
    return {
      server: { name: String(name), version: String(serverVersion) },
      protocol: String(protocol),
      instructions: String(this.#client.getInstructions() ?? ""),
    };
  }

  /** @param {number} timeoutMs @returns {Promise<unknown[]>} all pages */
  async listTools(timeoutMs) {
    if (this.#client.getServerCapabilities()?.tools === undefined) return [];
    /** @type {unknown[]} */
    const tools = [];
    /** @type {Set<string>} */
    const cursors = new Set();
    let cursor = "";
    let length = 0;
    for (let page = 0; page < MAX_PAGES; ++page) {
      const params = cursor === "" ? {} : { cursor };
      const request = { method: "tools/list", params };
      const result = await this.#client.request(request, ANYTHING, { timeout: timeoutMs });
      const list = isMap(result) && Array.isArray(result.tools) ? result.tools : [];
      length += JSON.stringify(list).length;
      if (length > MAX_LIST_LENGTH) break;
      tools.push(...list);
      cursor = isMap(result) && typeof result.nextCursor === "string" ? result.nextCursor : "";
      if (cursor === "" || cursors.has(cursor) || tools.length >= MAX_TOOLS) break;
      cursors.add(cursor);
    }
    return tools.slice(0, MAX_TOOLS);
  }

  /** @param {CallRequest} call @returns {Promise<any>} */
  callTool({ name, args, traceparent, signal, timeoutMs, onProgress }) {
    const _meta = traceparent === undefined ? {} : { _meta: { traceparent } };
    return this.#client.request(
      { method: "tools/call", params: { name, arguments: args, ..._meta } },
      ANYTHING,
      {
        signal,
        timeout: timeoutMs + SPARE_MS,
        resetTimeoutOnProgress: true,
        maxTotalTimeout: MAX_CALL_MS + SPARE_MS,
        onprogress: (progress) => onProgress(formatProgress(progress)),
      },
    );
  }

  async close() {
    await this.#client.close().catch(() => {});
  }
}

/**
 * @typedef {object} ConnectOptions
 * @property {number} timeoutMs
 * @property {() => void} [onListChanged] @property {() => void} [onClosed]
 * @property {(error: Error) => void} [onError] faults that break no request, such as a second answer
 *
 * @param {Transport} transport @param {ConnectOptions} options
 * @param {import("@modelcontextprotocol/client").VersionNegotiationOptions} negotiation
 */
async function connect(transport, { timeoutMs, onListChanged, onClosed, onError }, negotiation) {
  const client = new Client(
    { name: "copilot-tap", version },
    {
      versionNegotiation: negotiation,
      listChanged: {
        tools: {
          autoRefresh: false,
          debounceMs: 0,
          onChanged: () => onListChanged?.(),
        },
      },
    },
  );
  client.onerror = (error) => onError?.(error);
  await client.connect(transport, { timeout: timeoutMs });
  client.onclose = () => onClosed?.();
  return new McpClient(client);
}

/** @param {any} error */
function toConnectError(error) {
  const isVersion = error instanceof UnsupportedProtocolVersionError;
  return isVersion || /protocol version/i.test(String(error?.message))
    ? new ServerRefused(error.message, { cause: error })
    : error;
}

/**
 * Over the pipes of a process: `initialize` first, since a server may end at an unknown method before it.
 * @param {Transport} transport @param {ConnectOptions} options @returns {Promise<McpClient>}
 */
export async function connectStdio(transport, options) {
  try {
    return await connect(transport, options, { mode: "legacy" });
  } catch (/** @type {any} */ error) {
    if (!NEWER_SERVER.includes(error?.code)) throw toConnectError(error);
  }
  const probe = { timeoutMs: PROBE_MS };
  return connect(transport, options, { mode: "auto", probe }).catch((error) => {
    throw toConnectError(error);
  });
}

/**
 * Over HTTP: `server/discover` first. The SDK refuses a redirect to a foreign origin.
 * @param {string} url @param {Record<string, string>} headers @param {ConnectOptions} options
 * @returns {Promise<McpClient>}
 */
export async function connectHttp(url, headers, options) {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    redirectPolicy: "same-origin",
  });
  const probe = { timeoutMs: PROBE_MS };
  return connect(transport, options, { mode: "auto", probe }).catch((error) => {
    throw toConnectError(error);
  });
}
