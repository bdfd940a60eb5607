// A provider that cannot read the token file: it asks the user for the code that the session shows.
// For a program in a container, say, or on the other end of a forwarded port; a web page does the same.
// Needs the `ws` package.

import readline from "node:readline/promises";
import WebSocket from "ws";

const url = `ws://localhost:${process.env.TAP_GATEWAY_PORT || 9400}`;
const RETRY_MS = 500;

const tools = [{ name: "where_am_i", description: "Says where this program runs." }];
const terminal = readline.createInterface({ input: process.stdin, output: process.stdout });

/** The result of pairing: good for that session, until it ends. */
let token;

function connect() {
  const ws = new WebSocket(url);
  const send = (message) => ws.send(JSON.stringify(message));
  let bound = false;

  function bind(active) {
    if (bound || active.length === 0) return;
    // Without a session: that of the token.
    send({ type: "hello", name: "outsider", protocolVersion: 2, tools });
  }

  const on = {
    async "auth.pairing"({ prompt }) {
      const code = await terminal.question(`${prompt}: `);
      send({ type: "auth.confirm", code: code.trim() });
    },
    sessions(message) {
      token = message.token ?? token;
      bind(message.active);
    },
    "sessions.updated": ({ active }) => bind(active),
    "hello.ack"({ sessionId }) {
      bound = true;
      console.log(`bound to ${sessionId}`);
    },
    "tool.call": ({ id }) => send({ type: "tool.result", id, data: "outside" }),
    "tool.cancel": ({ id }) =>
      send({ type: "tool.result", id, error: "Cancelled", errorCode: "CANCELLED" }),
    "session.lifecycle": ({ state }) => state === "shutdown.pending" && send({ type: "goodbye" }),
    error({ code, message }) {
      console.error(`${code}: ${message}`);
      // A wrong code, or a token whose session or gateway is gone. The gateway closes; pair again.
      if (code === "AUTH_FAILED") token = undefined;
      if (code === "RATE_LIMITED") ws.close();
    },
  };

  ws.on("open", () =>
    send(token ? { type: "auth", token } : { type: "auth", mode: "pair", name: "outsider" }),
  );
  ws.on("message", (raw) => {
    const message = JSON.parse(raw.toString());
    void on[message.type]?.(message);
  });
  ws.on("error", () => {}); // "close" follows
  ws.on("close", () => setTimeout(connect, RETRY_MS));
}

connect();
