// Which Node.js runs the gateway, and with what environment.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { findNode, gatewayEnvironment, hostEnvironment } from "../../../js/lib/node.mjs";
import { temporaryFolder } from "../../support/harness.mjs";

test("host's environment: what it needs, and no secret of the session", () => {
  const passed = { PATH: "/bin", HOME: "/h", COPILOT_HOME: "/c", TAP_GRACE_MS: "1", LANG: "C" };
  const secret = {
    GITHUB_TOKEN: "x",
    SESSION_ID: "x",
    NODE_OPTIONS: "x",
    COPILOT_PATH: "x",
    MYPATH: "x",
  };
  assert.deepEqual(hostEnvironment({ ...passed, ...secret }), passed);
});

test("the gateway host inherits where spans go, and passes it to no program", () => {
  const telemetry = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://h", OTEL_EXPORTER_OTLP_HEADERS: "k=v" };
  const env = { PATH: "/bin", GITHUB_TOKEN: "x", ...telemetry };
  assert.deepEqual(gatewayEnvironment(env), { PATH: "/bin", ...telemetry });
  assert.deepEqual(hostEnvironment(env), { PATH: "/bin" });
});

/** A program that says that version. @param {string} folder @param {string} name @param {string} says */
function fakeNode(folder, name, says) {
  const file = path.join(folder, name);
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(file, `#!/bin/sh\necho run >> "${file}.runs"\necho "${says}"\n`, {
    mode: 0o755,
  });
  return file;
}

test("findNode passes over a Node that is too old, and one that does not say its version", (t) => {
  const folder = temporaryFolder(t);
  const [old, mute, good] = ["old", "mute", "good"].map((name) => path.join(folder, name));
  fakeNode(old, "node", "v18.20.8");
  fakeNode(mute, "node", "hello");
  const right = fakeNode(good, "node", "v20.19.0");
  const PATH = [old, mute, good].join(path.delimiter);
  assert.equal(findNode({ PATH }, ""), right);
  assert.equal(findNode({ PATH, TAP_NODE: path.join(old, "node") }, ""), right);
});

test("findNode asks a Node for its version once, and again once it has changed", (t) => {
  const folder = temporaryFolder(t);
  const file = fakeNode(folder, "node", "v18.0.0");
  const runs = () => fs.readFileSync(`${file}.runs`, "utf8").trim().split("\n").length;
  for (let i = 0; i < 3; ++i) assert.notEqual(findNode({ TAP_NODE: file }, ""), file);
  assert.equal(runs(), 1);
  fakeNode(folder, "node", "v22.0.0");
  fs.utimesSync(file, new Date(), new Date(Date.now() + 5000));
  assert.equal(findNode({ TAP_NODE: file }, ""), file);
  assert.equal(runs(), 2);
});

test("findNode: TAP_NODE first, and only what can be run", (t) => {
  const folder = temporaryFolder(t);
  const own = fakeNode(folder, "my-node", "v22.1.0");
  const plain = path.join(folder, "plain");
  fs.writeFileSync(plain, "", { mode: 0o644 });
  assert.equal(findNode({ TAP_NODE: own }), own);
  for (const useless of [plain, folder, path.join(folder, "none"), "my-node"]) {
    assert.equal(findNode({ TAP_NODE: useless }), process.execPath);
  }
});
