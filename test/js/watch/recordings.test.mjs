// The recordings of tools, and that the entries recognize what they are of.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { matchFirst, recognize, runsForever } from "../../../js/watch/commands.mjs";
import { loadEntries } from "../../../js/watch/entries.mjs";
import { listRecordings, readRecording } from "../../support/recordings.mjs";

const MAX_BYTES = 12 * 1024;
const { tools } = loadEntries();
const files = listRecordings();

/** The entry of a recording has the longest name that its own begins with. @param {string} name */
function findExpected(name) {
  const known = { gcc: "cc", clang: "cc", "node-watch": "nodemon", "vite-dev": "vite" };
  const names = tools.map(({ tool }) => tool).sort((a, b) => b.length - a.length);
  return known[name] ?? names.find((tool) => name === tool || name.startsWith(`${tool}-`));
}

describe("recordings of tools", () => {
  for (const file of files) {
    const name = path.basename(file, ".jsonl");
    const { head, events } = readRecording(file);
    const found = recognize(head.cmd, tools);

    test(`${name} is small and has a head, steps and an end`, () => {
      assert.ok(fs.statSync(file).size <= MAX_BYTES);
      assert.equal(head.name, name);
      assert.ok(head.version);
      assert.ok(events.some(({ step }) => step === "green"));
      assert.notEqual(events.at(-1).exit, undefined);
      const times = events.map(({ t }) => t);
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      );
    });

    test(`${name} is recognized by its command`, () => {
      assert.equal(found?.entry.tool, findExpected(name));
      const exits = events.filter(({ exit }) => exit !== undefined).length;
      assert.equal(runsForever(found.entry, found.words), exits === 1);
    });

    test(`${name} is recognized by one of its first lines, where the tool has such a line`, () => {
      const lines = events
        .map(({ d = "" }) => d)
        .join("")
        .split("\n", 50)
        .map((line) => stripVTControlCharacters(line));
      const tool = lines.map((line) => matchFirst(line, tools)?.tool).find(Boolean);
      const outer = ["make", "cmake", "ninja", "turbo", "concurrently"];
      if (!outer.includes(found?.entry.tool)) assert.equal(tool, found?.entry.tool);
    });
  }
});
