// Programs of nodes behind their wall: everyday work works, and whatever else they try fails by the kernel's word.

import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { ATTEMPTS } from "./wall-attempts.mjs";
import { makeWorld, runAttempts, tryInOtherPlaces, watchWorld } from "./wall-rig.mjs";

const linux = { skip: process.platform !== "linux" };
const unwanted = ATTEMPTS.filter(({ wanted }) => !wanted);

test(
  "nodes can do what is wanted, and nothing else: all around them is as before",
  linux,
  async (t) => {
    const world = await makeWorld(t);
    const listChanged = watchWorld(world.target);
    const found = await runAttempts(world, ATTEMPTS);
    const wrong = ATTEMPTS.filter(({ name, wanted }) => found.get(name)?.isDone !== wanted);
    assert.deepEqual(
      wrong.map(({ name }) => `${name}: ${found.get(name)?.said}`),
      [],
    );
    assert.deepEqual(listChanged(), []);
    const { pid } = world.target;
    assert.match(fs.readFileSync(`/proc/${pid}/stat`, "utf8"), /\) S /, "a process of the user");
    world.git("fsck", "--strict");
  },
);

test("setups, checks, hooks and filters can do none of it either", linux, (t) =>
  tryInOtherPlaces(
    t,
    unwanted.filter((_, at) => at % 4 === 0),
  ),
);
