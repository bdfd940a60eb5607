// Plans in the feature host, with real git and real commands.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { checkoutOf, plansRig, typeCommand, flagFile } from "./plans-rig.mjs";

const linux = { skip: process.platform !== "linux" };

test("a diamond of commands lands in its target, and the checkout is as it was", async (t) => {
  const { repo, git, create, ended, control } = await plansRig(t, { processes: true });
  const before = checkoutOf(repo);
  const planId = await create({
    targetBranch: "feature/x",
    nodes: [
      { id: "root", work: "echo root > root.txt" },
      { id: "left", dependencies: ["root"], work: "cat root.txt; echo left > left.txt" },
      { id: "right", dependencies: ["root"], work: "echo right >> a.txt" },
      {
        ...{ id: "join", dependencies: ["left", "right"], work: "cat left.txt a.txt > both.txt" },
        postchecks: "test -f both.txt && test -f left.txt",
      },
    ],
  });
  const { status, counts, landed } = await ended(planId);
  assert.equal(status, "succeeded");
  assert.deepEqual(counts, { succeeded: 4 });
  assert.equal(landed.files, 4, "all that the target has got");
  assert.equal(git("show", "feature/x:both.txt"), "left\na\nright");
  assert.equal(git("log", "--format=%s", "main..feature/x"), "join");
  assert.deepEqual(checkoutOf(repo), before);
  const { records } = await control.request("records.query", { collection: "plan" });
  assert.deepEqual(
    records.map(({ body }) => [body.event, body.plan, body.status]),
    [
      ["ended", planId, "succeeded"],
      ["started", planId, "running"],
    ],
  );
  const spans = await control.request("records.query", { collection: "span" });
  const ofPlan = spans.records.find(({ body }) => body.plan === planId);
  assert.deepEqual(
    records.map(({ trace }) => trace),
    [ofPlan.trace, ofPlan.trace],
    "they are in the trace of the plan",
  );
  const left = () => fs.readdirSync(path.join(repo, ".worktrees"));
  await waitFor(() => left().length === 0, {
    what: async () =>
      JSON.stringify(
        (await control.request("features.report", {})).features.find(
          (one) => one.id === "builtin:orchestrator",
        ).diagnostics,
      ),
  });
});

