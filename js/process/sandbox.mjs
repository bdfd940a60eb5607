// The wall around a program of a plan, as arguments of bubblewrap: the program's writable folders, its readable
// folders, and its hosts. The kernel enforces it, whatever the program does.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { loadAddon } from "../lib/load-addon.mjs";
import { findOnPath, isExecutable, isInside } from "../lib/paths.mjs";

/**
 * The worktree's part in a repository. `own` has a private object store, a private copy of git's folder of the
 * worktree and a temporary folder; in the sandbox they cover the shared ones. Without `own`, git's folders are
 * read-only.
 * @typedef {{checkout?: string, common: string, admin: string, own?: string}} PolicyRepository
 */
/**
 * All paths are absolute, without links, and exist.
 * @typedef {object} Policy
 * @property {string} cwd the worktree; writable
 * @property {string} [start] in `cwd`: the program's working folder
 * @property {PolicyRepository} repository
 * @property {string[]} writable folders in addition to `cwd`
 * @property {string[]} readable folders in addition to the system
 * @property {string[]} [named] those of both that were named for it: no link may lead to them
 * @property {string[]} caches names of CACHES
 * @property {string[] | "*"} hosts "*": the network of the host
 * @property {"on" | "off"} sandbox
 */

/**
 * The caches: their folders, relative to the home, and variables that move a cache that is not granted.
 * @type {Record<string, {folders: string[], variables?: Record<string, string>}>}
 */
export const CACHES = {
  npm: { folders: [".npm"], variables: { npm_config_cache: "npm" } },
  pnpm: { folders: [".local/share/pnpm/store", ".cache/pnpm"] },
  yarn: { folders: [".cache/yarn", ".yarn/berry/cache"], variables: { YARN_CACHE_FOLDER: "yarn" } },
  pip: { folders: [".cache/pip"], variables: { PIP_CACHE_DIR: "pip" } },
  uv: { folders: [".cache/uv"], variables: { UV_CACHE_DIR: "uv" } },
  cargo: { folders: [".cargo/registry", ".cargo/git"], variables: { CARGO_HOME: "cargo" } },
  go: {
    folders: [".cache/go-build", "go/pkg/mod"],
    variables: { GOCACHE: "go-build", GOMODCACHE: "go-mod" },
  },
  maven: { folders: [".m2/repository"] },
  gradle: { folders: [".gradle/caches"], variables: { GRADLE_USER_HOME: "gradle" } },
  ccache: { folders: [".cache/ccache"], variables: { CCACHE_DIR: "ccache" } },
};

/** Of git, in a folder that may have passwords, too (credentials). */
const GIT_SETTINGS = ["config", "ignore", "attributes"];
/** Readable in the home: settings of git, and the folders of toolchains. */
const HOME_READABLE = [
  ".gitconfig",
  ...GIT_SETTINGS.map((name) => `.config/git/${name}`),
  ".pyenv",
  ".rustup",
  ".cargo/bin",
  ".nvm",
  ".asdf",
  ".sdkman",
  ".volta",
  ".bun",
  ".deno/bin",
  ".local/bin",
  ".local/share/fnm",
  ".local/share/mise",
];
/** Readable parts of the system below hidden folders. */
const RUN_READABLE = ["/run/current-system"];
/**
 * For settings of programs: the home is read-only, and some programs do not start without such a folder. Git's
 * settings of the user are in it.
 */
const CONFIG_HOME = "/tmp/.config";
/** With root, bubblewrap leaves these files of the host writable. */
const PROC_OF_HOST = ["/proc/sys", "/proc/sysrq-trigger"];
/** Needed to resolve hosts in the host's network. */
const RESOLVER_FILE = "/etc/resolv.conf";

/** @param {string} file @returns {string | undefined} without links; undefined: it does not exist */
function resolveExisting(file) {
  try {
    return fs.realpathSync(file);
  } catch {
    return undefined;
  }
}

/** @param {string} file @param {string} folder */
const isBelow = (file, folder) => file !== folder && isInside(file, folder);

/** @param {string} file */
const depth = (file) => file.split("/").filter(Boolean).length;

/** Folders that are empty and private in the sandbox. @param {string} home @param {string} copilot */
const listHidden = (home, copilot) => {
  const homes = ["/home", "/root", home, copilot];
  const all = [...homes, "/run", "/tmp", "/var/tmp", os.tmpdir()];
  return [...new Set(all.flatMap((folder) => (folder && resolveExisting(folder)) || []))];
};

/** Of a program without a worktree: `cwd` is readable only if it is in `readable`. @typedef {Omit<Policy, "repository"> & {repository?: PolicyRepository}} ProgramPolicy */
/** @typedef {{at: string, how: "--tmpfs" | "--bind" | "--ro-bind", from?: string}} Mount */

