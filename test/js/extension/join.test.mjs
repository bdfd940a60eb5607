// How a session joins the CLI with the tools that its gateway has for it, without a CLI.

import assert from "node:assert/strict";
import { test } from "node:test";
import { joinWithAcceptedTools, ToolTable } from "../../../js/extension/tools.mjs";
import { SessionRunner } from "../../../js/extension/session-runner.mjs";

const tool = (/** @type {string} */ name) => ({ name, description: "", parameters: {} });
const event = (/** @type {string[]} */ ...names) => ({
  ...{ type: "tools", revision: 4, reload: false, drop: [] },
  set: [{ provider: "shop", digest: "d", definitions: names.map(tool) }],
});
/** What the SDK's session is to us. */
const session = () => ({
  sessionId: "s",
  connection: { sendRequest: async () => {} },
  registerTools() {},
  log: async () => {},
  on: () => () => {},
  rpc: {
    tools: { getBuiltinDescriptors: async () => ({ tools: [{ name: "bash" }] }) },
    metadata: { isProcessing: async () => ({ processing: false }) },
    mode: { get: async () => "interactive" },
  },
});
/** A CLI that takes no tool of this name. @param {string} name */
function picky(name) {
  const joins = /** @type {string[][]} */ ([]);
  const join = async (/** @type {{tools: {name: string}[]}} */ { tools }) => {
    joins.push(tools.map((one) => one.name));
    if (joins.at(-1)?.includes(name)) throw new Error(`tool name clash: ${name}`);
    return session();
  };
  return { joins, join };
}

test("a join goes on without the tools that the CLI names, and with all others", async () => {
  const { joins, join } = picky("saw");
  const table = new ToolTable().with(event("hammer", "saw", "nail"));
  const toTools = (/** @type {ToolTable} */ one) => /** @type {any} */ (one.withStatus());
  const { refused } = await joinWithAcceptedTools(join, table, { toTools, log: () => {} });
  assert.deepEqual(refused, ["saw"]);
  assert.deepEqual(joins.at(-1), ["tap_status", "hammer", "nail"]);
});

test("the gateway hears of a join whether its tools are in force, after the names of the CLI's own", async () => {
  for (const [odd, answer] of /** @type {const} */ ([
    ["none", { type: "synced", revision: 4 }],
    [
      "saw",
      { type: "sync.failed", revision: 4, message: "the CLI does not take them", refused: ["saw"] },
    ],
  ])) {
    const sent = /** @type {any[]} */ ([]);
    const link = /** @type {any} */ ({ send: (/** @type {any} */ one) => sent.push(one) });
    const options = /** @type {any} */ ({ id: "s", cwd: "/", sync: "auto", log() {} });
    const runner = new SessionRunner(link, options);
    runner.receive(event("hammer", "saw"));
    await runner.join(picky(odd).join);
    const told = sent.filter(({ type, builtins }) => type !== "update" || builtins);
    assert.deepEqual(told, [{ type: "update", builtins: ["bash"] }, answer]);
    sent.length = 0;
    runner.resendState();
    assert.deepEqual(sent[0], { type: "update", builtins: ["bash"] });
  }
});
