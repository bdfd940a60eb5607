// Installing, updating and uninstalling: with real folders, and a process that is killed in the middle.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { explained, install } from "../../../js/install/install.mjs";
import { inspect, projectTarget, userTarget } from "../../../js/install/target.mjs";
import { uninstall } from "../../../js/install/uninstall.mjs";
import { relationOf } from "../../../js/install/update.mjs";
import {
  failureIn,
  killedAt,
  makeHome,
  makePackage,
  runEntry,
  writeFiles,
} from "../../support/install-place.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const said = (version) => `${version} one:1 two:2`;
const releasesOf = ({ folder }) => fs.readdirSync(path.join(folder, "releases")).sort();
const versionsOf = (target) =>
  releasesOf(target).map((id) => id.replace(/-[0-9a-f]{12}(\.\d+)?$/, ""));

/** A home in which this version is installed. @param {import("node:test").TestContext} t @param {string} [version] */
function installed(t, version = "1.0.0") {
  const target = userTarget(makeHome(t));
  const root = makePackage(t, version);
  install(root, target);
  return { target, root };
}

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

/** @param {() => void} work @param {string} code @param {RegExp} text of message and advice */
function refuses(work, code, text) {
  assert.throws(work, (error) => {
    assert.equal(error.code, code, error.stack);
    assert.match(`${error.message}\n${error.advice}`, text);
    return true;
  });
}

