// A connection to the server of an entry, with its tools: for the MCP host, and for `copilot-tap mcp add`.

import os from "node:os";
import { readLimit } from "../lib/limits.mjs";
import { Supervisor } from "../process/supervisor.mjs";
import { connectHttp, connectStdio } from "./client.mjs";
import { StdioTransport } from "./stdio.mjs";
import { createFilter, readTools } from "./tools.mjs";

/** @typedef {import("../config/mcp.mjs").McpServerConfig} McpServerConfig */
/** @typedef {import("./client.mjs").McpClient} McpClient */
/** @typedef {import("./tools.mjs").ListedTool} ListedTool */
/** @typedef {import("../process/run.mjs").ProcessRun} ProcessRun */
/** @typedef {{env: Record<string, string>, headers: Record<string, string>, mask: (text: string) => string}} Resolved */

const CONNECTION_CLOSED = "CONNECTION_CLOSED";

/** @param {McpServerConfig} config @param {McpClient} client @returns {Promise<ListedTool[]>} */
export async function listTools({ prefix, tools, startTimeout }, client) {
  const list = await client.listTools(startTimeout);
  return readTools(list, {
    prefix,
    isWanted: createFilter(tools),
    most: readLimit("tools-per-provider"),
  });
}

/**
 * A server that is a process: started, restarted and ended as a provider is.
 * @param {McpServerConfig} config
 * @param {object} options
 * @param {Resolved} options.resolved @param {string} options.logFile @param {NodeJS.ProcessEnv} [options.env]
 * @param {(run: ProcessRun) => void} options.onRun @param {() => void} [options.onEnded]
 * @param {import("../process/supervisor.mjs").SupervisorOptions["onMessage"]} options.onMessage
 */
export function createServerProcess(config, { resolved, logFile, env, ...listeners }) {
  const { name, command = "", args, cwd, restart } = config;
  const { onRun, onEnded = () => {}, onMessage } = listeners;
  return new Supervisor({
    ...{ sessionId: "", workspace: os.homedir(), port: 0, logs: "", logFile, env },
    title: `MCP server "${name}"`,
    providers: [{ name, command, args, cwd, env: resolved.env, restart }],
    onToken: () => "",
    mask: resolved.mask,
    ...{ onRun, onEnded, onMessage },
  });
}

/**
 * @param {ProcessRun} run @param {{onText: (line: string) => void}} log
 * @param {import("./client.mjs").ConnectOptions & {onBroken: (why: string) => void}} options
 * @returns {Promise<McpClient>} rejected where the process is no server
 */
export async function connectRun(run, { onText }, { onBroken, ...options }) {
  const { pipes } = run;
  if (!pipes) throw new Error("it has no pipes");
  const transport = new StdioTransport(pipes, { onText, onBroken });
  const ended = run.ended.then(({ lastLine, code, signal }) => {
    transport.end();
    const how = signal ? `ended by ${signal}` : `ended with exit code ${code}`;
    throw new Error(`it ${how}${lastLine === "" ? "" : `, saying: ${lastLine.trim()}`}`);
  });
  ended.catch(() => {});
  const connected = connectStdio(transport, options).catch((error) => {
    // Its end is the better reason.
    if (error?.code === CONNECTION_CLOSED) return ended;
    throw error;
  });
  return Promise.race([connected, ended]);
}

/**
 * Connects, lists the tools, and ends the server.
 * @param {McpServerConfig} config @param {{resolved: Resolved, logFile: string}} options
 * @returns {Promise<{about: McpClient["about"], tools: ListedTool[]}>}
 * @throws where it is no server, or is not ready in time
 */
export async function tryServer(config, { resolved, logFile }) {
  const options = { timeoutMs: config.startTimeout };
  const look = async (/** @type {McpClient} */ client) => {
    try {
      return { about: client.about, tools: await listTools(config, client) };
    } finally {
      await client.close();
    }
  };
  if (config.url !== undefined)
    return look(await connectHttp(config.url, resolved.headers, options));
  /** @type {Supervisor | undefined} */
  let supervisor;
  const once = { ...config, restart: { policy: /** @type {const} */ ("never") } };
  try {
    return await new Promise((resolve, reject) => {
      supervisor = createServerProcess(once, {
        ...{ resolved, logFile },
        onRun: (run) =>
          void connectRun(run, { onText: () => {} }, { ...options, onBroken: reject })
            .then(look)
            .then(resolve, reject),
        onMessage: (_level, text) => reject(new Error(text.replace(/^tap: /, ""))),
      });
      supervisor.start();
    });
  } finally {
    await supervisor?.stop();
  }
}
