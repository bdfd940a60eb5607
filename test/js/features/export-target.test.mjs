// The variables of OpenTelemetry: what follows from each, and what a bad one gets.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isExportRequested, telemetryVariables } from "../../../js/lib/telemetry.mjs";
import { readExportTarget } from "../../../js/features/records/export-target.mjs";

const ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const SECRET = "s3cr3t-of-the-receiver";

/** @param {Record<string, string>} variables */
const good = (variables) => {
  const { target, problems } = readExportTarget({ [ENDPOINT]: "http://h:4318", ...variables });
  assert.deepEqual(problems, []);
  assert.ok(target);
  return target;
};

/** @param {Record<string, string>} variables */
const bad = (variables) => {
  const { target, problems } = readExportTarget({ [ENDPOINT]: "http://h:4318", ...variables });
  for (const problem of problems) {
    assert.ok(problem.length < 300, problem);
    assert.ok(!problem.includes(SECRET), problem);
  }
  return { target, said: problems.join("\n") };
};

describe("the variables", () => {
  test("that a gateway host inherits are those of the export, and no others", () => {
    const passed = {
      [ENDPOINT]: "http://h",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "a=b",
      OTEL_SERVICE_NAME: "shop",
      OTEL_RESOURCE_ATTRIBUTES: "a=b",
      OTEL_SDK_DISABLED: "false",
      OTEL_TRACES_EXPORTER: "otlp",
    };
    const others = {
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "x",
      OTEL_LOG_LEVEL: "x",
      XOTEL_SERVICE_NAME: "x",
      OTEL_EXPORTER_OTLP_TIMEOUT: "",
      COPILOT_OTEL_ENABLED: "true",
      GH_TOKEN: "x",
    };
    assert.deepEqual(telemetryVariables({ ...passed, ...others }), passed);
    const long = telemetryVariables({ OTEL_SERVICE_NAME: "x".repeat(1_000_000) });
    assert.equal(long.OTEL_SERVICE_NAME.length, 8193);
  });

  test("ask for an export where one names an endpoint, and none says otherwise", () => {
    assert.equal(isExportRequested({}), false);
    assert.equal(isExportRequested({ OTEL_SERVICE_NAME: "shop" }), false);
    assert.equal(isExportRequested({ [ENDPOINT]: "http://h" }), true);
    assert.equal(isExportRequested({ [TRACES_ENDPOINT]: "http://h" }), true);
    const off = { OTEL_SDK_DISABLED: "TRUE" };
    assert.equal(isExportRequested({ [ENDPOINT]: "http://h", ...off }), false);
    const exporters = { "console, otlp": true, otlp: true, none: false, console: false };
    for (const [OTEL_TRACES_EXPORTER, asks] of Object.entries(exporters)) {
      assert.equal(isExportRequested({ [ENDPOINT]: "http://h", OTEL_TRACES_EXPORTER }), asks);
    }
  });
});

describe("the endpoint", () => {
  test("gets the path of spans, and that of spans alone is taken as it is", () => {
    assert.equal(good({}).url, "http://h:4318/v1/traces");
    assert.equal(good({ [ENDPOINT]: "https://h/otlp/?k=v" }).url, "https://h/otlp/v1/traces?k=v");
    const own = good({ [TRACES_ENDPOINT]: "http://i/x?y" });
    assert.deepEqual([own.url, own.shown], ["http://i/x?y", "http://i"]);
    assert.equal(good({ [TRACES_ENDPOINT]: " " }).url, "http://h:4318/v1/traces");
  });

  const wrong = ["h:4318", "file:///etc/passwd", "http://", "localhost", "javascript:1", "\u0000"];
  for (const url of [...wrong, `http://me:${SECRET}@h/`, `http://${SECRET}@h/`]) {
    test(`${JSON.stringify(url)} is refused, and not quoted`, () => {
      const { target, said } = bad({ [TRACES_ENDPOINT]: url });
      assert.equal(target, undefined);
      assert.match(said, /^OTEL_EXPORTER_OTLP_(TRACES_)?ENDPOINT (is not|has a user name)/);
    });
  }

  test("that is too long is refused", () => {
    const { target, said } = bad({ [ENDPOINT]: `http://h/${"x".repeat(9000)}` });
    assert.equal(target, undefined);
    assert.match(said, /longer than 8192 characters/);
  });
});

