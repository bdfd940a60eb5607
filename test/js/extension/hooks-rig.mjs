// A session's hooks against a gateway and a CLI that a test plays. Its timers are mocked.

import assert from "node:assert/strict";
import { SessionHooks } from "../../../js/extension/hooks.mjs";

export const GATE = { match: { tool: "shell", args: "git push" }, action: "gate", gateId: "g" };

/** Everything that needs no time has happened. */
export const settled = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

export class FakeSession {
  sessionId = "s";
  requests = [];
  hooks;
  transforms;
  answer = async () => {};
  connection = {
    sendRequest: (_method, fields) => {
      this.requests.push(fields);
      return this.answer(fields);
    },
  };
  registerHooks(hooks) {
    this.hooks = hooks;
  }
  registerTransformCallbacks(transforms) {
    this.transforms = transforms;
  }
}

export function rig() {
  const sent = [];
  const link = { connected: true, send: (message) => sent.push(message) };
  const log = [];
  const lines = [];
  const hooks = new SessionHooks({
    link,
    findProvider: (tool) => (tool === "deploy" ? "ci" : undefined),
    folder: "/home/ada/shop",
    showInfo: async (text) => void lines.push(text),
    log: (_level, text) => log.push(text),
  });
  const session = new FakeSession();
  hooks.adopt(session);
  let revision = 0;
  /** What the gateway says; and what the session has answered. */
  const tell = async (fields) => {
    revision += 1;
    const event = { wanted: false, prompts: false, gateMs: 5000, guards: [], sections: [] };
    hooks.receive({ type: "hooks", revision, ...event, ...fields });
    await settled();
    return sent.find((message) => message.type === "hooks.state" && message.revision === revision);
  };
  const asked = (type) => sent.findLast((message) => message.type === type);
  const use = (input) => session.hooks.onPreToolUse({ ...input, sessionId: "x" }, {});
  return { hooks, session, link, sent, log, lines, tell, asked, use };
}

/** A rig with a gate in force. */
export async function guarded() {
  const it = rig();
  const guards = [{ provider: "ci", rules: [GATE] }];
  const state = await it.tell({ wanted: true, guards });
  assert.deepEqual(state, {
    type: "hooks.state",
    revision: 1,
    hooks: "in-force",
    sections: "in-force",
  });
  return it;
}
