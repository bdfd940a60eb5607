// Surroundings of its own for work in the test's process: a folder, an environment and streams. Several such works can
// run at once; code outside of them sees the process as it is.

import { AsyncLocalStorage } from "node:async_hooks";
import childProcess from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import path from "node:path";
import { Readable, Writable } from "node:stream";

/**
 * @typedef {{cwd: string, env: Record<string, string>, stdin: Readable, stdout: Writable, stderr: Writable,
 *   onExit: (error: Error) => void}} Surroundings
 */

/** @type {AsyncLocalStorage<Surroundings>} */
const current = new AsyncLocalStorage();

const ONE_PATH =
  "access appendFile chmod chown exists lchown lstat lutimes mkdir mkdtemp open opendir readFile readdir " +
  "readlink rm rmdir stat statfs truncate unlink utimes writeFile";
/** Which arguments are paths; each function is in fs with "Sync", and in fs.promises. @type {Record<string, number[]>} */
const PATHS = {
  ...Object.fromEntries(ONE_PATH.split(" ").map((name) => [name, [0]])),
  ...{ copyFile: [0, 1], cp: [0, 1], link: [0, 1], rename: [0, 1], symlink: [1] },
};
const STREAMS = ["createReadStream", "createWriteStream", "watch", "watchFile", "unwatchFile"];

/** The system resolves a relative path in the folder of the process. @param {unknown} given */
function resolvePath(given) {
  const place = current.getStore();
  if (!place || typeof given !== "string" || path.isAbsolute(given)) return given;
  return path.resolve(place.cwd, given);
}

/** @typedef {{target: any, key: string, is: PropertyDescriptor, was: PropertyDescriptor}} Patch */

/** @param {any} target @param {string} key @param {(was: PropertyDescriptor) => PropertyDescriptor} make @returns {Patch[]} */
function patchProperty(target, key, make) {
  const was = Object.getOwnPropertyDescriptor(target, key);
  if (!was) return [];
  const { enumerable, configurable } = was;
  return [{ target, key, was, is: { enumerable, configurable, ...make(was) } }];
}

/** @param {any} target @param {string} key @param {(was: any) => Function} make */
const patchFunction = (target, key, make) =>
  patchProperty(target, key, ({ value: was, writable }) => ({
    value: Object.assign(make(was), was),
    writable,
  }));

/** @param {any} target @param {string} key @param {number[]} places of its arguments that are paths */
const patchPaths = (target, key, places = [0]) =>
  patchFunction(target, key, (was) => {
    /** @this {unknown} @param {unknown[]} given */
    return function resolved(...given) {
      const own = given.map((value, at) => (places.includes(at) ? resolvePath(value) : value));
      return Reflect.apply(was, this, own);
    };
  });

/** A property with a value or a getter. @param {"env" | "stdin" | "stdout" | "stderr"} key */
const patchProcess = (key) =>
  patchProperty(process, key, ({ value, get }) => ({
    get: () => current.getStore()?.[key] ?? (get ? get.call(process) : value),
  }));

/** Code that runs here must not end the process of the test. @param {typeof process.exit} was */
const exitFor = (was) => (/** @type {number} */ code) => {
  const place = current.getStore();
  if (!place) return was(code);
  const error = new Error("it ends its process: start it with tapProcess()");
  place.onExit(error); // whoever catches it prints it
  throw error;
};

/** Children start where the work is. They cannot inherit its streams, which are no files. @param {Function} was */
const spawnFor = (was) =>
  /** @this {unknown} @param {any} options */
  function spawn(options) {
    const place = current.getStore();
    if (!place) return was.call(this, options);
    if ([options.stdio].flat().includes("inherit")) {
      throw new Error("its child inherits streams: start it as a process, with tapProcess()");
    }
    return was.call(this, { ...options, cwd: options.cwd ?? place.cwd });
  };

/** @returns {Patch[]} */
const allPatches = () => [
  ...["env", "stdin", "stdout", "stderr"].flatMap((key) => patchProcess(/** @type {any} */ (key))),
  ...patchFunction(process, "cwd", (was) => () => current.getStore()?.cwd ?? was()),
  ...patchFunction(process, "exit", exitFor),
  ...patchFunction(os, "homedir", (was) => () => current.getStore()?.env.HOME || was()),
  ...patchFunction(os, "tmpdir", (was) => () => current.getStore()?.env.TMPDIR || was()),
  ...patchFunction(/** @type {any} */ (childProcess).ChildProcess.prototype, "spawn", spawnFor),
  ...Object.entries(PATHS).flatMap(([name, places]) => [
    ...patchPaths(fs, `${name}Sync`, places),
    ...patchPaths(fs.promises, name, places),
  ]),
  ...STREAMS.flatMap((name) => patchPaths(fs, name)),
];

/** Those in force, which is as long as anything runs that needs them. @type {Patch[]} */
let patches = [];
let running = 0;

function install() {
  running += 1;
  if (running > 1) return;
  patches = allPatches();
  for (const { target, key, is } of patches) Object.defineProperty(target, key, is);
  syncBuiltinESMExports(); // for whoever imports a function by its name
}

function uninstall() {
  running -= 1;
  if (running > 0) return;
  for (const { target, key, is, was } of patches) {
    const now = Object.getOwnPropertyDescriptor(target, key);
    const isOurs = now?.value === is.value && now?.get === is.get;
    if (isOurs) Object.defineProperty(target, key, was);
  }
  syncBuiltinESMExports();
}

/** A stream that keeps its input. */
class Sink extends Writable {
  /** @type {Buffer[]} */
  #chunks = [];

  /** @override @param {Buffer} chunk @param {unknown} _encoding @param {() => void} done */
  _write(chunk, _encoding, done) {
    this.#chunks.push(chunk);
    done();
  }

  get text() {
    return Buffer.concat(this.#chunks).toString();
  }
}

/** @param {Record<string, string | undefined>} env */
const definedOnly = (env) =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, `${value}`]],
    ),
  );

/**
 * Work that sees a folder, variables and streams of its own, without a terminal. Its stdin is empty. The time
 * zone, the language and the umask are the whole process's.
 * @template T
 */
export class Surrounded {
  #stdout = new Sink();
  #stderr = new Sink();

  /** @param {{workspace?: string, env: Record<string, string | undefined>}} place @param {() => Promise<T>} work */
  constructor({ workspace, env }, work) {
    if (env.TZ !== undefined && env.TZ !== process.env.TZ) {
      throw new Error("a process has a single time zone: start it with tapProcess()");
    }
    const cwd = fs.realpathSync(workspace ?? process.cwd()); // as a process of its own would have it
    const streams = { stdin: Readable.from([]), stdout: this.#stdout, stderr: this.#stderr };
    /** @type {(error: Error) => void} */
    let onExit = () => {};
    /** @type {Promise<never>} */
    const exited = new Promise((_resolve, reject) => (onExit = reject));
    const surroundings = { cwd, env: definedOnly(env), ...streams, onExit };
    install();
    /** @type {Promise<T>} */
    this.ended = Promise.race([current.run(surroundings, work), exited]).finally(uninstall);
  }

  get out() {
    return this.#stdout.text;
  }

  get err() {
    return this.#stderr.text;
  }
}
