// What the model reads of each recorded tool: test/snapshots/watch/. A change of an entry, of the matcher or of a text
// shows there.

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { addon } from "../../../js/lib/addon.mjs";
import { replay } from "../../../js/watch/replay.mjs";
import { checkSnapshot } from "../../support/snapshot.mjs";
import { listRecordings, PROJECT, readRecording } from "../../support/recordings.mjs";

process.env.TZ = "UTC"; // the times of texts are local

for (const file of listRecordings()) {
  const name = path.basename(file, ".jsonl");
  test(`${name} is read as it was accepted`, () => {
    const { head, events } = readRecording(file);
    const { tool, steps } = replay({ ...head, cwd: PROJECT, events }, { addon });
    const said = steps.map(
      ({ step, state, text }) => `== ${step || "start"}: ${state}\n${text || "(no text)"}\n`,
    );
    for (const { text } of steps) {
      assert.ok(text.split("\n").length <= 25 && text.length <= 3000, text);
    }
    checkSnapshot(`watch/${name}`, `entry ${tool}\n\n${said.join("\n")}`);
  });
}
