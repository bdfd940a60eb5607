// Whether this machine can sandbox the programs of plans. Kernels, containers and security modules may forbid parts of
// it, which only a run in the sandbox shows.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { findOnPath } from "../lib/paths.mjs";
import { errorMessage } from "../lib/values.mjs";
import { quoteWord, shortenText, visible } from "../lib/visible.mjs";
import { runProgram } from "./run.mjs";
import { formatBwrapArguments } from "./sandbox.mjs";

/** The probe with its cleanup takes less than 5 s. */
const PROBE_MS = 4000;
/** A missing part may be installed meanwhile. */
const RETRY_MS = 30_000;
/** The first version with every option of formatBwrapArguments(): --ro-bind-try. */
export const MIN_BWRAP = "0.3.1";
const MAX_QUOTE = 200;

/**
 * Why a machine has no sandbox.
 * @typedef {"platform" | "not-installed" | "too-old" | "user-namespaces" | "apparmor" | "container" | "hangs" |
 *   "unusable" | "no-folder" | "failed" | "not-enforced"} Reason
 */
/** @typedef {{state: "ok", program: string, version: string}} SandboxReady version: "" if unknown */
/**
 * @typedef {object} NoSandbox
 * @property {"unavailable"} state
 * @property {"NO_SANDBOX" | "SANDBOX_BROKEN"} code SANDBOX_BROKEN: it starts programs, but does not restrict them
 * @property {Reason} reason
 * @property {string} message a sentence without its full stop
 * @property {string} advice
 * @property {string} [command] the advice as a line for a shell, if there is such a line
 */
/** @typedef {SandboxReady | NoSandbox} SandboxState */
/**
 * @typedef {object} ProbeSystem this machine; replaced in tests
 * @property {NodeJS.Platform} platform
 * @property {boolean} isRoot
 * @property {string} root the folder with /proc and /run
 * @property {string} temporary
 * @property {number} ms for the programs
 * @property {typeof runProgram} run
 * @property {() => number} now
 */

/** @returns {ProbeSystem} */
const getSystem = () => ({
  platform: process.platform,
  isRoot: process.getuid?.() === 0,
  root: "/",
  temporary: os.tmpdir(),
  ms: PROBE_MS,
  run: runProgram,
  now: () => performance.now(),
});

// ---- the run -----------------------------------------------------------------------------------------

/** For /bin/sh, with its own commands only. $1 must be hidden in the sandbox; the other files must not be writable. */
const SCRIPT = `
echo in > inside && echo inside
[ -e "$1" ] && echo "sees $1"
shift
for file; do (echo out > "$file") 2> /dev/null && echo "wrote $file"; done
while read -r name value; do
  case $name in CapEff:) echo "capabilities $value" ;; esac
done < /proc/self/status
while read -r name value; do
  case $name in *:*) echo "network \${name%%:*}" ;; esac
done < /proc/net/dev
echo end`;
const NO_CAPABILITIES = /^0+$/;
/** Tunnels that the kernel may put into each network namespace; they are not connected. */
const FALLBACK_TUNNELS =
  /^(tunl0|gre0|gretap0|erspan0|ip_vti0|ip6_vti0|sit0|ip6tnl0|ip6gre0|ip6_vti0)$/;

/** A repository with a worktree, as for a node. @param {string} root an empty folder */
function makePlace(root) {
  const checkout = path.join(root, "repository");
  const common = path.join(checkout, ".git");
  const [cwd, admin, own] = [
    path.join(checkout, ".worktrees", "probe"),
    path.join(common, "worktrees", "probe"),
    path.join(common, "tap", "nodes", "probe"),
  ];
  const parts = ["objects", "admin", "tmp"].map((name) => path.join(own, name));
  for (const folder of [cwd, admin, path.join(common, "objects"), ...parts])
    fs.mkdirSync(folder, { recursive: true });
  const hidden = path.join(root, "hidden");
  fs.writeFileSync(hidden, "");
  /** @type {import("./sandbox.mjs").Policy} */
  const policy = {
    cwd,
    repository: { checkout, common, admin, own },
    ...{ writable: [], readable: [], caches: [], hosts: [], sandbox: "on" },
  };
  const outside = [checkout, common, root].map((folder) => path.join(folder, "outside"));
  return { policy, hidden, outside, inside: path.join(cwd, "inside") };
}

