// The wall of programs of nodes, at length: each attempt in each place, without a sandbox, and random programs.
// TAP_TEST_SEED repeats some, TAP_WALL_SECONDS says how long.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ATTEMPTS } from "./wall-attempts.mjs";
import { formatProgram, randomFrom } from "./wall-programs.mjs";
import { makeWorld, runAttempts, tryInOtherPlaces, watchWorld } from "./wall-rig.mjs";

const linux = { skip: process.platform !== "linux" };
const unwanted = ATTEMPTS.filter(({ wanted }) => !wanted);
const SECONDS = Number(process.env.TAP_WALL_SECONDS ?? 60);
const SEED = Number(process.env.TAP_TEST_SEED ?? Date.now() % 90_000_000);
const PROGRAMS = 32;

test("without a sandbox the same attempts succeed: the list bites", linux, async (t) => {
  const world = await makeWorld(t);
  world.session.consent = { answer: "yes" };
  const harmless = unwanted.filter(({ sandboxOnly }) => !sandboxOnly);
  const found = await runAttempts(world, harmless, { sandbox: "off" });
  const done = harmless.filter(({ name }) => found.get(name)?.isDone);
  t.diagnostic(`${done.length} of ${harmless.length} succeed without a sandbox`);
  assert.ok(done.length > 0.9 * harmless.length, `${done.length} of ${harmless.length}`);
});

test("setups, checks, hooks and filters can do none of what is unwanted", linux, (t) =>
  tryInOtherPlaces(t, unwanted),
);

test("random programs change nothing but their worktree", linux, async (t) => {
  const world = await makeWorld(t);
  const listChanged = watchWorld(world.target);
  const end = Date.now() + SECONDS * 1000;
  let seed = SEED;
  for (; Date.now() < end; seed += PROGRAMS) {
    const programs = Array.from({ length: PROGRAMS }, (_, at) => {
      const random = randomFrom(seed + at);
      return { name: String(seed + at), command: () => formatProgram(random, world.target) };
    });
    await runAttempts(world, programs);
    assert.deepEqual(listChanged(), [], `TAP_TEST_SEED=${seed}`);
  }
  world.git("fsck", "--strict");
  t.diagnostic(`${seed - SEED} programs`);
});
