// Numbers from the environment: one reader, the same answer wherever it is asked.

import assert from "node:assert/strict";
import { test } from "node:test";
import { addon } from "../../../js/lib/addon.mjs";
import { readLimit, readLimits } from "../../../js/lib/limits.mjs";
import { parseWholeNumber } from "../../../js/lib/values.mjs";
import { gatewayPort } from "../../../js/lib/paths.mjs";
import { whereabouts } from "../../../sdk/node/where.mjs";

const NO_NUMBERS = [
  ...["10s", "-1", "1e3", "1.0", " 5", "5 ", "0x10", "NaN", "Infinity", "+5", "1_000", "ten", " "],
  ...["4294967296", "1099511627776", "9".repeat(400), "\u0663", "5\n", "null", "true", "[5]"],
];
/** The longest delay of setTimeout: with a longer one it fires at once. */
const MOST_OF_A_TIMER = 2 ** 31 - 1;

// shows: P-LIMIT-13
test("a variable that is no number leaves each limit as it is, and is complained about", () => {
  for (const { name, env, value } of addon.limits) {
    for (const text of NO_NUMBERS) {
      const found = readLimits({ [env]: text }).find((limit) => limit.name === name);
      assert.equal(found?.value, value, `${env}=${text}`);
      assert.match(String(found?.wrong), new RegExp(`^${env} is ".*", which is `, "s"));
      assert.equal(readLimit(name, { [env]: text }), value);
    }
    for (const text of [undefined, ""]) {
      const found = readLimits({ [env]: text }).find((limit) => limit.name === name);
      assert.deepEqual([found?.value, found?.wrong], [value, undefined]);
    }
  }
});

test("a variable in its bounds is in force, for each limit", () => {
  for (const { name, env, least, most, unit } of addon.limits) {
    for (const number of [least, least + 1, most - 1, most]) {
      assert.equal(readLimit(name, { [env]: String(number) }), number);
    }
    assert.match(
      String(readLimits({ [env]: String(most + 1) }).find((one) => one.name === name)?.wrong),
      /more than/,
    );
    // With what is added to it for a margin.
    if (unit === "ms") assert.ok(most + 60_000 < MOST_OF_A_TIMER, name);
  }
});

test("there is no limit of another name", () => {
  assert.throws(() => readLimit("guard"), /there is no limit "guard"/);
});

test("a whole number is decimal digits in its bounds", () => {
  for (const text of [...NO_NUMBERS, "", undefined]) {
    assert.equal(parseWholeNumber(text, 0, 1_000_000), undefined, text);
  }
  assert.equal(parseWholeNumber("0", 0, 9), 0);
  assert.equal(parseWholeNumber("9", 0, 9), 9);
  assert.equal(parseWholeNumber("10", 0, 9), undefined);
  assert.equal(parseWholeNumber("007", 0, 9), 7);
});

test("a port is decimal digits, for the gateway and for the SDK", () => {
  for (const text of [...NO_NUMBERS, "0", "65536", "9400.0", "0x2400"]) {
    const env = { TAP_GATEWAY_PORT: text };
    assert.throws(() => gatewayPort(env), /which is not a port/, text);
    assert.throws(() => whereabouts({}, env), /which is not a port/, text);
    assert.equal(whereabouts({ port: 1 }, env).url, "ws://localhost:1");
    assert.equal(whereabouts({ url: "ws://x" }, env).url, "ws://x");
  }
  assert.equal(gatewayPort({ TAP_GATEWAY_PORT: "9401" }), 9401);
  assert.equal(whereabouts({}, { TAP_GATEWAY_PORT: "9401" }).url, "ws://localhost:9401");
  assert.equal(whereabouts({}, {}).url, "ws://localhost:9400");
});
