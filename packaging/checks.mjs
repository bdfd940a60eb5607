// The checks of a package before it is made into a tarball, as promised in docs/installing.md and docs/releasing.md.

import fs from "node:fs";
import path from "node:path";
import { execute } from "./stage.mjs";

/** For the package with a single platform's addon and its run-time packages. */
export const MOST_BYTES = 6144 * 1024;
/** Newer symbols would exclude systems that docs/installing.md names. */
const NEWEST = { GLIBC: "2.34", GLIBCXX: "3.4.29", CXXABI: "1.3.13" };
/** Libraries of every Linux system, including those of the compiler where Node.js runs. */
const SYSTEM_LIBRARIES =
  /^(linux-vdso|ld-linux[\w-]*|libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)\.so/;

/** @param {string} a @param {string} b */
const compareVersions = (a, b) => a.localeCompare(b, "en", { numeric: true });

/** @param {string} file @returns {Record<string, string>} the newest needed version of each library's symbols */
export function symbolVersions(file) {
  const table = execute("objdump", ["-T", file], ".");
  /** @type {Record<string, string>} */
  const newest = {};
  for (const [, library, version] of table.matchAll(/\b(GLIBC|GLIBCXX|CXXABI)_([\d.]+)/g)) {
    if (compareVersions(newest[library] ?? "0", version) < 0) newest[library] = version;
  }
  return newest;
}

/** @param {string} file @returns {string[]} */
function linuxLibraries(file) {
  const dynamic = execute("objdump", ["-p", file], ".");
  return [...dynamic.matchAll(/^\s+NEEDED\s+(\S+)$/gm)].map(([, name]) => name);
}

/** @param {string} file @returns {string[]} */
function macLibraries(file) {
  return [...execute("otool", ["-L", file], ".").matchAll(/^\t(\S+) /gm)].map(([, name]) => name);
}

/**
 * Problems of this platform's addon: it must not need libraries that a system may lack.
 * @param {string} file @param {{local: boolean}} options `local`: it was compiled for this machine, with its SQLite
 * @returns {string[]}
 */
export function addonProblems(file, { local }) {
  if (process.platform === "linux") {
    const strange = linuxLibraries(file).filter(
      (name) => !SYSTEM_LIBRARIES.test(name) && !(local && name.startsWith("libsqlite3.so")),
    );
    const problems = strange.map((name) => `the addon needs ${name} at run time`);
    for (const [library, version] of Object.entries(symbolVersions(file))) {
      const most = NEWEST[/** @type {keyof typeof NEWEST} */ (library)];
      if (compareVersions(version, most) > 0)
        problems.push(`the addon needs ${library}_${version}; at most ${most} is promised`);
    }
    return problems;
  }
  if (process.platform === "darwin") {
    const strange = macLibraries(file).filter((name) => /pcre2|sqlite/.test(name));
    return strange.map((name) => `the addon needs ${name} at run time`);
  }
  return []; // Windows: js/install/libraries.mjs prefers the static library, and DLLs would not be found
}

/** @param {string} folder @returns {{to: string, size: number}[]} */
export function filesIn(folder) {
  return fs
    .readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((to) => ({ to, stat: fs.statSync(path.join(folder, to)) }))
    .filter(({ stat }) => stat.isFile())
    .map(({ to, stat }) => ({ to: to.replaceAll("\\", "/"), size: stat.size }));
}

/** Sizes by part, largest first. @param {string} folder @returns {[part: string, bytes: number][]} */
export function sizes(folder) {
  /** @type {Map<string, number>} */
  const parts = new Map();
  for (const { to, size } of filesIn(folder)) {
    const part =
      /^(prebuilds\/[^/]+|[^/]+)\//.exec(to)?.[1] ??
      (/\.tgz$/.test(to) ? to : "texts, manifest, entry");
    parts.set(part, (parts.get(part) ?? 0) + size);
  }
  return [...parts].sort(([, a], [, b]) => b - a);
}

/** The size of the package on a single platform, with the largest prebuilt addon. @param {string} folder @returns {number} */
export function bytesOnOnePlatform(folder) {
  const all = sizes(folder);
  const prebuilt = all.filter(([part]) => part.startsWith("prebuilds/")).map(([, size]) => size);
  const rest = all.filter(([part]) => !part.startsWith("prebuilds/")).map(([, size]) => size);
  return rest.reduce((sum, size) => sum + size, Math.max(0, ...prebuilt));
}
