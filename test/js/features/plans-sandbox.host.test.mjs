// The user's yes to what a plan of the model opens of its sandbox, and what a node shows of it.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { PlanPreflight } from "../../../js/features/plans/validation.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { plansRig } from "./plans-rig.mjs";

const NODE = { id: "a", work: "true", expectsNoChanges: true };

/** @param {import("node:test").TestContext} t @param {Parameters<typeof plansRig>[1]} [given] */
async function setUp(t, given = {}) {
  const rig = await plansRig(t, given);
  fs.mkdirSync(path.join(rig.repo, "out"));
  const { session, ask } = rig;
  const asked = () => session.events.filter(({ request }) => request === "consent");
  const make = (/** @type {object} */ plan) =>
    ask("create_copilot_plan", { name: "x", startPaused: true, nodes: [NODE], ...plan });
  return { ...rig, asked, make };
}

/** @param {any} answer @returns {string} the code of a refusal */
const readCode = ({ text = "" }) => /INVALID_ARGUMENTS: ([A-Z_]+): /.exec(text)?.[1] ?? text;

test("the user is asked for what a plan opens, exactly; his no is one", async (t) => {
  const { repo, session, asked, make, ask } = await setUp(t);
  session.consent = { answer: "yes" };
  const opened = {
    ...{ allowedFolders: ["out"], allowedUrls: ["a.example.com", "*.b.org"], caches: ["npm"] },
    nodes: [{ ...NODE, id: "c", sandbox: "off" }, NODE],
  };
  const { planId } = await make(opened);
  const lines = asked()[0].params.text.split("\n");
  assert.deepEqual(lines.slice(1, 6), [
    "It opens the sandbox of its programs:",
    ...["  no sandbox: c", `  write in "${repo}/out"`, "  reach a.example.com, *.b.org"],
    "  change your cache of npm, which your other programs use",
  ]);
  const { config, policy } = await ask("get_copilot_node", { planId, nodeId: "c" });
  assert.equal(config.sandbox, "off");
  assert.deepEqual(policy, {
    ...{ sandbox: "off", writable: ["out"], readable: [] },
    ...{ hosts: ["a.example.com", "*.b.org"], caches: ["npm"] },
  });
  assert.equal((await ask("get_copilot_node", { planId, nodeId: "a" })).policy.sandbox, "on");
  assert.equal((await make(opened)).notes, undefined);
  assert.equal(asked().length, 1, "the same plan");

  // What is added has the plan's fields, too.
  const add = (/** @type {string} */ id, more = {}) =>
    ask("create_copilot_node", { planId, ...NODE, id, ...more });
  await add("d");
  assert.match(asked()[1].params.text, /\n {2}reach a\.example\.com/);
  session.consent = { answer: "no" };
  assert.equal(readCode(await add("e", { sandbox: "off" })), "DENIED");
  assert.match(asked()[2].params.text, /\n {2}no sandbox: e\n/);
  assert.equal(readCode(await make({ sandbox: "off" })), "DENIED");
  const job = { name: "j", work: "true", expectsNoChanges: true, caches: ["go"] };
  assert.equal(readCode(await ask("create_copilot_job", job)), "DENIED");
  assert.match(asked()[4].params.text, /\n {2}change your cache of go, /);
});

test("without a dialog, a plan that opens its sandbox is refused with the field", async (t) => {
  const { make, ask, session } = await setUp(t);
  assert.equal(session.consent?.asked, false);
  assert.ok((await make({})).planId, "the permission of the call is enough for others");
  const agent = { type: "agent", instructions: "x", allowedUrls: ["docs.org"] };
  for (const [given, field] of /** @type {const} */ ([
    [{ sandbox: "off" }, "sandbox"],
    [{ readFolders: ["out"] }, "readFolders[0]"],
    [{ allowedUrls: ["*"] }, "allowedUrls[0]"],
    [{ nodes: [{ ...NODE, caches: ["pip"] }] }, "nodes[0].caches[0]"],
    [{ nodes: [{ ...NODE, work: agent }] }, "nodes[0].work.allowedUrls[0]"],
  ])) {
    const { text } = await make(given);
    assert.equal(readCode({ text }), "NOT_ALLOWED", text);
    assert.ok(
      text.split("\n").some((/** @type {string} */ line) => line.startsWith(`${field}: `)),
      text,
    );
  }
  const { planId } = await make({});
  const added = await ask("create_copilot_node", { planId, ...NODE, id: "b", caches: ["go"] });
  assert.equal(readCode(added), "NOT_ALLOWED");
  session.consent = { answer: "yes" };
  const hosts = Array.from({ length: 200 }, (_, at) => `host-${at}.example.com`);
  const long = await make({ allowedUrls: hosts });
  assert.equal(readCode(long), "NOT_ALLOWED", "a question that is too long");
});

