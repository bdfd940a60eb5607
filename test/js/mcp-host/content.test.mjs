// Results and failures of MCP servers as a model gets them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isLostSession, readCallResult, toCallError } from "../../../js/mcp-host/content.mjs";
import { ToolError } from "../../../sdk/node/errors.mjs";

const PNG = "iVBORw0KGgo=";
const text = (/** @type {string} */ value) => ({ type: "text", text: value });

/** @param {any} result */
function read(result) {
  /** @type {{size: number, extension: string}[]} */
  const files = [];
  const value = readCallResult(result, (content, extension) => {
    files.push({ size: content.length, extension });
    return `/files/${files.length}.${extension}`;
  });
  return { value, files };
}

test("texts are joined by line breaks, and nothing is an empty text", () => {
  assert.equal(read({ content: [text("a"), text("b")] }).value, "a\nb");
  assert.equal(read({ content: [] }).value, "");
  assert.equal(read({}).value, "");
});

test("the first image is an image, and further ones are files", () => {
  const image = { type: "image", mimeType: "image/png", data: PNG };
  const { value, files } = read({ content: [text("a"), image, image] });
  assert.deepEqual(value, {
    image: `data:image/png;base64,${PNG}`,
    text: "a\nimage/png, 8 bytes: /files/1.png",
  });
  assert.deepEqual(files, [{ size: 8, extension: "png" }]);
});

test("audio and blobs are files; links and embedded texts are lines", () => {
  const { value, files } = read({
    content: [
      { type: "audio", mimeType: "audio/wav", data: "UklGRg==" },
      { type: "resource", resource: { uri: "x:1", mimeType: "application/pdf", blob: PNG } },
      { type: "resource", resource: { uri: "x:2", text: "inside" } },
      { type: "resource_link", name: "n", uri: "x:3", mimeType: "text/plain" },
    ],
  });
  assert.deepEqual(String(value).split("\n"), [
    ...["audio/wav, 4 bytes: /files/1.wav", "application/pdf, 8 bytes: /files/2.pdf"],
    ...["x:2", "inside", "n (text/plain): x:3"],
  ]);
  assert.equal(files.length, 2);
});

test("an unknown block and bad base64 cost a line, and the rest stands", () => {
  const blocks = [{ type: "video" }, null, { type: "image", data: "*" }, text("rest")];
  const lines = String(read({ content: blocks }).value).split("\n");
  assert.equal(lines.length, 4);
  assert.equal(lines[3], "rest");
});

test("structured content is JSON where no text has the same", () => {
  const structuredContent = { t: 7 };
  assert.deepEqual(read({ content: [], structuredContent }).value, structuredContent);
  assert.equal(read({ content: [text('{ "t": 7 }')], structuredContent }).value, '{ "t": 7 }');
  assert.equal(read({ content: [text("words")], structuredContent }).value, 'words\n{"t":7}');
});

test("a long text is a file with its beginning", () => {
  const { value, files } = read({ content: [text("x".repeat(5 * 1024 * 1024))] });
  assert.ok(String(value).length < 32 * 1024);
  assert.deepEqual(files, [{ size: 5 * 1024 * 1024, extension: "txt" }]);
});

const code = (/** @type {any} */ result) => {
  try {
    read(result);
  } catch (error) {
    return /** @type {ToolError} */ (error).code;
  }
};

test("a failure of the tool is TOOL_ERROR, and what is no result is INTERNAL", () => {
  assert.equal(code({ isError: true, content: [text("no")] }), "TOOL_ERROR");
  assert.equal(code("a text"), "INTERNAL");
  assert.equal(code({ content: [text("x".repeat(51 * 1024 * 1024))] }), "PAYLOAD_TOO_LARGE");
});

test("errors of servers have the codes of calls, without secrets", () => {
  const mask = (/** @type {string} */ shown) => shown.replaceAll("hunter2", "<secret>");
  const toCode = (/** @type {any} */ error) => toCallError(error, { name: "s", mask }).code;
  const rpc = (/** @type {number} */ number, message = "x") => ({ code: number, message });
  const codes = {
    INVALID_ARGUMENTS: rpc(-32602),
    INTERNAL: rpc(-32000),
    TIMEOUT: { code: "REQUEST_TIMEOUT" },
    DISCONNECTED: { code: "CONNECTION_CLOSED" },
    UNAUTHORIZED: { status: 401 },
    RATE_LIMITED: { status: 503 },
    TOOL_ERROR: new ToolError("TOOL_ERROR", "x"),
  };
  for (const [wanted, error] of Object.entries(codes)) assert.equal(toCode(error), wanted);
  for (const error of [rpc(-32601), rpc(-32002), rpc(-32602, "Unknown tool: x")])
    assert.equal(toCode(error), "NOT_FOUND");
  assert.equal(toCode(new TypeError("fetch failed")), "DISCONNECTED");
  assert.equal(toCallError(rpc(-1, "with hunter2"), { name: "s", mask }).message, "with <secret>");
  assert.ok(toCallError(rpc(-1, "x".repeat(9999)), { name: "s", mask }).message.length <= 2048);
});

test("404, and 400 that speaks of a session, are a lost session", () => {
  assert.equal(isLostSession({ status: 404 }), true);
  assert.equal(isLostSession({ status: 400, message: "Bad Request: No valid session" }), true);
  assert.equal(isLostSession({ status: 400, message: "bad" }), false);
});
