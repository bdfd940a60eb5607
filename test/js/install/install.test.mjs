// Installing, updating and uninstalling: with real folders, and a process that is killed in the middle.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { install } from "../../../js/install/install.mjs";
import {
  inspect,
  projectTarget,
  userTarget,
  compareInstalled,
} from "../../../js/install/target.mjs";
import { uninstall } from "../../../js/install/uninstall.mjs";
import {
  installed,
  killedAt,
  makeHome,
  makePackage,
  refuses,
  releasesOf,
  runEntry,
  said,
  versionsOf,
  writeFiles,
} from "../../support/install-place.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

describe("install", () => {
  test("copies what runs, with its packages, and needs the source no more", (t) => {
    const { target, root } = installed(t);
    fs.rmSync(root, { recursive: true });
    assert.equal(runEntry(target), said("1.0.0"));
    const [id] = releasesOf(target);
    const release = path.join(target.folder, "releases", id);
    assert.ok(!fs.existsSync(path.join(release, "node_modules", "development")));
    assert.equal(fs.realpathSync(path.join(target.folder, "current")), release);
    const record = JSON.parse(fs.readFileSync(path.join(release, "build/node-path.json"), "utf8"));
    assert.deepEqual(record, { node: process.execPath });
  });

  test("makes the folder a package of a name that no update changes", (t) => {
    const { target } = installed(t);
    const manifest = path.join(target.folder, "package.json");
    const { name, exports } = JSON.parse(fs.readFileSync(manifest, "utf8"));
    assert.equal(name, "copilot-tap");
    assert.equal(exports["./provider"].default, "./current/sdk/node/provider.mjs");
    install(makePackage(t, "1.1.0"), target);
    assert.equal(inspect(target).state, "installed");
    uninstall(target);
    assert.ok(!fs.existsSync(manifest));
  });

  test("leaves a package.json that is somebody else's, and so does uninstall", (t) => {
    const target = userTarget(makeHome(t));
    fs.mkdirSync(target.folder, { recursive: true });
    const manifest = path.join(target.folder, "package.json");
    fs.writeFileSync(manifest, '{"name":"mine"}');
    install(makePackage(t, "1.0.0"), target);
    uninstall(target);
    assert.equal(fs.readFileSync(manifest, "utf8"), '{"name":"mine"}');
  });

  test("finds packages that lie beside the package's folder, as npx puts them", (t) => {
    const source = makePackage(t, "1.0.0");
    const modules = path.join(temporaryFolder(t), "node_modules");
    fs.renameSync(path.join(source, "node_modules"), modules);
    const root = path.join(modules, "copilot-tap");
    fs.renameSync(source, root);
    const target = userTarget(makeHome(t));
    install(root, target);
    assert.equal(runEntry(target), said("1.0.0"));
  });

  test("replaces an older one, keeps that, and removes those before it", (t) => {
    const { target } = installed(t);
    for (const version of ["1.1.0", "1.2.0"]) {
      const { before } = install(makePackage(t, version), target);
      assert.equal(before.state, "installed");
      assert.equal(runEntry(target), said(version));
    }
    assert.deepEqual(versionsOf(target), ["1.1.0", "1.2.0"]);
  });

  test("replaces an entry of the older layout, and uninstall removes one", (t) => {
    const { target } = installed(t);
    const entry = path.join(target.folder, "extension.mjs");
    const makeOlder = () => {
      const text = fs.readFileSync(entry, "utf8");
      fs.writeFileSync(entry, text.replace("/js/extension/start.mjs", "/js/session/start.mjs"));
      assert.equal(inspect(target).state, "installed");
    };
    makeOlder();
    install(makePackage(t, "1.1.0"), target);
    assert.equal(runEntry(target), said("1.1.0"));
    assert.deepEqual(versionsOf(target), ["1.0.0", "1.1.0"]);
    makeOlder();
    assert.equal(uninstall(target).restored, false);
    assert.ok(!fs.existsSync(entry));
  });

  test("keeps a release that a live process runs from, until it has ended", async (t) => {
    const { target } = installed(t);
    const [id] = releasesOf(target);
    const user = spawn("sleep", ["600"], { stdio: "ignore" });
    t.after(() => user.kill("SIGKILL"));
    const mark = path.join(".in-use", String(user.pid));
    writeFiles(path.join(target.folder, "releases", id), { [mark]: "" });
    install(makePackage(t, "1.1.0"), target);
    install(makePackage(t, "1.2.0"), target);
    assert.deepEqual(versionsOf(target), ["1.0.0", "1.1.0", "1.2.0"]);
    user.kill("SIGKILL");
    await once(user, "exit");
    install(makePackage(t, "1.3.0"), target);
    assert.deepEqual(versionsOf(target), ["1.2.0", "1.3.0"]);
  });

  test("copies nothing where the same is there, and repairs what is damaged", (t) => {
    const { target, root } = installed(t);
    assert.equal(install(root, target).copied, false);
    const start = "js/extension/start.mjs";
    for (const damage of [
      (release) => fs.rmSync(path.join(release, start)),
      (release) => fs.appendFileSync(path.join(release, start), "throw 1;"),
      (release) => writeFiles(release, { "js/node_modules/one/index.js": "export default 0;" }),
      (release) => fs.symlinkSync("/etc", path.join(release, "js", "elsewhere")),
    ]) {
      const damaged = fs.realpathSync(path.join(target.folder, "current"));
      damage(damaged);
      assert.equal(install(root, target).copied, true, String(damage));
      assert.equal(runEntry(target), said("1.0.0"));
      // It may be in use, so it is not taken apart at once.
      assert.ok(fs.existsSync(damaged));
    }
    assert.equal(releasesOf(target).length, 2);
  });

  test("leaves a gateway's files where they are", (t) => {
    const target = userTarget(makeHome(t));
    const files = { ".provider-token": "ptk", ".gateway-9400.json": "{}", "consent.json": "{}" };
    writeFiles(target.folder, files);
    install(makePackage(t, "1.0.0"), target);
    for (const name of Object.keys(files)) assert.ok(fs.existsSync(path.join(target.folder, name)));
  });
});

