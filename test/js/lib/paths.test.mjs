// Where the files of a gateway lie, and which port it has.

import assert from "node:assert/strict";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { copilotHome, gatewayFiles, gatewayPort } from "../../../js/lib/paths.mjs";
import { temporaryFolder } from "../../support/harness.mjs";

test("paths: everything lies under COPILOT_HOME, else under ~/.copilot", () => {
  assert.equal(copilotHome({}), path.join(os.homedir(), ".copilot"));
  const files = gatewayFiles({ COPILOT_HOME: "/h" });
  assert.equal(files.token, "/h/extensions/tap/.provider-token");
  assert.equal(files.port, 9400);
  for (const file of [files.descriptor, files.link, files.logs]) assert.ok(file.startsWith("/h/"));
  const other = gatewayFiles({ COPILOT_HOME: "/h", TAP_GATEWAY_PORT: "9401" });
  assert.notEqual(other.descriptor, files.descriptor);
  assert.notEqual(other.link, files.link);
});

test("paths: a socket's path fits however long COPILOT_HOME is", (t) => {
  const runtime = temporaryFolder(t);
  for (let length = 1; length < 300; ++length) {
    const env = { COPILOT_HOME: `/${"h".repeat(length)}`, XDG_RUNTIME_DIR: runtime };
    const { link } = gatewayFiles(env);
    assert.ok(Buffer.byteLength(link) < 104, `${link.length} bytes`);
  }
  const wide = gatewayFiles({ COPILOT_HOME: `/${"道".repeat(60)}`, XDG_RUNTIME_DIR: runtime });
  assert.ok(Buffer.byteLength(wide.link) < 104);
  const [one, two] = ["a", "b"].map(
    (end) =>
      gatewayFiles({ COPILOT_HOME: `/${"h".repeat(200)}${end}`, XDG_RUNTIME_DIR: runtime }).link,
  );
  assert.notEqual(one, two);
});

test("paths: a port that is not a number is an error, not another port", () => {
  assert.equal(gatewayPort({ TAP_GATEWAY_PORT: "" }), 9400);
  assert.equal(gatewayPort({ TAP_GATEWAY_PORT: "65535" }), 65535);
  for (const text of ["0", "65536", "-1", "94.5", "abc", "9400x"]) {
    assert.throws(() => gatewayPort({ TAP_GATEWAY_PORT: text }), /not a port/);
  }
});