describe("install refuses, and leaves what was there:", () => {
  test("a checkout, unless --force; uninstall puts its entry back", (t) => {
    const target = userTarget(makeHome(t));
    const manifest = '{"name": "copilot-tap", "version": "0.9.0"}';
    const checkout = { ".git/HEAD": "", "package.json": manifest, "extension.mjs": "// mine\n" };
    writeFiles(target.folder, checkout);
    const root = makePackage(t, "1.0.0");
    refuses(() => install(root, target), "NOT_OURS", /git pull && npm install/);
    refuses(() => relationOf(target, "1.0.0"), "NOT_OURS", /git pull && npm install/);
    refuses(() => uninstall(target), "NOT_OURS", /remove it yourself/);
    assert.equal(fs.readFileSync(path.join(target.folder, "extension.mjs"), "utf8"), "// mine\n");

    install(root, target, { force: true });
    assert.equal(runEntry(target), said("1.0.0"));
    assert.equal(uninstall(target).restored, true);
    for (const [name, content] of Object.entries(checkout)) {
      assert.equal(fs.readFileSync(path.join(target.folder, name), "utf8"), content);
    }
  });

  test("a copy that was put there by hand", (t) => {
    const target = userTarget(makeHome(t));
    writeFiles(target.folder, {
      "package.json": '{"name": "copilot-tap", "version": "0.9.0"}',
      "extension.mjs": "",
    });
    refuses(() => install(makePackage(t, "1.0.0"), target), "NOT_OURS", /npm install --omit=dev/);
  });

  test("somebody else's extension of that name", (t) => {
    const target = userTarget(makeHome(t));
    writeFiles(target.folder, { "extension.mjs": "// hers" });
    refuses(() => install(makePackage(t, "1.0.0"), target), "NOT_OURS", /is not tap's/);
  });

  test("links and files in the place of its folders", (t) => {
    const root = makePackage(t, "1.0.0");
    const elsewhere = temporaryFolder(t);
    for (const [where, code, put] of [
      ["extensions/tap", "LINK_IN_THE_WAY", (place) => fs.symlinkSync(elsewhere, place)],
      ["extensions/tap/releases", "LINK_IN_THE_WAY", (place) => fs.symlinkSync(elsewhere, place)],
      ["extensions/tap", "FILE_IN_THE_WAY", (place) => fs.writeFileSync(place, "")],
      ["extensions", "NOT_WRITABLE", (place) => fs.writeFileSync(place, "")],
    ]) {
      const home = makeHome(t);
      const place = path.join(home, where);
      fs.mkdirSync(path.dirname(place), { recursive: true });
      put(place);
      refuses(() => install(root, userTarget(home), { force: true }), code, /away|remove the link/);
    }
    assert.deepEqual(fs.readdirSync(elsewhere), []);
  });

  test("a package without an addon, and one that does not run", (t) => {
    const { target } = installed(t);
    const bare = makePackage(t, "1.1.0");
    fs.rmSync(path.join(bare, "build"), { recursive: true });
    refuses(() => install(bare, target), "NO_ADDON", /installer\.mjs/);
    const broken = makePackage(t, "1.1.0", {
      "js/extension/runtime.mjs": "throw new Error('no');",
    });
    refuses(() => install(broken, target), "DOES_NOT_RUN", /does not run on this machine: no/);
    const incomplete = makePackage(t, "1.1.0");
    fs.rmSync(path.join(incomplete, "node_modules/two"), { recursive: true });
    refuses(() => install(incomplete, target), "INCOMPLETE", /two is missing [^]*npm install/);
    assert.equal(runEntry(target), said("1.0.0"));
    assert.deepEqual(versionsOf(target), ["1.0.0"]);
  });

  test("a package that cannot be installed, and leaves no folder in the way of a link", (t) => {
    const target = userTarget(makeHome(t));
    const bare = makePackage(t, "1.0.0");
    fs.rmSync(path.join(bare, "build"), { recursive: true });
    refuses(() => install(bare, target), "NO_ADDON", /installer\.mjs/);
    assert.ok(!fs.existsSync(target.folder));
  });

  test("a second one beside it", async (t) => {
    const { target } = installed(t);
    const holder = spawn("sleep", ["600"], { stdio: "ignore" });
    t.after(() => holder.kill("SIGKILL"));
    fs.writeFileSync(path.join(target.folder, ".install-lock"), String(holder.pid));
    const newer = makePackage(t, "1.1.0");
    refuses(() => install(newer, target), "BUSY", new RegExp(`pid ${holder.pid}`));
    holder.kill("SIGKILL");
    await once(holder, "exit");
    install(newer, target);
    assert.equal(runEntry(target), said("1.1.0"));
  });

  test("a disk that does not take all of it", async (t) => {
    const { target } = installed(t);
    const large = makePackage(t, "1.1.0", { "js/large.mjs": `//${"x".repeat(300_000)}` });
    const failure = await failureIn(large, target, { limits: "ulimit -f 100" });
    assert.equal(failure.code, "NOT_WRITABLE");
    assert.match(failure.message, /cannot be written/);
    assert.equal(runEntry(target), said("1.0.0"));
    assert.deepEqual(versionsOf(target), ["1.0.0"]);
    const full = Object.assign(new Error("write"), { code: "ENOSPC" });
    assert.match(explained(full, "/home").message, /the disk is full/);
  });

  test("a home that the user may not write to", async (t) => {
    const { target } = installed(t);
    const newer = makePackage(t, "1.1.0");
    // Root may write everywhere: as root this is tried by another.
    const uid = process.getuid() === 0 ? 65534 : undefined;
    if (uid) execFileSync("chmod", ["-R", "a+rX", newer, path.resolve(target.folder, "../..")]);
    else fs.chmodSync(target.folder, 0o555);
    const failure = await failureIn(newer, target, { uid });
    if (!uid) fs.chmodSync(target.folder, 0o755);
    assert.equal(failure.code, "NOT_WRITABLE");
    assert.match(failure.advice, /permissions/);
    assert.equal(runEntry(target), said("1.0.0"));
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
      const files = { ".provider-token": "", ".gateway-9400.json": "{}", "consent.json": "{}" };
      writeFiles(target.folder, { ...files, ".run/link-9400": "" });
      const { kept, gatewayRuns } = uninstall(target, { purge, logs });
      assert.equal(gatewayRuns, false);
      assert.equal(kept.length, purge ? 0 : 2);
      assert.equal(fs.existsSync(logs), !purge);
      if (purge) assert.ok(!fs.existsSync(target.folder));
      else assert.deepEqual(fs.readdirSync(target.folder), ["consent.json"]);
      refuses(() => uninstall(target), "NOT_INSTALLED", /--home/);
    }
  });

  test("leaves the files of a gateway that runs to it", (t) => {
    const { target } = installed(t);
    const descriptor = JSON.stringify({ pid: process.pid });
    writeFiles(target.folder, { ".provider-token": "", ".gateway-9400.json": descriptor });
    assert.equal(uninstall(target).gatewayRuns, true);
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
    assert.deepEqual(relationOf(target, version), { installed: "1.2.0", relation });
  }
  const nowhere = userTarget(makeHome(t));
  refuses(() => relationOf(nowhere, "1.0.0"), "NOT_INSTALLED", /copilot-tap install/);
});
