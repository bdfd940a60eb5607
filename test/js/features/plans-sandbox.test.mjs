// What a plan may open of its sandbox, what the user's config allows of that, and what he is asked.

import assert from "node:assert/strict";
import { test } from "node:test";
import { NodeRun } from "../../../js/features/plans/node-runner.mjs";
import {
  createNotAllowed,
  findAdded,
  findFolderMistakes,
  findUnallowed,
  formatOpenings,
  getSandboxAllow,
  hasAgents,
  inspectOpenings,
  isShownWhole,
  listOpenings,
} from "../../../js/features/plans/sandbox-consent.mjs";
import {
  describePolicy,
  findFolderMistake,
  mergeFields,
} from "../../../js/features/plans/sandbox-policy.mjs";
import { TOOLS } from "../../../js/features/plans/tool-schemas.mjs";
import { listAttempts, listRefusals, viewNode } from "../../../js/features/plans/views.mjs";
import { CACHES } from "../../../js/process/sandbox.mjs";
import { toStartError } from "../../../js/features/plans/errors.mjs";

const PLACES = {
  checkouts: ["/home/me/repo"],
  git: ["/home/me/repo/.git", "/srv/bare"],
  worktrees: "/home/me/repo/.worktrees",
  home: "/home/me",
  cliHome: "/home/me/.copilot",
};
const NOTHING = { folders: [], readFolders: [], hosts: [], caches: [] };
const none = new Map();

/** @param {{path: string, kind: string, value: string}[]} openings */
const shorten = (openings) => openings.map(({ path, kind, value }) => `${path} ${kind} ${value}`);

test("a node's field stands for the plan's as a whole, an empty list too", () => {
  const head = { sandbox: "off", allowedUrls: ["a.b"], caches: ["npm"], readFolders: null };
  assert.deepEqual(mergeFields(head, { sandbox: "on", allowedUrls: [], caches: null }), {
    ...{ sandbox: "on", allowedFolders: [], readFolders: [], allowedUrls: [], caches: ["npm"] },
  });
  const odd = { sandbox: 5, allowedFolders: "x", readFolders: [1, "a"] };
  assert.deepEqual(mergeFields(undefined, odd), {
    ...{ sandbox: "on", allowedFolders: [], readFolders: ["a"], allowedUrls: [], caches: [] },
  });
});

test("no program gets what is reserved, nor what lies around it", () => {
  const look = (/** @type {string} */ real, /** @type {string} */ named = real) =>
    findFolderMistake({ name: named, named, real }, PLACES, "/home/me/repo/.worktrees/p-n-1");
  const refused = [
    ...["/", "/home", "/home/me", "/home/me/repo", "/home/me/repo/.git", "/x/.GIT/hooks"],
    ...["/srv", "/srv/bare", "/srv/bare/refs", "/home/me/.copilot", "/home/me/.copilot/tap"],
    ...["/home/me/repo/.worktrees", "/home/me/repo/.worktrees/p-n-2", "/proc", "/proc/1", "/dev"],
    ...["/sys/fs", "/home/me/repo/.worktrees/p-n-1/.git"],
  ];
  for (const folder of refused) assert.equal(look(folder)?.code, "NOT_ALLOWED", folder);
  const allowed = [
    ...["/home/me/repo/out", "/home/me/repository", "/home/me/other", "/srv/barely", "/process"],
    ...["/home/me/.copilots", "/home/me/repo/.worktrees/p-n-1/out", "/data", "/x/.github"],
  ];
  for (const folder of allowed) assert.equal(look(folder), undefined, folder);
  const linked = look("/data/real", "/data/link");
  assert.equal(linked?.code, "NOT_ALLOWED");
  assert.match(String(linked?.message), /"\/data\/real"/);
  const gone = { name: "x", named: "/x", why: "is not there" };
  assert.equal(findFolderMistake(gone, PLACES)?.code, "NO_FOLDER");
});

test("what is opened is listed with its place, also before a check", () => {
  const agent = { type: "agent", instructions: "x", allowedFolders: ["f"], allowedUrls: ["A.b"] };
  const given = {
    ...{ sandbox: "off", allowedUrls: ["*"], caches: ["npm"] },
    nodes: [
      { id: "a", work: "true" },
      { id: "b", sandbox: "off", readFolders: ["r"], work: agent, postchecks: agent },
      ...[null, 7, { id: 1, sandbox: "off", work: { type: "shell", allowedFolders: ["x"] } }],
    ],
  };
  assert.deepEqual(shorten(listOpenings(given, { allowedFolders: ["out"] })), [
    ...["the plan's allowedFolders[0] write out", "sandbox off ", "allowedUrls[0] reach *"],
    ...["caches[0] cache npm", "nodes[1].sandbox off b", "nodes[1].readFolders[0] read r"],
    ...["nodes[1].work.allowedFolders[0] write f", "nodes[1].work.allowedUrls[0] reach a.b"],
    "nodes[1].postchecks.allowedFolders[0] write f",
    ...["nodes[1].postchecks.allowedUrls[0] reach a.b", "nodes[4].sandbox off "],
  ]);
  assert.deepEqual(listOpenings({ nodes: "x" }), []);
  assert.equal(hasAgents(given.nodes), true);
  assert.equal(hasAgents([{ postchecks: "@agent look" }]), true);
  assert.equal(hasAgents([{ work: "@agents" }, undefined]), false);
  assert.equal(hasAgents("x"), false);
});

