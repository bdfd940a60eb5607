// The wall around an agent's session: the CLI's own sandbox, from the policy of a node. On Linux a program in front of
// bubblewrap adds the wall of tap's own programs to each command, so that both see the same.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { findOnPath, isInside } from "../lib/paths.mjs";
import { quoteWord, visible } from "../lib/visible.mjs";
import { deleteFolder } from "../process/run.mjs";
import {
  createBridge,
  formatWallArguments,
  makeCacheFolders,
  listSystemReadable,
  redirectCaches,
} from "../process/sandbox.mjs";

/** @typedef {import("../process/sandbox.mjs").Policy} Policy */
/**
 * Of one session. `policy`: the node's, with the folders that the session needs besides; `own`: the node's writable
 * folders; `temporary`: its TMPDIR; `home`, and `search` for programs: of its server.
 * @typedef {{policy: Policy, own: string[], temporary: string, home: string, search: string[]}} Wall
 */

const SHIM = fileURLToPath(new URL("bwrap.sh", import.meta.url));
/** What the CLI reads for its system message. */
const INSTRUCTIONS = [
  "AGENTS.md",
  "CLAUDE.md",
  "GEMINI.md",
  ".github/copilot-instructions.md",
  ".github/instructions",
];
/** The CLI adds what else a system needs. */
const SYSTEM_READABLE = ["/usr", "/opt"];

/**
 * Puts the program in front of bubblewrap, where there is one.
 * @param {string} folder private to a server @param {string | undefined} folders its PATH
 * @returns {string | undefined} the server's PATH
 */
export function installShim(folder, folders) {
  const program = findOnPath("bwrap", folders);
  if (process.platform !== "linux" || program === undefined) return folders;
  const bin = path.join(folder, "bin");
  fs.mkdirSync(bin);
  const names = `program=${quoteWord(program)} walls=${quoteWord(path.join(folder, "walls"))}`;
  const text = `#!/bin/sh\n${names}\n${fs.readFileSync(SHIM, "utf8")}`;
  fs.writeFileSync(path.join(bin, "bwrap"), text, { mode: 0o700 });
  return [bin, folders].join(path.delimiter);
}

/** @param {string} folder of a server @param {Policy} policy */
const wallFolder = (folder, { cwd }) => path.join(folder, "walls", cwd);

/**
 * Before a session begins.
 * @param {string} folder of its server; no wall makes it writable, or shows it
 * @param {Policy} given
 * @param {{sessionId: string, output: string, packageFolder: string, env: NodeJS.ProcessEnv,
 *   ways?: import("../process/sandbox.mjs").Ways}} session env: the server's; ways: of its commands, to named hosts
 * @returns {Wall | undefined} undefined: another session has that worktree
 */
export function openWall(folder, given, { sessionId, output, packageFolder, env, ways }) {
  const temporary = path.join(folder, "sessions", sessionId);
  const [home, search] = [env.HOME ?? os.homedir(), (env.PATH ?? "").split(path.delimiter)];
  const bridge = createBridge(ways);
  const policy = {
    ...given,
    writable: [...given.writable, temporary],
    readable: [...given.readable, output, fs.realpathSync(packageFolder), ...bridge.readable],
  };
  const variables = {
    ...{ TMPDIR: temporary, TMP: temporary, TEMP: temporary },
    ...redirectCaches(policy, path.join(temporary, ".cache")),
  };
  const words = [
    ...formatWallArguments(policy, { home, search, tmp: temporary }),
    ...Object.entries(variables).flatMap(([name, value]) => ["--setenv", name, value]),
    ...["--unsetenv", "NODE_COMPILE_CACHE"],
  ];
  const quote = (/** @type {string[]} */ all) =>
    quoteWord(all.map((word) => quoteWord(word)).join(" "));
  const text = `wall=${quote(words)}\nbridge=${quote(bridge.words)}\n`;
  const place = wallFolder(folder, given);
  fs.mkdirSync(place, { recursive: true });
  try {
    fs.writeFileSync(path.join(place, "wall"), text, { mode: 0o600, flag: "wx" });
  } catch (/** @type {any} */ error) {
    if (error.code === "EEXIST") return undefined;
    throw error;
  }
  fs.mkdirSync(temporary, { recursive: true });
  return { policy, own: given.writable, temporary, home, search };
}

/** @param {string} folder of the server @param {Wall} wall */
export async function closeWall(folder, { policy, temporary }) {
  fs.rmSync(path.join(wallFolder(folder, policy), "wall"), { force: true });
  await deleteFolder(temporary);
}

/**
 * Whether the CLI, which reads a worktree's instructions in its own process, would come to a file elsewhere or to none.
 * @param {string} cwd
 */
export const hasForeignInstructions = (cwd) =>
  INSTRUCTIONS.flatMap((name) => listFiles(path.join(cwd, name))).some((file) => {
    try {
      const at = fs.realpathSync(file);
      return !isInside(at, cwd) || !fs.statSync(at).isFile();
    } catch {
      return true;
    }
  });

/** @param {string} file or a folder @returns {string[]} what is there; links are not followed, and are files */
function listFiles(file) {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  if (!stat) return [];
  if (!stat.isDirectory()) return [file];
  return fs.readdirSync(file).flatMap((name) => listFiles(path.join(file, name)));
}

/** `sandboxConfig` of a session, also of one that is resumed: the CLI keeps none. @param {Wall} wall */
export function toSandboxConfig({ policy, home, search }) {
  const { cwd, repository, writable, readable } = policy;
  const readonly = [
    ...[...SYSTEM_READABLE, ...listSystemReadable(policy, home, search), ...readable],
    ...[repository.checkout, repository.common].flatMap((one) => one ?? []),
  ];
  const readwrite = [cwd, ...writable, ...makeCacheFolders(policy, home)];
  return {
    enabled: true,
    addCurrentWorkingDirectory: false,
    allowDevToolAccess: false,
    allowBypass: false,
    userPolicy: {
      filesystem: {
        readwritePaths: [...new Set(readwrite)].filter(fs.existsSync),
        readonlyPaths: [...new Set(readonly)].filter(fs.existsSync),
      },
      // What a command reaches comes from the program in front of bubblewrap. For named hosts the CLI would need
      // rights to make a network of its own.
      network: { allowOutbound: false, allowLocalNetwork: false },
    },
  };
}

/** The part of the system message that describes the sandbox. @param {Wall} wall @returns {string} */
export function formatWallNotice({ policy, own, temporary }) {
  const { cwd, repository, hosts } = policy;
  const list = (/** @type {string[]} */ all) => all.map(visible).join(", ") || "none";
  const commit = repository.own
    ? "HEAD is detached. Commit there; do not make branches, stash or push: what is committed is taken from there."
    : "Git's own folders are read-only: do not commit, stash or push. What is in the worktree is committed for you.";
  const reach = hosts === "*" ? "all" : list(hosts);
  return [
    `You work in ${visible(cwd)}, a worktree of its own. Nothing else of the repository can be changed.`,
    commit,
    `Commands may also write ${list([...own, temporary])}, the last of which is $TMPDIR. Hosts that they may reach: ${reach}.`,
    "A process lives within one command: start a server, use it, and end it in the same command. While a command runs in the background, read and write files with commands only.",
    '"Read-only file system" and status 403 are final. Nobody can be asked, and no other way leads there: say in your last message what was missing.',
  ].join("\n");
}
