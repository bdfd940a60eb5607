// Plans on the real CLI: the model makes a plan, agents on a headless server carry it out in worktrees, and its end
// reaches a session.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { tap } from "../support/cli-process.mjs";
import { REPO_ROOT } from "../support/cli.mjs";
import { callTool, say, toolNames, toolResults, userTexts } from "../support/model.mjs";
import { prepareForPlans } from "../support/plan-place.mjs";
import { startTap } from "../support/tap.mjs";
import { waitFor } from "../support/wait.mjs";
import { checkoutOf } from "../js/features/plans-rig.mjs";

const bash = (/** @type {string} */ command) => callTool("bash", { command, description: "work" });

/** The steps of each agent, by a word in its task: a command or a call, and a last word. */
const AGENTS = /** @type {Record<string, string | object>} */ ({
  "write the root": "echo root > root.txt",
  "write the left": "cat root.txt > left.txt",
  "write the right": "cat root.txt > right.txt",
  "write both": "cat left.txt right.txt > both.txt",
  "push it": "git push origin HEAD",
  "write elsewhere": callTool("create", { path: "/usr/elsewhere", file_text: "x" }),
  "fetch it": callTool("web_fetch", { url: "https://example.com/?token=x" }),
});
const MEND = "echo mended > mended.txt";

const PLAN = {
  name: "four files",
  targetBranch: "feature/four",
  maxParallel: 2,
  nodes: [
    { id: "root", work: "@agent write the root" },
    { id: "left", work: "@agent write the left", dependencies: ["root"] },
    { id: "right", work: "@agent write the right", dependencies: ["root"] },
    {
      ...{ id: "both", work: "@agent write both", dependencies: ["left", "right"] },
      ...{ postchecks: "test -f mended.txt", retry: { max: 1 } },
    },
  ],
};

/** @param {object} plan */
const script = (plan) => (/** @type {any} */ request) => {
  const text = userTexts(request).join("\n");
  const word = Object.keys(AGENTS).find((one) => text.includes(one) && !text.includes("the plan"));
  const last = request.body.messages.at(-1);
  if (word !== undefined) {
    if (last.role === "tool") return say(`${word}: done`);
    if (text.includes("failed a check")) return bash(MEND);
    const does = AGENTS[word];
    return typeof does === "string" ? bash(does) : does;
  }
  if (toolResults(request).some(({ name }) => name === "create_copilot_plan"))
    return say("it runs");
  if (last.role !== "tool" && userTexts(request).length > 1) return say("noted");
  if (toolNames(request).includes("create_copilot_plan")) {
    return callTool("create_copilot_plan", plan);
  }
  return callTool("tap_tools", { group: "plans" });
};

const wasTold = (/** @type {any} */ rig, /** @type {RegExp} */ pattern) =>
  rig.model.requests.some((/** @type {any} */ request) =>
    userTexts(request).some((text) => pattern.test(text)),
  );

/** A terminal without a session. @param {import("node:test").TestContext} t */
async function startAtTerminal(t) {
  const rig = await startTap(t, script(PLAN));
  const { repo, git } = prepareForPlans(rig);
  const bin = path.join(REPO_ROOT, "node_modules", ".bin");
  const { COPILOT_AGENT_SESSION_ID: _, ...own } = process.env;
  const env = {
    ...{ ...own, COPILOT_HOME: rig.cli.home, TAP_GATEWAY_PORT: String(rig.port) },
    ...{ PATH: `${bin}${path.delimiter}${process.env.PATH}`, NO_COLOR: "1" },
  };
  return { rig, repo, git, env, file: path.join(rig.cli.home, "plan.json") };
}

