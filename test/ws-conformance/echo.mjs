// The echo server of the native ws and uv layers (test/native/uv/ws_echo.cc).

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { root } from "../../tools/commands.mjs";
import { waitFor } from "../support/wait.mjs";

export async function startEcho() {
  const folder = process.env.TAP_NATIVE_BUILD ?? path.join(root, "build-native");
  const program = path.join(folder, "ws_echo");
  assert.ok(existsSync(program), `${program} is missing: npm test -- js builds it, with libuv`);
  const child = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (more) => (said += more));
  await waitFor(() => said.endsWith("\n"), { what: "the port of the echo server" });
  return { port: Number(said), stop: () => child.stdin.end() };
}
