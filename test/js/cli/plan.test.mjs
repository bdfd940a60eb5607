// copilot-tap plan: plans from a terminal, with real git and real commands.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { probePort } from "../../../js/lib/port-probe.mjs";
import { gatewayFiles } from "../../../js/lib/paths.mjs";
import { withOptions } from "../../../js/cli/plan/client.mjs";
import { NODE_FIELDS, PLAN_FIELDS } from "../../../js/cli/plan/new-plan.mjs";
import { formatPause } from "../../../js/cli/plan/format.mjs";
import { NODE_KEYS, PLAN_KEYS } from "../../../js/features/plans/tool-schemas.mjs";
import { findFreePort } from "../../support/cli.mjs";
import { InTerminal, Running, tap, tapJson } from "../../support/cli-process.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { checkoutOf, makeRepository } from "../features/plans-rig.mjs";
import { FLAGS, gate, setUp } from "./plan-rig.mjs";

const DIAMOND = `
name: diamond
targetBranch: feature/x
nodes:
  - { id: root, work: "echo root > root.txt" }
  - { id: left, dependencies: [root], work: "echo left > left.txt" }
  - { id: right, dependencies: [root], work: "printf 'a \\\\033[2J b' ; echo right > right.txt" }
  - { id: join, dependencies: [left, right], work: "cat left.txt right.txt > both.txt" }
`;