describe("plans", { concurrency: 1 }, () => {
  test("the model makes a plan of four agents, a node is retried, all lands, and a later session hears of it", async (t) => {
    const rig = await startTap(t, script(PLAN));
    const { repo, git } = prepareForPlans(rig);
    const before = checkoutOf(repo);
    const terminal = await rig.interactive();
    await terminal.prompt("make the plan", /it runs/);
    await waitFor(() => wasTold(rig, /Plan p\w+ \(four files\) ended: succeeded \(4 succeeded\)/), {
      what: () => rig.report(),
    });
    assert.equal(git("show", "feature/four:both.txt"), "root\nroot");
    assert.equal(git("show", "feature/four:mended.txt"), "mended");
    assert.equal(git("rev-list", "--count", "main..feature/four"), "1");
    assert.deepEqual(checkoutOf(repo), before);
    assert.ok(wasTold(rig, /Your work on this task failed a check/));
    assert.ok(wasTold(rig, /What you have changed so far:\n *diff --git/));
    await terminal.submit("/tap-plan");
    await terminal.waitForScreen(/succeeded, 4 nodes: four files/);
    await terminal.exit();
  });

  test("copilot-tap plan run finds the CLI on PATH where no session has ever named it", async (t) => {
    const { rig, repo, git, env, file } = await startAtTerminal(t);
    const nodes = [{ id: "root", work: "@agent write the root" }];
    fs.writeFileSync(file, JSON.stringify({ name: "one", targetBranch: "feature/one", nodes }));
    const { code, out, err } = await tap(["plan", "run", file], { env, workspace: repo });
    assert.deepEqual([code, err], [0, ""], out);
    assert.equal(git("show", "feature/one:root.txt"), "root");
    const [one] = /p[a-z0-9]{8}/.exec(out) ?? [];
    const logs = await tap(["plan", "logs", `${one}/root`], { env, workspace: repo });
    assert.match(
      logs.out,
      /^== work\nbash: .*echo root > root\.txt.*\n[^]*write the root: done\n/m,
    );
    const shown = await tap(["plan", "show", `${one}/root`, "--json"], { env, workspace: repo });
    const { metrics, phaseMetrics, attempts } = JSON.parse(shown.out);
    const work = phaseMetrics.find((/** @type {any} */ { phase }) => phase === "work");
    const tokens = (/** @type {any} */ { models }) => [models[0].input > 0, models[0].output > 0];
    assert.deepEqual(
      [metrics, work.usage, attempts[0].metrics].map(tokens).flat(),
      Array(6).fill(true),
    );
    // An agent that starts afresh gets the instructions of its retry.
    const again = {
      name: "again",
      nodes: [{ id: "n", work: "@agent write the left", postchecks: "test -s left.txt" }],
    };
    fs.writeFileSync(file, JSON.stringify(again));
    const failed = await tap(["plan", "run", file], { env, workspace: repo });
    assert.equal(failed.code, 1, failed.out);
    const [id] = /p[a-z0-9]{8}/.exec(failed.out) ?? [];
    const how = ["--from-start", "--instructions", "the root is missing: write the root"];
    const retried = await tap(["plan", "retry", `${id}/n`, ...how], { env, workspace: repo });
    assert.equal(retried.code, 0, retried.out + retried.err);
    await waitFor(() => wasTold(rig, /write the left\s+Heed this, too:\s+the root is missing/), {
      what: () => rig.report(),
    });
  });

  test("the refused calls of an agent are counted, and its session can be opened by hand", async (t) => {
    const { repo, env, file } = await startAtTerminal(t);
    const nodes = [
      { id: "push", work: "@agent push it" },
      { id: "write", work: "@agent write elsewhere" },
      { id: "fetch", work: "@agent fetch it" },
    ];
    fs.writeFileSync(file, JSON.stringify({ name: "refused", nodes }));
    const { out } = await tap(["plan", "run", file], { env, workspace: repo });
    const [id] = /p[a-z0-9]{8}/.exec(out) ?? [];
    for (const [nodeId, kind, target] of [
      ["push", "command", /^git push origin HEAD$/],
      ["write", "write", /\/usr\/elsewhere$/],
      ["fetch", "host", /^example\.com$/],
    ]) {
      const args = ["plan", "show", `${id}/${nodeId}`, "--json"];
      const shown = await tap(args, { env, workspace: repo });
      const { status, refusals, lastRefusals, sessionId, byHand } = JSON.parse(shown.out);
      assert.deepEqual([status, refusals, lastRefusals.length], ["failed", 1, 1], shown.out);
      const [{ at, target: named, call, ...rest }] = lastRefusals;
      assert.deepEqual(rest, { attempt: 1, phase: "work", kind });
      assert.match(named, target);
      assert.ok(call.length > 0 && at > 0);
      assert.ok(byHand.includes(`--resume=${sessionId}`), byHand);
    }
  });
});
