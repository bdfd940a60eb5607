// The tarball's content as a folder: the files for users, the needed packages, and the sources of the
// addon in an archive, for systems on which the prebuilt addon does not load.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import {
  COMPILE_ONLY,
  dependencyFiles,
  ownFiles,
  packedManifest,
} from "../js/install/package-files.mjs";
import { slimProgram, withoutComments } from "./programs.mjs";

/** Inputs of the compiler, in addition to js/install. */
const SOURCES = ["native", "binding.gyp"];
/** Brotli takes a fifth less than gzip, and Node.js can read it. */
const ARCHIVE = "native-source.tar.br";

/** @param {string} command @param {string[]} args @param {string} cwd @returns {string} its output */
export function execute(command, args, cwd) {
  const options = { cwd, encoding: /** @type {const} */ ("utf8"), maxBuffer: 1 << 26 };
  const run = spawnSync(command, args, { ...options, shell: /\.cmd$/.test(command) });
  if (run.status === 0) return run.stdout;
  throw new Error(`${command} ${args.join(" ")}: ${run.error?.message ?? run.stderr.trim()}`);
}

/** The files that git tracks; other files must not get into a package. @param {string} root @returns {Set<string>} */
const trackedFiles = (root) =>
  new Set(
    execute("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], root).split(
      "\0",
    ),
  );

/** @param {{from: string, to: string}[]} files @param {string} folder */
function copyAll(files, folder) {
  for (const { from, to } of files) {
    const target = path.join(folder, to);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.copyFileSync(from, target);
    const { atime, mtime } = fs.statSync(from);
    fs.utimesSync(target, atime, mtime);
  }
}

/** The addon's sources and the headers that they need, as a folder in which node-gyp can build. @param {string} root @param {string} folder */
export function copySources(root, folder) {
  const tracked = [...trackedFiles(root)];
  const own = tracked.filter((file) =>
    SOURCES.some((part) => file === part || file.startsWith(`${part}/`)),
  );
  copyAll(
    own.map((to) => ({ from: path.join(root, to), to })),
    folder,
  );
  for (const name of COMPILE_ONLY) {
    const from = fs.realpathSync(path.join(root, "node_modules", name));
    const wanted = /^(package\.json|index\.js|LICENSE\.md|.*\.h|.*\.gypi?|.*\.c)$/;
    const files = fs.readdirSync(from).filter((file) => wanted.test(file));
    const to = path.join("node_modules", name);
    copyAll(
      files.map((file) => ({ from: path.join(from, file), to: path.join(to, file) })),
      folder,
    );
  }
  const sources = fs
    .readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(cc|c|h)$/.test(file));
  for (const source of sources) rewrite(path.join(folder, source), withoutComments);
}

