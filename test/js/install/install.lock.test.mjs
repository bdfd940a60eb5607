// One install at a time, and none that waits for a process that is gone.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { programFolder } from "../../../js/lib/paths.mjs";
import { withLock } from "../../../js/install/lock.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const LOCK = ".install-lock";
const module = pathToFileURL(path.join(programFolder, "js/install/lock.mjs")).href;

/** A folder whose name a shell would take apart. @param {import("node:test").TestContext} t */
function somewhere(t) {
  const folder = path.join(temporaryFolder(t), "a folder");
  fs.mkdirSync(folder);
  return { folder, lock: path.join(folder, LOCK) };
}

/** @param {import("node:test").TestContext} t */
function living(t) {
  const child = spawn("sleep", ["600"], { stdio: "ignore" });
  t.after(() => child.kill("SIGKILL"));
  return child;
}

/** @param {string} folder */
const works = (folder) => {
  assert.equal(
    withLock(folder, () => 42),
    42,
  );
  assert.deepEqual(fs.readdirSync(folder), []);
};

describe("the lock of an install", () => {
  test("names its process and is gone afterwards, also after an error", (t) => {
    const { folder, lock } = somewhere(t);
    withLock(folder, () => {
      assert.deepEqual(fs.readdirSync(folder), [LOCK]);
      const record = fs.readFileSync(lock, "utf8");
      assert.match(record, new RegExp(`^${process.pid}( \\S+)?$`));
      assert.ok(record.length <= 64);
    });
    const failing = () => withLock(folder, () => assert.fail("as it is meant"));
    assert.throws(failing, /as it is meant/);
    works(folder);
  });

  test("of a living process is waited for, and its file is named as a shell takes it", (t) => {
    const { folder, lock } = somewhere(t);
    fs.writeFileSync(lock, String(living(t).pid));
    assert.throws(() => withLock(folder, () => 42), {
      code: "BUSY",
      advice: new RegExp(`rm '${lock}'$`),
    });
  });

  test("of a killed one is ignored, also where its pid is another's now", async (t) => {
    const { folder, lock } = somewhere(t);
    const script = `import { withLock } from ${JSON.stringify(module)};
      withLock(process.argv[1], () => process.kill(process.pid, "SIGKILL"));`;
    const killed = spawn(process.execPath, ["--input-type=module", "-e", script, folder]);
    await once(killed, "exit");
    const [pid, started] = fs.readFileSync(lock, "utf8").split(" ");
    assert.equal(Number(pid), killed.pid);
    const later = living(t);
    fs.writeFileSync(lock, `${later.pid} ${started}`);
    works(folder);
  });

  test("without a record is one that is being written, for a while", (t) => {
    const { folder, lock } = somewhere(t);
    for (const content of ["", "no pid", "1".repeat(1 << 20)]) {
      fs.writeFileSync(lock, content);
      assert.throws(() => withLock(folder, () => 42), { code: "BUSY" });
      fs.utimesSync(lock, new Date(), new Date(Date.now() - 60_000));
      works(folder);
    }
  });

  test("is no folder, no link and no pipe, and says so", (t) => {
    const puts = {
      folder: (lock) => fs.mkdirSync(lock),
      link: (lock) => fs.symlinkSync("nowhere", lock),
      pipe: (lock) => execFileSync("mkfifo", [lock]),
    };
    for (const put of Object.values(puts)) {
      const { folder, lock } = somewhere(t);
      put(lock);
      assert.throws(() => withLock(folder, () => 42), {
        code: "FILE_IN_THE_WAY",
        advice: /move it away/,
      });
      assert.deepEqual(fs.readdirSync(folder), [LOCK]);
    }
  });

  test("that somebody else takes over first is not taken from him", (t) => {
    const { folder, lock } = somewhere(t);
    const other = String(living(t).pid);
    fs.writeFileSync(lock, "99999999");
    const link = fs.linkSync;
    t.mock.method(fs, "linkSync", (from, to) => {
      // In the moment between what was read and what is removed.
      if (to !== lock) fs.writeFileSync(lock, other);
      link(from, to);
    });
    assert.throws(() => withLock(folder, () => 42), { code: "BUSY" });
    assert.equal(fs.readFileSync(lock, "utf8"), other);
    assert.deepEqual(fs.readdirSync(folder), [LOCK]);
  });

  test("is taken where files cannot have two names", (t) => {
    const { folder } = somewhere(t);
    t.mock.method(fs, "linkSync", () => {
      throw Object.assign(new Error("link"), { code: "EPERM" });
    });
    works(folder);
  });

  test("a stale one goes to one of many that find it", async (t) => {
    const { folder, lock } = somewhere(t);
    fs.writeFileSync(lock, "99999999");
    fs.writeFileSync(`${lock}.takeover`, "99999998"); // of one that was killed in the middle
    // Whoever has it keeps it until all have tried.
    const script = `import { withLock } from ${JSON.stringify(module)};
      import fs from "node:fs";
      process.stdin.once("data", () => {
        try {
          withLock(process.argv[1], () => {
            fs.writeSync(1, "have");
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
          });
        } catch (error) { console.log(error.code); }
        process.exit();
      });
      console.log("ready");`;
    const children = Array.from({ length: 6 }, () =>
      spawn(process.execPath, ["--input-type=module", "-e", script, folder]),
    );
    t.after(() => children.forEach((child) => child.kill("SIGKILL")));
    const says = (child) => once(child.stdout, "data").then(([text]) => String(text).trim());
    await Promise.all(children.map(says));
    const answers = children.map(says);
    for (const child of children) child.stdin.write("x");
    const said = await Promise.all(answers);
    assert.deepEqual(said.sort(), ["BUSY", "BUSY", "BUSY", "BUSY", "BUSY", "have"]);
  });
});
