// The manual of the host's methods (docs/host-methods.md) is complete, and they keep to whom they are for.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { programFolder } from "../../../js/lib/paths.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { Host } from "../../support/test-host.mjs";

const manual = fs.readFileSync(path.join(programFolder, "docs", "host-methods.md"), "utf8");

/** The methods of the manual, each with whom it is for: "both", "a feature" or "the user". */
const methods = new Map(
  [...manual.matchAll(/^- ((?:\*\*[\w.]+\*\*(?: and )?)+) \(([a-z ]+)\)/gm)].flatMap(
    ([, names, who]) =>
      [...names.matchAll(/[\w.]+\.\w+/g)].map(([name]) => /** @type {const} */ ([name, who])),
  ),
);

/** @param {string} origin */
const methodsFor = (origin) => [...methods].filter(([, who]) => who === origin);

test("every method of the host is in the manual, and no other", async (t) => {
  const host = await LocalHost.elected(t);
  const control = await openControl(host.files);
  t.after(() => control.close());
  const { message } = await control.request("nothing", {}).catch((error) => error);
  const registered = message.split("there are: ")[1].split(", ");
  assert.deepEqual([...methods.keys()].sort(), registered);
});

test("what only a feature may ask is denied to the command", async (t) => {
  const host = await LocalHost.elected(t);
  const control = await openControl(host.files);
  t.after(() => control.close());
  const forFeatures = methodsFor("a feature");
  assert.equal(forFeatures.length, 15);
  for (const [method] of forFeatures) {
    const { code } = await control.request(method, {}).catch((error) => error);
    assert.equal(code, "DENIED", method);
  }
});

test("what only the user may ask is denied to a feature", async () => {
  const { HostRequests } = await import("../../../js/gateway-host/requests.mjs");
  const { serveFeatureRequests } = await import("../../../js/gateway-host/requests.mjs");
  const { Inbox } = await import("../../../js/gateway-host/inbox.mjs");
  const { HostRecords } = await import("../../../js/gateway-host/records.mjs");
  const { McpServers } = await import("../../../js/gateway-host/mcp-servers.mjs");
  const requests = new HostRequests();
  const parts = /** @type {any} */ ({
    files: { home: "/h", records: "/h/records" },
    gateway: {},
    log() {},
    requests,
  });
  new HostRecords(parts);
  serveFeatureRequests(requests, parts);
  new Inbox(parts).serve(requests);
  new McpServers(parts).serve(requests, async () => {});
  const forUsers = methodsFor("the user");
  assert.equal(forUsers.length, 10);
  for (const [method] of forUsers) {
    const answer = await requests.answer({ method, params: "{}", from: "feature" });
    assert.equal(JSON.parse(answer).error.code, "DENIED", method);
  }
});

test("plans are a person's in a folder where no session is named; other commands need one", async (t) => {
  const host = await Host.elected(t);
  const control = await openControl(host.files);
  t.after(() => control.close());
  const asked = { name: "tap-plan", arguments: '{"do":"list_copilot_plans"}' };
  const { text } = await control.request("features.command", { ...asked, cwd: host.files.home });
  assert.deepEqual(JSON.parse(text), { answer: { plans: [] } });
  for (const wrong of [
    {},
    { cwd: "src" },
    { cwd: "/", session: "" },
    { cwd: "/", name: "tap-goal" },
    { cwd: "/", patienceMs: 0 },
    { cwd: "/", patienceMs: 3_600_001 },
    { cwd: "/", patienceMs: "long" },
  ]) {
    const { code } = await control
      .request("features.command", { ...asked, ...wrong })
      .catch((error) => error);
    assert.equal(code, "INVALID", JSON.stringify(wrong));
  }
  const { pid } = (await control.request("features.report", {})).host;
  process.kill(pid, "SIGSTOP");
  const late = { ...asked, cwd: host.files.home, patienceMs: 50 };
  const { message } = await control.request("features.command", late).catch((error) => error);
  process.kill(pid, "SIGCONT");
  assert.match(message, /has not answered within 0\.05 s; the request may still be running/);
});