test("the config covers folders and hosts below its own, and never that there is no sandbox", () => {
  const allow = {
    ...{ folders: ["/data"], readFolders: ["/ref"], caches: ["npm"] },
    hosts: ["*.Example.com", "one.org"],
  };
  const unallowed = (/** @type {object} */ fields) =>
    findUnallowed(listOpenings(fields), none, allow).map(({ value }) => value);
  const folders = ["/data", "/data/a", "/database", "/ref/a", "/"];
  assert.deepEqual(unallowed({ allowedFolders: folders }), ["/database", "/ref/a", "/"]);
  assert.deepEqual(unallowed({ readFolders: folders }), ["/database", "/"]);
  const hosts = ["a.example.com", "*.A.example.com", "*.example.com", "ONE.org"];
  assert.deepEqual(unallowed({ allowedUrls: hosts }), []);
  const others = ["example.com", "a.one.org", "badexample.com", "*.com", "*"];
  assert.deepEqual(unallowed({ allowedUrls: others }), others);
  assert.deepEqual(unallowed({ caches: ["npm", "pip"] }), ["pip"]);
  assert.deepEqual(unallowed({ sandbox: "off" }), [""]);
  const all = { ...allow, hosts: ["*"] };
  assert.deepEqual(findUnallowed(listOpenings({ allowedUrls: others }), none, all), []);
  const twice = { allowedFolders: ["out"], nodes: [{ id: "a", allowedFolders: ["out"] }] };
  const real = new Map([["out", { name: "out", named: "/r/out", real: "/r/out" }]]);
  const found = findUnallowed(listOpenings(twice), real, NOTHING);
  assert.deepEqual(shorten(found), ["allowedFolders[0] write /r/out"]);
  const before = listOpenings({ allowedUrls: ["a.b"], sandbox: "off" });
  const now = listOpenings({ allowedUrls: ["a.b", "c.d"] });
  assert.deepEqual(shorten(findAdded(now, before)), ["allowedUrls[1] reach c.d"]);
});

test("the user's config is read with its links resolved; without one nothing is allowed", async () => {
  const worktree = {
    use: async () => ({
      inspectFolders: async (/** @type {string} */ _root, /** @type {string[]} */ names) =>
        names.map((name) => (name === "/gone" ? { name } : { name, real: `/real${name}` })),
    }),
  };
  const read = (/** @type {object} */ plans) =>
    getSandboxAllow({ settings: { plans: async () => plans }, worktree });
  assert.deepEqual(await read({}), NOTHING);
  assert.deepEqual(await read({ sandbox: { fallback: "ask" } }), NOTHING);
  const allow = { folders: ["/a", "/gone"], readFolders: ["/b"], hosts: ["*"], caches: ["go"] };
  assert.deepEqual(await read({ sandbox: { allow } }), {
    ...{ folders: ["/real/a"], readFolders: ["/real/b"], hosts: ["*"], caches: ["go"] },
  });
});

test("a question leaves nothing out, shows what is hidden, and is not asked where it is too long", () => {
  const fields = {
    ...{ allowedFolders: ["/a\u202e/b"], readFolders: ["/r"], allowedUrls: ["a.b", "*.c.d"] },
    ...{ caches: ["npm", "go"], nodes: [{ id: "x", sandbox: "off" }] },
  };
  const lines = formatOpenings(listOpenings(fields));
  assert.deepEqual(lines, [
    ...["  no sandbox: x", '  write in "/a\\u{202e}/b"', '  read "/r"', "  reach a.b, *.c.d"],
    "  change your cache of npm, go, which your other programs use",
  ]);
  const rest = formatOpenings(listOpenings({ sandbox: "off", allowedUrls: ["a.b", "*"] }));
  assert.deepEqual(rest, ["  no sandbox", "  reach any host, as this machine does"]);
  const hosts = Array.from({ length: 1000 }, (_, at) => `host-${at}.example.com`);
  const many = formatOpenings(listOpenings({ allowedUrls: hosts }));
  assert.ok(many[0].includes("host-999.example.com"));
  assert.equal(isShownWhole(lines), true);
  assert.equal(isShownWhole(many), false);
});

test("what is not allowed is named with its field and the line for the config, at most fifty", () => {
  const urls = Array.from({ length: 60 }, (_, at) => `h${at}.org`);
  const openings = listOpenings({ sandbox: "off", allowedUrls: urls });
  const error = createNotAllowed(openings, "nobody is here");
  const { problems, more } = /** @type {any} */ (error.detail);
  assert.deepEqual([error.code, problems.length, more], ["NOT_ALLOWED", 50, 11]);
  assert.deepEqual([problems[0].path, problems[1].path], ["sandbox", "allowedUrls[0]"]);
  assert.match(problems[1].message, /"sandbox":\{"allow":\{"hosts":\["h0\.org"\]\}\}/);
  assert.doesNotMatch(problems[0].message, /config\.json/);
});

