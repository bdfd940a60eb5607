// A gate: `git push` waits for what CI says, and is denied while it is red. Here CI is a file that holds
// `red` or `green`; ask yours instead. Needs the `ws` package. Ends with its connection; hello.mjs shows
// how to wait for a gateway and to come back.
//
// Where this program does not answer within 5 s, or is gone, the call is denied: a gate is for what must
// not happen unseen. The user is asked once whether tap may judge tool calls at all.

import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import WebSocket from "ws";

const home = process.env.COPILOT_HOME || path.join(os.homedir(), ".copilot");
const tokenFile = path.join(home, "extensions", "tap", ".provider-token");
const token = process.env.TAP_PROVIDER_TOKEN || readFileSync(tokenFile, "utf8").trim();
const ciFile = process.env.CI_FILE || "ci-status.txt";

const ws = new WebSocket(`ws://localhost:${process.env.TAP_GATEWAY_PORT || 9400}`);
const send = (message) => ws.send(JSON.stringify(message));

const hooks = {
  onPreToolUse: [
    // Asks us. `args` is a regular expression over the arguments as JSON.
    {
      match: { tool: "shell", args: "git push(?!.*--dry-run)" },
      action: "gate",
      gateId: "ci is green",
    },
    // These two do not: the gateway knows all that it needs.
    {
      match: { tool: "shell", args: "push.*(--force|-f)\\b" },
      action: "deny",
      reason: "Nobody force-pushes here.",
    },
    {
      match: { tool: "edit", file: "*.sql" },
      action: "context",
      content: "This is a migration: it must also work on the data of the version before.",
    },
  ],
};

function judge() {
  let status;
  try {
    status = readFileSync(ciFile, "utf8").trim();
  } catch {
    return { decision: "deny", reason: `The state of CI is not known: ${ciFile} cannot be read.` };
  }
  if (status === "green") return { decision: "allow" };
  if (status === "red") return { decision: "deny", reason: "CI is red. Repair the tests first." };
  return { decision: "context", reason: `CI is ${status}: look at it again after the push.` };
}

let bound = false;
const on = {
  sessions({ active }) {
    if (bound || active.length === 0) return; // none yet: sessions.updated will follow
    const session = active[0].id; // most recently active first
    send({ type: "hello", name: "ci-gate", protocolVersion: 2, session, hooks });
  },
  "sessions.updated": (message) => on.sessions(message),
  "hello.ack": () => (bound = true),
  "gate.check"({ gateId, callId, tool, args }) {
    const verdict = judge();
    console.log(`${tool} ${JSON.stringify(args)}: ${verdict.decision}`);
    send({ type: "gate.result", gateId, callId, ...verdict });
  },
  "session.lifecycle": ({ state }) => state === "shutdown.pending" && send({ type: "goodbye" }),
  // UNAUTHORIZED: the user does not want hooks.
  error: ({ code, message }) => console.error(`${code}: ${message}`),
};

ws.on("open", () => send({ type: "auth", token }));
ws.on("message", (raw) => {
  const message = JSON.parse(raw.toString());
  on[message.type]?.(message);
});
ws.on("error", (error) => console.error(error.message));
ws.on("close", () => process.exit());