describe("an install that is killed", () => {
  const moments = [
    [{ step: "copy", files: 1 }, "1.0.0"],
    [{ step: "copy", files: 8 }, "1.0.0"],
    [{ step: "check" }, "1.0.0"],
    [{ step: "place" }, "1.0.0"],
    [{ step: "switch" }, "1.1.0"],
    [{ step: "tidy" }, "1.1.0"],
  ];
  for (const [moment, works] of moments) {
    const name = Object.values(moment).join(" ");
    test(`at "${name}" leaves ${works} working, and is made up for by the next`, async (t) => {
      const { target } = installed(t);
      const newer = makePackage(t, "1.1.0");
      assert.equal(await killedAt(newer, target, moment), "SIGKILL");
      assert.equal(runEntry(target), said(works));
      assert.equal(inspect(target).version, works);
      install(newer, target);
      assert.equal(runEntry(target), said("1.1.0"));
      assert.deepEqual(versionsOf(target), ["1.0.0", "1.1.0"]);
      assert.deepEqual(fs.readdirSync(target.folder).sort(), [
        "current",
        "extension.mjs",
        "package.json",
        "releases",
      ]);
    });
  }

  test("as the first one leaves nothing that the CLI would load", async (t) => {
    const target = userTarget(makeHome(t));
    await killedAt(makePackage(t, "1.0.0"), target, { step: "place" });
    assert.equal(inspect(target).state, "nothing");
  });
});

