// What all users of a link rely on: how it begins and ends.

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { LinkConnection, LinkEnded } from "../../../js/link/client.mjs";
import { waitFor } from "../../support/wait.mjs";
import { temporaryFolder, TestGateway } from "../../support/harness.mjs";

const ONE = { sessionId: "one", label: "", cwd: "/", cliPid: 0, joined: true, have: {} };

for (const way of ["attached", "linked"]) {
  test(`a registration resolves with the welcome, and the link is then connected (${way})`, async (t) => {
    const gateway = new TestGateway(t);
    const seen = [];
    const link = new LinkConnection({
      onEvent: (event) => seen.push(event),
      onClosed: (reason) => seen.push({ type: "closed", reason }),
    });
    t.after(() => link.close());
    await link.connect(way === "attached" ? gateway.addon : gateway.listenLink());
    assert.equal(link.connected, false);
    const welcome = await link.register(ONE, gateway.secret);
    assert.equal(welcome.type, "welcome");
    assert.equal(seen[0], welcome);
    assert.equal(link.connected, true);
    gateway.addon.close();
    await waitFor(() => !link.connected, { what: () => "the end of the link" });
    assert.equal(seen.at(-1).type, "closed");
  });

  test(`a refused registration rejects with the gateway's words (${way})`, async (t) => {
    const gateway = new TestGateway(t);
    const link = new LinkConnection({});
    t.after(() => link.close());
    await link.connect(way === "attached" ? gateway.addon : gateway.listenLink());
    const refused = link.register(ONE, "wrong");
    await assert.rejects(refused, (error) => {
      assert.ok(error instanceof LinkEnded);
      assert.equal(error.message, "the link's secret is wrong");
      return true;
    });
    assert.equal(link.connected, false);
  });
}

test("a link to nobody rejects with the system's reason", async (t) => {
  const link = new LinkConnection({});
  await assert.rejects(link.connect(path.join(temporaryFolder(t), "nobody")), LinkEnded);
});

test("a registration that is not one throws, and the link stays as it is", async (t) => {
  const gateway = new TestGateway(t);
  const link = new LinkConnection({});
  t.after(() => link.close());
  await link.connect(gateway.addon);
  await assert.rejects(link.register({ sessionId: "" }, gateway.secret), TypeError);
  await link.register(ONE, gateway.secret);
});

test("a link that we close rejects what waits, and is not reported", async (t) => {
  const gateway = new TestGateway(t);
  const link = new LinkConnection({ onClosed: () => assert.fail("we know") });
  const connecting = link.connect(gateway.listenLink());
  link.close("enough");
  await assert.rejects(connecting, { message: "enough" });
});

test("calls settle when the link ends, before its end is reported", async (t) => {
  const gateway = new TestGateway(t);
  const seen = [];
  const link = new LinkConnection({ onClosed: () => seen.push("closed") });
  await link.connect(gateway.addon);
  await link.register(ONE, gateway.secret);
  const provider = await gateway.stranger();
  const tools = [{ name: "wait", description: "", parameters: {} }];
  await provider.hello({ name: "waiter", session: "one", tools });
  link.call("wait", {}, undefined, (outcome) => seen.push(outcome.code));
  gateway.addon.close();
  assert.deepEqual(seen, ["DISCONNECTED", "closed"]);
});
