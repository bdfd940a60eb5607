// Agents of a plan that name the same files.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findPaths, findSamePathNotes } from "../../../js/features/plans/validation.mjs";

describe("paths in instructions", () => {
  const cases = [
    ["Move it to src/lexer.ts.", ["src/lexer.ts"]],
    ["See ./docs/plans.md, then README.md; not e.g. this", ["docs/plans.md", "README.md"]],
    ["fetch https://example.com/a/b.txt first", []],
    ["in src/parser/ and `lib/a.h`", ["lib/a.h"]],
    ["Use version 1.2 of a@b and/or c", []],
    ["", []],
  ];
  for (const [text, wanted] of cases) {
    test(JSON.stringify(text), () => {
      assert.deepEqual([...findPaths(/** @type {string} */ (text))], wanted);
    });
  }

  test("a long hostile text takes no time to speak of, and gives at most 50", () => {
    assert.ok(findPaths("a/".repeat(100_000)).size <= 50);
    assert.ok(findPaths("a.".repeat(100_000)).size <= 50);
    const many = Array.from({ length: 1000 }, (_, index) => `src/f${index}.ts`).join(" ");
    assert.equal(findPaths(many).size, 50);
  });
});

describe("nodes that name the same file", () => {
  const agent = (
    /** @type {string} */ id,
    /** @type {string[]} */ dependencies,
    text = "edit src/a.ts",
  ) => ({
    ...{ id, dependencies, work: `@agent ${text}` },
  });

  test("are named where they may run at the same time", () => {
    const [note, ...more] = findSamePathNotes([
      agent("one", []),
      agent("two", []),
      agent("three", [], "x"),
    ]);
    assert.match(note, /^one, two name "src\/a\.ts" and may run at the same time/);
    assert.deepEqual(more, []);
  });

  test("are not where one waits for the other, over others too", () => {
    const between = { id: "between", dependencies: ["one"], work: "npm test" };
    assert.deepEqual(findSamePathNotes([agent("one", []), between, agent("two", ["between"])]), []);
  });

  test("are told apart in long chains, and in graphs with many edges, whatever their order", () => {
    const chain = Array.from({ length: 80 }, (_, at) =>
      agent(`n${at}`, at === 0 ? [] : [`n${at - 1}`]),
    );
    assert.deepEqual(findSamePathNotes(chain.toReversed()), []);
    const [note] = findSamePathNotes([...chain, agent("apart", ["n40"])]);
    assert.match(note, /^n41, n42, n43, n44 and 36 more name /);
    const ids = (/** @type {number} */ from) =>
      Array.from({ length: 100 }, (_, at) => `m${from + at}`);
    const dense = Array.from({ length: 9_000 }, (_, at) => ({
      ...{ id: `m${at}`, work: "true", dependencies: at < 100 ? [] : ids(at - 100) },
    }));
    const last = Array.from({ length: 400 }, (_, at) => agent(`l${at}`, ids(8_900)));
    assert.match(findSamePathNotes([...dense, ...last])[0], /^l0, l1, l2, l3 and 396 more name /);
  });

  test("count of a command only where it writes them", () => {
    const shell = (/** @type {string} */ work) =>
      findSamePathNotes([agent("one", []), { id: "s", work }]);
    assert.deepEqual(shell("prettier src/a.ts > out.txt"), []);
    assert.deepEqual(shell("cat src/a.ts 2>/dev/null"), []);
    assert.match(shell('echo x >> "src/a.ts"')[0], /^one, s name "src\/a\.ts"/);
    const write = (/** @type {string} */ id) => ({
      ...{ id, work: { type: "shell", command: "echo x >src/a.ts; true" } },
    });
    assert.match(findSamePathNotes([write("a"), write("b")])[0], /^a, b name/);
  });

  test("give at most five notes", () => {
    const text = Array.from({ length: 20 }, (_, index) => `src/f${index}.ts`).join(" ");
    assert.equal(findSamePathNotes([agent("one", [], text), agent("two", [], text)]).length, 5);
  });
});
