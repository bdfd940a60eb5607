// npm run conformance: docs/conformance.md, which lists for each rule of docs/protocol.md the tests that
// show it. The rules are read from that page, the tests from the comments above them.

import { writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { root, printLine } from "./commands.mjs";
import { conformanceRules } from "./conformance.mjs";
import { wrap } from "./wrap.mjs";

const HEAD = `# Conformance

<!-- Titles of tests are not broken. -->
<!-- markdownlint-disable MD013 -->

Every [rule of the protocol](protocol.md#rules), and the tests that show it. This page is made by
\`npm run conformance\` from docs/protocol.md and from the comments above the tests, such as
\`// shows: P-HELLO-3\`; a test checks that it is up to date and that every rule has a test.

A test is named \`Suite.Name\` (GoogleTest, test/native) or \`js/room/file: title\`, \`e2e/file: title\`
(node:test, test/js/room/file.test.mjs). A "…" stands for what differs between several tests.
\`npm test\` ends with the part \`conformance\`: every test that is named here must have run in that
run, and must have passed.
`;

/** @param {import("./conformance.mjs").Rule[]} rules @returns {string} */
export function conformancePage(rules) {
  const chapters = [...new Set(rules.map(({ chapter }) => chapter))];
  const lines = chapters.flatMap((chapter) => [
    ["", `## ${chapter}`, ""],
    ...rules
      .filter((rule) => rule.chapter === chapter)
      .map(({ where, rule, tests }) => [
        `- **${where}** ${rule}`,
        ...tests.map((name) => `  - \`${name}\``),
      ]),
  ]);
  return wrap([HEAD.trimEnd(), ...lines.flat(), ""].join("\n"));
}

/** Writes the page. */
export function writeConformancePage() {
  const rules = conformanceRules();
  writeFileSync(path.join(root, "docs", "conformance.md"), conformancePage(rules));
  return rules.length;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  printLine(`docs/conformance.md: ${writeConformancePage()} rules written`);
}
