#!/usr/bin/env node
// Stands for GitHub's command gh in the test: replays recorded answers of the folder FAKE_GH, and notes
// its arguments there. `runs` says which list it is.

import { appendFileSync, existsSync, readFileSync, writeSync } from "node:fs";
import path from "node:path";

const folder = String(process.env.FAKE_GH);
const args = process.argv.slice(2);
appendFileSync(path.join(folder, "asked.jsonl"), `${JSON.stringify(args)}\n`);

/** @param {string} name */
function replay(name) {
  const file = path.join(folder, name);
  if (!existsSync(file)) {
    writeSync(2, `could not find any workflow run with ID ${args[2]}\n`);
    process.exit(1);
  }
  const answer = readFileSync(file);
  for (let at = 0; at < answer.length;) at += writeSync(1, answer, at);
}

if (args[0] === "run" && args[1] === "list") replay("runs.json");
else if (args[1] === "view" && args[3] === "--json=jobs") replay(`jobs-${args[2]}.json`);
else if (args[1] === "view" && args[3] === "--log-failed") replay(`log-${args[2]}.txt`);
else if (args[1] === "rerun") replay("rerun.txt");
else process.exit(2);
