// Plans on the real CLI and events of sessions and hosts: the session that made a plan is closed, both hosts are
// killed, and a provider's gate judges the commands of nodes.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { callTool, say, toolNames, toolResults, userTexts } from "../support/model.mjs";
import { prepareForPlans } from "../support/plan-place.mjs";
import { startTap } from "../support/tap.mjs";
import { deferred, waitFor } from "../support/wait.mjs";
import { openControl } from "../../js/link/control.mjs";
import { gatewayFiles } from "../../js/lib/paths.mjs";
import { checkoutOf } from "../js/features/plans-rig.mjs";

const bash = (/** @type {string} */ command) => callTool("bash", { command, description: "work" });

/** Makes the plan once, after these; then it repeats its messages. @param {object} plan @param {any[]} [before] calls */
const maker =
  (plan, before = []) =>
  (/** @type {any} */ request) => {
    if (!userTexts(request).join("\n").includes("make the plan")) return say("noted");
    const results = toolResults(request);
    if (results.length < before.length) return before[results.length];
    if (results.some(({ name }) => name === "create_copilot_plan")) {
      return say(request.body.messages.at(-1).role === "tool" ? "it runs" : "noted");
    }
    if (toolNames(request).includes("create_copilot_plan")) {
      return callTool("create_copilot_plan", plan);
    }
    return callTool("tap_status");
  };

/** @param {any} rig @param {RegExp} pattern */
const told = (rig, pattern) =>
  waitFor(
    () =>
      rig.model.requests.some((/** @type {any} */ request) =>
        userTexts(request).some((text) => pattern.test(text)),
      ),
    { what: () => rig.report() },
  );

describe("plans and sessions", { concurrency: 1 }, () => {
  test("the session that made a plan is closed, no session is there at its end, and the next session hears of it", async (t) => {
    const rig = await startTap(t);
    const { repo, git } = prepareForPlans(rig, ["plans"]);
    const before = checkoutOf(repo);
    const flag = path.join(repo, ".git", "flag");
    const work = `until test -e '${flag}'; do sleep 0.1; done; echo x > x.txt`;
    rig.model.script(
      maker({ name: "long", targetBranch: "feature/long", nodes: [{ id: "wait", work }] }),
    );
    const first = await rig.interactive();
    await first.prompt("make the plan", /it runs/);
    await first.exit();
    fs.writeFileSync(flag, "");
    await waitFor(() => git("show", "feature/long:x.txt") === "x");
    const second = await rig.interactive();
    await told(rig, /Plan p\w+ \(long\) ended while no session was here: succeeded/);
    await second.submit("/tap-plan");
    await second.waitForScreen(/succeeded, 1 node: long/);
    await second.exit();
    assert.deepEqual(checkoutOf(repo), before);
  });

  test("the gate that stops the agent's `git push` stops that of a node", async (t) => {
    const rig = await startTap(t);
    const { repo, git } = prepareForPlans(rig, ["plans"]);
    const before = checkoutOf(repo);
    const remote = path.join(rig.cli.home, "remote.git");
    git("init", "--quiet", "--bare", remote);
    git("remote", "add", "origin", remote);
    const push = "git push origin HEAD:refs/heads/pushed";
    const ready = deferred();
    const script = maker({ name: "pushing", nodes: [{ id: "push", work: push }] }, [bash(push)]);
    rig.model.script(async (request) => {
      await ready.promise;
      return script(request);
    });
    const terminal = await rig.interactive();
    await terminal.submit("make the plan");
    await rig.model.waitForRequest();
    const provider = await rig.provide({}, { name: "guardian" });
    const asked = /** @type {string[]} */ ([]);
    provider.onMessage((/** @type {any} */ message) => {
      if (message.type !== "gate.check") return;
      const { gateId, callId, args } = message;
      asked.push(args.command);
      // The second is the making of the plan: the gate may allow it then, and refuse the start of the node.
      const decision = asked.length === 2 ? "allow" : "deny";
      provider.send({ type: "gate.result", gateId, callId, decision, reason: "CI is red" });
    });
    const match = { tool: "shell", args: "git push" };
    const rules = [{ match, action: "gate", gateId: "ci" }];
    provider.send({ type: "hooks.update", requestId: "rules", onPreToolUse: rules });
    await provider.waitFor(
      (/** @type {any} */ { type, requestId }) => type === "ack" && requestId === "rules",
    );
    ready.resolve();
    await told(rig, /Plan p\w+ \(pushing\) ended: failed/);
    const results = rig.model.requests.flatMap((request) => toolResults(request));
    assert.match(String(results.find(({ name }) => name === "bash")?.text), /CI is red/);
    assert.deepEqual(asked, [push, push, push]);
    assert.equal(git("ls-remote", remote), "");
    assert.deepEqual(checkoutOf(repo), before);
    await terminal.exit();
  });

  test("both hosts are killed while an agent works: the plan continues and ends well", async (t) => {
    const rig = await startTap(t);
    const { repo, git } = prepareForPlans(rig, ["plans"]);
    const before = checkoutOf(repo);
    const works = /** @type {Record<string, string>} */ ({
      "write the root": "echo root > root.txt",
      "write the leaf": "cat root.txt > leaf.txt",
    });
    const nodes = [
      { id: "root", work: "@agent write the root" },
      { id: "leaf", work: "@agent write the leaf", dependencies: ["root"] },
    ];
    const make = maker({ name: "killed", targetBranch: "feature/killed", nodes });
    const [busy, killed] = [deferred(), deferred()];
    rig.model.script(async (request) => {
      const text = userTexts(request).join("\n");
      const word = Object.keys(works).find(
        (one) => text.includes(one) && !text.includes("the plan"),
      );
      if (word === undefined) return make(request);
      if (word === "write the leaf") {
        busy.resolve();
        await killed.promise;
      }
      const isDone = request.body.messages.at(-1).role === "tool";
      return isDone ? say(`${word}: done`) : bash(works[word]);
    });
    const terminal = await rig.interactive();
    await terminal.prompt("make the plan", /it runs/);
    await busy.promise;
    const control = await openControl(
      gatewayFiles({ COPILOT_HOME: rig.cli.home, TAP_GATEWAY_PORT: String(rig.port) }),
    );
    const { host } = await control.request("features.report", {});
    control.close();
    const gateway = await rig.cli.gatewayHost();
    process.kill(gateway.pid, "SIGKILL");
    process.kill(host.pid, "SIGKILL");
    killed.resolve();
    await told(rig, /Plan p\w+ \(killed\) ended: succeeded \(2 succeeded\)/);
    assert.notEqual((await rig.cli.gatewayHost()).pid, gateway.pid);
    assert.equal(git("show", "feature/killed:leaf.txt"), "root");
    assert.equal(git("rev-list", "--count", "main..feature/killed"), "1");
    assert.deepEqual(checkoutOf(repo), before);
    await terminal.exit();
  });
});
