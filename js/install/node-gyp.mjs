// Compiles the addon with node-gyp. Its output goes into a log; people see how far it is, and of a failure
// what the compiler said first.

import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

// Where node-gyp is, and the headers of the Node that runs this.

const nodeFolder = path.resolve(path.dirname(fs.realpathSync(process.execPath)), "..");

/**
 * npm brings node-gyp along and says where; a global one serves outside of npm.
 * @returns {{command: string, args: string[]}}
 */
export function nodeGyp() {
  const bundled = process.env.npm_config_node_gyp;
  if (bundled && fs.existsSync(bundled)) return { command: process.execPath, args: [bundled] };
  const withNode = path.join(
    nodeFolder,
    "lib/node_modules/npm/node_modules/node-gyp/bin/node-gyp.js",
  );
  if (fs.existsSync(withNode)) return { command: process.execPath, args: [withNode] };
  return { command: process.platform === "win32" ? "node-gyp.cmd" : "node-gyp", args: [] };
}

/** What is there need not be downloaded. @returns {string | undefined} */
export function headerFolder() {
  const header = path.join(nodeFolder, "include", "node", "node_api.h");
  return fs.existsSync(header) ? nodeFolder : undefined;
}

const ERRORS_SHOWN = 8;
/** Those of addon-units.mjs: hot and cold. */
const UNITS = 2;

/** @typedef {(message: string) => void} Print */

/** Tells which of the units is being compiled, and when they are linked. @param {Print} say */
function createProgress(say) {
  /** @type {Set<string>} */
  const begun = new Set();
  let links = false;
  return (/** @type {string} */ output) => {
    for (const [, unit] of output.matchAll(/\b(hot|cold)\.(?:o|obj|cc)\b/g)) {
      if (begun.has(unit)) continue;
      begun.add(unit);
      say(`compiling ${begun.size} of ${UNITS}`);
    }
    if (links || !output.includes("SOLINK")) return;
    links = true;
    say("linking");
  };
}

/** @param {string} root @param {(text: string) => void} onOutput @returns {Promise<boolean>} */
async function runNodeGyp(root, onOutput) {
  const { command, args } = nodeGyp();
  const headers = headerFolder();
  const options = ["configure", "build", "--jobs=2", ...(headers ? [`--nodedir=${headers}`] : [])];
  const child = spawn(command, [...args, ...options], {
    cwd: root,
    shell: args.length === 0 && process.platform === "win32",
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const pipe of [child.stdout, child.stderr]) pipe.setEncoding("utf8").on("data", onOutput);
  return new Promise((resolve) => {
    child.once("error", (error) => {
      onOutput(`${command}: ${error.message}\n`);
      resolve(false);
    });
    child.once("close", (status) => resolve(status === 0));
  });
}

/** Code that was optimised as a whole cannot be linked with what another compiler made. @param {string} output */
const isOfTwoCompilers = (output) => /LTO version|bytecode stream/.test(output);

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
 * @param {string} root @param {Print} say
 * @returns {Promise<boolean>} whether it is built; if not, the user has been told why
 */
export async function compile(root, say) {
  const log = path.join(root, "build", "compile.log");
  const shown = /^(verbose|silly)$/.test(process.env.npm_config_loglevel ?? "");
  for (let again = false; ; again = true) {
    let output = "";
    const reportProgress = createProgress(say);
    const done = await runNodeGyp(root, (text) => {
      output += text;
      if (shown) process.stderr.write(text);
      reportProgress(output);
    });
    fs.mkdirSync(path.dirname(log), { recursive: true });
    fs.writeFileSync(log, output);
    if (done) return true;
    if (again || !isOfTwoCompilers(output)) {
      say("the native addon does not compile. The first errors:");
      for (const line of findErrors(output).slice(0, ERRORS_SHOWN)) say(`  ${line}`);
      say(`All of the output is in ${log}`);
      return false;
    }
    say("a part of it was made by another compiler: compiling all of it");
    fs.rmSync(path.join(root, "build", "Release", "obj.target"), { recursive: true, force: true });
  }
}
