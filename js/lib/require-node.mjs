// The first import of each program that a person starts: on a Node.js that is too old it says so, in one
// sentence, and ends. What such a program imports besides must not be linked before that: an old Node.js
// ends with a stack trace where a module lacks a name. So it comes by `import()` in a first file, unless it
// uses nothing new.

import process from "node:process";
import { isNodeNewEnough, formatTooOld } from "./node-version.mjs";

if (!isNodeNewEnough(process.versions.node)) {
  process.stderr.write(`tap: ${formatTooOld(process.versions.node, process.execPath)}\n`);
  process.exit(1);
}
