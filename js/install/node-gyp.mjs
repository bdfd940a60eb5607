// Compiles the addon with node-gyp. Its output is written to a log. After a failure, people see the first errors.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const nodeFolder = path.resolve(path.dirname(fs.realpathSync(process.execPath)), "..");
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
const ERRORS_SHOWN = 8;

/**
 * npm contains node-gyp and names its path; outside of npm a global node-gyp is used.
 * @returns {{command: string, args: string[]}}
 */
export function nodeGyp() {
  const bundled = process.env.npm_config_node_gyp;
  const withNode = path.join(
    nodeFolder,
    "lib/node_modules/npm/node_modules/node-gyp/bin/node-gyp.js",
  );
  const script = [bundled, withNode].find((file) => file && fs.existsSync(file));
  if (script) return { command: process.execPath, args: [script] };
  return { command: process.platform === "win32" ? "node-gyp.cmd" : "node-gyp", args: [] };
}

/** The headers of the running Node, so that node-gyp need not download them. @returns {string | undefined} */
export function headerFolder() {
  const header = path.join(nodeFolder, "include", "node", "node_api.h");
  return fs.existsSync(header) ? nodeFolder : undefined;
}

/** Errors of the compiler, the linker or node-gyp. @param {string} output @returns {string[]} */
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
 * @returns {boolean} whether it is built; otherwise it has printed the errors
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
