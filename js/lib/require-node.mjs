// The first import of each program that a person starts: on a Node.js that is too old it prints a single
// sentence and exits. Other modules must not be linked before, since an old Node.js
// exits with a stack trace if a module lacks a name. So the first file imports them with `import()`, unless
// they use no new features.

import process from "node:process";
import { isNodeNewEnough, formatTooOld } from "./node-version.mjs";

if (!isNodeNewEnough(process.versions.node)) {
  process.stderr.write(`tap: ${formatTooOld(process.versions.node, process.execPath)}\n`);
  process.exit(1);
}
