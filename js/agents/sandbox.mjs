// The wall around an agent's session: the CLI's own sandbox, from the policy of a node. On Linux a program in front of
// bubblewrap adds the wall of tap's own programs to each command, so that commands of agents and of tap see the same.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { findOnPath, isInside } from "../lib/paths.mjs";
import { quoteWord, visible } from "../lib/visible.mjs";
import { deleteFolder } from "../process/run.mjs";
import {
  createBridge,
  createFolderCheck,
  formatWallArguments,
  makeCacheFolders,
  listSystemReadable,
  redirectCaches,
} from "../process/sandbox.mjs";

/** @typedef {import("../process/sandbox.mjs").Policy} Policy */
/**
 * Of a session. `policy`: the node's, with the folders that the session needs in addition; `own`: the node's writable
 * folders; `temporary`: its TMPDIR; `home`, and `search` for programs: of its server.
 * @typedef {{policy: Policy, own: string[], temporary: string, home: string, search: string[]}} Wall
 */

const SHIM = fileURLToPath(new URL("bwrap.sh", import.meta.url));
/** Files that the CLI reads for its system message. */
const INSTRUCTIONS = [
  "AGENTS.md",
  "CLAUDE.md",
  "GEMINI.md",
  ".github/copilot-instructions.md",
  ".github/instructions",
];
/** The CLI adds other folders of the system. */
const SYSTEM_READABLE = ["/usr", "/opt"];

/**
 * Puts the program in front of bubblewrap, if it is installed.
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
 * Called before a session starts.
 * @param {string} folder of its server; no wall makes it writable, or shows it
 * @param {Policy} given
 * @param {{sessionId: string, output: string, packageFolder: string, env: NodeJS.ProcessEnv,
 *   ways?: import("../process/sandbox.mjs").Ways}} session env: the server's; ways: of its commands, to named hosts
 * @returns {Wall | undefined} undefined: a different session has that worktree
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
  const before = [...createFolderCheck(policy.named), ...bridge.words];
  const text = `wall=${quote(words)}\nbridge=${quote(before)}\n`;
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
 * Whether instructions of a worktree are links to files outside of it, or are not files. The CLI reads them in its own
 * process, outside of the sandbox.
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

/** @param {string} file or a folder @returns {string[]} the files; a link counts as a file */
function listFiles(file) {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  if (!stat) return [];
  if (!stat.isDirectory()) return [file];
  return fs.readdirSync(file).flatMap((name) => listFiles(path.join(file, name)));
}

/** `sandboxConfig` of a session, also when it is resumed, since the CLI does not store it. @param {Wall} wall */
export function toSandboxConfig({ policy, home, search }) {
  const { cwd, repository, writable, readable } = policy;
  const readonly = [
    ...[...SYSTEM_READABLE, ...listSystemReadable(policy, home, search), ...readable],
    ...[repository.checkout, repository.common].flatMap((place) => place ?? []),
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
      // The program in front of bubblewrap decides about the network of commands. For named hosts the CLI would need
      // rights to create a network.
      network: { allowOutbound: false, allowLocalNetwork: false },
    },
  };
}

/** The part of the system message that describes the sandbox. @param {Wall} wall @returns {string} */
export function formatWallNotice({ policy, own, temporary }) {
  const { cwd, repository, hosts } = policy;
  const list = (/** @type {string[]} */ all) => all.map(visible).join(", ") || "none";
  const commit = repository.own
    ? "HEAD is detached. Commit there; do not make branches, stash or push: tap collects the commits."
    : "Git's own folders are read-only: do not commit, stash or push. tap commits the files of the worktree.";
  const reach = hosts === "*" ? "all" : list(hosts);
  return [
    `You work in ${visible(cwd)}, a separate worktree. Other files of the repository are read-only.`,
    commit,
    `Commands may also write ${list([...own, temporary])}, the last of which is $TMPDIR. Hosts that they may reach: ${reach}.`,
    "A process ends with its command: start a server, use it, and stop it in the same command. While a command runs in the background, read and write files with commands only.",
    '"Read-only file system" and status 403 are final. No person can grant more access, and there is no way around: name the missing access in your last message.',
  ].join("\n");
}
