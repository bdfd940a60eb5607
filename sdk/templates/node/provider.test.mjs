import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startTap } from "./tap.mjs";

// A real gateway and a pretend session: no Copilot is needed.
const kit = await startTap();
const program = fileURLToPath(new URL("provider.mjs", import.meta.url));
const child = spawn(process.execPath, [program], {
  env: { ...process.env, ...kit.env },
  stdio: "inherit",
});
after(async () => {
  child.kill();
  await kit.stop();
});

test("greets by name", async () => {
  await kit.tool("{{tool}}_greet");
  assert.equal(await kit.call("{{tool}}_greet", { name: "Ada" }), "Hello, Ada!");
});

test("refuses an empty name", async () => {
  await assert.rejects(kit.call("{{tool}}_greet", { name: " " }), {
    code: "NOT_FOUND",
    message: /the name is empty/,
  });
});
