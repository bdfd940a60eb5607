// A provider that comes with a project: tap.config.json names it, and each session of this folder starts
// its own run once the user has typed `copilot-tap allow`. Needs the `ws` package. Token, port and session are given,
// so it looks for no file and chooses no session; it is started again if it ends with an error.

import WebSocket from "ws";

const { TAP_PROVIDER_TOKEN: token, TAP_GATEWAY_PORT: port, TAP_SESSION_ID: session } = process.env;

const words = {
  basket: "The choice of a customer, not paid for. It is kept for 30 days.",
  order: "A basket that is paid for. It never changes; a mistake is mended by a second order.",
};
const tools = [
  {
    name: "glossary",
    description: `The meaning of a word in this project: ${Object.keys(words).join(", ")}.`,
    parameters: {
      type: "object",
      properties: { word: { type: "string" } },
      required: ["word"],
    },
  },
];

const ws = new WebSocket(`ws://localhost:${port}`);
const send = (message) => ws.send(JSON.stringify(message));

function explain(word) {
  if (Object.hasOwn(words, word)) return { data: words[word] };
  const error = `There is no such word; there are ${Object.keys(words).join(", ")}.`;
  return { error, errorCode: "NOT_FOUND" };
}

const on = {
  // Without `session`: the token is good for a single session.
  sessions: () => send({ type: "hello", name: "glossary", protocolVersion: 2, tools }),
  "hello.ack": () => console.log(`serving ${session}`), // to ~/.copilot/logs/tap/providers/glossary.log
  "tool.call": ({ id, args }) => send({ type: "tool.result", id, ...explain(args.word) }),
  "tool.cancel": ({ id }) =>
    send({ type: "tool.result", id, error: "Cancelled", errorCode: "CANCELLED" }),
  "session.lifecycle": ({ state }) => state === "shutdown.pending" && send({ type: "goodbye" }),
  error: ({ code, message }) => console.error(`${code}: ${message}`),
};

ws.on("open", () => send({ type: "auth", token }));
ws.on("message", (raw) => {
  const message = JSON.parse(raw.toString());
  on[message.type]?.(message);
});
ws.on("error", (error) => console.error(error.message));
// 1000 is the answer to our goodbye. After other codes an exit code of 1 asks for a restart.
ws.on("close", (code) => process.exit(code === 1000 ? 0 : 1));
