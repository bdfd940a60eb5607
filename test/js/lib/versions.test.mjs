// Which of two versions is newer.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isNewer } from "../../../js/lib/versions.mjs";

test("isNewer puts a pre-release before its release, and pre-releases in their order", () => {
  const order =
    "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc-1.1 1.0.0 1.0.1-0";
  const versions = order.split(" ");
  for (const [i, a] of versions.entries()) {
    for (const [j, b] of versions.entries()) assert.equal(isNewer(a, b), i > j, `${a} > ${b}`);
  }
  assert.equal(isNewer("1.0.0-rc.1+build.9", "1.0.0-rc.1+build.10"), false);
});

test("isNewer compares numbers, not texts", () => {
  for (const [a, b] of [
    ["0.10.0", "0.9.0"],
    ["1.0.0", "0.99.99"],
    ["1.0.1", "1.0"],
    ["2", "1.9.9"],
  ]) {
    assert.equal(isNewer(a, b), true, `${a} > ${b}`);
    assert.equal(isNewer(b, a), false, `${b} > ${a}`);
  }
  for (const [a, b] of [
    ["1.0.0", "1.0.0"],
    ["1.0.0-beta", "1.0.0"],
    ["nonsense", "0.0.0"],
  ]) {
    assert.equal(isNewer(a, b), false, `${a} > ${b}`);
  }
});