/** Code, which stays unchanged, or a link. */
const CODE_OR_LINK = /^(`{3,})[^]*?^\1|`[^`\n]*`|(?<!!)\[([^\]]*)\]\(([^)#\s]+)(?:#[^)\s]*)?\)/gm;

/**
 * Removes links to files that are not in the package; their words stay.
 * @param {string} text in Markdown @param {(target: string) => boolean} isThere target: relative to the page
 */
export const withoutDeadLinks = (text, isThere) =>
  text.replace(CODE_OR_LINK, (whole, _fence, words, target) =>
    target === undefined || /^[a-z]+:/.test(target) || isThere(target) ? whole : words,
  );

/** Code, which stays unchanged, or a row of a table. */
const CODE_OR_ROW = /^(`{3,})[^]*?^\1|^\|.*\|$/gm;

/**
 * Removes the padding of tables, which takes half of their size.
 * @param {string} text in Markdown
 */
export const withoutPadding = (text) =>
  text.replace(CODE_OR_ROW, (whole, fence) => {
    if (fence !== undefined) return whole;
    if (/^\|[\s:|-]+\|$/.test(whole)) return whole.replace(/ +/g, "").replace(/-{4,}/g, "---");
    return whole.replace(/ {2,}(?=\|)/g, " ");
  });

/** @param {string} folder */
function mendPages(folder) {
  const pages = fs
    .readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md") && !/^(node_modules|sdk)\b/.test(file));
  for (const page of pages) {
    const file = path.join(folder, page);
    const isThere = (/** @type {string} */ target) =>
      fs.existsSync(path.join(path.dirname(file), target));
    rewrite(file, (text) => withoutPadding(withoutDeadLinks(text, isThere)));
  }
}

/** @param {string} file keeps its time @param {(text: string) => string} change */
function rewrite(file, change) {
  const { atime, mtime } = fs.statSync(file);
  fs.writeFileSync(file, change(fs.readFileSync(file, "utf8")));
  fs.utimesSync(file, atime, mtime);
}

/** Slims programs. Editors read the types.d.ts of the SDK for Node.js; the other SDKs stay unchanged. @param {string} folder */
function slimPrograms(folder) {
  for (const part of ["js", "node_modules", path.join("sdk", "node")]) {
    const programs = fs
      .readdirSync(path.join(folder, part), { recursive: true, encoding: "utf8" })
      .filter((file) => /\.[cm]?js$/.test(file));
    for (const program of programs) rewrite(path.join(folder, part, program), slimProgram);
  }
}

const MCP_CLIENT = "node_modules/@modelcontextprotocol/client/dist";
/**
 * Modules of packages that are loaded and not used are exchanged for smaller ones: zod's messages in all languages, and
 * the larger of two validators of the SDK for MCP.
 * @type {[file: string, text: string, unneeded: RegExp][]}
 */
const EXCHANGED = [
  [
    "node_modules/zod/v4/locales/index.js",
    'export { default as en } from "./en.js";\n',
    /^node_modules\/zod\/v4\/locales\/(?!(en|index)\.js$)/,
  ],
  [
    `${MCP_CLIENT}/shimsNode.mjs`,
    'export * from "./shimsWorkerd.mjs";\n',
    new RegExp(`^${MCP_CLIENT}/ajvProvider`),
  ],
];

/** @param {string} folder */
function exchangeModules(folder) {
  for (const [file, text] of EXCHANGED) rewrite(path.join(folder, file), () => text);
}

/** The fields of an installed package's manifest that Node.js and npm read. */
const READ_FIELDS = [
  ...["name", "version", "license", "type", "main", "module", "exports", "imports", "bin"],
  ...["engines", "dependencies", "optionalDependencies", "peerDependencies"],
];

/** Trims the manifests of bundled packages, which have fields for development. @param {string} folder */
function trimManifests(folder) {
  const below = path.join(folder, "node_modules");
  const manifests = fs
    .readdirSync(below, { recursive: true, encoding: "utf8" })
    .filter((file) => path.basename(file) === "package.json");
  for (const name of manifests) {
    rewrite(path.join(below, name), (text) => {
      const fields = Object.entries(JSON.parse(text));
      const kept = Object.fromEntries(fields.filter(([field]) => READ_FIELDS.includes(field)));
      return `${JSON.stringify(kept)}\n`;
    });
  }
}

/** @param {string} root @param {string} folder an empty folder; gets all but prebuilds/ */
export function stage(root, folder) {
  const tracked = trackedFiles(root);
  const own = ownFiles(root).filter(({ to }) => tracked.has(to));
  const isNeeded = (/** @type {{to: string}} */ { to }) =>
    !EXCHANGED.some(([, , unneeded]) => unneeded.test(to));
  copyAll([...own, ...dependencyFiles(root).filter(isNeeded)], folder);
  exchangeModules(folder);
  mendPages(folder);
  slimPrograms(folder);
  trimManifests(folder);
  const manifest = `${JSON.stringify(packedManifest(root), null, 2)}\n`;
  fs.writeFileSync(path.join(folder, "package.json"), manifest);

  const sources = fs.mkdtempSync(path.join(path.dirname(folder), "sources-"));
  copySources(root, sources);
  const tar = path.join(sources, "sources.tar");
  execute("tar", ["-cf", tar, ...SOURCES, "node_modules"], sources);
  const params = { [zlib.constants.BROTLI_PARAM_LGWIN]: zlib.constants.BROTLI_MAX_WINDOW_BITS };
  fs.writeFileSync(
    path.join(folder, ARCHIVE),
    zlib.brotliCompressSync(fs.readFileSync(tar), { params }),
  );
  fs.rmSync(sources, { recursive: true });
}