/** @param {PolicyRepository} repository @returns {Mount[]} */
function listRepositoryMounts({ checkout, common, admin, own }) {
  const admins = path.dirname(admin);
  const objects = path.join(common, "objects");
  /** @type {Mount[]} */
  const shared = [checkout, common].flatMap((at) => (at ? [{ at, how: "--ro-bind" }] : []));
  if (own === undefined) return shared;
  return [
    ...shared,
    // At the same depth, so that relative alternates of the repository lead to the same folders.
    { at: path.join(common, "tap"), how: "--ro-bind", from: objects },
    { at: objects, how: "--bind", from: path.join(own, "objects") },
    { at: admins, how: "--tmpfs" },
    { at: admin, how: "--bind", from: path.join(own, "admin") },
    ...listLfsMounts(common, own),
  ];
}

/**
 * New files of git-lfs are in the store; the repository's are read-only, below it (js/git/lfs.mjs).
 * @param {string} common @param {string} own @returns {Mount[]}
 */
function listLfsMounts(common, own) {
  const [lfs, alternate] = [path.join(common, "lfs"), path.join(own, "lfs-alternate")];
  if (!fs.existsSync(alternate)) return [];
  const inside = path.join(lfs, "tap");
  return [
    { at: lfs, how: "--bind", from: path.join(own, "lfs") },
    { at: inside, how: "--ro-bind", from: alternate },
    { at: path.join(inside, "lfs"), how: "--ro-bind", from: lfs },
  ];
}

/**
 * The system's and the user's programs below hidden folders.
 * @param {Pick<Policy, "hosts">} policy @param {string} home @param {string[]} search the folders of PATH
 */
export const listSystemReadable = ({ hosts }, home, search) =>
  [
    ...HOME_READABLE.map((name) => path.join(home, name)),
    ...RUN_READABLE,
    ...(hosts === "*" ? [resolveExisting(RESOLVER_FILE) ?? ""] : []),
    path.dirname(resolveExisting(process.execPath) ?? "/usr"),
    // npm's programs are links from `bin` into the packages of the same prefix.
    ...search
      .filter((folder) => isBelow(folder, home))
      .flatMap((folder) => [folder, path.join(folder, "..", "lib", "node_modules")]),
  ].filter((folder) => folder !== "" && fs.existsSync(folder));

/**
 * The folders of the policy's caches. The first program that uses a cache finds it empty.
 * @param {Pick<Policy, "caches">} policy @param {string} home @returns {string[]} without those that cannot be created
 */
export const makeCacheFolders = ({ caches }, home) =>
  caches
    .flatMap((name) => CACHES[name].folders.map((folder) => path.join(home, folder)))
    .filter((folder) => {
      try {
        fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
        return true;
      } catch {
        return false;
      }
    });

/**
 * Git's settings of the user, also where XDG_CONFIG_HOME leads. A program that writes a folder cannot replace a place
 * in it where something is mounted: else a link there would lead the next mount out of the sandbox. So each folder on
 * the way is such a place.
 * @param {string} home @param {string} [tmp] what is /tmp inside @returns {Mount[]}
 */
function listGitSettings(home, tmp) {
  const folder = path.join(home, ".config/git");
  const files = GIT_SETTINGS.filter((name) => fs.existsSync(path.join(folder, name)));
  const fill = (/** @type {string} */ at) => [
    { at, how: /** @type {const} */ ("--tmpfs") },
    ...files.map((name) => ({
      ...{ at: path.join(at, name), how: /** @type {const} */ ("--ro-bind") },
      from: path.join(folder, name),
    })),
  ];
  const own = tmp && path.join(tmp, path.basename(CONFIG_HOME));
  if (own) fs.mkdirSync(own, { recursive: true });
  return [
    ...(own ? [{ at: CONFIG_HOME, how: /** @type {const} */ ("--bind"), from: own }] : []),
    ...fill(path.join(CONFIG_HOME, "git")),
    ...(fs.existsSync(folder) ? fill(folder) : []),
  ];
}

/** @param {ProgramPolicy} policy @param {string} home @param {string[]} search @param {string} [tmp] @returns {Mount[]} */
function listMounts(policy, home, search, tmp) {
  const { cwd, repository, writable, readable } = policy;
  const system = listSystemReadable(policy, home, search);
  const folders = makeCacheFolders(policy, home);
  /** @type {(all: string[], how: "--bind" | "--ro-bind") => Mount[]} */
  const bind = (all, how) => all.map((at) => ({ at, how }));
  const basic = [...bind([...system, ...readable], "--ro-bind"), ...listGitSettings(home, tmp)];
  if (!repository) return [...basic, ...bind([...folders, ...writable], "--bind")];
  return [
    ...basic,
    ...listRepositoryMounts(repository),
    { at: path.dirname(cwd), how: "--tmpfs" },
    ...bind([...folders, ...writable, cwd], "--bind"),
    ...bind([path.join(cwd, ".git")], "--ro-bind").filter(({ at }) => fs.existsSync(at)),
  ];
}

