// The doctor, and status, where a provider keeps the model waiting: real processes, one of them stopped.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { waitFor } from "../../support/wait.mjs";
import { tap, tapJson } from "../../support/cli-process.mjs";
import { GATEWAY_CHECKS } from "../../../js/doctor/checks-gateway.mjs";
import { running } from "./doctor-place.mjs";

const PROVIDER = fileURLToPath(
  new URL("../../support/fixtures/provider-process.mjs", import.meta.url),
);

/** A provider whose tool never answers. @param {import("node:test").TestContext} t */
async function hanging(t) {
  const at = await running(t);
  const options = { port: at.files.port, tokenFile: at.files.token, name: "slow", tool: "wait" };
  const child = spawn(process.execPath, [PROVIDER, JSON.stringify({ ...options, hang: true })], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
  await at.kit.tool("wait");
  const control = new AbortController();
  const outcome = at.kit.call("wait", {}, { signal: control.signal }).catch((error) => error);
  await waitFor(() => said.includes("called"), { what: "a call" });
  t.after(() => control.abort());
  return { at, child, outcome, cancel: () => control.abort() };
}

test("a provider that is stopped: the doctor names it, status and timeline say it, and it may go on", async (t) => {
  const { at, child } = await hanging(t);
  child.kill("SIGSTOP");
  await waitFor(async () => (await at.diagnose()).code === "PROVIDER_HANGS", {
    intervalMs: 500,
    what: "the finding",
  });
  const { first } = await at.diagnose(["wait"]);
  assert.match(first.problem, /^Provider "slow" has not answered a call for \d+ s, nor a ping/);
  const { out } = await tap(["status"], at);
  assert.match(out, /slow: no answer for \d+ s, not even to a ping/);
  assert.match(out, new RegExp(`on Node\\.js ${process.versions.node}`));
  await waitFor(() => at.kit.session.timeline.some((line) => line.includes("slow has not")), {
    what: "a line in the timeline",
  });
  child.kill("SIGCONT");
  await waitFor(async () => (await at.diagnose()).code === undefined, {
    what: "no error any more",
  });
  assert.ok((await at.diagnose()).warned.includes("PROVIDER_SLOW"));
});

test("a call that was cancelled is counted apart", async (t) => {
  const { at, outcome, cancel } = await hanging(t);
  cancel();
  await outcome;
  const record = async () => {
    const { value } = await tapJson(["status"], at);
    const { tools } = value.gateway;
    return tools.find(({ tool }) => tool === "wait");
  };
  await waitFor(async () => (await record())?.cancelled === 1, { what: "a cancelled call" });
  const { calls, failed } = await record();
  assert.deepEqual({ calls, failed }, { calls: 1, failed: 0 });
});

test("a gateway that runs on a Node.js that is too old is judged by its own", () => {
  const check = GATEWAY_CHECKS.find(({ id }) => id === "gateway-node");
  const found = (node) => check.run(/** @type {any} */ ({ inspection: { node, pid: 7 } }));
  const { code, problem } = found("18.20.8");
  assert.equal(code, "NODE_NOT_FOUND");
  assert.match(problem, /pid 7, runs on Node\.js 18\.20\.8; it needs 20\.19\.0 or later/);
  assert.equal(found(process.versions.node), undefined);
  assert.equal(found(undefined), undefined, "an older gateway does not say");
});
