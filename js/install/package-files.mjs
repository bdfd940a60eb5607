// The files of this package for users: `tap install` copies them, and a tarball contains them.

import fs from "node:fs";
import path from "node:path";
import { readManifest, runtimeDependencies } from "./dependencies.mjs";

/**
 * @typedef {object} PackageFile
 * @property {string} from absolute
 * @property {string} to from the root of the copy, with /
 * @property {number} size
 */

/** Pages for users; other pages are for contributors. */
const PAGES = [
  ...["README", "tutorial", "installing", "troubleshooting", "configuration", "limits"],
  ...["command", "tracing", "testing", "protocol", "sdk-node", "sdk-python", "comparison"],
  ...["project-providers", "embedding", "features", "emitters", "evals", "top"],
  ...["plans", "landing", "sandbox", "workers", "mcp", "inbox"],
];
const PARTS = [
  ...["js", "sdk/node", "sdk/python", "sdk/templates", "extension.mjs", "package.json"],
  ...["README.md", "LICENSE", "SECURITY.md", "CHANGELOG.md"],
  ...PAGES.map((page) => `docs/${page}.md`),
  ...["docs/how-to", "docs/images", "evals", "skills"],
];
/** node-addon-api is only needed to compile. */
export const COMPILE_ONLY = ["node-addon-api"];

/** Left behind by tools, or for contributors. */
const IGNORED = /^(__pycache__|\.pytest_cache|tests|.*\.egg-info|\..*|node_modules)$/;
/** Types for tap's own type checks. Types for users are in sdk/. */
const OWN_TYPES = /^js\/.*\.d\.ts$/;
/** Files that a running package does not read: in some packages more than half. Licences stay. */
const UNREAD =
  /\.(map|ts|mts|cts|flow|tsbuildinfo)$|^(readme|changelog|changes|history|security)\b.*\.md$/i;
/** Second copies of the code, for `require` or for bundlers. */
const UNLOADED = [
  /^node_modules\/@cfworker\/json-schema\/dist\/commonjs$/,
  /^node_modules\/croner\/dist\/croner(\.umd)?\.js$/,
  /^node_modules\/jsonc-parser\/lib\/esm$/,
  /^node_modules\/yaml\/(browser|bin\.mjs|dist\/(cli\.mjs|test-events\.js))$/,
  /^node_modules\/@modelcontextprotocol\/.*\.cjs$/,
  /^node_modules\/zod\/(.*\.cjs|src|v3|mini|v4\/mini|v4-mini|locales)$/,
  /^node_modules\/(eventsource|eventsource-parser|pkce-challenge)\/.*\.(cjs|browser\.js)$/,
];
/** Of the SDK for MCP: parts that tap does not use, such as sign-in by OAuth and a transport of its own for stdio. */
const UNUSED = [
  /^node_modules\/@modelcontextprotocol\/client\/dist\/(ext|validators|stdio\.mjs|shimsBrowser\.mjs)$/,
  /^node_modules\/jose\/dist$/,
  /^node_modules\/(cross-spawn|which|isexe|path-key|shebang-command|shebang-regex)\/.*\.js$/,
  /^node_modules\/eventsource\/src$/,
];

/**
 * @param {string} from @param {string} to @param {(name: string, to: string) => boolean} leftOut name: the last part of
 *   to
 * @returns {PackageFile[]}
 */
function walk(from, to, leftOut) {
  const stat = fs.statSync(from);
  if (stat.isFile()) return [{ from, to, size: stat.size }];
  if (!stat.isDirectory()) return [];
  return fs
    .readdirSync(from)
    .map((name) => ({ name, below: path.posix.join(to, name) }))
    .filter(({ name, below }) => !leftOut(name, below))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name, below }) => walk(path.join(from, name), below, leftOut));
}

/** The package's own files. @param {string} root @returns {PackageFile[]} */
export function ownFiles(root) {
  const there = PARTS.filter((part) => fs.existsSync(path.join(root, part)));
  const leftOut = (/** @type {string} */ name, /** @type {string} */ to) =>
    IGNORED.test(name) || OWN_TYPES.test(to);
  return there.flatMap((part) => walk(path.join(root, part), part, leftOut));
}

/** The files of its dependencies. @param {string} root @returns {PackageFile[]} */
export function dependencyFiles(root) {
  const leftOut = (/** @type {string} */ name, /** @type {string} */ to) =>
    name === "node_modules" ||
    UNREAD.test(name) ||
    [...UNLOADED, ...UNUSED].some((pattern) => pattern.test(to));
  return runtimeDependencies(root, COMPILE_ONLY).flatMap(({ from, to }) => walk(from, to, leftOut));
}

/** Without fields for development. @param {string} root */
export function packedManifest(root) {
  const { devDependencies: _development, allowScripts: _scripts, ...manifest } = readManifest(root);
  const names = Object.keys(manifest.dependencies).filter((name) => !COMPILE_ONLY.includes(name));
  const dependencies = Object.fromEntries(names.map((name) => [name, manifest.dependencies[name]]));
  // Bundled: an install needs no registry, and the tested versions run.
  const bundled = { dependencies, bundleDependencies: names };
  return { ...manifest, scripts: { install: manifest.scripts.install }, ...bundled };
}
