// Whether a machine can sandbox what plans run: the real bubblewrap, and machines on which it is missing, forbidden,
// another program, or does not hold what it starts.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { formatBwrapArguments } from "../../../js/process/sandbox.mjs";
import { createSandboxProbe, MIN_BWRAP } from "../../../js/process/sandbox-probe.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** Every option of bubblewrap 0.3.1 that has been used here. */
const OPTIONS_OF_MIN_BWRAP =
  "--unshare-all --share-net --die-with-parent --new-session --cap-drop --setenv --unsetenv --chdir " +
  "--bind --bind-try --ro-bind --ro-bind-try --dev-bind --tmpfs --proc --dev --dir --symlink --remount-ro --hostname";
const VERSION = '[ "$1" = --version ] && echo "bubblewrap 0.8.0" && exit';
const REFUSED = `${VERSION}; echo "bwrap: setting up uid map: Permission denied" >&2; exit 1`;
/** What it is given up to the command means nothing to it. */
const CARELESS = `${VERSION}; while [ "$1" != -- ]; do shift; done; shift; exec "$@"`;

/** @param {string} folder @param {string} name @param {string} script for sh */
function addProgram(folder, name, script, interpreter = "/bin/sh") {
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, name), `#!${interpreter}\n${script}\n`, { mode: 0o755 });
}

/**
 * A machine with a bwrap of its own, and settings of a kernel of its own.
 * @param {import("node:test").TestContext} t
 * @param {{bwrap?: string, files?: Record<string, string>, programs?: string[]} & Partial<import("../../../js/process/sandbox-probe.mjs").ProbeSystem>} [options]
 */
function makeMachine(t, { bwrap, files = {}, programs = [], ...system } = {}) {
  const folder = fs.realpathSync(temporaryFolder(t));
  const [root, bin, temporary] = ["root", "bin", "tmp"].map((name) => path.join(folder, name));
  for (const one of [root, bin, temporary]) fs.mkdirSync(one);
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), text);
  }
  if (bwrap !== undefined) addProgram(bin, "bwrap", bwrap);
  for (const name of programs) addProgram(bin, name, "exit 1");
  const probe = createSandboxProbe({ root, temporary, isRoot: false, ...system });
  const ask = async (again = false) =>
    /** @type {any} */ (await probe({ env: { PATH: bin }, again }));
  return { folder, bin, temporary, probe, ask };
}

test("the real bubblewrap works, and nothing of the probe is left", async (t) => {
  const { temporary, probe } = makeMachine(t);
  const found = /** @type {any} */ (await probe({ env: process.env }));
  assert.equal(found.state, "ok", JSON.stringify(found));
  assert.ok(path.isAbsolute(found.program));
  assert.match(found.version, /^\d+\.\d+/);
  assert.deepEqual(fs.readdirSync(temporary), []);
});