test(
  "a node says what works for it, what was tested, and what has come together in it",
  linux,
  async (t) => {
    const { repo, home, git, create, ended, ask } = await plansRig(t);
    const flag = flagFile(repo, "go-on");
    const wait = `until [ -f '${flag}' ]; do sleep 0.05; done`;
    const planId = await create({
      targetBranch: "feature/x",
      nodes: [
        { id: "root", work: "echo root > root.txt" },
        {
          ...{ id: "leaf", dependencies: ["root"], work: `echo 2 > a.txt; ${wait}` },
          postchecks: "cat root.txt",
        },
      ],
    });
    const nodeOf = (/** @type {string} */ nodeId) => ask("get_copilot_node", { planId, nodeId });
    const { processes, tested } = await waitFor(async () => {
      const seen = await nodeOf("leaf");
      // Between its fork and its exec the second one is a shell, too.
      return seen.processes?.[1]?.name === "sleep" && seen;
    });
    const names = processes.map((/** @type {any} */ one) => one.name);
    assert.deepEqual([names, tested], [["sh", "sleep"], undefined]);
    assert.equal(processes[1].parent, processes[0].pid);
    fs.writeFileSync(flag, "");
    await ended(planId);
    const [root, leaf] = [
      await nodeOf("root"),
      await ask("get_copilot_node_details", { planId, nodeId: "leaf" }),
    ];
    assert.deepEqual(root.workSummary, { files: 1, insertions: 1, deletions: 0 });
    assert.equal(root.aggregatedWorkSummary, undefined, "it is no leaf");
    assert.deepEqual(leaf.workSummary, { files: 1, insertions: 1, deletions: 1 });
    assert.deepEqual(leaf.aggregatedWorkSummary, { files: 2, insertions: 2, deletions: 1 });
    // Until its worktree is tidied, git of tap works in it.
    await waitFor(async () => (await nodeOf("leaf")).processes.length === 0);
    const { digest, trace, ...rest } = leaf.tested;
    const tree = git("rev-parse", "feature/x^{tree}");
    const tip = git("rev-parse", "main");
    assert.deepEqual(rest, { tree, tip, command: "cat root.txt", exitCode: 0 });
    const log = path.join(home, "tap", "plans", planId, "leaf-1-postchecks.log");
    const hash = crypto.createHash("sha256").update(fs.readFileSync(log)).digest("hex");
    assert.equal(digest.log, hash);
    assert.match(digest.environment, /^[0-9a-f]{64}$/);
    assert.match(trace, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  },
);

test("the commit of a leaf has the message of the node's last own commit, and the trailers of all that land with it", async (t) => {
  const { repo, git, create, ended } = await plansRig(t);
  const hook = path.join(repo, ".git", "hooks", "commit-msg");
  fs.writeFileSync(
    hook,
    '#!/bin/sh\ngit interpret-trailers --in-place --trailer "Change-Id: I$$" --trailer "Signed-off-by: A <a@b>" "$1"\n',
    { mode: 0o755 },
  );
  const commitAll = "git add -A && git commit -q --no-verify";
  const planId = await create({
    name: "p",
    targetBranch: "out",
    nodes: [
      { id: "first", work: "echo 1 > 1.txt" },
      {
        ...{ id: "own", dependencies: ["first"], postchecks: "test -f 1.txt" },
        work: [
          ...["echo 2 > 2.txt", `${commitAll} -m "wip" -m "Co-authored-by: B <b@b>"`],
          ...[
            "echo 3 > 3.txt",
            `${commitAll} -m "feat: three" -m "Why." -m "Change-Id: I3" -m "Plan-Node: x/y"`,
          ],
          "echo 4 > 4.txt",
        ].join(" && "),
      },
      { id: "plain", name: "Of tap", work: "echo 5 > 5.txt" },
    ],
  });
  const { status } = await ended(planId);
  assert.equal(status, "succeeded");
  const messages = git("log", "-z", "--format=%B", "main..out").split("\0").filter(Boolean);
  const [own, plain] = ["own", "plain"].map((id) =>
    messages.find((text) => text.includes(`\nPlan-Node: ${planId}/${id}\n`)),
  );
  assert.deepEqual(own?.split("\n"), [
    ...["feat: three", "", "Why.", "", "Change-Id: I3"],
    ...["Signed-off-by: A <a@b>", "Co-authored-by: B <b@b>"],
    ...["Plan: p", `Plan-Node: ${planId}/own`, ""],
  ]);
  assert.match(
    String(plain).replace(/I\d+/, "I1").replace(planId, "id"),
    /^Of tap\n\nPlan: p\nChange-Id: I1\nSigned-off-by: A <a@b>\nPlan-Node: id\/plain\n$/,
  );
});

test("commands, setup and hooks know which node and attempt they work for", async (t) => {
  const { repo, git, create, ended, ask } = await plansRig(t);
  const show = 'echo "$TAP_PLAN_ID $TAP_NODE_ID $TAP_ATTEMPT"';
  const hook = path.join(repo, ".git", "hooks", "commit-msg");
  fs.writeFileSync(hook, `#!/bin/sh\n${show} >> "$1"\n`, { mode: 0o755 });
  const planId = await create({
    ...{ targetBranch: "out", setup: `${show} > setup.txt`, env: { TAP_NODE_ID: "x" } },
    nodes: [
      {
        id: "a",
        work: { type: "shell", command: `cat setup.txt > at.txt; ${show} >> at.txt` },
        postchecks: 'test "$TAP_ATTEMPT" = 2',
      },
    ],
  });
  await ended(planId);
  await ask("retry_copilot_node", { planId, nodeId: "a", from: "start" });
  assert.equal((await ended(planId)).status, "succeeded");
  const line = `${planId} a 2`;
  assert.equal(git("show", "out:at.txt"), `${line}\n${line}`);
  assert.ok(git("log", "-1", "--format=%B", "out").includes(line));
});

test("a node that fails blocks what depends on it, says why, and is retried from there", async (t) => {
  const { repo, create, ended, ask } = await plansRig(t);
  const flag = flagFile(repo, "may");
  const planId = await create({
    nodes: [
      { id: "bad", work: `echo tried; echo made > made.txt; test -f ${flag}` },
      { id: "after", dependencies: ["bad"], work: "test -f made.txt && echo x > x.txt" },
      { id: "other", work: "echo y > y.txt" },
    ],
  });
  const { status, nodes } = await ended(planId);
  assert.equal(status, "partial");
  assert.equal(nodes[0].id, "bad");
  assert.match(nodes[0].error, /ended with exit code 1/);
  const why = await ask("get_copilot_node_failure_context", { planId, nodeId: "bad" });
  assert.equal(why.phase, "work");
  assert.equal(why.exitCode, 1);
  assert.equal(why.lastLines, "tried");
  assert.match(why.diff, /^diff --git a\/made\.txt b\/made\.txt\nnew file[^]*\n\+made\n$/);
  const logs = await ask("get_copilot_node_logs", { planId, nodeId: "bad" });
  assert.match(logs.text, /\n== work\ntried\n$/);
  fs.writeFileSync(flag, "");
  await ask("retry_copilot_node", { planId, nodeId: "bad" });
  assert.equal((await ended(planId)).status, "succeeded");
  const { attempts } = await ask("get_copilot_node_attempts", { planId, nodeId: "bad" });
  assert.deepEqual(
    attempts.map((/** @type {any} */ one) => one.status),
    ["failed", "succeeded"],
  );
});

test("the merge of a join, and of a node that changes nothing, is kept by a ref", async (t) => {
  const { git, create, ended, ask } = await plansRig(t);
  const planId = await create({
    nodes: [
      { id: "one", work: "echo 1 > one.txt" },
      { id: "two", work: "echo 2 > two.txt" },
      { id: "join", dependencies: ["one", "two"] },
      { id: "look", dependencies: ["one", "two"], work: "ls", expectsNoChanges: true },
      { id: "only", dependencies: ["one"], work: "ls", expectsNoChanges: true },
    ],
  });
  assert.equal((await ended(planId)).status, "succeeded");
  for (const nodeId of ["join", "look"]) {
    const { completedCommit } = await ask("get_copilot_node", { planId, nodeId });
    assert.equal(git("rev-parse", `refs/tap/${planId}/${nodeId}/1`), completedCommit);
    assert.equal(git("show", `${completedCommit}:two.txt`), "2");
  }
  const refs = git("for-each-ref", "--format=%(refname)", `refs/tap/${planId}`).split("\n");
  assert.equal(refs.length, 4, "what another node has made has its ref");
});

test("a node that changes nothing has not worked, unless it says so", async (t) => {
  const { create, ended, ask } = await plansRig(t);
  const evidence = `mkdir -p .orchestrator/evidence; echo '{"summary":"looked"}' > .orchestrator/evidence/looks.json`;
  const planId = await create({
    nodes: [
      { id: "idle", work: "true" },
      { id: "calm", work: "true", expectsNoChanges: true },
      { id: "looks", work: evidence },
    ],
  });
  const { status, nodes } = await ended(planId);
  assert.equal(status, "partial");
  assert.match(nodes[0].error, /no evidence of work/);
  const seen = await ask("get_copilot_node", { planId, nodeId: "looks" });
  assert.equal(seen.evidence.summary, "looked");
});

test("a plan with mistakes is refused with all of them, and nothing is made", async (t) => {
  const { ask, repo } = await plansRig(t);
  const refused = await ask("create_copilot_plan", {
    name: "x",
    nodes: [
      { id: "a", work: { type: "shel", command: "x" } },
      { id: "a", dependencys: [] },
    ],
  });
  assert.equal(refused.code, "INVALID_ARGUMENTS");
  assert.match(
    refused.text,
    /nodes\[0\]\.work\.type: expected process, shell, agent or tool \(node a\)\n/,
  );
  assert.match(refused.text, /nodes\[1\]\.dependencys: .*Did you mean "dependencies"/);
  assert.match(refused.text, /nodes\[1\]\.id: "a" is the id of nodes\[0\], too/);
  assert.equal(fs.existsSync(path.join(repo, ".worktrees")), false);
});

test("after the feature host is killed a plan goes on, and no step is done twice", async (t) => {
  const { repo, create, ended, hostPid, git } = await plansRig(t, { processes: true });
  const [ran, may] = ["ran", "may"].map((name) => flagFile(repo, name));
  const waits = `until test -f ${may}; do sleep 0.05; done`;
  const planId = await create({
    targetBranch: "feature/x",
    maxParallel: 1,
    nodes: [
      { id: "first", work: `echo first >> ${ran}; echo 1 > 1.txt` },
      {
        id: "slow",
        dependencies: ["first"],
        work: `echo slow >> ${ran}; ${waits}; echo 2 > 2.txt`,
      },
      { id: "last", dependencies: ["slow"], work: `echo last >> ${ran}; echo 3 > 3.txt` },
    ],
  });
  const begun = (/** @type {RegExp} */ what) =>
    waitFor(() => what.test(fs.readFileSync(ran, "utf8")), { what: () => `${what} has begun` });
  await begun(/slow\n/);
  process.kill(await hostPid(), "SIGKILL");
  await begun(/slow\nslow\n/);
  fs.writeFileSync(may, "");
  assert.equal((await ended(planId)).status, "succeeded");
  const lines = fs.readFileSync(ran, "utf8").trim().split("\n");
  assert.deepEqual(lines, ["first", "slow", "slow", "last"], "only what was interrupted ran again");
  assert.equal(git("show", "feature/x:3.txt"), "3");
});

test("a plan is made though the gateway has no descriptor for its hold", linux, async (t) => {
  const { host, create, ended, ask } = await plansRig(t, { processes: true });
  const { pid } = host.process;
  await ask("list_copilot_plans"); // all is there
  const limit = (/** @type {number} */ most) =>
    execFileSync("prlimit", ["--pid", String(pid), `--nofile=${most}:`]);
  limit(fs.readdirSync(`/proc/${pid}/fd`).length - 1);
  // Without a folder that the user's config would have to allow: the gateway cannot read that either.
  const nodes = [{ id: "a", work: "echo x > x.txt" }];
  const planId = await create({ allowedFolders: [], nodes });
  limit(1024);
  assert.equal((await ended(planId)).status, "succeeded");
});

test("the session's rules hold for what a plan runs, when it is made and when it starts", async (t) => {
  const rules = {
    name: "careful",
    deny: [{ match: { tool: "bash", args: "git push" }, reason: "nobody pushes here" }],
  };
  const { ask, create, ended, repo } = await plansRig(t, { config: { declarative: [rules] } });
  const push = { id: "a", work: "git push origin main" };
  const refused = await ask("create_copilot_plan", { name: "x", nodes: [push] });
  assert.match(refused.text, /DENIED: denied by .*: nobody pushes here/);
  const setup = await ask("create_copilot_plan", {
    ...{ name: "x", setup: "git push", nodes: [{ id: "a", work: "true" }] },
  });
  assert.match(setup.text, /nobody pushes here/);
  const step = { type: "process", executable: "sh", args: ["-c", 'eval "$STEP"'] };
  const ofPlan = { name: "x", env: { STEP: "git push" }, nodes: [{ id: "a", work: step }] };
  assert.match((await ask("create_copilot_plan", ofPlan)).text, /nobody pushes here/);
  for (const phase of ["work", "prechecks", "postchecks"]) {
    const hidden = { ...step, env: { STEP: "cd .\ngit push" } };
    const nodes = [{ id: "a", work: "true", [phase]: hidden }];
    const { text } = await ask("create_copilot_plan", { name: "x", nodes });
    assert.match(text, /nobody pushes here/);
  }
  const variable = await ask("create_copilot_plan", {
    ...{ name: "x", env: { BASH_ENV: "/tmp/x" }, nodes: [{ id: "a", work: "true" }] },
  });
  assert.match(variable.text, /REFUSED_VARIABLE.*\nenv\.BASH_ENV: says what a shell reads first/);
  assert.equal(fs.existsSync(path.join(repo, ".worktrees")), false);
  const planId = await create({ nodes: [{ id: "a", work: "echo x > x.txt" }] });
  assert.equal((await ended(planId)).status, "succeeded");
});

test("the model changes a plan of the user or of another session only where the user says so", async (t) => {
  const rig = await plansRig(t);
  const { ask, create, ended, join, session } = rig;
  const plan = { name: "mine", nodes: [{ id: "a", work: "exit 1" }] };
  const typed = { do: "create", plan, as: "pabcdefgh", path: process.env.PATH };
  const { planId: users } = await typeCommand(rig, typed);
  await ended(users);
  const other = await join();
  const theirs = JSON.parse(await other.call("create_copilot_plan", plan)).planId;
  await ended(theirs);
  for (const planId of [users, theirs]) {
    for (const name of ["pause", "resume", "cancel", "delete", "retry"])
      assert.match((await ask(`${name}_copilot_plan`, { planId })).text, /NOT_YOURS: /, name);
    assert.match((await ask("retry_copilot_node", { planId, nodeId: "a" })).text, /NOT_YOURS: /);
    assert.equal((await ask("get_copilot_plan_status", { planId })).status, "failed");
  }
  session.consent = { answer: "yes" };
  const again = await ask("retry_copilot_node", { planId: users, nodeId: "a" });
  assert.equal(again.attempt, 2);
  await ended(users);
  session.consent = { answer: "no" };
  const paused = {
    ...{ name: "imported", startPaused: true, setup: "npm ci", env: { A: "1" } },
    nodes: [{ id: "a", work: "curl evil", sandbox: "off" }],
  };
  const more = { do: "create", plan: paused, as: "pabcdefgk", path: process.env.PATH };
  const { planId: imported } = await typeCommand(rig, more);
  const result = await ask("resume_copilot_plan", { planId: imported });
  assert.match(result.text, /NOT_YOURS: /);
  const { text } = session.events.findLast(({ request }) => request === "consent").params;
  assert.match(text, /resume the plan imported \(pabcdefgk\), which the user made: 1 node/);
  for (const line of ["no sandbox: a", "npm ci", "curl evil", "with A=1"])
    assert.ok(text.includes(`\n  ${line}`), text);
  // The sessions of the folder have what an ended one has left.
  other.close();
  await waitFor(
    async () => !(await ask("retry_copilot_node", { planId: theirs, nodeId: "a" })).text,
  );
  session.consent = { answer: "yes" };
  const own = await create(plan);
  await ended(own);
  session.consent = { answer: "no" };
  await ask("delete_copilot_plan", { planId: own });
});

test("the question about a plan of the user shows the instructions that a retry adds, and no node that was replaced", async (t) => {
  const rig = await plansRig(t);
  const { ask, session, repo } = rig;
  const plan = {
    name: "mine",
    nodes: [
      ...["a", "old"].map((id) => ({ id, work: `@agent Do ${id}` })),
      { id: "last", work: "until test -e ../../go; do sleep 0.05; done; exit 1" },
    ],
  };
  const planId = "pqrstuvwx";
  await typeCommand(rig, { do: "create", plan, as: planId, path: process.env.PATH });
  const statuses = async () =>
    (await ask("get_copilot_plan_status", { planId })).nodes.map(({ status }) => status).sort();
  await waitFor(async () => (await statuses()).join() === "failed,failed,running");
  await typeCommand(rig, { do: "pause_copilot_plan", args: { planId } });
  const again = { planId, nodeId: "a", instructions: "Use the\nfixture" };
  session.consent = { answer: "no" };
  assert.match((await ask("retry_copilot_node", again)).text, /NOT_YOURS: /);
  assert.ok(
    session.events.every(({ request }) => request !== "consent"),
    "a yes would not count",
  );
  await typeCommand(rig, { do: "retry_copilot_node", args: again });
  const nodes = [{ id: "new", work: "@agent Do it anew" }];
  await typeCommand(rig, { do: "add", planId, nodes, replaces: "old" });
  assert.match((await ask("resume_copilot_plan", { planId })).text, /NOT_YOURS: /);
  const { text } = session.events.findLast(({ request }) => request === "consent").params;
  assert.deepEqual(text.split("\n").slice(3), [
    "Instructions of its agents:",
    ...["  a: Do a", "  a retry: Use the", "    fixture", "  new: Do it anew"],
  ]);
  fs.writeFileSync(path.join(repo, "go"), "");
  await typeCommand(rig, { do: "cancel_copilot_plan", args: { planId } });
  await rig.ended(planId);
});

test("the timeline of a session has no plan of another folder", async (t) => {
  const rig = await plansRig(t);
  const other = await rig.join({ cwd: temporaryFolder(t) });
  const plan = { name: "mine", nodes: [{ id: "a", work: "exit 1" }] };
  await typeCommand(rig, { do: "create", plan, as: "pabcdefgh", path: process.env.PATH });
  const list = (/** @type {typeof other} */ { events }) =>
    events.filter(({ type, text }) => type === "timeline" && /pabcdefgh/.test(text));
  await waitFor(() => list(rig.session).some(({ text }) => /ended/.test(text)));
  assert.deepEqual(list(other), []);
});

test("the model adds nothing to a plan of the user or of another session, whose rules are not its own", async (t) => {
  const rig = await plansRig(t);
  const { ask, create, ended, repo, join, control } = rig;
  const plan = { name: "mine", nodes: [{ id: "a", work: "exit 1" }] };
  const asked = JSON.stringify({ do: "create", plan, as: "pabcdefgh", path: process.env.PATH });
  const { text } = await control.request("features.command", {
    ...{ name: "tap-plan", arguments: asked, cwd: repo },
  });
  const users = JSON.parse(text).answer.planId;
  await ended(users);
  const node = { id: "b", work: "true" };
  const adding = (/** @type {string} */ planId) => [
    ask("create_copilot_node", { planId, ...node }),
    ask("add_copilot_nodes", { planId, nodes: [node] }),
    ask("retry_copilot_node", { planId, nodeId: "a", instructions: "do more" }),
  ];
  for (const answer of adding(users)) assert.match((await answer).text, /NOT_YOURS: the user made/);
  const other = await join();
  const made = { ...plan, name: "other", nodes: [{ id: "a", work: "sleep 1; exit 1" }] };
  const theirs = JSON.parse(await other.call("create_copilot_plan", made)).planId;
  for (const answer of adding(theirs)) assert.match((await answer).text, /NOT_YOURS: another/);
  const own = await create(plan);
  await ask("add_copilot_nodes", { planId: own, nodes: [node] });
  // Once its session has gone, the one that was used last has its rules.
  other.close();
  const { nodes } = await ended(own);
  assert.equal(nodes.length, 2);
});