test("runs a file of YAML to its end, and shows what came of it", async (t) => {
  const { repo, git, at, file, plan } = await setUp(t, { processes: true });
  const before = checkoutOf(repo);
  const yaml = file(DIAMOND, "plan.yaml");
  assert.match((await plan("validate", yaml)).out, /plan\.yaml can be run\n$/);
  const ran = await plan("run", yaml);
  assert.deepEqual([ran.code, ran.err], [0, ""]);
  const [, id] = /^plan (p\w{8}) runs\n/.exec(ran.out) ?? [];
  for (const node of ["root", "left", "right", "join"]) {
    assert.match(ran.out, new RegExp(`^[\\d:]{8} ✔ ${node}  succeeded$`, "m"));
  }
  assert.match(
    ran.out,
    new RegExp(`✔ plan ${id}: succeeded \\(4 succeeded\\), \\d+ files? landed`),
  );
  assert.equal(git("show", "feature/x:both.txt"), "left\nright");
  assert.deepEqual(checkoutOf(repo), before);

  const short = String(id).slice(0, 4);
  const shown = await plan("show", short);
  assert.match(shown.out, new RegExp(`✔ ${id} diamond: succeeded\n`));
  assert.match(shown.out, /^branches {4}main → feature\/x$/m);
  assert.match(
    shown.out,
    /^1 ─ ✔ root {3}succeeded\n2 ┬ ✔ left {3}succeeded {2}← root\n {2}└ ✔ right {2}succeeded {2}← root\n3 ─ ✔ join {3}succeeded {2}← left, right\n$/m,
  );
  const node = await plan("show", `${short}/join`);
  assert.match(node.out, /^depends on {2}left, right$/m);
  assert.match(node.out, /^work {8}cat left\.txt right\.txt > both\.txt$/m);
  assert.match(node.out, /^changes {5}1 file, \+2 -0$/m);
  assert.match(node.out, /^attempt 1 ✔ succeeded/m);
  assert.match(node.out, /^ {2}✔ work/m);
  assert.equal((await plan("logs", `${id}/right`, "--phase", "work")).out, "a  b\n");
  const diff = await plan("diff", `${id}/join`);
  assert.match(diff.out, /^# join: git diff \w+ \w+\ndiff --git a\/both\.txt b\/both\.txt\n/);
  assert.match(diff.out, /^\+left\n\+right$/m);
  assert.match((await plan("diff", String(id))).out, /^\+root$/m);
  assert.match((await plan("list")).out, new RegExp(`${id} +succeeded +4 .* diamond`));
  const mermaid = (await plan("export", String(id), "--format", "mermaid")).out;
  assert.match(mermaid, /^flowchart TD\n {2}n0\["root"\]:::succeeded\n/);
  assert.match(mermaid, /^ {2}n2 --> n3$/m);
  const { value } = await tapJson(["plan", "export", String(id)], at);
  assert.equal(value.graph.nodes.length, 4);
  assert.match((await plan("delete", String(id), "--yes")).out, /is deleted/);
  assert.match((await plan("list")).out, /There is no plan/);
});

test("a plan that fails ends with 1, says why, and is retried from the phase that failed", async (t) => {
  const { at, file, plan, repo } = await setUp(t);
  const flag = path.join(repo, ".git", "may");
  const given = {
    name: "x",
    nodes: [
      { id: "bad", work: `echo tried; echo made > made.txt; test -f ${flag}` },
      { id: "after", dependencies: ["bad"], work: "echo x > x.txt" },
    ],
  };
  const ran = await plan("run", file(given));
  assert.equal(ran.code, 1);
  assert.match(ran.out, /✖ bad {2}failed \(work\): .* ended with exit code 1$/m);
  assert.match(ran.out, /⊘ after {2}blocked: waits for bad, which is failed$/m);
  assert.match(ran.out, /^bad printed last:\n {2}tried\n {2}.*plan logs p\w+\/bad\n✖ plan /m);
  const [, id] = /^plan (p\w+) runs/.exec(ran.out) ?? [];
  const shown = await plan("show", String(id));
  assert.match(shown.out, /^1 ─ ✖ bad .*failed \(work\)\n {6}.*ended with exit code 1$/m);
  fs.writeFileSync(flag, "");
  assert.match((await plan("retry", `${id}/bad`)).out, /^bad: /);
  const { value } = await tapJson(["plan", "show", `${id}/bad`], at);
  assert.equal(value.attempts.length, 2);
  await waitFor(async () => /: succeeded\n/.test((await plan("show", String(id))).out));
  const lines = ran.out.split("\n").map((line) => line.slice(9));
  assert.ok(
    lines.findIndex((line) => /^✖ bad/.test(line)) <
      lines.findIndex((line) => /^⊘ after/.test(line)),
  );
  assert.match((await plan("retry", String(id))).err, /no node of the plan failed/);
});

test("says what is wrong with a file, a plan and a command line", async (t) => {
  const { file, plan, detached } = await setUp(t);
  const nodes = [{ id: "a", work: "true", expectsNoChanges: true }];
  await detached({ name: "one", nodes });
  await detached({ name: "two", nodes });
  const unknown = file({
    name: "x",
    nodes: [
      { id: "a", wrok: "true" },
      { id: "a", work: "true" },
    ],
  });
  const cases = /** @type {[string[], number, RegExp][]} */ ([
    [["run"], 2, /say which: copilot-tap plan run <file>/],
    [["run", "missing.yaml"], 1, /missing\.yaml: there is no such file/],
    [["validate", file("a: [", "bad.yaml")], 1, /bad\.yaml: line 1/],
    [
      ["validate", file("- a", "list.yaml")],
      1,
      /expected a plan, an object with `name` and `nodes`/,
    ],
    [["validate", unknown], 1, /nodes\[0\]\.wrok: .* \(node a\)\n.*nodes\[1\]\.id: /],
    [
      ["validate", file({ name: "x", copy: ["../key"], nodes }, "out.json")],
      ...[1, /copy: "\.\.\/key" has a part that is empty, \. or \.\./],
    ],
    [["show", "nothing\u001b[2J"], 1, /there is no plan nothing\\x1b\[2J\ncopilot-tap plan list/],
    [["show", "p"], 1, /several plans begin so: p\w{8}, p\w{8}/],
    [["logs", "p123"], 2, /say which node: <id>\/<node>/],
    [["cancel", "p123/a"], 2, /about a whole plan: give p123 without "\/a"/],
    [["resume", "p123", "--budget", "much"], 2, /--budget must be a number/],
    [["resume", "p123", "--tokens", "1.5"], 2, /--tokens must be a whole number/],
    [["watch", "p123"], 2, /needs a terminal/],
    [["fly"], 2, /action must be list, new, run, .* \(got "fly"\)/],
  ]);
  for (const [args, code, wanted] of cases) {
    const ended = await plan(...args);
    assert.match(ended.err, wanted, args.join(" "));
    assert.equal(ended.code, code, args.join(" "));
  }
  const { out, code } = await plan("validate", unknown, "--json");
  const { error } = JSON.parse(out);
  const paths = error.problems.map((/** @type {any} */ { path: place }) => place);
  assert.deepEqual(
    [code, error.code, paths],
    [1, "INVALID_PLAN", ["nodes[0].wrok", "nodes[1].id"]],
  );
});

test("a plan that is asked for twice is made once, and one that is paused ends the run", async (t) => {
  const { at, host, file, plan } = await setUp(t);
  const nodes = [{ id: "a", work: "true" }];
  const control = await openControl(host.files);
  t.after(() => control.close());
  const asked = { do: "create", as: "p01234567", plan: { name: "x", startPaused: true, nodes } };
  for (let i = 0; i < 2; ++i) {
    const { text } = await control.request("features.command", {
      ...{ name: "tap-plan", arguments: JSON.stringify(asked), cwd: at.workspace },
    });
    assert.equal(JSON.parse(text).answer.planId, "p01234567", text);
  }
  const { value } = await tapJson(["plan", "list"], at);
  assert.equal(value.plans.length, 1);
  const ran = await plan("run", file({ name: "y", startPaused: true, nodes }));
  assert.equal(ran.code, 1);
  assert.match(
    ran.out,
    /‖ plan p\w{8}: paused .*\nit is paused: copilot-tap plan resume p\w{8} goes on\n$/,
  );
});

test("a plan of 400 nodes is shown, exported and canceled whole", async (t) => {
  const { at, file, plan } = await setUp(t);
  const nodes = Array.from({ length: 400 }, (_, i) => ({ id: `node-${i}`, work: "true" }));
  const ran = await plan("run", file({ name: "wide", startPaused: true, nodes }));
  assert.match(ran.out, /paused \(400 ready\)/, ran.err);
  const [, id] = /^plan (p\w{8}) runs\n/.exec(ran.out) ?? [];
  const { value } = await tapJson(["plan", "show", String(id)], at);
  assert.equal(value.nodes.length, 400);
  const exported = await tapJson(["plan", "export", String(id)], at);
  assert.equal(exported.value.graph.nodes.length, 400);
  assert.match((await plan("cancel", String(id), "--yes")).out, /canceled \(400 canceled\)/);
});

test("plans of the repository come first, also in one of its folders", async (t) => {
  const { at, repo, file } = await setUp(t);
  const other = makeRepository(t);
  const nodes = [{ id: "a", work: "true", expectsNoChanges: true }];
  const run = (/** @type {string} */ name, /** @type {string} */ workspace) =>
    tap(["plan", "run", file({ name, nodes })], { ...at, workspace });
  await run("here", repo);
  await run("there", other.repo);
  const sub = path.join(repo, "sub");
  fs.mkdirSync(sub);
  for (const workspace of [repo, sub]) {
    const { value } = await tapJson(["plan", "list"], { ...at, workspace });
    assert.deepEqual(
      value.plans.map((/** @type {any} */ { name }) => name),
      ["here", "there"],
    );
  }
});

test("the agent looks, and has its own tools for the rest", async (t) => {
  const { at } = await setUp(t);
  const asAgent = { COPILOT_AGENT_SESSION_ID: "s" };
  assert.equal((await tap(["plan", "list"], at, asAgent)).code, 0);
  for (const action of [
    ...["run", "retry", "pause", "resume", "cancel", "delete", "land"],
    ...["restore", "clean", "import"],
  ]) {
    const target = action === "clean" ? [] : ["x"];
    const { code, err } = await tap(["plan", action, ...target, "--yes"], at, asAgent);
    assert.equal(code, 1, action);
    assert.match(
      err,
      /is not for the agent\n(call tap_tools with the group plans, then \w+_copilot_\w+|ask the user)/,
    );
  }
});

test("Ctrl-C leaves the plan running, and says how it is ended", async (t) => {
  const { at, file, plan } = await setUp(t, { processes: true });
  const { wait, open } = gate();
  const given = { name: "x", nodes: [{ id: "a", work: wait, expectsNoChanges: true }] };
  const running = new Running(["plan", "run", file(given)], at);
  await running.says(/● a {2}running/);
  running.process.kill("SIGINT");
  const { code, out, err } = await running.end();
  const [, id] = /^plan (p\w+) runs/.exec(out) ?? [];
  assert.equal(code, 130);
  assert.match(err, new RegExp(`plan ${id} goes on\n.*copilot-tap plan cancel ${id} ends it`));
  assert.match((await plan("show", String(id))).out, /● a {2}running/);
  open();
  await waitFor(async () => /: succeeded\n/.test((await plan("show", String(id))).out));
});

test("pauses, resumes, and cancels with a yes", async (t) => {
  const { at, plan, detached } = await setUp(t);
  const { wait } = gate();
  const id = await detached({ name: "x", nodes: [{ id: "a", work: wait }] });
  const status = async () => (await tapJson(["plan", "show", `${id}/a`], at)).value.status;
  await waitFor(async () => (await status()) === "running", { what: status });
  assert.match((await plan("pause", id)).out, /: paused \(1 running\)/);
  assert.match((await plan("show", id)).out, /it is paused: copilot-tap plan resume p\w+ goes on/);
  assert.match((await plan("resume", id)).out, /: running \(1 running\)/);
  const asked = await plan("cancel", id);
  assert.deepEqual([asked.code, /nobody is here: use --yes/.test(asked.err)], [1, true]);
  const terminal = new InTerminal(t, ["plan", "cancel", id], at, { cols: 80, rows: 24 });
  await terminal.shows(/Cancel plan p\w+ \(x, 1 running\)\? \[y\/N\]/);
  terminal.type("n\r");
  assert.equal(await terminal.end(), 1);
  assert.match(terminal.text, /Nothing was changed/);
  const again = new InTerminal(t, ["plan", "cancel", id], at, { cols: 80, rows: 24 });
  await again.shows(/\[y\/N\]/);
  again.type("y\r");
  assert.equal(await again.end(), 0);
  assert.match(again.text, /plan p\w+: (being canceled|canceled) \(1 canceled\)/);
  await waitFor(async () => /: canceled\n/.test((await plan("show", id)).out));
});

test("resumes with more AI credits, or more tokens, and says which of them are spent", async (t) => {
  const { at, plan, detached } = await setUp(t);
  const nodes = [{ id: "a", work: "true", expectsNoChanges: true }];
  const id = await detached({ name: "x", startPaused: true, budget: { tokens: 10 }, nodes });
  assert.equal((await plan("resume", id, "--tokens", "5000", "--budget", "2.5")).code, 0);
  const { value } = await tapJson(["plan", "show", id], at);
  assert.deepEqual(value.budget, { aiCredits: 2.5, tokens: 5000 });
  const pause = (/** @type {string[]} */ spent) =>
    formatPause(/** @type {any} */ ({ planId: "p1", pausedFor: "budget", spent }));
  assert.equal(
    pause(["tokens"]),
    "its budget is used up: copilot-tap plan resume p1 --tokens <count> goes on",
  );
  assert.match(pause(["aiCredits", "tokens"]), /--budget <credits> --tokens <count> goes on$/);
  const why = "a budget of 50 tokens is spent: resume it with a larger budget";
  const refused = withOptions(new Error(`${why}, as in {"budget": {"tokens": 120}}`));
  assert.deepEqual([refused.message, refused.advice], [why, "for example with --tokens 120"]);
});

test("completion offers the ids of plans, and files where one is meant", async (t) => {
  const { at, detached } = await setUp(t);
  const id = await detached({ name: "one", nodes: [{ id: "a", work: "true" }] });
  const offered = async (/** @type {string[]} */ ...words) =>
    (await tap(["--complete", "plan", ...words], at)).out;
  assert.equal(await offered("show", "p"), `words\n${id}\tone\n`);
  assert.equal(await offered("run", ""), "files\n");
  assert.match(await offered("re"), /^words\nretry\t\nresume\t\nrestore\t\n$/);
});

test("follows the log of a node through its phases, in whole lines", async (t) => {
  const { at, detached } = await setUp(t);
  const { wait, open } = gate();
  const work = `printf 'one\\ntw'; ${wait}; echo o; echo w > w.txt`;
  const nodes = [{ id: "a", prechecks: "echo before", work, postchecks: "echo 漢字 after" }];
  const id = await detached({ name: "x", nodes });
  const running = new Running(["plan", "logs", `${id}/a`, "-f"], at);
  await running.says(/one\n$/);
  open();
  const { code, out } = await running.end();
  assert.equal(code, 0);
  assert.match(
    out,
    /^begins with \w+ in .*\nbefore\none\ntwo\ncommit \w+: 1 file, \+1 -0\n漢字 after\n$/,
  );
});

test("watches a plan on the whole screen, with what each node printed last", async (t) => {
  const { at, detached } = await setUp(t);
  const { wait, open } = gate();
  const id = await detached({
    name: "many",
    nodes: [
      {
        id: "speaks",
        work: `printf 'first\\nlast \\033[2J 漢字\\n'; ${wait}`,
        expectsNoChanges: true,
      },
      { id: "then", dependencies: ["speaks"], work: "true", expectsNoChanges: true },
    ],
  });
  const terminal = new InTerminal(t, ["plan", "watch", id.slice(0, 5)], at, { cols: 80, rows: 12 });
  await terminal.shows(/^p\w{8} many {2}running/m);
  await terminal.shows(/^● speaks {2}running \(work\) +last \\x1b\[2J 漢字$/m);
  await terminal.shows(/^· then {4}pending/m);
  await terminal.shows("q quit; the plan goes on");
  assert.ok(terminal.isAlternate);
  open();
  await terminal.shows(/^p\w{8} many {2}succeeded/m);
  await terminal.shows(/^━{50} 2 of 2$/m);
  terminal.type("q");
  assert.equal(await terminal.end(), 0);
  assert.equal(terminal.isAlternate, false);
});

test("starts a gateway where none runs; it stays for as long as the plan", async (t) => {
  const { repo } = makeRepository(t);
  const home = temporaryFolder(t);
  const { wait, open } = gate();
  const { COPILOT_AGENT_SESSION_ID: _, ...own } = process.env;
  const env = {
    ...own,
    ...{ COPILOT_HOME: home, TAP_GATEWAY_PORT: String(await findFreePort()), NO_COLOR: "1" },
    TAP_GRACE_MS: "5000",
  };
  const file = path.join(temporaryFolder(t), "plan.json");
  const nodes = [{ id: "a", work: `${wait}; echo new > new.txt` }];
  fs.writeFileSync(file, JSON.stringify({ name: "x", nodes, allowedFolders: [FLAGS] }));
  const running = new Running(["plan", "run", file], { env, workspace: repo });
  const files = gatewayFiles(env);
  const log = () => fs.readFileSync(path.join(files.logs, "host.log"), "utf8");
  await running.says(/● a {2}running/);
  await waitFor(() => /the gateway stays for plan p\w+ \(x\)/.test(log()), { what: log });
  open();
  const { code, out, err } = await running.end();
  assert.deepEqual([code, err], [0, ""], out);
  await waitFor(async () => (await probePort(files.port, files.homeHash)) === "nobody", {
    what: log,
  });
});

test("new writes a plan that runs, and overwrites nothing", async (t) => {
  const { git, at, plan } = await setUp(t);
  assert.equal((await plan("new", "first.yaml")).code, 0);
  const again = await tapJson(["plan", "new", "first.yaml"], at);
  assert.deepEqual([again.code, again.value.error.code], [1, "EXISTS"]);
  assert.equal((await plan("run", "first.yaml")).code, 0);
  assert.equal(git("show", "feature/my-plan:shout.txt"), "HELLO");
});

test("the help names every field of a plan and of a node", () => {
  const names = (/** @type {[string, string][]} */ rows) => rows.map(([name]) => name).sort();
  assert.deepEqual(names(PLAN_FIELDS), [...PLAN_KEYS, "nodes"].sort());
  assert.deepEqual(names(NODE_FIELDS), NODE_KEYS.toSorted());
});
