// Streams: events that the gateway keeps, a filter that decides about each, and a look back.
// Here a log is made up; read yours instead.

import { setTimeout as sleep } from "node:timers/promises";
import { provider } from "copilot-tap/provider";

const EVERY_MS = Number(process.env.LOG_EVERY_MS || 5000);
const log = [
  "GET /health 200",
  "GET /cart 200 in 12 ms",
  "WARN the disk is 91 % full",
  "GET /health 200",
  "ERROR POST /order: the database does not answer",
];

const tap = provider("shop");
const stream = tap.stream("log");
tap.tool("shop_log", { description: "The latest lines of the shop's log." }, async () => {
  const lines = await stream.history({ last: 20 });
  return lines.map(({ ts, event }) => `${ts} ${event}`).join("\n");
});
await tap.connect();

// The first rule that matches decides. Without a match, the push's own level counts: keep.
await stream.filter([
  { match: "GET /health", outcome: "drop" },
  { match: "^ERROR", outcome: "inject" }, // put before the model
  { match: "^WARN", outcome: "surface" }, // a line in the timeline
]);
for (const line of log) {
  const receipt = await stream.push(line); // undefined: the session has ended meanwhile
  console.log(`${receipt?.outcome ?? "lost"}: ${line}`);
  await sleep(EVERY_MS);
}