test("a plan names at most a thousand folders, each looked at once", async () => {
  const folders = Array.from({ length: 1001 }, (_, at) => `f${at}`);
  const nodes = [0, 1].map(() => ({ readFolders: folders }));
  const openings = listOpenings({ nodes });
  let count = 0;
  const found = await inspectOpenings(openings, async (names) => {
    count += names.length;
    return names.map((name) => ({ name, named: `/${name}`, real: `/${name}` }));
  });
  assert.equal(count, 1000);
  const mistakes = findFolderMistakes(openings, found, () => undefined);
  assert.deepEqual(
    mistakes.map(({ path, code }) => `${path} ${code}`),
    ["nodes[0].readFolders[1000] INVALID_PLAN", "nodes[1].readFolders[1000] INVALID_PLAN"],
  );
});

test("a policy is shown as it was recorded, or as the fields say it", () => {
  const head = { allowedUrls: ["a.b"], readFolders: ["r"] };
  const fields = { sandbox: "on", writable: ["w"], readable: ["r"], hosts: ["a.b"], caches: [] };
  assert.deepEqual(describePolicy(head, { allowedFolders: ["w"] }), fields);
  const recorded = { ...fields, sandbox: /** @type {const} */ ("off"), writable: ["/r/w"] };
  assert.deepEqual(describePolicy(head, {}, { ...recorded, cwd: "/x" }), recorded);
});

test("a node is shown with what its last attempt has recorded", async () => {
  const policy = { sandbox: "off", writable: [], readable: [], hosts: "*", caches: ["npm"] };
  const attempt = { attempt: 1, status: "running", phases: [], steps: [{ policy }] };
  const node = { id: "a", dependents: ["b"], allowedUrls: ["a.b"], ofPlan: { sandbox: "on" } };
  /** @param {object[]} attempts @returns {any} */
  const plansWith = (attempts) => ({
    view: () => ({ ...node, attempts }),
    lastLine: () => "",
    openPlan: () => Promise.reject(new Error("gone")),
  });
  const seen = await viewNode(plansWith([attempt]), "p", "a");
  assert.deepEqual([seen.policy, seen.config], [policy, { allowedUrls: ["a.b"] }]);
  assert.equal("ofPlan" in seen, false);
  assert.deepEqual(listAttempts(plansWith([]), "p", { attempts: [attempt] })[0].policy, policy);
  const before = await viewNode(plansWith([]), "p", "a");
  assert.deepEqual([before.policy.sandbox, before.policy.hosts], ["on", ["a.b"]]);
});

test("an attempt records its first refusals as they come, and keeps the last ones", () => {
  const before = { attempt: 1, count: 9, last: [] };
  /** @type {any[]} */
  const inputs = [];
  const run = new NodeRun(
    /** @type {any} */ ({
      plan: { id: "p" },
      effect: {
        node: { id: "a" },
        phase: "work",
        current: { attempt: 2, steps: [{ refusals: before }] },
      },
      tell: async (/** @type {any} */ input) => inputs.push(input),
    }),
  );
  const secret = `ghp_${"a".repeat(36)}`;
  for (let at = 1; at <= 25; at += 1)
    run.recordRefusal({ kind: "command", target: `${at} ${secret} ${"x".repeat(500)}` });
  assert.equal(inputs.length, 20);
  assert.deepEqual(inputs.at(-1).detail, {
    refusals: { ...inputs.at(-1).detail.refusals, attempt: 2, count: 20 },
  });
  const { count, last } = run.fact("refusals");
  assert.deepEqual([count, last.length], [25, 20]);
  assert.match(last[0].target, /^6 <removed> x+… \(\d+ more\)$/);
  const seen = listRefusals({
    attempts: [
      { attempt: 1, steps: [{ refusals: { attempt: 1, last: [null, { target: {} }] } }] },
      { attempt: 2, steps: [{ refusals: run.fact("refusals") }] },
    ],
  });
  assert.deepEqual([seen.length, seen[0].attempt, seen[0].kind], [20, 2, "command"]);
});

test("caches have the same names in the sandbox and for the model", () => {
  const [, schema] = TOOLS.create_copilot_plan;
  const { caches } = /** @type {any} */ (schema).properties;
  assert.deepEqual(caches.items.enum, Object.keys(CACHES));
});

test("a bwrap that has gone meanwhile is a missing sandbox, and no missing program", () => {
  const error = new Error("x", { cause: { code: "ENOENT", path: "/usr/bin/bwrap" } });
  assert.equal(toStartError("make", error).code, "NO_SANDBOX");
  assert.equal(toStartError("bwrap", error).code, "NO_PROGRAM");
  const other = new Error("x", { cause: { code: "ENOENT", path: "/usr/bin/make" } });
  assert.equal(toStartError("make", other).code, "NO_PROGRAM");
});
