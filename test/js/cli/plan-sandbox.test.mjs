// copilot-tap plan: what a person's plan opens of its sandbox, and who says yes to it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { InTerminal, tapJson } from "../../support/cli-process.mjs";
import { setUp } from "./plan-rig.mjs";

const terminals = { skip: process.platform === "win32" };
const AGENT = { id: "a", work: "@agent x" };

/** @param {import("node:test").TestContext} t */
async function setUpPlans(t) {
  const rig = await setUp(t);
  const json = async (/** @type {string[]} */ ...args) => {
    const { value, code } = await tapJson(["plan", ...args], rig.at);
    return { code, error: value.error, value };
  };
  const run = (/** @type {object} */ written, /** @type {string[]} */ ...more) =>
    json("run", rig.file({ name: "x", startPaused: true, ...written }), "--detach", ...more);
  return { ...rig, json, run };
}

test("the file is the yes to what its commands get, and --yes that to what its agents get", async (t) => {
  const { run, json, plan } = await setUpPlans(t);
  const opened = { sandbox: "off", allowedUrls: ["*.org"], caches: ["npm"] };
  const commands = await run({ ...opened, nodes: [{ id: "a", work: "true" }] });
  assert.equal(commands.code, 0, JSON.stringify(commands.error));
  const refused = await run({ ...opened, nodes: [AGENT] });
  assert.equal(refused.error.code, "NOT_ALLOWED");
  assert.deepEqual(
    refused.error.problems.map((/** @type {any} */ one) => one.path),
    ["sandbox", "allowedUrls[0]", "caches[0]"],
  );
  const { value } = await run({ ...opened, nodes: [AGENT] }, "--yes");
  const off = await plan("show", `${value.planId}/a`);
  assert.match(off.out, /^sandbox +not sandboxed$/m);
  assert.doesNotMatch(off.out, /may reach/);
  const all = await plan("show", value.planId);
  assert.match(all.out, /^1 ─ . a {2}\w+ \(not sandboxed\)$/m);
  assert.equal((await json("show", value.planId)).value.nodes[0].sandboxed, false);
  const graph = await plan("export", value.planId, "--format", "mermaid");
  assert.match(graph.out, /"a \(not sandboxed\)"/);
  const node = { ...AGENT, sandbox: "on", caches: [] };
  const on = await run({ ...opened, nodes: [node] }, "--yes");
  const shown = await plan("show", `${on.value.planId}/a`);
  assert.match(shown.out, /^sandbox +on\nmay reach +\*\.org$/m);
  const { policy } = (await json("show", `${on.value.planId}/a`)).value;
  assert.deepEqual([policy.sandbox, policy.hosts, policy.caches], ["on", ["*.org"], []]);
  const closed = await run({ nodes: [AGENT] });
  const plain = await plan("show", `${closed.value.planId}/a`);
  assert.doesNotMatch(plain.out, /sandbox/);
});