/** @typedef {ReturnType<typeof makePlace>} Place */

/** The leak that a line of the script reports; "": no leak. @param {string} line */
function explainLeak(line) {
  const [, word, value] = /^(\w+) ?(.*)$/s.exec(line) ?? [];
  if (word === "sees") return "can read hidden files";
  if (word === "wrote") return "can write outside its worktree";
  if (word === "capabilities" && !NO_CAPABILITIES.test(value)) return `has capabilities (${value})`;
  const isLeak = word === "network" && value !== "lo" && !FALLBACK_TUNNELS.test(value);
  return isLeak ? `reaches the network (${value})` : "";
}

/**
 * `leaks`: forbidden actions that worked; `works`: the script has printed all its lines, and no others, and its file
 * exists.
 * @param {Place} place @param {import("./run.mjs").ProgramEnd} answer
 */
function judge({ outside, inside }, { stdout, code, why }) {
  const lines = stdout.split("\n");
  const isComplete = lines.pop() === "" && lines[0] === "inside" && lines.at(-1) === "end";
  const isOurs = (/** @type {string} */ line) =>
    /^(inside|end|(sees|wrote|capabilities|network) .*)$/.test(line);
  const isCapable = lines.some((line) => line.startsWith("capabilities "));
  const leaks = [
    ...lines.filter(isOurs).map(explainLeak),
    // Check the files, too, since the output cannot be trusted.
    ...outside.filter((file) => fs.existsSync(file)).map((file) => explainLeak(`wrote ${file}`)),
  ];
  const ran = code === 0 && why !== "late" && fs.existsSync(inside);
  return {
    leaks: [...new Set(leaks)].filter((leak) => leak !== ""),
    works: ran && isComplete && isCapable && lines.every(isOurs),
  };
}

// ---- causes of a failure -----------------------------------------------------------------------------

/** @typedef {{system: ProbeSystem, search: string, program: string, version: string, answer: import("./run.mjs").ProgramEnd}} Failed */

/**
 * @param {NoSandbox["reason"]} reason @param {string} message @param {string} advice @param {string} [command]
 * @returns {NoSandbox}
 */
const explain = (reason, message, advice, command) => ({
  state: "unavailable",
  code: reason === "not-enforced" ? "SANDBOX_BROKEN" : "NO_SANDBOX",
  ...{ reason, message, advice },
  ...(command !== undefined && { command }),
});

/** By package manager. */
const INSTALLERS = {
  "apt-get": "apt-get install bubblewrap",
  dnf: "dnf install bubblewrap",
  pacman: "pacman -S bubblewrap",
  apk: "apk add bubblewrap",
  zypper: "zypper install bubblewrap",
};

/** @param {ProbeSystem} system @param {string} search */
function formatInstall(system, search) {
  const found = Object.entries(INSTALLERS).find(([name]) => findOnPath(name, search));
  return found && (system.isRoot ? found[1] : `sudo ${found[1]}`);
}

/** @param {ProbeSystem} system @param {string} search */
const explainMissing = (system, search) =>
  explain(
    "not-installed",
    "bubblewrap is not installed: there is no bwrap on the PATH",
    "Install the package bubblewrap, and see that bwrap is on the PATH of the shell in which you start copilot.",
    formatInstall(system, search),
  );

/** @type {Partial<Record<NodeJS.Platform, string>>} */
const PLATFORM_ADVICE = {
  darwin: "Run plans on Linux, in a virtual machine for example. tap does not use Seatbelt yet.",
  win32: "Run the CLI in WSL 2, with bubblewrap installed there.",
};

/** @param {NodeJS.Platform} platform */
const explainPlatform = (platform) =>
  explain(
    "platform",
    `tap has no sandbox for this system (${platform})`,
    PLATFORM_ADVICE[platform] ?? "Run plans on Linux.",
  );