test("all mistakes of the folders are told, of the plan, its nodes and its agents", async (t) => {
  const { make, repo } = await setUp(t);
  const file = path.join(temporaryFolder(t), "file");
  fs.writeFileSync(file, "");
  fs.symlinkSync("out", path.join(repo, "link"));
  const agent = { type: "agent", instructions: "x", allowedFolders: [".git"] };
  const { text } = await make({
    ...{ allowedFolders: ["/", "out"], readFolders: ["gone", file] },
    nodes: [{ ...NODE, allowedFolders: ["link"], postchecks: agent }],
  });
  const places = [
    ...["allowedFolders[0]", "readFolders[0]", "readFolders[1]", "nodes[0].allowedFolders[0]"],
    "nodes[0].postchecks.allowedFolders[0]",
  ];
  const lines = text.split("\n");
  assert.deepEqual(
    places.filter((place) => !lines.some((/** @type {string} */ one) => one.startsWith(place))),
    [],
    text,
  );
  assert.equal(lines.length, 1 + places.length, text);
  assert.equal(readCode(await make({ allowedUrls: ["http://x"] })), "INVALID_PLAN");
  assert.equal(readCode(await make({ readFolders: ["gone"] })), "NO_FOLDER");
});

test("what the user's config allows is granted, and only the rest is asked for", async () => {
  const questions = /** @type {string[]} */ ([]);
  const services = {
    sessions: {
      list: async () => [],
      consent: async (/** @type {{text: string}} */ { text }) => {
        questions.push(text);
        return { answer: "none", asked: false };
      },
    },
    settings: {
      plans: async () => ({ sandbox: { allow: { hosts: ["*.org"], caches: ["npm"] } } }),
    },
    worktree: { use: async () => ({ inspectFolders: async () => [] }) },
    plans: { probeSandbox: async () => ({ state: "ok" }) },
  };
  const preflight = new PlanPreflight(/** @type {any} */ (services));
  const approve = (/** @type {object} */ plan, asker = { id: "s", cwd: "/" }) =>
    preflight.requireApproval({ nodes: [NODE], ...plan }, asker, { root: "/r" });
  await approve({ allowedUrls: ["a.org"], caches: ["npm"] });
  assert.doesNotMatch(questions[0], /reach|cache/);
  const refused = approve({ allowedUrls: ["a.org", "b.com"], caches: ["npm"] });
  await assert.rejects(refused, (error) => {
    const { code, detail } = /** @type {any} */ (error);
    assert.deepEqual([code, detail.problems.length], ["NOT_ALLOWED", 1]);
    assert.equal(detail.problems[0].path, "allowedUrls[1]");
    return true;
  });
  assert.match(questions[1], /\n {2}reach b\.com\n/);

  // A person's own plan: only agents need his yes.
  const person = { id: "", cwd: "/" };
  await approve({ sandbox: "off" }, person);
  const agents = { sandbox: "off", nodes: [{ id: "a", prechecks: "@agent look" }] };
  await assert.rejects(approve(agents, person), { code: "NOT_ALLOWED" });
  await approve({ ...agents, sandbox: "on", caches: ["npm"] }, person);
  await approve(agents, { ...person, consents: true });
  assert.equal(questions.length, 2);
});

/** Programs of a machine without bubblewrap. @param {import("node:test").TestContext} t @returns {string} a PATH */
function makePath(t) {
  const folder = temporaryFolder(t);
  for (const name of ["sh", "git", "touch", "test", "true", "cat", "setsid", "rm"])
    fs.symlinkSync(path.join("/usr/bin", name), path.join(folder, name));
  return folder;
}

test("where the machine has no sandbox, the user says once whether a plan may do without", async (t) => {
  const env = { PATH: makePath(t) };
  const { repo, session, make, asked, ask, ended, host } = await setUp(t, { env });
  const outside = path.join(path.dirname(repo), `${path.basename(repo)}-outside`);
  t.after(() => fs.rmSync(outside, { force: true }));
  const plan = { startPaused: false, nodes: [{ ...NODE, work: `touch ${outside}` }] };
  assert.equal(readCode(await make(plan)), "NO_SANDBOX", "there is no dialog");
  session.consent = { answer: "no" };
  assert.equal(readCode(await make(plan)), "DENIED");
  assert.match(asked().at(-1)?.params.text, /\n {2}no sandbox\n/);
  session.consent = { answer: "yes" };
  const { planId, nodes } = await make(plan);
  assert.equal(nodes[0].sandboxed, false);
  assert.equal((await ended(planId)).status, "succeeded", host.log);
  assert.equal(fs.existsSync(outside), true);
  const views = [await ask("list_copilot_nodes", { planId })];
  for (const which of [{ planId }, { planId, nodes: ["a"] }])
    views.push(await ask("get_copilot_plan_status", which));
  for (const seen of views) assert.equal(seen.nodes[0].sandboxed, false);
  assert.equal((await ask("get_copilot_node", { planId, nodeId: "a" })).policy.sandbox, "off");
});

test("the user's config may refuse all plans then, or let them do without", async (t) => {
  const env = { PATH: makePath(t) };
  const refuses = await setUp(t, { env, config: { sandbox: { fallback: "refuse" } } });
  refuses.session.consent = { answer: "yes" };
  assert.match((await refuses.make({})).text, /sandbox: .*bubblewrap/);
  assert.equal(refuses.asked().length, 0);
  const none = await setUp(t, { env, config: { sandbox: { fallback: "none" } } });
  const { planId } = await none.make({ startPaused: false });
  const { status, nodes } = await none.ended(planId);
  assert.deepEqual([status, nodes[0].sandboxed], ["succeeded", false]);
  const typed = { name: "tap-plan", arguments: `show ${planId}`, cwd: none.repo };
  const { text } = await none.control.request("features.command", typed);
  assert.match(text, /a: succeeded \(not sandboxed\)/);
  assert.ok(none.asked().every(({ params }) => !/no sandbox/.test(params.text)));
});
