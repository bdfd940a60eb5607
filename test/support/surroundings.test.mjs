// Work in surroundings of its own, in the process of the test.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import fs, { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { Surrounded } from "./surroundings.mjs";
import { temporaryFolder } from "./temporary.mjs";

const PRINTED = "console.log(process.cwd(), process.env.WHICH)";

/** A folder with a file, and variables. @param {import("node:test").TestContext} t @param {string} name */
function placeNamed(t, name) {
  const workspace = fs.realpathSync(temporaryFolder(t));
  fs.writeFileSync(path.join(workspace, "name.txt"), name);
  const { PATH, TZ } = process.env;
  return { workspace, env: { PATH, TZ, WHICH: name, MISSING: undefined } };
}

describe("work in surroundings of its own", () => {
  test("sees its folder, variables and streams, also where a second work runs at the same time", async (t) => {
    const before = { ...process };
    const runs = ["first", "second"].map((name) => {
      const place = placeNamed(t, name);
      const run = new Surrounded(place, async () => {
        await new Promise(setImmediate);
        process.stdout.write(`${process.env.WHICH}, ${readFileSync("name.txt", "utf8")}\n`);
        fs.writeFileSync("written.txt", name);
        await fs.promises.rename("written.txt", "renamed.txt");
        process.stderr.write(`${await text(process.stdin)}${process.stdout.isTTY}`);
        const { stdout } = await promisify(execFile)(process.execPath, ["-e", PRINTED]);
        assert.deepEqual([process.env.WHICH, "MISSING" in process.env], [name, false]);
        return [process.cwd(), path.resolve("."), os.homedir(), stdout.trim()];
      });
      return { name, run, workspace: place.workspace };
    });
    for (const { name, run, workspace } of runs) {
      const home = os.homedir();
      assert.deepEqual(await run.ended, [workspace, workspace, home, `${workspace} ${name}`]);
      assert.deepEqual([run.out, run.err], [`${name}, ${name}\n`, "undefined"]);
      assert.equal(fs.readFileSync(path.join(workspace, "renamed.txt"), "utf8"), name);
    }
    assert.deepEqual({ ...process }, before, "the process is as it was");
  });

  test("leaves the process and its other work alone", async (t) => {
    const folder = process.cwd();
    let inside = "";
    /** @type {() => void} */
    let go = () => {};
    const seen = new Promise((resolve) => (go = () => resolve(undefined)));
    const run = new Surrounded(placeNamed(t, "first"), async () => {
      await seen;
      inside = process.cwd();
    });
    assert.equal(process.cwd(), folder);
    assert.notEqual(process.env.WHICH, "first");
    go();
    await run.ended;
    assert.notEqual(inside, folder);
  });

  test("cannot end the process, nor hand its streams on, nor have a time zone", async (t) => {
    const place = placeNamed(t, "first");
    const exits = new Surrounded(place, async () => {
      setImmediate(() => assert.throws(() => process.exit(1), /tapProcess/));
      await new Promise(() => {});
    });
    await assert.rejects(exits.ended, /it ends its process/);
    const inherits = new Surrounded(place, async () => {
      await once(spawn(process.execPath, ["-v"], { stdio: "inherit" }), "close");
    });
    await assert.rejects(inherits.ended, /inherits streams/);
    const env = { ...place.env, TZ: `not ${process.env.TZ}` };
    assert.throws(() => new Surrounded({ ...place, env }, async () => {}), /single time zone/);
  });
});
