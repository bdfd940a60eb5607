// The package of `npm run release`: that it has the right files, installs without a compiler and without a
// registry, and serves a session of the real CLI.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { withoutDeadLinks, withoutPadding } from "../../packaging/stage.mjs";
import { root } from "../../tools/commands.mjs";
import { answering, onceOffered, startTap, steps } from "../support/tap.mjs";
import { say } from "../support/model.mjs";
import { bareMachine, runNpm, tarballOf, unpacked } from "./tarball.mjs";

const execute = promisify(execFile);
const MOST_BYTES = 6144 * 1024;
/**
 * The tests' addon is linked with the system's SQLite, and not as a whole. A release's has SQLite in it: 565 kB more
 * as measured. With a little more than that, this fails before a release does.
 */
const OF_A_RELEASE = 575 * 1024;
const PLATFORM = `${process.platform}-${process.arch}`;
const PREBUILT = path.join("prebuilds", PLATFORM, "copilot-tap.node");

/** @param {string} folder */
const filesBelow = (folder) =>
  fs
    .readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => fs.statSync(path.join(folder, name)).isFile());

/** Its `install` script, as npm runs it. @param {string} folder @param {NodeJS.ProcessEnv} env */
async function runInstaller(folder, env) {
  const run = execute(process.execPath, ["js/install/installer.mjs"], { cwd: folder, env });
  const { code = 0, stderr } = await run.catch((error) => error);
  return { code, output: stderr };
}

/** Loads the addon as the program does. @param {string} folder */
const loadAddon = (folder) =>
  execute(process.execPath, ["-e", 'import("./js/lib/addon.mjs")'], { cwd: folder });

test("a link to a missing page becomes its words, and code stays as it is", () => {
  const page = "[a](a.md#x) [b](b.md) [c](https://c) `d[b](b.md)`\n\n```js\ne[b](b.md);\n```\n";
  assert.equal(
    withoutDeadLinks(page, (target) => target === "a.md"),
    page.replace("[b](b.md) [c]", "b [c]"),
  );
});

test("a table loses the blanks that align it, and code stays as it is", () => {
  const code = "```text\n| a   |\n| --- |\n```\n";
  const page = `${code}| a      | b |\n| :----- | - |\n| \`x  y\`  | c |\n`;
  assert.equal(withoutPadding(page), `${code}| a | b |\n|:---|-|\n| \`x  y\` | c |\n`);
});

