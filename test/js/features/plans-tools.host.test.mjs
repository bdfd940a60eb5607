// Tools of providers in plans: they do the work of a node, and the rules hold for them. And the user's yes to a plan.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { provider } from "../../../sdk/node/provider.mjs";
import { waitFor } from "../../support/wait.mjs";
import { checkoutOf, flagFile, flagsFolder, plansRig } from "./plans-rig.mjs";

/** A provider whose tools write a file into a folder that they are given. @param {import("node:test").TestContext} t @param {any} rig */
async function withWriter(t, { host }, options = {}) {
  const seen = /** @type {any[]} */ ([]);
  const own = provider("writer", {
    url: `ws://127.0.0.1:${host.descriptor.port}`,
    token: await waitFor(() => host.token, { what: "a token" }),
    session: "all",
    ...options,
  });
  own.tool(
    "write_note",
    { description: "Writes a note", parameters: { type: "object" } },
    ({ folder, text }, { signal }) => {
      seen.push({ folder, text });
      if (text === "wait") {
        return new Promise((_, reject) =>
          signal.addEventListener("abort", () => {
            seen.push("cancelled");
            reject(new Error("cancelled"));
          }),
        );
      }
      if (text === "fail") throw new Error("no ink");
      fs.writeFileSync(path.join(folder, "note.txt"), `${text}\n`);
      return `wrote ${text}`;
    },
  );
  await own.connect();
  t.after(() => own.close());
  return { own, seen };
}

const toolNode = (/** @type {string} */ text, /** @type {object} */ more = {}) => ({
  id: "note",
  // eslint-disable-next-line no-template-curly-in-string
  work: { type: "tool", tool: "write_note", args: { folder: "${worktree}", text } },
  ...more,
});

test("a provider's tool does the work of a node in its worktree, and it lands", async (t) => {
  const rig = await plansRig(t);
  const { repo, git, create, ended, ask } = rig;
  const before = checkoutOf(repo);
  const { seen } = await withWriter(t, rig);
  const planId = await create({ targetBranch: "notes", nodes: [toolNode("hello")] });
  const { status } = await ended(planId);
  assert.equal(
    status,
    "succeeded",
    JSON.stringify(await ask("get_copilot_node", { planId, nodeId: "note" })),
  );
  assert.equal(git("show", "notes:note.txt"), "hello");
  assert.equal(seen.length, 1);
  assert.ok(seen[0].folder.startsWith(path.join(repo, ".worktrees")), seen[0].folder);
  const logs = await ask("get_copilot_node_logs", { planId, nodeId: "note", phase: "work" });
  assert.match(logs.text, /wrote hello/);
  assert.deepEqual(checkoutOf(repo), before);
});

test("a tool that fails fails the node with what it said, and a retry calls it again", async (t) => {
  const rig = await plansRig(t);
  const { create, ended, ask } = rig;
  const { seen } = await withWriter(t, rig);
  const planId = await create({ nodes: [toolNode("fail")] });
  const { status, nodes } = await ended(planId);
  assert.equal(status, "failed");
  assert.match(nodes[0].error, /write_note failed \(INTERNAL\).*no ink/);
  const context = await ask("get_copilot_node_failure_context", { planId, nodeId: "note" });
  assert.match(context.lastLines, /no ink/);
  await ask("retry_copilot_node", { planId, nodeId: "note" });
  await ended(planId);
  assert.equal(seen.length, 2);
});

test("a tool that takes too long, or whose node is cancelled, is cancelled at its provider", async (t) => {
  const rig = await plansRig(t);
  const { create, ended, ask } = rig;
  const { seen } = await withWriter(t, rig);
  const late = await create({ nodes: [toolNode("wait", { timeout: "1s" })] });
  const { nodes } = await ended(late);
  assert.match(nodes[0].error, /was ended after 1 s/);
  await waitFor(() => seen.includes("cancelled"), { what: "the cancel" });
  seen.length = 0;
  const planId = await create({ nodes: [toolNode("wait")] });
  await waitFor(() => seen.length === 1, { what: "the call" });
  await ask("cancel_copilot_plan", { planId });
  await waitFor(() => seen.includes("cancelled"), { what: "the cancel" });
  assert.equal((await ended(planId)).status, "canceled");
});