describe("a machine has no sandbox", () => {
  for (const platform of /** @type {const} */ (["darwin", "win32", "freebsd"])) {
    test(`on ${platform}`, async (t) => {
      const { reason, code, advice } = await makeMachine(t, { platform }).ask();
      assert.deepEqual([reason, code, advice !== ""], ["platform", "NO_SANDBOX", true]);
    });
  }

  test("without bwrap, which its package manager installs", async (t) => {
    const installers = {
      "apt-get": "apt-get install",
      dnf: "dnf",
      pacman: "pacman -S",
      apk: "apk",
    };
    for (const [name, words] of Object.entries(installers)) {
      const { reason, command } = await makeMachine(t, { programs: [name] }).ask();
      assert.equal(reason, "not-installed");
      assert.ok(command.startsWith(`sudo ${words}`) && command.endsWith(" bubblewrap"), command);
    }
    const root = await makeMachine(t, { programs: ["apk"], isRoot: true }).ask();
    assert.equal(root.command, "apk add bubblewrap");
    const none = await makeMachine(t).ask();
    assert.deepEqual([none.reason, none.command], ["not-installed", undefined]);
  });

  test("with a bwrap in a relative folder of PATH only, or in one that is no program", async (t) => {
    const { bin, probe } = makeMachine(t, { bwrap: CARELESS });
    for (const PATH of [path.relative(process.cwd(), bin), ".", "", undefined]) {
      const { reason } = /** @type {any} */ (await probe({ env: { PATH } }));
      assert.equal(reason, "not-installed", PATH);
    }
    fs.rmSync(path.join(bin, "bwrap"));
    fs.mkdirSync(path.join(bin, "bwrap"));
    const { reason } = /** @type {any} */ (await probe({ env: { PATH: bin }, again: true }));
    assert.equal(reason, "not-installed");
  });

  const clone = { "proc/sys/kernel/unprivileged_userns_clone": "0\n" };
  const most = { "proc/sys/user/max_user_namespaces": "0\n" };
  const on = {
    "proc/sys/kernel/unprivileged_userns_clone": "1\n",
    "proc/sys/user/max_user_namespaces": "9000\n",
  };
  const apparmor = { "proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n" };
  const docker = { ".dockerenv": "" };
  const refusals = /** @type {const} */ ([
    ["user-namespaces", clone, "sudo sysctl -w kernel.unprivileged_userns_clone=1"],
    ["user-namespaces", most, "sudo sysctl -w user.max_user_namespaces=15000"],
    ["user-namespaces", { ...most, ...docker }, undefined],
    ["apparmor", { ...on, ...apparmor }, /^printf .*userns, }' \| sudo tee .* apparmor_parser -r /],
    ["container", docker, undefined],
    ["container", { "run/.containerenv": "" }, undefined],
    ["container", { "run/systemd/container": "lxc" }, undefined],
    ["container", { ...on, ...apparmor, ...docker }, undefined],
    ["failed", on, / --unshare-all /],
    ["failed", { "proc/sys/user/max_user_namespaces": "none" }, / --unshare-all /],
  ]);
  for (const [wanted, files, line] of refusals) {
    test(`whose kernel refuses, with ${Object.keys(files).join(", ")}: ${wanted}`, async (t) => {
      const { ask } = makeMachine(t, { bwrap: REFUSED, files });
      const { state, code, reason, command, message } = await ask();
      assert.deepEqual([state, code, reason], ["unavailable", "NO_SANDBOX", wanted]);
      if (line instanceof RegExp) assert.match(command, line);
      else assert.equal(command, line);
      if (wanted !== "user-namespaces") assert.match(message, /uid map: Permission denied/);
    });
  }

  test("the profile for AppArmor is text that a shell passes on as it is", async (t) => {
    const { ask, bin } = makeMachine(t, { bwrap: REFUSED, files: apparmor });
    const [print] = (await ask()).command.split(" | ");
    const { stdout } = spawnSync("sh", ["-c", print], { encoding: "utf8" });
    assert.deepEqual(stdout.split("\n"), [
      "abi <abi/4.0>,",
      "include <tunables/global>",
      `profile bwrap ${bin}/bwrap flags=(unconfined) { userns, }`,
      "",
    ]);
  });

  test("as root it is not said to lack user namespaces, which root does not need", async (t) => {
    const files = { ...clone, ...most, ...apparmor };
    const { reason } = await makeMachine(t, { bwrap: REFUSED, files, isRoot: true }).ask();
    assert.equal(reason, "failed");
  });

  test("with a bubblewrap that lacks options", async (t) => {
    for (const [version, wanted] of [
      ["0.3.0", "too-old"],
      ["0.1", "too-old"],
      [MIN_BWRAP, "failed"],
      ["0.11.0", "failed"],
      ["1.0", "failed"],
    ]) {
      const bwrap = `[ "$1" = --version ] && echo "bubblewrap ${version}" && exit; echo "bwrap: Unknown option" >&2; exit 1`;
      assert.equal((await makeMachine(t, { bwrap }).ask()).reason, wanted, version);
    }
  });

  test("with a bwrap that hangs: all of it is ended", async (t) => {
    const { ask, folder, temporary } = makeMachine(t, {
      bwrap: `trap "" TERM; /bin/sleep 300 & echo $$ $! >> "\${0%/*}/pids"; wait`,
      ms: 2000,
    });
    const begun = performance.now();
    assert.equal((await ask()).reason, "hangs");
    assert.ok(performance.now() - begun < 8000);
    const pids = fs
      .readFileSync(path.join(folder, "bin", "pids"), "utf8")
      .trim()
      .split(/\s/);
    assert.equal(pids.length, 4);
    for (const pid of pids) {
      const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", pid], { encoding: "utf8" });
      assert.match(stdout.trim(), /^(Z.*)?$/, "it is gone, or waits to be buried");
    }
    assert.deepEqual(fs.readdirSync(temporary), []);
  });

  const imitations = {
    "succeeds without doing anything": "exit 0",
    "prints its name for everything": 'echo "bubblewrap 0.8.0"',
    "prints what the probe wants to read":
      'printf "%s\\n" inside "capabilities 0" "network lo" end; exit 0',
    "prints without end": "while :; do echo inside; done",
    "is another program": 'echo "usage: bwrap FILE"; exit 2',
    "prints before the real one": `echo "starting" ; exec bwrap "$@"`,
    "prints behind the real one": `bwrap "$@"; printf done`,
  };
  for (const [what, script] of Object.entries(imitations)) {
    test(`with a bwrap that ${what}`, async (t) => {
      const real = `PATH='${process.env.PATH}'; ${script}`;
      const { ask } = makeMachine(t, {
        bwrap: real,
        ms: what.includes("without end") ? 300 : 4000,
      });
      const { code, reason } = await ask();
      assert.equal(code, "NO_SANDBOX");
      assert.equal(reason, what.includes("without end") ? "hangs" : "unusable");
    });
  }

  test("with a bwrap that cannot be started, in a container, too", async (t) => {
    const { ask, bin } = makeMachine(t, { files: docker });
    addProgram(bin, "bwrap", "", "/nowhere/sh");
    const { reason, message } = await ask();
    assert.equal(reason, "failed");
    assert.match(message, /ENOENT/);
  });

  test("with words that a terminal would obey: they are shown", async (t) => {
    const { ask } = makeMachine(t, {
      bwrap: `${VERSION}; printf 'bwrap: \\033[2Jno\\n' >&2; exit 1`,
    });
    assert.match((await ask()).message, /\\x1b\[2Jno/);
  });

  test("without a folder for the probe", async (t) => {
    const { ask } = makeMachine(t, { bwrap: CARELESS, temporary: "/nowhere/at/all" });
    assert.equal((await ask()).reason, "no-folder");
  });
});

describe("a sandbox is broken", () => {
  test("that ignores what it is told: the write outside succeeds", async (t) => {
    const { ask, temporary } = makeMachine(t, { bwrap: CARELESS });
    const { state, code, reason, message } = await ask();
    assert.deepEqual(
      [state, code, reason],
      ["unavailable", "SANDBOX_BROKEN", "not-enforced"],
      message,
    );
    assert.match(message, /write outside/);
    assert.match(message, /read hidden files/);
    assert.deepEqual(fs.readdirSync(temporary), []);
  });

  test("that ignores it, and hangs or fails then", async (t) => {
    const write = `${VERSION}; for file; do :; done; echo x > "$file"`;
    for (const end of ["exit 1", "exec /bin/sleep 300"]) {
      const { code } = await makeMachine(t, { bwrap: `${write}; ${end}`, ms: 2000 }).ask();
      assert.equal(code, "SANDBOX_BROKEN", end);
    }
  });

  /** A machine whose sandbox lets a program see this. @param {import("node:test").TestContext} t @param {string[]} lines */
  const makeLeaky = (t, ...lines) =>
    makeMachine(t, {
      bwrap: "exit",
      run: async (_program, args, { cwd = "" }) => {
        const stdout =
          args[0] === "--version"
            ? "bubblewrap 0.8.0\n"
            : ["inside", ...lines, "end", ""].join("\n");
        fs.writeFileSync(path.join(cwd, "inside"), "in\n");
        return { code: 0, signal: null, why: "", cut: false, stdout, stderr: "" };
      },
    });

  const bare = ["capabilities 0000000000000000", "network lo"];
  for (const [wanted, lines] of /** @type {const} */ ([
    [undefined, bare],
    [undefined, [...bare, "network tunl0", "network sit0"]],
    ["NO_SANDBOX", ["network lo"]],
    ["NO_SANDBOX", [...bare, "hello"]],
    ["SANDBOX_BROKEN", ["capabilities 00000000a80425fb", "network lo"]],
    ["SANDBOX_BROKEN", [...bare, "network eth0"]],
    ["SANDBOX_BROKEN", [...bare, "sees /x"]],
    ["SANDBOX_BROKEN", [...bare, "wrote /x"]],
  ])) {
    test(`${wanted ?? "it is fine"}: ${lines.join(", ")}`, async (t) => {
      assert.equal((await makeLeaky(t, ...lines).ask()).code, wanted);
    });
  }
});

describe("the answer is kept", () => {
  /** @param {import("node:test").TestContext} t @param {{code: number}} [end] */
  function counted(t, end = { code: 0 }) {
    const seen = { runs: 0, now: 0 };
    const stdout = ["inside", "capabilities 0", "end", ""].join("\n");
    const machine = makeMachine(t, {
      bwrap: "exit",
      now: () => seen.now,
      run: async (_program, _args, { cwd = "" }) => {
        seen.runs += 1;
        fs.writeFileSync(path.join(cwd, "inside"), "in\n");
        return { ...end, signal: null, why: "", cut: false, stdout, stderr: "bwrap: no" };
      },
    });
    return { ...machine, seen };
  }

  test("where it is good, until somebody asks again or has another PATH", async (t) => {
    const { ask, seen, probe, bin } = counted(t);
    const [one, other] = await Promise.all([ask(), ask()]);
    assert.deepEqual([one.state, other.state, seen.runs], ["ok", "ok", 2]);
    seen.now = 1e9;
    await ask();
    assert.equal(seen.runs, 2);
    await ask(true);
    assert.equal(seen.runs, 4);
    await probe({ env: { PATH: `${bin}:/nowhere` } });
    assert.equal(seen.runs, 6);
  });

  test("where it is not, for half a minute", async (t) => {
    const { ask, seen } = counted(t, { code: 1 });
    assert.equal((await ask()).state, "unavailable");
    seen.now = 29_000;
    await ask();
    assert.equal(seen.runs, 2);
    seen.now = 31_000;
    await ask();
    assert.equal(seen.runs, 4);
  });
});

test(`the sandbox needs no option that bubblewrap ${MIN_BWRAP} does not have`, () => {
  const repository = { checkout: "/r", common: "/r/.git", admin: "/r/.git/worktrees/a", own: "/o" };
  const lists = { writable: ["/w"], readable: ["/x"], caches: ["npm"] };
  const all = formatBwrapArguments({
    ...{ cwd: "/r/.worktrees/a", repository, ...lists, hosts: "*", sandbox: "on" },
  });
  const options = new Set(all.filter((word) => word.startsWith("--")));
  const known = new Set(OPTIONS_OF_MIN_BWRAP.split(" "));
  assert.deepEqual(
    [...options].filter((one) => !known.has(one)),
    [],
  );
});
