// What a feature's POST is bounded by. Receivers of every kind are in test/js/features/span-export.test.mjs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { post } from "../../../js/feature-host/network.mjs";
import { createImplementations } from "../../../js/feature-host/services.mjs";
import { EventLoopMonitor } from "../../../js/feature-host/event-loop-monitor.mjs";
import { OtlpReceiver } from "../../support/otlp-receiver.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const EMPTY = JSON.stringify({ resourceSpans: [] });

test("a request that is not one of HTTP, or knows no bounds, is refused", async () => {
  const good = { url: "http://localhost:1", body: "", timeoutMs: 100 };
  const wrong = [
    { url: "file:///etc/passwd" },
    { url: "ftp://localhost" },
    { url: "" },
    { url: undefined },
    { body: {} },
    { body: "x".repeat(16 * 1024 * 1024 + 1) },
    { timeoutMs: 0 },
    { timeoutMs: 60_001 },
    { timeoutMs: NaN },
    { timeoutMs: "5" },
  ];
  for (const fields of wrong) {
    const given = /** @type {any} */ ({ ...good, ...fields });
    const error = await post(given).catch((one) => one);
    assert.ok(error instanceof TypeError || error instanceof RangeError, `${error}`);
  }
});

test("the timers of fetch are not those of the feature", async (t) => {
  const receiver = await OtlpReceiver.start(t);
  const watch = new EventLoopMonitor(() => {});
  t.after(() => watch.stop());
  const telemetry = { variables: { OTEL_SERVICE_NAME: "shop" }, recorded: true, since: 7 };
  const greeting = { home: temporaryFolder(t), telemetry, env: process.env };
  const leave = (work) => watch.leave(work);
  const { implementations } = createImplementations(
    "builtin:x",
    greeting,
    /** @type {any} */ ({}),
    leave,
  );
  const given = { url: receiver.url, body: EMPTY, timeoutMs: 5000 };
  const answer = await watch.enter("builtin:x", () => implementations.network.post(given));
  assert.deepEqual(/** @type {any} */ (answer).status, 200);
  assert.equal(watch.clearTimers("builtin:x"), 0);
  assert.deepEqual(implementations.telemetry.settings(), {
    variables: { OTEL_SERVICE_NAME: "shop" },
    since: 7,
  });
});
