// Words that hide the subject of a sentence, counted by folder: in comments, texts and pages.
// A folder may have 60 in 10,000 words; tools/words.json names those that still have more, and their numbers may only
// fall.
// `node tools/words.mjs --update` writes those that have fallen.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseMarkdown } from "../test/support/markdown.mjs";
import { CommandFailed, printLine, root } from "./commands.mjs";

const WORDS =
  /^(?:what|one|nothing|nobody|somebody|none|told|said|goes|another|else|anybody|beside|anew)$/i;
/** Of a folder that the file does not name. */
const MAX_RATE = 60;
const FILE = path.join(root, "tools", "words.json");
const SOURCES = ["*.mjs", "*.cc", "*.h", "*.py", "*.md"];

const CODE =
  /(\/\/[^\n]*|\/\*[^]*?\*\/)|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[^])*`/g;
const PYTHON = /(#[^\n]*|"""[^]*?""")|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g;

/** The prose of a file: a page without code; comments, and texts of two words or more. @param {string} file @param {string} text */
export function readProse(file, text) {
  if (file.endsWith(".md")) return parseMarkdown(text).prose.replaceAll(/`[^`\n]+`/g, " ");
  const found = [...text.matchAll(file.endsWith(".py") ? PYTHON : CODE)];
  const shown = found.filter(([all, comment]) => comment || /[a-z] [a-z]/i.test(all));
  return shown.map(([all]) => all.replaceAll(/\$\{[^}]*\}/g, " ")).join("\n");
}

/** @param {string} prose @returns {{words: number, found: number}} */
export function countWords(prose) {
  const words = prose.match(/[a-z]+(?:'[a-z]+)?/gi) ?? [];
  return { words: words.length, found: words.filter((word) => WORDS.test(word)).length };
}

/** `js/git`, `docs`, `.` for the root. @param {string} file */
const toFolder = (file) => path.posix.dirname(file).split("/").slice(0, 2).join("/");

/** @returns {Record<string, number>} in 10,000 words, by folder */
export function measureFolders() {
  const list = ["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "--"];
  const files = execFileSync("git", [...list, ...SOURCES], { cwd: root, encoding: "utf8" });
  /** @type {Map<string, {words: number, found: number}>} */
  const sums = new Map();
  for (const file of files.split("\n").filter(Boolean)) {
    if (!existsSync(path.join(root, file))) continue;
    const sum = sums.get(toFolder(file)) ?? { words: 0, found: 0 };
    const { words, found } = countWords(
      readProse(file, readFileSync(path.join(root, file), "utf8")),
    );
    sums.set(toFolder(file), { words: sum.words + words, found: sum.found + found });
  }
  const rates = [...sums].map(([folder, { words, found }]) => [
    folder,
    Math.ceil((found * 10_000) / Math.max(words, 1)),
  ]);
  return Object.fromEntries(rates.sort());
}

/** @returns {Record<string, number>} */
const readLimits = () => JSON.parse(readFileSync(FILE, "utf8"));

/** @throws {CommandFailed} with the folders that have more than they may */
export async function checkWords() {
  const limits = readLimits();
  const more = Object.entries(measureFolders())
    .map(([folder, rate]) => ({ folder, rate, most: limits[folder] ?? MAX_RATE }))
    .filter(({ rate, most }) => rate > most)
    .map(({ folder, rate, most }) => `${folder}: ${rate} in 10,000 words, at most ${most}`);
  if (more.length === 0) return;
  throw new CommandFailed(
    `${more.join("; ")}. Rewrite comments, texts or pages there that have a word of tools/words.mjs: docs/style.md`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv.includes("--update")) {
  const limits = existsSync(FILE) ? readLimits() : {};
  const lower = Object.entries(measureFolders())
    .map(([folder, rate]) => [folder, Math.min(rate, limits[folder] ?? rate)])
    .filter(([, rate]) => Number(rate) > MAX_RATE);
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(lower), null, 2)}\n`);
  printLine(`${lower.length} folders in tools/words.json`);
}