test("a tool that nobody has, one of tap's own, and one that the rules deny are refused when the plan is made", async (t) => {
  const rig = await plansRig(t);
  const { ask } = rig;
  const { own } = await withWriter(t, rig);
  const make = (/** @type {string} */ tool) =>
    ask("create_copilot_plan", { name: "x", nodes: [{ id: "a", work: { type: "tool", tool } }] });
  assert.match(
    (await make("write_nothing")).text,
    /UNKNOWN_TOOL.*\nnodes\[0\]\.work\.tool: no provider of the session has write_nothing; there are: write_note \(node a\)/,
  );
  for (const name of ["tap_status", "tap_tools", "create_copilot_plan"]) {
    const { text } = await make(name);
    assert.match(text, /UNKNOWN_TOOL.*\n.*: tap's own tools can neither work nor be lent/, name);
  }
  const lent = await ask("create_copilot_plan", {
    name: "x",
    nodes: [{ id: "a", work: { type: "agent", instructions: "go", tools: ["nothing"] } }],
  });
  assert.match(lent.text, /UNKNOWN_TOOL.*nothing/s);
  await own.deny({ tool: "write_note" }, "notes are closed");
  await waitFor(async () => /notes are closed/.test((await make("write_note")).text ?? ""), {
    what: "the denial",
  });
});

test("a gate of the session that made a plan is asked after its end, once its provider is there again", async (t) => {
  const rig = await plansRig(t, { env: { TAP_LINGER_MS: "50" } });
  const { repo, ended, join, control } = rig;
  const maker = await join();
  const asked = /** @type {string[]} */ ([]);
  const guard = async (/** @type {any} */ session) => {
    const { own } = await withWriter(t, rig, { session: session.id });
    own.gate({ tool: "shell", args: "echo b" }, ({ session: by }) => {
      asked.push(by);
      return true;
    });
    const isWanted = (/** @type {any} */ { type, wanted }) => type === "hooks" && wanted;
    await waitFor(() => session.events.some(isWanted), { what: "the gate" });
    return own;
  };
  const first = await guard(maker);
  const flag = flagFile(repo, "go");
  const nodes = [
    { id: "a", work: `until [ -e ${flag} ]; do sleep 0.05; done; echo new > new-a.txt` },
    { id: "b", work: "echo b > new-b.txt", dependencies: ["a"] },
  ];
  const plan = { name: "x", allowedFolders: [flagsFolder(repo)], nodes };
  const { planId } = JSON.parse(await maker.call("create_copilot_plan", plan));
  const status = async (/** @type {string} */ nodeId) =>
    (await rig.ask("get_copilot_node_details", { planId, nodeId })).status;
  await waitFor(async () => (await status("a")) === "running", { what: "the first node" });
  assert.deepEqual(asked, [maker.id], "when the plan was made");
  maker.close();
  await first.close();
  const isGone = async () =>
    !(await control.request("gateway.inspect", {})).sessions.some(({ id }) => id === maker.id);
  await waitFor(isGone, { what: "the end of the session" });
  fs.writeFileSync(flag, "");
  await waitFor(async () => (await status("b")) === "running", { what: "the second node" });
  const next = await join();
  await guard(next);
  assert.equal((await ended(planId)).status, "succeeded");
  assert.ok(asked.includes(next.id), "before the second node ran");
});

test("the user is asked once for each plan of the model, and no answer is no", async (t) => {
  const { create, ask, session, ended } = await plansRig(t);
  const asked = () => session.events.filter(({ request }) => request === "consent");
  const plan = { nodes: [{ id: "a", work: "echo one > one.txt" }] };
  session.consent = { answer: "yes" };
  await ended(await create(plan));
  assert.equal(asked().length, 1);
  assert.match(
    asked()[0].params.text,
    /run the plan test: 1 node in a git worktree.*\n.*\n {2}echo one > one\.txt/,
  );
  await ended(await create(plan));
  assert.equal(asked().length, 1, "the same plan");
  const other = { name: "other", nodes: [{ id: "a", work: "echo two > two.txt" }] };
  session.consent = { answer: "no" };
  assert.match((await ask("create_copilot_plan", other)).text, /DENIED.*the user has refused/s);
  session.consent = { answer: "none", reason: "the user did not answer within 45 s" };
  assert.match((await ask("create_copilot_plan", other)).text, /DENIED.*did not answer/s);
  assert.equal((await ask("list_copilot_plans")).plans.length, 2);
});

test("the question about a plan shows each command with its variables, and each tool with its arguments", async (t) => {
  const rig = await plansRig(t);
  const { ask, session } = rig;
  await withWriter(t, rig);
  session.consent = { answer: "no" };
  const run = (/** @type {string} */ step) => ({
    ...{ type: "process", executable: "sh", args: ["-c", 'eval "$STEP"'], env: { STEP: step } },
  });
  const plan = {
    ...{ name: "x", setup: "npm ci", env: { CI: "1" }, copy: [".env"], link: ["node_modules"] },
    nodes: [
      { id: "a", work: run("echo EVIL"), postchecks: run("npm test") },
      { id: "b", work: { type: "tool", tool: "write_note", args: { text: "a b" } } },
      { id: "c", work: run("npm test") },
    ],
  };
  const text = async (/** @type {object} */ given) => {
    await ask("create_copilot_plan", given);
    return session.events.findLast(({ request }) => request === "consent").params.text;
  };
  assert.deepEqual((await text(plan)).split("\n").slice(1), [
    "It runs:",
    "  npm ci",
    "  sh -c 'eval \"$STEP\"'",
    "    with STEP=echo EVIL",
    "  sh -c 'eval \"$STEP\"'",
    "    with STEP=npm test",
    '  tool write_note {"text":"a b"}',
    "  copies .env",
    "  links node_modules",
    "All of it:",
    "  with CI=1",
  ]);
  const nodes = Array.from({ length: 11 }, (_, at) => ({ id: `n${at}`, work: `echo ${at}` }));
  assert.match(await text({ name: "x", nodes }), /\n {2}echo 7\n {2}and 3 more$/);
  // A blank that is none for the engine: a shell runs it, so it is shown as a command.
  const hidden = ["@agent\necho EVIL", "@agent\techo EVIL", "@agent\u00a0echo EVIL"];
  for (const work of hidden) {
    const shown = await text({ name: "x", nodes: [{ id: "a", work }] });
    assert.match(shown, /1 node in a git worktree\.\nIt runs:\n {2}@agent.*echo EVIL$/);
  }
});

test("the question about a plan shows the instructions of its agents, after its commands", async (t) => {
  const { ask, session } = await plansRig(t);
  session.consent = { answer: "no" };
  const text = async (/** @type {object[]} */ nodes) => {
    await ask("create_copilot_plan", { name: "x", nodes });
    return session.events.findLast(({ request }) => request === "consent").params.text;
  };
  const instructions = `Move the lexer.\n \nKeep\tthe \u001b[31mtests\n${"x".repeat(200)}\n4\n5\n6`;
  const nodes = [
    { id: "a", work: { type: "agent", instructions }, postchecks: "@agent Review it" },
    { id: "b", work: "npm test" },
  ];
  assert.deepEqual((await text(nodes)).split("\n").slice(1), [
    "It runs:",
    "  npm test",
    "Instructions of its agents:",
    "  a: Move the lexer.",
    String.raw`    Keep\x09the \x1b[31mtests`,
    `    ${"x".repeat(118)}… (82 more)`,
    "    4",
    "    and 2 more lines",
    "  a postchecks: Review it",
  ]);
  const long = `@agent ${"long ".repeat(100)}\n`.repeat(50);
  const many = Array.from({ length: 20 }, (_, at) => ({
    ...{ id: `n${at}`, work: long, prechecks: `echo ${at}` },
  }));
  const question = await text(many);
  assert.ok(question.length <= 2000, `${question.length}`);
  assert.match(
    question,
    /\n {2}echo 7\n {2}and 12 more\nInstructions.*\n {2}n0: long .*\n {2}and \d+ more$/s,
  );
});

test("variables of one command move no other command out of the question", async (t) => {
  const { ask, session } = await plansRig(t);
  session.consent = { answer: "no" };
  const names = Array.from({ length: 40 }, (_, at) => [`SETTING_${at}`, "x".repeat(200)]);
  const first = { type: "process", executable: "true", env: Object.fromEntries(names) };
  const env = Object.fromEntries(names);
  const nodes = [first, "echo EVIL", ...Array.from({ length: 9 }, (_, at) => `echo ${at}`)];
  const plan = { name: "x", env, nodes: nodes.map((work, at) => ({ id: `n${at}`, work })) };
  await ask("create_copilot_plan", plan);
  const { text } = session.events.findLast(({ request }) => request === "consent").params;
  assert.ok(text.length <= 2000, `${text.length}`);
  assert.match(text, /\n {2}true\n {4}and 40 more variables\n {2}echo EVIL\n.*\n {2}and 3 more\n/s);
});

test("a larger budget for a plan is the user's to give, and asked for once", async (t) => {
  const { ask, create, session, ended } = await plansRig(t, { processes: true });
  const asked = () => session.events.filter(({ request }) => request === "consent").slice(1);
  session.consent = { answer: "yes" };
  const work = "until test -e ../../go; do sleep 0.05; done; echo one > one.txt";
  const planId = await create({ budget: { tokens: 10 }, nodes: [{ id: "a", work }] });
  await ask("pause_copilot_plan", { planId });
  const larger = { planId, budget: { tokens: 5000 } };
  session.consent = { answer: "no" };
  assert.match((await ask("resume_copilot_plan", larger)).text, /DENIED.*the user has refused/s);
  assert.match(asked()[0].params.text, /plan test \(p\w+\) with a budget of 5000 tokens\.$/);
  assert.equal((await ask("get_copilot_plan_status", { planId })).status, "paused");
  session.consent = { answer: "yes" };
  assert.equal((await ask("resume_copilot_plan", larger)).status, "running");
  await ask("pause_copilot_plan", { planId });
  await ask("resume_copilot_plan", { planId });
  assert.equal(asked().length, 2, "without another budget nobody is asked");
  await ask("cancel_copilot_plan", { planId });
  await ended(planId);
});

test("the question says what it leaves out, and a yes does not count for another plan that looks alike", async (t) => {
  const { ask, create, ended, session } = await plansRig(t);
  const asked = () => session.events.filter(({ request }) => request === "consent");
  const planOf = (/** @type {string} */ end) => ({
    nodes: [
      { id: "a", work: `echo one > one.txt; ${"true; ".repeat(30)}${end}` },
      {
        id: "b",
        dependencies: ["a"],
        work: { type: "process", executable: "touch", args: ["b.txt"], env: { DEEP: "1" } },
      },
    ],
  });
  session.consent = { answer: "yes" };
  await ended(await create(planOf("true")));
  const [{ params }] = asked();
  assert.match(params.text, /\n {2}echo one > one\.txt; (true; )+.*… \(\d+ more\)\n/);
  assert.match(params.text, /\n {4}with DEEP=1$/);
  session.consent = { answer: "no" };
  const other = await ask("create_copilot_plan", { name: "test", ...planOf("rm *") });
  assert.match(other.text, /DENIED.*the user has refused/s);
  assert.equal(asked().length, 2);
  const agent = { type: "agent", instructions: "go", allowedUrls: ["example.com"] };
  await ask("create_copilot_plan", { name: "x", nodes: [{ id: "a", work: agent }] });
  assert.match(asked()[2].params.text, /\n {2}reach example\.com\n/);
});

test("a plan is a trace: attempts are below it, phases below these, and programs are told theirs", async (t) => {
  const { create, ended, control, git } = await plansRig(t);
  const planId = await create({
    nodes: [
      { id: "a", work: "echo $TRACEPARENT > trace.txt; exit 0" },
      { id: "b", work: "exit 3" },
    ],
  });
  await ended(planId);
  const spans = await waitFor(
    async () => {
      const { records } = await control.request("records.query", {
        collection: "span",
        limit: 100,
      });
      const own = records.map(({ body }) => body).filter(({ plan }) => plan === planId);
      return own.some(({ name }) => name === "plan test") && own;
    },
    { what: "the plan's span" },
  );
  const named = (/** @type {string} */ name) => spans.filter((span) => span.name === name);
  const [plan] = named("plan test");
  const [a] = named("node a");
  const [b] = named("node b");
  assert.equal(plan.parentSpanId, "");
  assert.deepEqual([a.parentSpanId, b.parentSpanId], [plan.spanId, plan.spanId]);
  assert.deepEqual([a.status, b.status, plan.status], ["ok", "error", "error"]);
  const work = named("work").find(({ parentSpanId }) => parentSpanId === a.spanId);
  const told = git("show", `refs/tap/${planId}/a/1:trace.txt`);
  assert.equal(told, `00-${plan.traceId}-${work?.spanId}-01`);
  assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
  assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length);
});

