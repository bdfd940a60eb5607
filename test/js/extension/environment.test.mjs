// What a session says of its CLI: nothing that the gateway would refuse.

import assert from "node:assert/strict";
import { test } from "node:test";
import { sessionEnvironment } from "../../../js/extension/session-info.mjs";

test("PATH and what starts a server like the CLI", () => {
  const env = {
    ...{ PATH: "/a/bin:/bin", COPILOT_SDK_PATH: "/sdk", COPILOT_CLI_BINARY_VERSION: "1.0.102" },
    ...{ COPILOT_HOME: "/home/ada/.copilot", COPILOT_CLI_DIST_DIR: "/dist", GH_TOKEN: "secret" },
  };
  assert.deepEqual(sessionEnvironment(env, "/opt/copilot"), {
    path: "/a/bin:/bin",
    runtime: {
      ...{ execPath: "/opt/copilot", sdkPath: "/sdk", cliVersion: "1.0.102" },
      ...{ copilotHome: "/home/ada/.copilot", distDir: "/dist" },
    },
  });
});

test("what no environment can hold, or is too long, is left out", () => {
  const env = {
    PATH: `/bin:${"x".repeat(32_768)}`,
    ...{ COPILOT_SDK_PATH: "/sdk\n/x", COPILOT_HOME: "", COPILOT_CLI_DIST_DIR: "ä".repeat(2049) },
  };
  assert.deepEqual(sessionEnvironment(env, "/x"), { runtime: { execPath: "/x" } });
  assert.deepEqual(sessionEnvironment({}, ""), {});
});
