// The thread of timed-patterns.mjs.

import { parentPort, workerData } from "node:worker_threads";
import { compilePattern } from "./timed-patterns.mjs";

parentPort?.postMessage("ready");
for (const { pattern, text } of workerData) {
  parentPort?.postMessage(compilePattern(pattern).test(text) ? "yes" : "no");
}