test("a node whose text is longer than a result is told with what was left out", async (t) => {
  const { create, ask } = await plansRig(t);
  const instructions = "y".repeat(100_000);
  const work = { type: "agent", instructions };
  const planId = await create({ startPaused: true, nodes: [{ id: "long", work }] });
  for (const tool of ["get_copilot_node", "get_copilot_node_details"]) {
    const { config, cut } = await ask(tool, { planId, nodeId: "long" });
    assert.equal(config.work.instructions.length + cut["config.work.instructions"], 100_000);
  }
});

test("no plan lands where a config does not say which branches are protected", async (t) => {
  const { repo, ask, host } = await plansRig(t, { processes: true });
  const config = path.join(repo, "tap.config.json");
  const plan = { name: "x", targetBranch: "out", nodes: [{ id: "a", work: "true" }] };
  fs.writeFileSync(config, "{ protectedBranches: 3 }");
  const wrong = await ask("create_copilot_plan", plan);
  assert.match(wrong.text, /CONFIG_INVALID.* a config has a mistake.* Correct it first/);
  fs.writeFileSync(config, '{ "providers": [] }');
  // What the system does not let us read may be without any mistake.
  const limit = (/** @type {string} */ files) =>
    spawnSync("prlimit", ["--pid", String(host.process.pid), `--nofile=${files}`]).status === 0;
  if (!limit("3:")) return t.skip("this system has no prlimit");
  const unread = await ask("create_copilot_plan", plan);
  limit("1024:");
  assert.match(unread.text, /unavailable: a config cannot be read: .*EMFILE/);
  const made = await ask("create_copilot_plan", plan);
  assert.ok(made.planId, JSON.stringify(made));
});