describe("the headers", () => {
  test("are percent-decoded, and those of spans come last", () => {
    const { headers } = good({
      OTEL_EXPORTER_OTLP_HEADERS: "Api-Key=a%20b%2Cc, x = 1 ,,",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "X=2=3",
    });
    assert.deepEqual(headers, { "api-key": "a b,c", x: "2=3" });
  });

  const wrong = {
    [SECRET]: /Pair 1 .* is not name=value/,
    [`=${SECRET}`]: /Pair 1/,
    [`a=%E0%A4${SECRET}`]: /Pair 1/,
    [`a=${SECRET}%0d%0aX-Other:1`]: /cannot be sent/,
    [`a=${SECRET}%00`]: /cannot be sent/,
    [`a%20b=${SECRET}`]: /cannot be sent/,
    [`content-type=${SECRET}`]: /cannot be sent/,
    [`Host=${SECRET}`]: /cannot be sent/,
    [`a=${SECRET}%E2%82%AC`]: /cannot be sent/,
    [Array(100).fill(`a=${SECRET}`).join()]: /more than 64 pairs/,
    [`a=${SECRET.repeat(500)}`]: /longer than 8192/,
  };
  for (const [text, pattern] of Object.entries(wrong)) {
    test(`${JSON.stringify(text.slice(0, 40))} is left out, and not quoted`, () => {
      const { target, said } = bad({
        OTEL_EXPORTER_OTLP_HEADERS: text,
        OTEL_EXPORTER_OTLP_TRACES_HEADERS: "good=1",
      });
      assert.match(said, pattern);
      assert.equal(target?.headers.good, "1");
      assert.doesNotThrow(() => new Headers(target?.headers));
    });
  }
});

describe("the rest", () => {
  test("says how long, how and as what", () => {
    const target = good({
      OTEL_EXPORTER_OTLP_TIMEOUT: "250",
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_RESOURCE_ATTRIBUTES: "service.name=one,deployment.environment=dev%2Ctest,__proto__=x",
      OTEL_SERVICE_NAME: "two",
    });
    assert.deepEqual([target.timeoutMs, target.compress], [250, true]);
    assert.deepEqual(Object.entries(target.resource), [
      ["service.name", "two"],
      ["deployment.environment", "dev,test"],
      ["__proto__", "x"],
    ]);
    const usual = good({ OTEL_EXPORTER_OTLP_COMPRESSION: "none" });
    assert.deepEqual([usual.timeoutMs, usual.compress], [10_000, false]);
    assert.deepEqual(usual.resource, { "service.name": "copilot-tap" });
    const own = good({ OTEL_EXPORTER_OTLP_TIMEOUT: "5", OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "7" });
    assert.equal(own.timeoutMs, 7);
  });

  for (const text of ["0", "-1", "1e3", "60001", "99999999999", "ten", "\u001b[2J", "0x10"]) {
    test(`the timeout ${JSON.stringify(text)} is replaced by the default`, () => {
      const { target, said } = bad({ OTEL_EXPORTER_OTLP_TIMEOUT: text });
      assert.equal(target?.timeoutMs, 10_000);
      assert.match(said, /OTEL_EXPORTER_OTLP_TIMEOUT=".*" is not a whole number from 1 to 60000/);
    });
  }

  for (const text of ["grpc", "http/protobuf", "x".repeat(5000)]) {
    test(`the protocol ${text.slice(0, 20)} is refused in words`, () => {
      const { target, said } = bad({ OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: text });
      assert.equal(target, undefined);
      assert.match(said, /tap exports by http\/json alone.*TRACES_PROTOCOL=http\/json/);
    });
  }

  test("another compression, certificates and wrong attributes are left out and named", () => {
    const { target, said } = bad({
      OTEL_EXPORTER_OTLP_COMPRESSION: "zstd",
      OTEL_EXPORTER_OTLP_CERTIFICATE: "/etc/ca.pem",
      OTEL_RESOURCE_ATTRIBUTES: "a=%zz,b=1",
    });
    assert.equal(target?.compress, false);
    assert.deepEqual(target?.resource, { b: "1", "service.name": "copilot-tap" });
    assert.match(said, /zstd" is neither gzip nor none/);
    assert.match(said, /OTEL_EXPORTER_OTLP_CERTIFICATE is not supported/);
    assert.match(said, /Pair 1 of OTEL_RESOURCE_ATTRIBUTES/);
  });
});