describe("install --local", () => {
  /** @param {import("node:test").TestContext} t */
  function repository(t) {
    const root = makeHome(t);
    execFileSync("git", ["init", "-q"], { cwd: root });
    return { root, inner: path.dirname(writeFiles(path.join(root, "a/b"), { c: "" })) };
  }

  test("goes to the work tree's top, and into no commit", (t) => {
    const { root, inner } = repository(t);
    const target = projectTarget(inner);
    assert.equal(target.folder, path.join(root, ".github/extensions/tap"));
    install(makePackage(t, "1.0.0"), target);
    assert.equal(runEntry(target), said("1.0.0"));
    const status = execFileSync("git", ["status", "--porcelain", "--", ".github"], { cwd: root });
    assert.equal(String(status), "");
    uninstall(target);
    assert.ok(!fs.existsSync(path.join(root, ".github")));
  });

  test("leaves a .gitignore that is somebody's own, and so does uninstall", (t) => {
    const target = projectTarget(repository(t).root);
    const root = makePackage(t, "1.0.0");
    const file = path.join(target.folder, ".gitignore");
    const check = (own) => {
      install(root, target);
      uninstall(target);
      assert.equal(fs.readFileSync(file, "utf8"), own);
    };
    writeFiles(target.folder, { ".gitignore": "releases/\n" });
    check("releases/\n");
    fs.rmSync(file);
    fs.symlinkSync("all", file);
    writeFiles(target.folder, { all: "*\n" });
    check("*\n");
    assert.ok(fs.lstatSync(file).isSymbolicLink());
    fs.rmSync(file);
    install(root, target);
    fs.writeFileSync(file, "*\n!kept\n");
    uninstall(target);
    assert.equal(fs.readFileSync(file, "utf8"), "*\n!kept\n");
  });

  test("goes to the folder itself where there is no repository", (t) => {
    const folder = temporaryFolder(t);
    assert.equal(projectTarget(folder).folder, path.join(folder, ".github/extensions/tap"));
    refuses(() => projectTarget(path.join(folder, "nowhere")), "NO_FOLDER", /not a folder/);
  });

  test("writes through no link that the repository brings along", (t) => {
    const outside = writeFiles(temporaryFolder(t), { precious: "precious" });
    const root = makePackage(t, "1.0.0");
    for (const link of [".github", ".github/extensions", ".github/extensions/tap"]) {
      const top = repository(t).root;
      fs.mkdirSync(path.dirname(path.join(top, link)), { recursive: true });
      fs.symlinkSync(outside, path.join(top, link));
      refuses(() => install(root, projectTarget(top)), "LINK_IN_THE_WAY", /remove the link/);
    }
    const target = projectTarget(repository(t).root);
    fs.mkdirSync(target.folder, { recursive: true });
    const names = [".gitignore", "extension.mjs", "current", "extension.mjs.before-install"];
    for (const name of names) {
      fs.symlinkSync(path.join(outside, "precious"), path.join(target.folder, name));
    }
    install(root, target, { force: true });
    assert.equal(runEntry(target), said("1.0.0"));
    assert.deepEqual(fs.readdirSync(outside), ["precious"]);
    assert.equal(fs.readFileSync(path.join(outside, "precious"), "utf8"), "precious");
  });
});

describe("uninstall", () => {
  test("takes all but what the user has allowed and the logs, and with purge these, too", (t) => {
    for (const purge of [false, true]) {
      const { target } = installed(t);
      const logs = path.resolve(target.folder, "../../logs/tap");
      writeFiles(logs, { "host.log": "" });
      const store = path.resolve(target.folder, "../../tap");
      writeFiles(store, { "records.sqlite": "" });
      const files = { ".provider-token": "", ".gateway-9400.json": "{}", "consent.json": "{}" };
      writeFiles(target.folder, { ...files, ".run/link-9400": "" });
      const { kept, gatewayRuns } = uninstall(target, { purge, data: [logs, store] });
      assert.equal(gatewayRuns, false);
      assert.equal(kept.length, purge ? 0 : 3);
      for (const folder of [logs, store]) assert.equal(fs.existsSync(folder), !purge);
      if (purge) assert.ok(!fs.existsSync(target.folder));
      else assert.deepEqual(fs.readdirSync(target.folder), ["consent.json"]);
      refuses(() => uninstall(target), "NOT_INSTALLED", /--home/);
    }
  });

  test("leaves the files of a gateway that runs to it", (t) => {
    const { target } = installed(t);
    const descriptor = JSON.stringify({ pid: process.pid });
    writeFiles(target.folder, { ".provider-token": "", ".gateway-9400.json": descriptor });
    const data = path.resolve(target.folder, "../../tap");
    writeFiles(data, { "records.sqlite": "" });
    const { gatewayRuns, kept } = uninstall(target, { purge: true, data: [data] });
    assert.deepEqual([gatewayRuns, kept], [true, [data]], "it writes there");
    const left = [".gateway-9400.json", ".provider-token"];
    assert.deepEqual(fs.readdirSync(target.folder).sort(), left);
  });
});

test("update tells whether what is installed is older, the same or newer", (t) => {
  const { target } = installed(t, "1.2.0");
  for (const [version, relation] of [
    ["1.10.0", "older"],
    ["1.2.0", "same"],
    ["1.1.9", "newer"],
  ]) {
    assert.deepEqual(compareInstalled(target, version), { installed: "1.2.0", relation });
  }
  const nowhere = userTarget(makeHome(t));
  refuses(() => compareInstalled(nowhere, "1.0.0"), "NOT_INSTALLED", /copilot-tap install/);
});
