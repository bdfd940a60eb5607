// A provider for every session, with separate data for each.

import { provider } from "copilot-tap/provider";

/** By session. @type {Map<string, string[]>} */
const notes = new Map();

const tap = provider("notes", { session: "all" });
tap.tool(
  "note",
  {
    description: "Notes a text for this session, and returns all its notes.",
    parameters: { type: "object", properties: { text: { type: "string" } } },
  },
  ({ text }, { session }) => {
    if (!notes.has(session)) notes.set(session, []);
    const mine = notes.get(session);
    if (text) mine.push(text);
    return mine;
  },
);
// The session waits for the returned promise: save data here.
tap.on("session.end", ({ session, deadline }) => {
  console.log(`${notes.get(session)?.length ?? 0} notes are gone, ${deadline} ms were left`);
  notes.delete(session);
});
await tap.connect();
