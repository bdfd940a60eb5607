// npm run release: makes the tarball dist/copilot-tap-<version>.tgz, with the addon compiled for
// this platform. It does not publish.
//
//   --prebuild            only the addon: dist/prebuilds/<platform>-<arch>/copilot-tap.node
//   --prebuilds <folder>  a tarball with prebuilt addons of other machines, without compiling
//   --addon <file>        with this addon, without compiling: for tests
//   --out <folder>        instead of dist

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { addonProblems, bytesOnOnePlatform, MOST_BYTES, sizes, symbolVersions } from "./checks.mjs";
import { compileAddon, stripAddon } from "./prebuild.mjs";
import { execute, stage } from "./stage.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const platform = `${process.platform}-${process.arch}`;

/** @param {string} text */
const say = (text) => process.stdout.write(`${text}\n`);
/** @param {number} bytes */
const kilobytes = (bytes) => `${Math.round(bytes / 1024).toLocaleString("en")} kB`.padStart(9);

/** @param {string[]} problems */
function refuse(problems) {
  if (problems.length > 0) throw new Error(`not released:\n  ${problems.join("\n  ")}`);
}

/** @param {string} folder that gets <platform>-<arch>/copilot-tap.node @param {string | undefined} given */
async function prebuild(folder, given) {
  const file = path.join(folder, platform, "copilot-tap.node");
  fs.mkdirSync(path.dirname(file), { recursive: true });
  if (given) {
    fs.copyFileSync(given, file);
    stripAddon(file);
  } else {
    say(`compiling the addon for ${platform} …`);
    await compileAddon(root, file);
  }
  refuse(addonProblems(file, { local: given !== undefined }));
  execute(process.execPath, ["-e", "require(process.argv[1])", file], root);
  say(`${path.relative(root, file)}: ${kilobytes(fs.statSync(file).size).trim()}`);
  if (process.platform === "linux") {
    const needs = Object.entries(symbolVersions(file)).map((pair) => pair.join(" "));
    say(`it needs ${needs.join(", ")} or later`);
  }
}

/** @param {string} folder the staged package @param {string} out @returns {string} the tarball */
function pack(folder, out) {
  const [npm, ...args] = process.env.npm_execpath?.endsWith(".js")
    ? [process.execPath, process.env.npm_execpath]
    : [process.platform === "win32" ? "npm.cmd" : "npm"];
  const options = ["pack", "--json", "--ignore-scripts", "--pack-destination", out];
  const [{ filename, size, unpackedSize, entryCount }] = JSON.parse(
    execute(npm, [...args, ...options], folder),
  );
  for (const [part, bytes] of sizes(folder)) say(`${kilobytes(bytes)}  ${part}`);
  const bytes = bytesOnOnePlatform(folder);
  say(
    `${kilobytes(bytes)}  with the addon of a single platform, of at most ${kilobytes(MOST_BYTES).trim()}`,
  );
  if (bytes > MOST_BYTES) refuse([`${bytes} bytes are more than ${MOST_BYTES}`]);
  say(
    `${entryCount} files, ${kilobytes(unpackedSize).trim()} unpacked, ${kilobytes(size).trim()} packed`,
  );
  return path.join(out, filename);
}

const { values } = parseArgs({
  options: {
    prebuild: { type: "boolean", default: false },
    prebuilds: { type: "string" },
    addon: { type: "string" },
    out: { type: "string", default: path.join(root, "dist") },
  },
});
try {
  const out = path.resolve(values.out);
  const folder = path.join(out, "package");
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  if (values.prebuild) await prebuild(path.join(out, "prebuilds"), undefined);
  else {
    stage(root, folder);
    const prebuilds = path.join(folder, "prebuilds");
    if (values.prebuilds) fs.cpSync(values.prebuilds, prebuilds, { recursive: true });
    else await prebuild(prebuilds, values.addon);
    say(path.relative(process.cwd(), pack(folder, out)));
  }
  fs.rmSync(folder, { recursive: true, force: true });
} catch (error) {
  process.stderr.write(`release: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
