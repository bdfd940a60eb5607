// The tarball of this checkout, made once for a test file, and machines to install it on: an environment
// whose PATH has Node.js and few other programs.

import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { root } from "../../tools/commands.mjs";
import { npm } from "../../tools/setup.mjs";
import { temporaryFolder } from "../support/temporary.mjs";

const execute = promisify(execFile);

/** As `npm run release`, but of the addon that is compiled already. @param {import("node:test").TestContext} t */
async function release(t) {
  const out = temporaryFolder(t);
  const addon = path.join(root, "build", "Release", "tap.node");
  const args = ["packaging/release.mjs", "--addon", addon, "--out", out];
  const { stdout } = await execute(process.execPath, args, { cwd: root });
  const name = fs.readdirSync(out).find((file) => file.endsWith(".tgz"));
  return { tarball: path.join(out, String(name)), output: stdout };
}

/** @type {ReturnType<typeof release> | undefined} */
let released;
/** @param {import("node:test").TestContext} t */
export const tarballOf = (t) => (released ??= release(t));

/** @param {string} program @returns {string} */
function onPath(program) {
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  const found = folders.map((folder) => path.join(folder, program)).find(fs.existsSync);
  if (!found) throw new Error(`there is no ${program} on the PATH`);
  return fs.realpathSync(found);
}

/** The programs that npm and the CLI start by name; `tar` unpacks the sources. */
const PROGRAMS = ["sh", "env", "git", "bash", "tar"];

/**
 * A machine without compiler, make and Python.
 * @param {import("node:test").TestContext} t
 */
export function bareMachine(t) {
  const folder = temporaryFolder(t);
  const bin = path.join(folder, "bin");
  fs.mkdirSync(bin);
  fs.symlinkSync(process.execPath, path.join(bin, "node"));
  for (const name of PROGRAMS) fs.symlinkSync(onPath(name), path.join(bin, name));
  const prefix = path.join(folder, "prefix");
  // No setting of npm's own: a registry is not to be asked, and a cache not to be found.
  const env = { PATH: bin, HOME: folder, npm_config_cache: path.join(folder, "cache") };
  return { folder, prefix, env };
}

/**
 * @param {ReturnType<typeof bareMachine>} machine @param {string[]} args
 * @returns {Promise<string>} the output of npm and the scripts
 */
export async function runNpm({ folder, env }, args) {
  const { command, args: before } = npm();
  const script = command === "npm" ? [fs.realpathSync(onPath("npm"))] : before;
  const { stdout, stderr } = await execute(process.execPath, [...script, ...args], {
    ...{ cwd: folder, env },
  });
  return stdout + stderr;
}

/** The package's folder, as it is in the tarball. @param {import("node:test").TestContext} t @param {string} tarball */
export async function unpacked(t, tarball) {
  const folder = temporaryFolder(t);
  await execute("tar", ["-xzf", tarball], { cwd: folder });
  return path.join(folder, "package");
}
