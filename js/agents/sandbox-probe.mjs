// Whether the CLI's sandbox works on a server: its field is experimental, and a CLI may ignore it. A temporary session
// tries to escape, with a model endpoint in this process. The result is read from the file system.

import { randomUUID } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { errorMessage } from "../lib/values.mjs";
import { closeWall, openWall, toSandboxConfig } from "./sandbox.mjs";

/** @typedef {import("./server.mjs").Server} Server */
/** @typedef {{name: string, args: object}} Call */

const PROBE_MS = 20_000;
const MAX_REQUEST_BYTES = 4 << 20;

/** @param {http.IncomingMessage} request */
async function readBody(request) {
  let text = "";
  for await (const part of request.setEncoding("utf8")) {
    text += part;
    if (text.length > MAX_REQUEST_BYTES) throw new Error("a request that is too long");
  }
  return JSON.parse(text);
}

/** An answer in the format of OpenAI's chat completions. It has tool calls in the first turn that offers tools. @param {any} body @param {Call[]} calls */
function formatAnswer(body, calls) {
  const results =
    body.messages?.filter((/** @type {any} */ message) => message.role === "tool") ?? [];
  const first = body.tools?.length > 0 && results.length === 0;
  const tool_calls = calls.map(({ name, args }, index) => ({
    ...{ index, id: `probe_${index}`, type: "function" },
    function: { name, arguments: JSON.stringify(args) },
  }));
  const message = {
    role: "assistant",
    ...(first ? { content: "", tool_calls } : { content: "." }),
  };
  const finish_reason = first ? "tool_calls" : "stop";
  const head = { id: "probe", created: 0, model: String(body.model) };
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  if (body.stream !== true)
    return JSON.stringify({ ...head, choices: [{ index: 0, message, finish_reason }], usage });
  const chunk = { ...head, object: "chat.completion.chunk" };
  return [
    { ...chunk, choices: [{ index: 0, delta: message, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason }], usage },
  ]
    .map((event) => `data: ${JSON.stringify(event)}\n\n`)
    .concat("data: [DONE]\n\n")
    .join("");
}

/** @param {Call[]} calls of the first turn */
async function startModel(calls) {
  /** Results of the tools. @type {string[]} */
  const results = [];
  const server = http.createServer(async (request, response) => {
    try {
      const body = await readBody(request);
      for (const { role, content } of body.messages ?? [])
        if (role === "tool") results.push(JSON.stringify(content));
      const type = body.stream === true ? "text/event-stream" : "application/json";
      response.writeHead(200, { "content-type": type }).end(formatAnswer(body, calls));
    } catch {
      response.writeHead(400).end();
    }
  });
  await new Promise((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", () => resolve(undefined));
  });
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/v1`, results, close };
}

/** A minimal repository, and a folder outside that must not change. @param {string} folder of the server */
function makePlace(folder) {
  const root = path.join(folder, "probe");
  const [cwd, outside] = [path.join(root, "inside"), path.join(root, "outside")];
  const common = path.join(root, "git");
  const own = path.join(common, "tap", "own");
  const objects = path.join(common, "objects");
  const admin = path.join(common, "worktrees", "probe");
  for (const made of [
    cwd,
    outside,
    objects,
    admin,
    path.join(own, "objects"),
    path.join(own, "admin"),
  ])
    fs.mkdirSync(made, { recursive: true });
  /** @type {import("../process/sandbox.mjs").Policy} */
  const policy = {
    ...{
      cwd,
      repository: { common, admin, own },
      writable: [],
      readable: [],
      caches: [],
      hosts: [],
    },
    sandbox: "on",
  };
  return { root, outside, objects, own, policy };
}

/** @param {ReturnType<typeof makePlace>} place @param {string} secret */
function listCalls({ outside, objects, policy }, secret) {
  fs.writeFileSync(path.join(outside, "secret"), secret);
  const writes = [`'${outside}/command'`, `'${objects}/object'`].map((file) => `echo x > ${file}`);
  const command = `${writes.join("; ")}; grep CapEff /proc/self/status > '${policy.cwd}/done'; true`;
  return [
    { name: "bash", args: { command, description: "probe" } },
    { name: "create", args: { path: path.join(outside, "tool"), file_text: "x" } },
    { name: "view", args: { path: path.join(outside, "secret") } },
  ];
}

/**
 * Checks the traces of the session. On Linux, tap's own wall must be in effect, too.
 * @param {ReturnType<typeof makePlace>} place @param {boolean} hasRead @returns {string} the failure; "" if the sandbox
 *   works
 */
function judge({ outside, objects, own, policy }, hasRead) {
  const done = path.join(policy.cwd, "done");
  const exists = (/** @type {string[]} */ ...parts) => fs.existsSync(path.join(...parts));
  if (exists(outside, "command")) return "a command has written outside of its folders";
  if (exists(outside, "tool")) return "a tool of the CLI has written outside of its folders";
  if (hasRead) return "a tool of the CLI has read outside of its folders";
  if (exists(objects, "object")) return "a command has written into the shared objects of git";
  if (!fs.existsSync(done)) return "a command cannot write in its own folder";
  if (process.platform !== "linux") return "";
  if (!/CapEff:\s*0+\s*$/.test(fs.readFileSync(done, "utf8"))) return "a command has capabilities";
  return exists(own, "objects", "object") ? "" : "a command does not see its own objects of git";
}

/** @param {Server} server @param {object} config @returns {Promise<void>} at the end of its turn */
async function runTurn({ client }, config) {
  const session = await client.createSession(config);
  await new Promise((resolve, reject) => {
    session.on(({ type, agentId }) => {
      if (type === "session.idle" && !agentId) resolve(undefined);
    });
    session.send({ prompt: "probe" }).catch(reject);
  });
  await session.disconnect();
}

/**
 * @param {Server} server @param {string} packageFolder of the CLI
 * @returns {Promise<string>} why no agent may run there; "" if the sandbox works
 */
export async function probeSandbox(server, packageFolder) {
  const place = makePlace(server.folder);
  const sessionId = randomUUID();
  const model = await startModel(listCalls(place, sessionId));
  const { folder, env } = server;
  const session = { sessionId, output: place.policy.cwd, packageFolder, env };
  const wall = openWall(folder, place.policy, session);
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("its trial did not end")), PROBE_MS);
  });
  try {
    if (!wall) throw new Error("its trial runs already");
    const config = {
      ...{ sessionId, name: "tap: trial of the sandbox", clientName: "tap" },
      ...{ workingDirectory: place.policy.cwd, model: "probe", remoteSession: "off" },
      provider: { type: "openai", baseUrl: model.url, model: "probe" },
      sandboxConfig: toSandboxConfig(wall),
      ...{ enableConfigDiscovery: false, enableSessionStore: false },
      onPermissionRequest: () => ({ kind: "approve-once" }),
    };
    await Promise.race([runTurn(server, config), late]);
    return judge(
      place,
      model.results.some((text) => text.includes(sessionId)),
    );
  } catch (error) {
    return errorMessage(error);
  } finally {
    clearTimeout(timer);
    model.close();
    await server.client.deleteSession(sessionId).catch(() => {});
    if (wall) await closeWall(folder, wall);
    fs.rmSync(place.root, { recursive: true, force: true });
  }
}