/** @param {ProbeSystem} system @param {string} name @returns {number | undefined} */
function readSetting({ root }, name) {
  try {
    const text = fs.readFileSync(path.join(root, "proc/sys", name.replaceAll(".", "/")), "utf8");
    return /^\d+$/.test(text.trim()) ? Number(text) : undefined;
  } catch {
    return undefined;
  }
}

/** Files of Docker, Podman, systemd-nspawn and LXC, Kubernetes. */
const CONTAINER_FILES = [
  ...[".dockerenv", "run/.containerenv", "run/systemd/container"],
  "run/secrets/kubernetes.io",
];

/** @param {ProbeSystem} system */
const isContainer = ({ root }) =>
  CONTAINER_FILES.some((name) => fs.existsSync(path.join(root, name)));

/** @param {string} version @param {string} wanted */
function isOlder(version, wanted) {
  const [own, minimum] = [version, wanted].map((text) => text.split(".").map(Number));
  const at = minimum.findIndex((part, index) => (own[index] ?? 0) !== part);
  return at >= 0 && (own[at] ?? 0) < minimum[at];
}

/** Its last line of output, for a message. @param {Failed} failed */
function quoteAnswer({ answer: { error, stderr, stdout, code } }) {
  const lines = (stderr.trim() || stdout.trim()).split("\n");
  const text = error?.message ?? (lines.at(-1)?.trim() || `it ended with ${code}`);
  return visible(shortenText(text, MAX_QUOTE));
}

/** Required values of settings that forbid user namespaces with 0. */
const NAMESPACE_SETTINGS = {
  "user.max_user_namespaces": 15_000,
  "kernel.unprivileged_userns_clone": 1,
};
const APPARMOR_SETTING = "kernel.apparmor_restrict_unprivileged_userns";

/** @param {Failed} failed */
const explainContainer = (failed) =>
  explain(
    "container",
    `the container in which tap runs forbids system calls of bubblewrap (${quoteAnswer(failed)})`,
    "Start Docker's container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined " +
      "--security-opt systempaths=unconfined, Podman's with --security-opt unmask=ALL, or run the CLI outside.",
  );

/** @param {Failed} failed */
function explainAppArmor(failed) {
  const { program } = failed;
  const profile = [
    "abi <abi/4.0>,",
    "include <tunables/global>",
    `profile bwrap ${fs.realpathSync(program)} flags=(unconfined) { userns, }`,
  ];
  const lines = profile.map((line) => quoteWord(line)).join(" ");
  return explain(
    "apparmor",
    `AppArmor forbids user namespaces to ${program}, as on Ubuntu since 24.04 (${quoteAnswer(failed)})`,
    "Install a profile that allows them to this program only.",
    `printf '%s\\n' ${lines} | sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap`,
  );
}

/** Root needs no user namespace. @param {Failed} failed @returns {NoSandbox | undefined} if the machine forbids it */
function explainForbidden(failed) {
  const { system } = failed;
  const inContainer = isContainer(system);
  const off = Object.entries(NAMESPACE_SETTINGS).find(([name]) => readSetting(system, name) === 0);
  if (off && !system.isRoot) {
    const [name, wanted] = off;
    return explain(
      "user-namespaces",
      `the kernel's setting ${name} forbids user namespaces, which bubblewrap needs`,
      inContainer
        ? `Set ${name}=${wanted} on the host of this container.`
        : "Allow them. A file in /etc/sysctl.d keeps the setting after a restart.",
      inContainer ? undefined : `sudo sysctl -w ${name}=${wanted}`,
    );
  }
  if (inContainer) return explainContainer(failed);
  const isRestricted = !system.isRoot && readSetting(system, APPARMOR_SETTING) === 1;
  return isRestricted ? explainAppArmor(failed) : undefined;
}

/** Whether it is a different program with this name. @param {Failed} failed */
const isImitation = ({ version, answer: { code, error, stderr } }) =>
  code === 0 || (version === "" && error === undefined && !/^bwrap: /m.test(stderr));

