// npm run test:nodes: the JavaScript tests on other versions of Node, with the addon that the current
// Node has built (Node-API is the same in all). `node tools/nodes.mjs 22` tries a single version.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { attempt, run, printLine, seconds, step, testFiles } from "./commands.mjs";
import { npm, setUp } from "./setup.mjs";

const VERSIONS = ["22", "24"];
const wanted = process.argv.slice(2).length > 0 ? process.argv.slice(2) : VERSIONS;

/** Node as npm has it. @param {string} folder @param {string} version @returns {Promise<string>} */
async function installNode(folder, version) {
  writeFileSync(path.join(folder, "package.json"), '{ "private": true }\n');
  const { command, args } = npm();
  // The package "node" only chooses among these, in an install script that newer npm does not run.
  const platform = process.platform === "win32" ? "win" : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const install = ["install", "--no-save", `${name}@${version}`];
  await run(command, [...args, ...install], { cwd: folder, quiet: true });
  return path.join(folder, "node_modules", name, "bin", "node");
}

/** @param {string} version */
async function testOn(version) {
  const folder = mkdtempSync(path.join(os.tmpdir(), `tap-node-${version}-`));
  try {
    const node = await step(`installing Node ${version}`, () => installNode(folder, version));
    const name = (await run(node, ["--version"], { quiet: true })).trim();
    const startedAt = performance.now();
    const args = [
      "--test",
      "--test-reporter=spec",
      "--test-concurrency=2",
      ...["test/js", "examples"].flatMap(testFiles),
    ];
    const { ok } = await attempt(node, args);
    return { name, ok, time: seconds(startedAt) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await setUp({ for: "js" });
// It also builds the programs that tests compare the core with.
const startedAt = performance.now();
const { ok: currentOk } = await attempt(process.execPath, ["tools/run.mjs", "js"]);
const current = { name: `${process.version} (which built the addon)`, ok: currentOk };
const results = [{ ...current, time: seconds(startedAt) }];
for (const version of wanted) results.push(await testOn(version));
printLine("\ntest/js, with the same addon, on Node:");
for (const { name, ok, time } of results)
  printLine(`  ${name}  ${ok ? "passed" : "FAILED"}  ${time}`);
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;