describe("the tarball", { concurrency: 1 }, () => {
  test("holds what users run, and no file that only developers need", async (t) => {
    const { tarball } = await tarballOf(t);
    const folder = await unpacked(t, tarball);
    const files = filesBelow(folder);
    const expected = [
      ...["extension.mjs", "package.json", "README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md"],
      ...["js/cli/cli.mjs", "sdk/node/provider.mjs", "sdk/python/copilot_tap/__init__.py"],
      ...["sdk/templates/node/_gitignore", "native-source.tar.br", PREBUILT],
      ...["node_modules/ws/LICENSE", "node_modules/node-gyp-build/index.js"],
    ];
    for (const file of expected) assert.ok(files.includes(file), `${file} is in it`);
    const surplus = files.filter((file) =>
      /^(test|bench|native|packaging|build)\/|^js\/.*\.d\.ts$|\.map$|^node_modules\/(prebuildify|eslint)/.test(
        file,
      ),
    );
    assert.deepEqual(surplus, []);
    const { name, version, exports, scripts } = JSON.parse(
      fs.readFileSync(path.join(folder, "node_modules/ws/package.json"), "utf8"),
    );
    assert.deepEqual(
      [name, typeof version, typeof exports, scripts],
      ["ws", "string", "object", undefined],
    );
  });

  test("has the pages for users, and each link in them has a target", async (t) => {
    const { tarball } = await tarballOf(t);
    const folder = await unpacked(t, tarball);
    const pages = filesBelow(folder).filter((file) => /^(?!node_modules).*\.md$/.test(file));
    const links = pages.flatMap((page) => {
      const text = fs.readFileSync(path.join(folder, page), "utf8");
      return [...text.matchAll(/\]\(([^)#\s]+)/g)].map(([, target]) => ({ page, target }));
    });
    const dead = links.filter(
      ({ page, target }) =>
        !/^[a-z]+:/.test(target) && !fs.existsSync(path.join(folder, path.dirname(page), target)),
    );
    assert.deepEqual(dead, []);
    const fromReadme = links.filter(({ page }) => page === "README.md").map(({ target }) => target);
    for (const target of ["docs/tutorial.md", "docs/troubleshooting.md", "docs/images/timer.svg"]) {
      assert.ok(fromReadme.includes(target), target);
    }
  });

  test("has at most 6,144 kB unpacked, the packages that it needs included", async (t) => {
    const { tarball, output } = await tarballOf(t);
    const folder = await unpacked(t, tarball);
    const needed = Object.keys(
      JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")).dependencies,
    );
    for (const name of needed) assert.ok(fs.existsSync(path.join(folder, "node_modules", name)));
    const sizes = filesBelow(folder).map((file) => fs.statSync(path.join(folder, file)).size);
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    const all = bytes + OF_A_RELEASE;
    assert.ok(all <= MOST_BYTES, `${all} bytes as a release:\n${output}`);
  });

  test("brings along packages that load", async (t) => {
    const { tarball } = await tarballOf(t);
    const folder = await unpacked(t, tarball);
    const { dependencies } = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
    const program = `
      import { createRequire } from "node:module";
      const names = ${JSON.stringify(Object.keys(dependencies))};
      const require = createRequire(import.meta.url);
      for (const name of names) await (name === "croner" ? require(name) : import(name));
      console.log(names.length);`;
    const file = path.join(folder, "loads.mjs");
    fs.writeFileSync(file, program);
    const { stdout } = await execute(process.execPath, [file], { cwd: folder });
    assert.equal(Number(stdout), Object.keys(dependencies).length);
  });

  test("installs without a compiler and without a registry, and the real CLI calls a provider's tool", async (t) => {
    const { tarball } = await tarballOf(t);
    const machine = bareMachine(t);
    for (const tool of ["g++", "cc", "make", "python3"]) {
      assert.ok(!fs.existsSync(path.join(machine.env.PATH, tool)), `${tool} is out of reach`);
    }
    const install = ["install", "--global", "--offline", "--foreground-scripts"];
    const output = await runNpm(machine, [...install, "--prefix", machine.prefix, tarball]);
    assert.match(output, /the prebuilt addon for \S+ works, so no compiler is needed/);

    const rig = await startTap(t, undefined, {
      extension: undefined,
      env: { PATH: machine.env.PATH },
    });
    const command = path.join(machine.prefix, "bin", "copilot-tap");
    const env = { ...machine.env, COPILOT_HOME: rig.cli.home };
    const { stdout } = await execute(command, ["install"], { cwd: machine.folder, env });
    assert.match(stdout, /--experimental/);

    // What runs is the home's own: the package may go.
    fs.rmSync(machine.prefix, { recursive: true });
    rig.model.script(steps([onceOffered("greet", {}), () => say("bye")]));
    const running = rig.run();
    await rig.provide({ greet: answering("Hello from a tarball") }, { name: "greeter" });
    const host = await rig.cli.gatewayHost();
    assert.match(host.cmdline.join(" "), new RegExp(`^.*${rig.cli.home}/extensions/tap/releases/`));
    const current = path.join(rig.cli.home, "extensions", "tap", "current");
    assert.ok(fs.existsSync(path.join(current, ".in-use", String(host.pid))), "it is in use");
    await running;
    assert.equal(rig.result("greet"), "Hello from a tarball");
  });

  test("installs into a project, whose sessions have its tools", async (t) => {
    const { tarball } = await tarballOf(t);
    const folder = await unpacked(t, tarball);
    const env = { GITHUB_COPILOT_PROMPT_MODE_EXTENSIONS: "true" };
    const rig = await startTap(t, undefined, { extension: undefined, env });
    const command = path.join(folder, "js", "cli", "cli.mjs");
    const at = { cwd: rig.cli.workFolder, env: { ...process.env, COPILOT_HOME: rig.cli.home } };
    await execute(process.execPath, [command, "install", "--local"], at);
    const { stdout } = await execute("git", ["status", "--porcelain"], at);
    assert.equal(stdout, "", "no file of it is in the way of a commit");
    rig.model.script(steps([onceOffered("greet", {}), () => say("bye")]));
    const running = rig.run();
    await rig.provide({ greet: answering("Hello from a project") }, { name: "greeter" });
    await running;
    assert.equal(rig.result("greet"), "Hello from a project");
  });

  test("compiles where it has no addon for the platform", async (t) => {
    const { tarball } = await tarballOf(t);
    const folder = await unpacked(t, tarball);
    fs.renameSync(
      path.join(folder, "prebuilds", PLATFORM),
      path.join(folder, "prebuilds", "plan9-mips"),
    );
    // make compiles only sources that are newer than their output: so it finds each missing file.
    fs.cpSync(path.join(root, "build"), path.join(folder, "build"), {
      recursive: true,
      preserveTimestamps: true,
    });
    fs.rmSync(path.join(folder, "build", "Release", "tap.node"));
    const { code, output } = await runInstaller(folder, process.env);
    assert.equal(code, 0, output);
    assert.match(output, new RegExp(`this package has no prebuilt addon for ${PLATFORM}`));
    assert.match(output, /native addon built in/);
    assert.ok(fs.existsSync(path.join(folder, "build", "Release", "tap.node")));
    await loadAddon(folder);
  });

  test("names the fault and its needs where its addon does not load and no compiler is there", async (t) => {
    const { tarball } = await tarballOf(t);
    const folder = await unpacked(t, tarball);
    fs.writeFileSync(path.join(folder, PREBUILT), "no addon");
    const { code, output } = await runInstaller(folder, bareMachine(t).env);
    assert.equal(code, 1);
    assert.match(output, /the prebuilt addon for \S+ does not load here: .+/);
    assert.match(output, /lacks:\ntap: {3}a C\+\+20 compiler .*\ntap: {3}make\ntap: {3}Python 3/);
    await assert.rejects(loadAddon(folder), /tap's native addon does not load/);
  });
});
