// Compiles the addon with node-gyp. Its output goes into a log; of a failure people see what the compiler said first.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const nodeFolder = path.resolve(path.dirname(fs.realpathSync(process.execPath)), "..");
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
const ERRORS_SHOWN = 8;

/**
 * npm brings node-gyp along and says where; a global one serves outside of npm.
 * @returns {{command: string, args: string[]}}
 */
export function nodeGyp() {
  const bundled = process.env.npm_config_node_gyp;
  const withNode = path.join(
    nodeFolder,
    "lib/node_modules/npm/node_modules/node-gyp/bin/node-gyp.js",
  );
  const file = [bundled, withNode].find((one) => one && fs.existsSync(one));
  if (file) return { command: process.execPath, args: [file] };
  return { command: process.platform === "win32" ? "node-gyp.cmd" : "node-gyp", args: [] };
}

/** The headers of the Node that runs this: what is there need not be downloaded. @returns {string | undefined} */
export function headerFolder() {
  const header = path.join(nodeFolder, "include", "node", "node_api.h");
  return fs.existsSync(header) ? nodeFolder : undefined;
}

/** What the compiler, the linker or node-gyp complained of. @param {string} output @returns {string[]} */
export function findErrors(output) {
  const lines = output.split("\n").map((line) => line.trim());
  const errors = lines.filter((line) =>
    /\b(fatal )?error\b ?[:C]|undefined reference|gyp ERR! (?:find|stack Error|configure error)/.test(
      line,
    ),
  );
  return [...new Set(errors.length > 0 ? errors : lines.filter(Boolean).slice(-ERRORS_SHOWN))];
}

/**
 * @param {string} root @param {(message: string) => void} print
 * @returns {boolean} whether it is built; if not, why has been printed
 */
export function compile(root, print) {
  const log = path.join(root, "build", "compile.log");
  const { command, args } = nodeGyp();
  const headers = headerFolder();
  const options = ["configure", "build", "--jobs=2", ...(headers ? [`--nodedir=${headers}`] : [])];
  const run = spawnSync(command, [...args, ...options], {
    cwd: root,
    shell: args.length === 0 && process.platform === "win32",
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  const failure = run.error ? `${command}: ${run.error.message}\n` : "";
  const output = `${run.stdout ?? ""}${run.stderr ?? ""}${failure}`;
  if (/^(verbose|silly)$/.test(process.env.npm_config_loglevel ?? "")) process.stderr.write(output);
  fs.mkdirSync(path.dirname(log), { recursive: true });
  fs.writeFileSync(log, output);
  if (run.status === 0) return true;
  print("the native addon does not compile. The first errors:");
  for (const line of findErrors(output).slice(0, ERRORS_SHOWN)) print(`  ${line}`);
  print(`All of the output is in ${log}`);
  return false;
}