/** @param {Failed} failed @returns {NoSandbox} */
function explainFailure(failed) {
  const { system, program, version, answer, search } = failed;
  if (answer.why === "late") {
    const seconds = system.ms / 1000;
    return explain(
      "hangs",
      `${program} has not run a command within ${seconds} s`,
      "Find out why it waits. Perhaps a different bwrap has to come first on the PATH.",
      `${quoteWord(program)} --version`,
    );
  }
  if (version !== "" && isOlder(version, MIN_BWRAP)) {
    return explain(
      "too-old",
      `bubblewrap ${version} is too old: tap needs ${MIN_BWRAP} or later`,
      "Install a newer version.",
      formatInstall(system, search),
    );
  }
  if (isImitation(failed)) {
    return explain(
      "unusable",
      `${program} is not bubblewrap, or prints text of its own (${quoteAnswer(failed)})`,
      "Remove it, or let the folder of the real bwrap come first on the PATH.",
      `${quoteWord(program)} --version`,
    );
  }
  return (
    (answer.error === undefined && explainForbidden(failed)) ||
    explain(
      "failed",
      `${program} cannot run a command in a sandbox (${quoteAnswer(failed)})`,
      "Correct the cause, and run this again.",
      `${quoteWord(program)} --ro-bind / / --unshare-all --proc /proc /bin/true`,
    )
  );
}

// ---- the probe ---------------------------------------------------------------------------------------

/**
 * @param {ProbeSystem} system @param {string} search @param {string} program @param {Place} place
 * @returns {Promise<SandboxState>}
 */
async function tryOut(system, search, program, place) {
  const options = { cwd: place.policy.cwd, env: { PATH: search, LC_ALL: "C" }, ms: system.ms };
  const sandbox = formatBwrapArguments(place.policy);
  const script = ["/bin/sh", "-c", SCRIPT, "sh", place.hidden, ...place.outside];
  const [answer, about] = await Promise.all([
    system.run(program, [...sandbox, "--", ...script], options),
    system.run(program, ["--version"], options),
  ]);
  const version = /^bubblewrap (\d+(?:\.\d+){1,2})$/m.exec(about.stdout)?.[1] ?? "";
  const { leaks, works } = judge(place, answer);
  if (leaks.length > 0) {
    return explain(
      "not-enforced",
      `a program that ${program} started ${leaks.join(", and ")}`,
      "Install bubblewrap of your distribution, and let its folder come first on the PATH.",
      formatInstall(system, search),
    );
  }
  if (works) return { state: "ok", program, version };
  return explainFailure({ system, search, program, version, answer });
}

/** @param {ProbeSystem} system @param {string} search @returns {Promise<SandboxState>} */
async function probe(system, search) {
  if (system.platform !== "linux") return explainPlatform(system.platform);
  const program = findOnPath("bwrap", search);
  if (program === undefined) return explainMissing(system, search);
  let root = "";
  try {
    root = fs.realpathSync(fs.mkdtempSync(path.join(system.temporary, "tap-sandbox-")));
    return await tryOut(system, search, program, makePlace(root));
  } catch (error) {
    return explain(
      "no-folder",
      `the sandbox cannot be probed in ${system.temporary} (${errorMessage(error)})`,
      "Free space there, or set TMPDIR to a folder that you can write.",
    );
  } finally {
    if (root !== "") await fs.promises.rm(root, { recursive: true, force: true }).catch(() => {});
  }
}

/**
 * @param {Partial<ProbeSystem>} [given] parts of a simulated machine
 * @returns {(asked?: {env?: NodeJS.ProcessEnv, again?: boolean}) => Promise<SandboxState>} never rejects
 */
export function createSandboxProbe(given = {}) {
  /** @type {{search: string, until: number, state: Promise<SandboxState>} | undefined} */
  let known;
  return ({ env = process.env, again = false } = {}) => {
    const system = { ...getSystem(), ...given };
    const search = env.PATH ?? "";
    if (known && !again && known.search === search && system.now() < known.until)
      return known.state;
    const state = probe(system, search);
    const latest = { search, until: Infinity, state };
    known = latest;
    void state.then((found) => {
      if (found.state !== "ok") latest.until = system.now() + RETRY_MS;
    });
    return state;
  };
}

/**
 * Whether programs can be sandboxed here, found by a run of bubblewrap: some 30 ms, and never 8 s. A positive result
 * holds for this process, a negative result for half a minute; `again` probes at once.
 */
export const probeSandbox = createSandboxProbe();