test("an edit and added nodes that open the sandbox of agents need the same yes", async (t) => {
  const { run, json, file, plan } = await setUpPlans(t);
  const command = { id: "c", work: "true", allowedUrls: ["c.org"] };
  const { planId } = (await run({ nodes: [AGENT, command] }, "--yes")).value;
  const edit = (/** @type {string} */ node, /** @type {string[]} */ ...more) =>
    json("edit", `${planId}/${node}`, ...more);
  const urls = ["--allowed-urls", "a.org, b.org", "--sandbox", "on"];
  const refused = await edit("a", ...urls);
  assert.deepEqual(
    [refused.error.code, refused.error.problems[0].path],
    ["NOT_ALLOWED", "allowedUrls[0]"],
  );
  const edited = await edit("a", ...urls, "--yes");
  assert.deepEqual(edited.value.config.allowedUrls, ["a.org", "b.org"]);
  assert.equal((await edit("a", "--allowed-urls", "b.org")).code, 0, "less than before");
  assert.equal((await edit("a", "--work", "@agent y")).code, 0, "nothing is opened");
  const off = await edit("c", "--sandbox", "off", "--caches", "npm");
  assert.equal(off.code, 0, "a command");
  const turned = await edit("c", "--work", "@agent z");
  assert.equal(turned.error.code, "NOT_ALLOWED", "an agent where a command was");
  const empty = await edit("c", "--caches", "", "--allowed-urls=");
  assert.deepEqual([empty.value.config.caches, empty.value.policy.hosts], [[], []]);
  const taken = await edit("c", "--sandbox", "null", "--caches", "null", "--allowed-urls", "null");
  const { sandbox, caches, allowedUrls } = taken.value.config;
  assert.deepEqual([sandbox, caches, allowedUrls], [undefined, undefined, undefined]);
  assert.equal((await edit("c", "--work", "@agent z")).code, 0);
  const { out } = await plan("show", `${planId}/c`);
  assert.match(out, /^ {2}sandbox: null {2}was off$/m);
  for (const [option, value, path] of [
    ["--sandbox", "none", "sandbox"],
    ["--allowed-folders", "../x", "allowedFolders[0]"],
    ["--read-folders", "gone", "readFolders[0]"],
    ["--caches", "mpn", "caches[0]"],
  ]) {
    const { error } = await edit("a", option, value, "--yes");
    const places = error.problems?.map((/** @type {any} */ one) => one.path) ?? [error.message];
    assert.ok(places[0].startsWith(path), JSON.stringify(error));
  }

  const more = file([{ ...AGENT, id: "d", caches: ["go"] }], "more.json");
  const added = await json("add", planId, more);
  assert.deepEqual(
    [added.error.code, added.error.problems[0].path],
    ["NOT_ALLOWED", "nodes[0].caches[0]"],
  );
  assert.equal((await json("add", planId, more, "--yes")).code, 0);
});

test("hosts that were refused are counted by node, and the last ones are listed", async (t) => {
  const { file, json, plan, git } = await setUpPlans(t);
  git("branch", "out");
  const ask = "curl -s http://two.test/; curl -s http://one.test/";
  const node = { id: "a", work: `${ask}; echo a > new.txt`, postchecks: ask };
  const written = { name: "x", targetBranch: "out", allowedUrls: ["c.org"], nodes: [node] };
  const ran = await plan("run", file(written));
  assert.equal(ran.code, 0, ran.out);
  const [, id] = /\b(p[a-z0-9]{8})\b/.exec(ran.out) ?? assert.fail(ran.out);
  assert.equal((await json("show", id)).value.nodes[0].refusals, 4);
  assert.match((await plan("show", id)).out, /^refused +a 4;/m);
  const { lastRefusals, refusals } = (await json("show", `${id}/a`)).value;
  assert.equal(refusals, 4);
  const named = lastRefusals.map((/** @type {any} */ { at, ...one }) => {
    assert.ok(at > Date.now() - 600_000);
    return one;
  });
  const of = { attempt: 1, kind: "host" };
  assert.deepEqual(named, [
    { ...of, phase: "work", target: "two.test" },
    { ...of, phase: "work", target: "one.test" },
    { ...of, phase: "postchecks", target: "two.test" },
    { ...of, phase: "postchecks", target: "one.test" },
  ]);
  assert.match(
    (await plan("show", `${id}/a`)).out,
    /^refused 4\n( {2}.*host (one|two)\.test\n){4}/m,
  );
});

test("a terminal asks once, and no is no", terminals, async (t) => {
  const { at, file, plan } = await setUpPlans(t);
  const written = { name: "x", startPaused: true, nodes: [{ ...AGENT, allowedUrls: ["a.org"] }] };
  const args = ["plan", "run", file(written), "--detach"];
  const refused = new InTerminal(t, args, at);
  await refused.shows("Allow it? [y/N]");
  await refused.shows("reach a.org");
  refused.type("n\r");
  assert.equal(await refused.end(), 1);
  assert.match((await plan("list")).out, /There is no plan/);
  const allowed = new InTerminal(t, args, at);
  await allowed.shows("Allow it? [y/N]");
  allowed.type("y\r");
  await allowed.shows(/plan p\w+ runs/);
  assert.equal(await allowed.end(), 0);
});
