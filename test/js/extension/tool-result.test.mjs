// Results, as the CLI's SDK takes them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { toToolResult } from "../../../js/extension/calls.mjs";

test("results: text, bytes and failures as the SDK wants them", () => {
  assert.deepEqual(toToolResult("12 °C"), { textResultForLlm: "12 °C", resultType: "success" });
  const failure = { code: "TIMEOUT", text: "too late" };
  assert.deepEqual(toToolResult(failure), {
    textResultForLlm: "too late",
    resultType: "failure",
    error: "too late",
  });
  const image = toToolResult({ text: '{"w":7}', mimeType: "image/png", data: "AAAA" });
  assert.equal(image.textResultForLlm, '{"w":7}');
  assert.deepEqual(image.binaryResultsForLlm, [
    { data: "AAAA", mimeType: "image/png", type: "image" },
  ]);
  const file = toToolResult({ text: "", mimeType: "application/pdf", data: "AAAA" });
  assert.match(file.textResultForLlm, /application\/pdf/);
  assert.equal(file.binaryResultsForLlm?.[0].type, "resource");
});
