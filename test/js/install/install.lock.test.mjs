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
});