/**
 * bwrap's arguments for the file system: the system is read-only; homes, /run and temporary folders are
 * empty; the folders of the policy are mounted into them.
 * @param {ProgramPolicy} policy
 * @param {{home?: string, copilot?: string, search?: string[], tmp?: string}} [options] home: of the user; copilot:
 *   COPILOT_HOME; search: the folders of PATH; tmp: mounted at /tmp
 * @returns {string[]}
 */
export function formatWallArguments(policy, options = {}) {
  const { home = os.homedir(), copilot = process.env.COPILOT_HOME ?? "" } = options;
  const { search = [], tmp } = options;
  const realHome = resolveExisting(home) ?? home;
  const hidden = listHidden(realHome, copilot);
  const mounts = listMounts(policy, realHome, search, tmp);
  // Parents of a bound folder in a private folder are read-only, so that writes to them fail.
  const parents = hidden.flatMap((folder) =>
    mounts
      .filter(({ at }) => isBelow(at, folder))
      .map(({ at }) => path.join(folder, path.relative(folder, at).split("/")[0]))
      .filter((parent) => parent !== CONFIG_HOME && !mounts.some(({ at }) => at === parent)),
  );
  /** @type {Mount[]} */
  const all = [
    ...hidden.map((at) => ({ at, how: /** @type {const} */ ("--tmpfs") })),
    ...[...new Set(parents)].map((at) => ({ at, how: /** @type {const} */ ("--tmpfs") })),
    ...mounts,
  ];
  const temporary = resolveExisting("/tmp") ?? "/tmp";
  const ordered = all
    .map((mount, order) => ({ ...mount, order }))
    .sort((a, b) => depth(a.at) - depth(b.at) || a.order - b.order)
    .map((mount) =>
      mount.at === temporary && mount.how === "--tmpfs" && tmp
        ? { ...mount, how: /** @type {const} */ ("--bind"), from: tmp }
        : mount,
    );
  const empty = ordered.filter(({ how, at }) => how === "--tmpfs" && at !== temporary);
  return [
    ...["--cap-drop", "ALL", ...(policy.hosts === "*" ? ["--share-net"] : [])],
    ...["--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/dev/shm", "--proc", "/proc"],
    ...PROC_OF_HOST.flatMap((file) => ["--ro-bind-try", file, file]),
    ...ordered.flatMap(({ how, at, from = at }) =>
      how === "--tmpfs" ? [how, at] : [how, from, at],
    ),
    ...[...empty.map(({ at }) => at), "/dev", "/proc"].flatMap((at) => ["--remount-ro", at]),
  ];
}

/**
 * Arguments of bwrap, up to the command.
 * @param {ProgramPolicy} policy @param {{home?: string, copilot?: string, search?: string[]}} [options] as in
 *   formatWallArguments
 */
export function formatBwrapArguments(policy, options = {}) {
  const tmp = policy.repository?.own && path.join(policy.repository.own, "tmp");
  const begin = ["--unshare-all", "--die-with-parent"];
  return [
    ...begin,
    ...formatWallArguments(policy, { ...options, tmp }),
    "--chdir",
    policy.start ?? policy.cwd,
  ];
}

/**
 * Variables for settings, and for caches that are not granted, since the home is read-only.
 * @param {Pick<Policy, "caches">} policy @param {string} folder writable @returns {Record<string, string>}
 */
export const redirectCaches = ({ caches }, folder) => ({
  XDG_CACHE_HOME: folder,
  XDG_CONFIG_HOME: CONFIG_HOME,
  ...Object.fromEntries(
    Object.entries(CACHES)
      .filter(([name]) => !caches.includes(name))
      .flatMap(([, { variables = {} }]) => Object.entries(variables))
      .map(([name, at]) => [name, path.join(folder, at)]),
  ),
});

/**
 * Finds a program as a start without a sandbox would, so that a missing program fails in the same way.
 * @param {string} command @param {string} cwd @param {string} [search] as PATH
 * @returns {string} the command itself, or its absolute path @throws {NodeJS.ErrnoException} ENOENT
 */
export function findProgram(command, cwd, search = "") {
  if (command.includes("/") && isExecutable(path.resolve(cwd, command))) return command;
  const found = command.includes("/") ? undefined : findOnPath(command, search, cwd);
  if (found) return found;
  throw Object.assign(new Error(`"${command}" is not there`), { code: "ENOENT" });
}

