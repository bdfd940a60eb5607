// Providers that run in a sandbox: they serve their tools from there, and read and write what their entry names.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { programFolder } from "../../../js/lib/paths.mjs";
import { openControl } from "../../../js/link/control.mjs";
import { providerLogFile } from "../../../js/process/log.mjs";
import { placeOf, tapJson } from "../../support/cli-process.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";

/** With the SDK, as a user's own: its tools run a line of a shell. */
const PROGRAM = `
import { spawnSync } from "node:child_process";
import { provider } from ${JSON.stringify(path.join(programFolder, "sdk", "node", "provider.mjs"))};
const tap = provider("ci");
const parameters = { type: "object", properties: { line: { type: "string" } } };
tap.tool("ci_run", { description: "Runs a line.", parameters }, ({ line }) => {
  const { status, stdout } = spawnSync("bash", ["-c", line], { encoding: "utf8" });
  return JSON.stringify([status, stdout.trim()]);
});
await tap.connect();
`;

/** @param {import("node:test").TestContext} t @param {object} sandbox @param {{env?: Record<string, string>, config?: object}} [more] */
async function begin(t, sandbox, { env, config } = {}) {
  const [home, user] = [temporaryFolder(t), temporaryFolder(t)].map((one) => fs.realpathSync(one));
  for (const name of [".ssh", "data"]) fs.mkdirSync(path.join(user, name));
  fs.writeFileSync(path.join(user, ".ssh", "id"), "secret\n");
  fs.mkdirSync(path.join(home, "tap"), { mode: 0o700 });
  const providers = [{ name: "ci", command: process.execPath, args: ["ci.mjs"], sandbox }];
  const file = path.join(home, "tap", "config.json");
  fs.writeFileSync(file, JSON.stringify({ providers, ...config }), { mode: 0o600 });
  const cwd = fs.realpathSync(temporaryFolder(t));
  fs.mkdirSync(path.join(cwd, "out"));
  fs.writeFileSync(path.join(cwd, "ci.mjs"), PROGRAM);
  const host = await Host.elected(t, { COPILOT_HOME: home, HOME: user, ...env });
  const session = await host.session(t, { cwd });
  const told = () => session.events.map((/** @type {any} */ { text = "" }) => text).join("\n");
  const offered = () =>
    waitFor(
      () =>
        session.events.some(
          ({ type, set }) => type === "tools" && /ci_run/.test(JSON.stringify(set)),
        ),
      {
        what: () =>
          `its tool\n${told()}\n${fs.readFileSync(providerLogFile(host.files.logs, "ci"), "utf8")}`,
      },
    );
  const run = async (/** @type {string} */ line) =>
    JSON.parse(await session.call("ci_run", { line }));
  const control = await openControl(host.files);
  t.after(() => control.close());
  const report = async () =>
    (await control.request("features.report", {})).features.find(
      (/** @type {any} */ { id }) => id === "user:ci",
    );
  return { host, home, user, cwd, session, told, offered, run, report };
}

test("a provider in a sandbox serves its tool, and cannot read keys or write the project", async (t) => {
  const { user, home, cwd, host, offered, run, report } = await begin(t, { writable: ["out"] });
  await offered();
  assert.deepEqual(await run("echo hello; cat ci.mjs | wc -l"), [
    0,
    `hello\n${PROGRAM.split("\n").length - 1}`,
  ]);
  for (const file of [`${user}/.ssh/id`, `${home}/tap/config.json`, host.files.token])
    assert.deepEqual(await run(`cat '${file}'`), [1, ""], file);
  assert.equal((await run("echo x > made"))[0], 1);
  assert.equal((await run("echo x > out/made"))[0], 0);
  assert.deepEqual(fs.readdirSync(path.join(cwd, "out")), ["made"]);
  assert.notEqual((await run("curl -s http://example.com"))[0], 0);
  assert.equal((await report()).sandbox, "on");
  const { value } = await tapJson(["status"], placeOf(host));
  assert.deepEqual(value.sandboxes, [{ id: "user:ci", sandbox: "on" }]);
});

test("it is started again after its end, and reaches the gateway again", async (t) => {
  const { offered, run, session } = await begin(t, {});
  await offered();
  const [, first] = await run("readlink /proc/self/ns/pid");
  await session.call("ci_run", { line: "kill -9 $PPID" });
  const again = async () => {
    const result = await run("readlink /proc/self/ns/pid").catch(() => undefined);
    return result?.[0] === 0 && result[1] !== first;
  };
  await waitFor(again, { what: "its tool again" });
});

test("where there is no sandbox it is not started, or not sandboxed where the user says so", async (t) => {
  const tools = fs.realpathSync(temporaryFolder(t));
  for (const name of ["bash", "cat"]) fs.symlinkSync(`/usr/bin/${name}`, path.join(tools, name));
  const env = { PATH: tools };
  const first = await begin(t, {}, { env });
  await waitFor(() => /NO_SANDBOX/.test(first.told()), { what: first.told });
  assert.equal((await first.report()).sandbox, undefined);
  const second = await begin(t, {}, { env, config: { sandbox: { fallback: "none" } } });
  await second.offered();
  assert.deepEqual(await second.run(`cat '${second.user}/.ssh/id'`), [0, "secret"]);
  assert.equal((await second.report()).sandbox, "off");
});

test("a folder that cannot be given is told, and the provider is not started", async (t) => {
  const { told } = await begin(t, { writable: ["gone"] });
  await waitFor(() => /NO_FOLDER: writable\[0\]: "gone"/.test(told()), { what: told });
});
