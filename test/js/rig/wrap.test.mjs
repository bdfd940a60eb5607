// tools/wrap.mjs: paragraphs with long lines are rewrapped, and nothing else is touched.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { wrap } from "../../../tools/wrap.mjs";

const long = "word ".repeat(40).trim();
const widest = (text) => Math.max(...text.split("\n").map((line) => line.length));

describe("wrap", () => {
  test("breaks paragraphs, items and quotes with a long line, and indents what follows", () => {
    for (const [begin, next] of [
      ["", ""],
      ["- ", "  "],
      ["10. ", "    "],
      ["> ", "> "],
      ["  - ", "    "],
    ]) {
      const wrapped = wrap(`${begin}${long}\n`);
      assert.ok(widest(wrapped) <= 100, wrapped);
      assert.ok(wrapped.startsWith(`${begin}word`));
      assert.ok(wrapped.split("\n")[1].startsWith(`${next}word`), wrapped);
      assert.equal(wrap(wrapped), wrapped);
    }
  });

  test("leaves what fits, tables, headings and code as they are", () => {
    for (const text of [
      "short\nlines\nstay\n",
      `| ${long} |\n`,
      `# ${long}\n`,
      `\`\`\`text\n${long}\n\`\`\`\n`,
      `text\n\n    ${long}\n`,
      `---\nname: x\ndescription: ${long}\n---\n\n# Title\n`,
    ]) {
      assert.equal(wrap(text), text);
    }
  });

  test("breaks no code in backquotes, and begins no line with a mark of a list", () => {
    const code = `${"a ".repeat(45)}\`npm test -- js\` ${long}`;
    assert.match(wrap(code), /`npm test -- js`/);
    for (const mark of ["-", "1013."]) {
      const wrapped = wrap(`${"a ".repeat(50)}${mark} b ${long}`);
      assert.ok(!wrapped.includes(`\n${mark}`), wrapped);
      assert.ok(widest(wrapped) <= 100, wrapped);
    }
  });

  test("starts again with each item and each paragraph", () => {
    const wrapped = wrap(`- ${long}\n- short\n\n${long}\n\nend\n`);
    assert.match(wrapped, /\n- short\n\nword/);
    assert.match(wrapped, /\n\nend\n$/);
  });
});