/** Uses this process's PATH, never a plan's. @returns {string} absolute */
const findBwrap = () => findOnPath("bwrap", process.env.PATH) ?? "/usr/bin/bwrap";

// Who may write the folder around one that was named can put a link in its place, after it was looked at and before it
// is mounted. So what is mounted is compared with what was named, before the command begins.

/** $1 and $2: a mount point, and its device and root; and so on, up to --. */
const CHECK = `while [ "$1" != -- ]; do
found=
while read -r _ _ device root point _; do
[ "$point" = "$1" ] && found="$device $root"
done < /proc/self/mountinfo
[ "$found" = "$2" ] || { printf 'tap: %s is another folder by now\\n' "$1" >&2; exit 126; }
shift 2
done
shift
exec "$@"`;

/** As in mountinfo. @param {string} file */
const escapePlace = (file) =>
  file.replace(/[ \t\n\\]/g, (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, "0")}`);

/**
 * A program in front of a command, which has nothing else to say.
 * @param {string[]} [named] of a policy @returns {string[]} words
 */
export function createFolderCheck(named = []) {
  if (named.length === 0) return [];
  const lines = fs.readFileSync("/proc/self/mountinfo", "utf8").split("\n").filter(Boolean);
  const mounts = lines.map(parseMount);
  const places = named.flatMap((folder) => {
    const place = escapePlace(folder);
    const around = mounts.filter(({ point }) => isInside(place, point));
    const mount = around.toSorted((one, other) => depth(one.point) - depth(other.point)).at(-1);
    // NFS shows the same root for each of its folders.
    if (mount === undefined || mount.type.startsWith("nfs")) return [];
    const root = path.join(mount.root, path.relative(mount.point, place));
    return [place, `${mount.device} ${root}`];
  });
  return places.length === 0 ? [] : ["/bin/sh", "-c", CHECK, "tap", ...places, "--"];
}

/** @param {string} line of mountinfo */
function parseMount(line) {
  const [, , device = "", root = "", point = ""] = line.split(" ");
  return { device, root, point, type: / - (\S+)/.exec(line)?.[1] ?? "" };
}

/** @typedef {{command: string, args: string[], env: NodeJS.ProcessEnv}} Command */
/** Sockets; only sockets of the same program share a folder. @typedef {{proxy?: string, [port: number]: string}} Ways */

const HOST_BRIDGE = fileURLToPath(new URL("host-bridge.mjs", import.meta.url));

/**
 * A program in front of a command that leads ports of its sandbox to sockets outside.
 * @param {Ways} [ways] of host-proxy.mjs @returns {{words: string[], readable: string[]}} readable: files that it needs
 */
export function createBridge(ways = {}) {
  const sockets = Object.entries(ways).map(([way, socket]) => `${way}=${socket}`);
  if (sockets.length === 0) return { words: [], readable: [] };
  return {
    words: [process.execPath, HOST_BRIDGE, ...sockets, "--"],
    readable: [HOST_BRIDGE, ...new Set(Object.values(ways).map(path.dirname))],
  };
}

let hasDropped = false;

/**
 * Before this process starts what a sandbox is to hold: bubblewrap passes on the kernel's keys of the user's session,
 * and the files that were open when this process began.
 */
export function dropInherited() {
  if (!hasDropped) loadAddon().dropInherited();
  hasDropped = true;
}

/**
 * The same command in the sandbox. The environment is not in the command line, which every user can read.
 * @param {ProgramPolicy} given @param {Command} command
 * @param {object} [how]
 * @param {Ways} [how.ways] of host-proxy.mjs
 * @param {NodeJS.ProcessEnv} [how.user] whose PATH, HOME and COPILOT_HOME are the user's; default: the command's
 * @returns {Command}
 */
export function wrapInSandbox(given, { command, args, env }, { ways, user = env } = {}) {
  dropInherited();
  const bridge = createBridge(ways);
  const policy = { ...given, readable: [...new Set([...given.readable, ...bridge.readable])] };
  const search = (user.PATH ?? "").split(path.delimiter);
  const home = user.HOME ?? os.homedir();
  const temporary = { TMPDIR: "/tmp", TMP: "/tmp", TEMP: "/tmp" };
  return {
    command: findBwrap(),
    args: [
      ...formatBwrapArguments(policy, { search, home, copilot: user.COPILOT_HOME }),
      ...["--", ...createFolderCheck(policy.named), ...bridge.words, command, ...args],
    ],
    env: { ...redirectCaches(policy, "/tmp/.cache"), ...env, ...temporary },
  };
}
