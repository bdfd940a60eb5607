// A small package in tap's shape to install, homes to install it in, and a child that can be killed in
// the middle of it.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { programFolder } from "../../js/lib/paths.mjs";
import { install } from "../../js/install/install.mjs";
import { userTarget } from "../../js/install/target.mjs";
import { temporaryFolder } from "./temporary.mjs";

/** @param {string} folder @param {Record<string, string>} files */
export function writeFiles(folder, files) {
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), content);
  }
  return folder;
}

/** @param {string} name @param {string} version @param {object} [dependencies] */
const manifest = (name, version, dependencies = {}) =>
  JSON.stringify({
    name,
    version,
    type: "module",
    main: "index.js",
    scripts: { install: "" },
    dependencies,
  });

/** A session of this package prints its version and those of its packages. */
const START = (version) => `import first from "one";
import two from "two";
export const start = (joinSession) => joinSession("${version} " + first + " " + two);
`;
const FILES_TO_COPY = 10;

/**
 * @param {import("node:test").TestContext} t @param {string} version
 * @param {Record<string, string>} [more] files
 */
export function makePackage(t, version, more = {}) {
  const filler = Array.from({ length: FILES_TO_COPY }, (_, at) => [
    `js/part${at}.mjs`,
    `// ${at}\n`,
  ]);
  return writeFiles(temporaryFolder(t), {
    "package.json": manifest("copilot-tap", version, { one: "1.0.0", two: "1.0.0" }),
    "extension.mjs": "",
    "js/extension/start.mjs": START(version),
    "js/extension/runtime.mjs": "",
    "build/Release/tap.node": "native",
    // Two packages that need different versions of a third: one version must lie deeper.
    "node_modules/one/package.json": manifest("one", "1.0.0", { deep: "1.0.0" }),
    "node_modules/one/index.js": `import deep from "deep"; export default "one:" + deep;`,
    "node_modules/two/package.json": manifest("two", "1.0.0", { deep: "2.0.0" }),
    "node_modules/two/index.js": `import deep from "deep"; export default "two:" + deep;`,
    "node_modules/deep/package.json": manifest("deep", "1.0.0"),
    "node_modules/deep/index.js": "export default 1;",
    "node_modules/two/node_modules/deep/package.json": manifest("deep", "2.0.0"),
    "node_modules/two/node_modules/deep/index.js": "export default 2;",
    "node_modules/development/package.json": manifest("development", "1.0.0"),
    ...Object.fromEntries(filler),
    ...more,
  });
}

/** A home whose entries find a stand-in for the CLI's SDK: it prints its argument. @param {import("node:test").TestContext} t */
export function makeHome(t) {
  const sdk = "node_modules/@github/copilot-sdk";
  return writeFiles(fs.realpathSync(temporaryFolder(t)), {
    [`${sdk}/package.json`]: JSON.stringify({
      type: "module",
      exports: { "./extension": "./e.js" },
    }),
    [`${sdk}/e.js`]: "export const joinSession = (text) => process.stdout.write(text);",
  });
}

/** Runs the entry as the CLI would, and gives the output of its session. @param {{folder: string}} target */
export const runEntry = ({ folder }) =>
  execFileSync(process.execPath, [path.join(folder, "extension.mjs")], { encoding: "utf8" });

const at = (file) => JSON.stringify(pathToFileURL(path.join(programFolder, file)).href);
const CHILD = `
import { writeSync } from "node:fs";
import { install } from ${at("js/install/install.mjs")};
const [root, target, stop, uid, options] = JSON.parse(process.argv[1]);
if (uid) process.setuid(uid);
try {
  install(root, target, {
    ...options,
    onProgress: ({ step, files = 0 }) => {
      if (step !== stop.step || files !== (stop.files ?? 0)) return;
      writeSync(1, "there");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    },
  });
} catch (error) {
  writeSync(1, JSON.stringify({ code: error.code, message: error.message, advice: error.advice }));
}
`;

/** @param {any[]} given @param {string} [limits] of bash */
const child = (given, limits) => {
  const args = ["--input-type=module", "-e", CHILD, JSON.stringify(given)];
  const [command, ...before] = limits ? ["bash", "-c", `${limits}; exec "$@"`, "_"] : [];
  return command
    ? spawn(command, [...before, process.execPath, ...args], {
        stdio: ["ignore", "pipe", "inherit"],
      })
    : spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
};

/** Installs in a child that stops at that point, and kills it there. */
export async function killedAt(root, target, stop, options = {}) {
  const running = child([root, target, stop, 0, options]);
  const [line] = await once(running.stdout.setEncoding("utf8"), "data");
  if (line !== "there") throw new Error(`it did not get to ${JSON.stringify(stop)}: ${said}`);
  running.kill("SIGKILL");
  const [, signal] = await once(running, "exit");
  return signal;
}

/**
 * Installs in a child, as a different user or with limits, and gives its error.
 * @param {string} root @param {string} target @param {{uid?: number, limits?: string}} [how]
 */
export async function failureIn(root, target, { uid, limits } = {}) {
  const running = child([root, target, {}, uid], limits);
  let said = "";
  running.stdout.setEncoding("utf8").on("data", (text) => (said += text));
  await once(running, "close");
  return said && JSON.parse(said);
}

/** Printed by the session of an installed package. @param {string} version */
export const said = (version) => `${version} one:1 two:2`;

/** A home in which this version is installed. @param {import("node:test").TestContext} t @param {string} [version] */
export function installed(t, version = "1.0.0") {
  const target = userTarget(makeHome(t));
  const root = makePackage(t, version);
  install(root, target);
  return { target, root };
}

/** @param {() => void} work @param {string} code @param {RegExp} text of message and advice */
export function refuses(work, code, text) {
  assert.throws(work, (/** @type {any} */ error) => {
    assert.equal(error.code, code, error.stack);
    assert.match(`${error.message}\n${error.advice}`, text);
    return true;
  });
}

/** @param {{folder: string}} target */
export const releasesOf = ({ folder }) => fs.readdirSync(path.join(folder, "releases")).sort();
/** @param {{folder: string}} target */
export const versionsOf = (target) =>
  releasesOf(target).map((id) => id.replace(/-[0-9a-f]{12}(\.\d+)?$/, ""));
