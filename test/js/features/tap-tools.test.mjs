// tap_tools: what it costs a session, and what it answers.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FEATURES } from "../../../js/features/list.mjs";
import { STATUS_TOOL } from "../../../js/lib/status-tool.mjs";
import { createTapTools } from "../../../js/features/status/tap-tools.mjs";

const GROUPS = [
  { name: "records", description: "what happened in this and in earlier sessions" },
  { name: "plans", description: "work in parallel agents" },
];

/** @param {object} [opened] what the gateway answers @param {typeof GROUPS} [groups] */
function place(opened = {}, groups = GROUPS) {
  const asked = [];
  const tool = createTapTools({
    groups: () => groups,
    openGroups: async (session, names) => {
      asked.push([session, ...names]);
      return { inForce: true, tools: ["tap_query_records"], reason: "", ...opened };
    },
  });
  return { tool, asked, call: (args) => tool.handler(args, { session: "s" }) };
}

test("what a session has at its start is at most 1,200 characters, however many groups there are", () => {
  const many = Array.from({ length: 64 }, (_, i) => ({
    name: `group-${i}`,
    description: "a long description ".repeat(20),
  }));
  for (const groups of [[], GROUPS, many]) {
    const { tool } = place({}, groups);
    const { name, parameters } = tool;
    const definitions = [STATUS_TOOL, { name, description: tool.description(), parameters }];
    const size = definitions.reduce((sum, one) => sum + JSON.stringify(one).length, 0);
    assert.ok(size <= 1200, `${size} characters`);
  }
  assert.match(place({}, many).tool.description(), /- \d+ more: call it without a group$/);
});

test("docs/features.md says what each group costs", () => {
  const page = readFileSync(new URL("../../../docs/features.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `([a-z-]+)` +\| `(builtin:\w+)` +\| (\d+) +\| (\d+) +\|$/gm)];
  const written = rows.map(([, ...cells]) => cells.join(" "));
  const counted = FEATURES.flatMap(({ descriptor: { id, tools = [] } }) => {
    const groups = [...new Set(tools.flatMap(({ group }) => group ?? []))];
    return groups.map((group) => {
      const own = tools.filter((tool) => tool.group === group);
      const size = ({ name, description, parameters = {} }) =>
        JSON.stringify({ name, description, parameters }).length;
      return `${group} ${id} ${own.length} ${own.reduce((sum, tool) => sum + size(tool), 0)}`;
    });
  });
  assert.deepEqual(written, counted);
});

test("its description lists the groups that there are now", () => {
  const groups = [...GROUPS];
  const { tool } = place({}, groups);
  assert.match(tool.description(), /\n- records: what happened.*\n- plans: work in/);
  groups.pop();
  assert.doesNotMatch(tool.description(), /plans/);
});

test("a description that is too long ends with a whole word", () => {
  const description =
    "Makes a plan: a graph of nodes, each an agent or a command in a worktree, several at any time";
  const { tool } = place({}, [{ name: "plans", description }]);
  assert.match(tool.description(), /\n- plans: Makes a plan: .* in a worktree, several at any …$/);
});

test("it answers with the names of the tools", async () => {
  const { call, asked } = place();
  assert.equal(
    await call({ group: "records" }),
    "The tools of records are here now: tap_query_records.",
  );
  assert.deepEqual(asked, [["s", "records"]]);
});

test("where the tools are not in force it says why, and what to do", async () => {
  const late = { inForce: false, reason: "the session has not confirmed its tools within 2000 ms" };
  assert.equal(
    await place(late).call({ group: "records" }),
    "The group records is on, but its tools (tap_query_records) are not here yet: the session has " +
      'not confirmed its tools within 2000 ms. Call tap_tools with "records" again.',
  );
  assert.match(
    await place({ tools: [] }).call({ group: "records" }),
    /no tools yet\. Call tap_tools/,
  );
  const broken = createTapTools({
    groups: () => GROUPS,
    openGroups: () => Promise.reject(new Error("the feature host does not start")),
  });
  assert.match(
    await broken.handler({ group: "plans" }, { session: "s" }),
    /could not be turned on: the feature host does not start\. Call tap_tools again\./,
  );
});

test("without a group, or with another one, it lists them", async () => {
  const { call, asked, tool } = place();
  assert.match(await call({}), /^Groups of tools:\n- records: .*\n- plans: /);
  assert.match(await call({ group: "__proto__" }), /^There is no group "__proto__"\. Groups of/);
  const hidden = await call({ group: "a\u202e".repeat(100) });
  assert.match(hidden, /^There is no group "/);
  assert.ok(!hidden.includes("\u202e"), "hidden characters are shown");
  assert.equal(await place({}, []).call({}), "There are no groups of tools.");
  assert.deepEqual(asked, []);
  assert.match(await tool.command("", "s"), /^Groups of tools:/);
  assert.match(await tool.command(" records ", "s"), /are here now/);
  assert.deepEqual(asked, [["s", "records"]]);
});
