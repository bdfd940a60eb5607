// Compares the lines of stdin with patterns, as a developer would write it in Node.js: readline and RegExp. A rival
// of tools/bench/lines.cc, with the same output.

import { readFileSync } from "node:fs";
import readline from "node:readline";

const patterns = readFileSync(process.argv[2], "utf8").trimEnd().split("\n");
const rules = patterns.map((pattern) =>
  pattern.startsWith("(?i)") ? new RegExp(pattern.slice(4), "i") : new RegExp(pattern),
);
const hits = [];
let lines = 0;
for await (const line of readline.createInterface({ input: process.stdin })) {
  lines += 1;
  for (const rule of rules) {
    if (!rule.test(line)) continue;
    hits.push(line);
    break;
  }
}
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ lines, hits: hits.length, cpuSeconds: (user + system) / 1e6 }));
