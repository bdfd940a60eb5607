// Which units of native/gateway call each other (docs/architecture.md, "Layers"). Headers can be
// free of circles while the calls are not, so this test looks at the calls.
//
// A unit is a .h/.cc pair. A call is a free function's name with an opening parenthesis behind it
// that is neither a member's nor a local function's, in a unit that sees the function's header.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const native = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../native");

/**
 * @typedef {object} Unit
 * @property {string} name its path from native/, without the ending
 * @property {string} header code of the .h; empty if it has no .h
 * @property {string} source code of the .cc; empty if it has no .cc
 * @property {string[]} includes headers that it includes itself
 * @typedef {object} Declared
 * @property {string} unit
 * @property {number} least number of arguments without those that have a default
 * @property {number} most number of parameters
 */

/** Without comments and literals. @param {string} text */
const stripComments = (text) =>
  text.replace(
    /\/\/[^\n]*|\/\*[^]*?\*\/|R"(\w*)\([^]*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<!\w)'(?:[^'\\\n]|\\.)+'/g,
    (found) => (found.startsWith("/") ? " " : '""'),
  );

/** @param {string} text @returns {string[]} */
const includesOf = (text) =>
  [...text.matchAll(/^\s*#\s*include "([^"]+)"/gm)].map(([, name]) => name);

/** The text in the parentheses that open at `at`, and where they end. */
function inParentheses(/** @type {string} */ code, /** @type {number} */ at) {
  let depth = 0;
  for (let i = at; i < code.length; i += 1) {
    if ("([{".includes(code[i])) depth += 1;
    if (")]}".includes(code[i])) depth -= 1;
    if (depth === 0) return { inner: code.slice(at + 1, i), end: i };
  }
  return { inner: code.slice(at + 1), end: code.length };
}

/** Parts between commas that are in no brackets. @param {string} list */
function parts(list) {
  const found = [];
  let depth = 0;
  let part = "";
  for (const [i, char] of [...list].entries()) {
    if ("([{".includes(char)) depth += 1;
    if (")]}".includes(char)) depth -= 1;
    // Templates: `<` after a name without a blank, `>` that closes one.
    if (char === "<" && /\w/.test(list[i - 1] ?? "")) depth += 1;
    if (char === ">" && !/[-\s]/.test(list[i - 1] ?? "")) depth -= 1;
    if (char === "," && depth === 0) {
      found.push(part);
      part = "";
    } else part += char;
  }
  if (part.trim() !== "" || found.length > 0) found.push(part);
  return found;
}

/** What stands in the namespace itself: bodies and anonymous namespaces are left out. */
function outermost(/** @type {string} */ code) {
  const open = /namespace tap::gateway \{/.exec(code);
  if (open === null) return "";
  let depth = 0;
  let text = "";
  for (const char of code.slice(open.index + open[0].length)) {
    if (char === "}") depth -= 1;
    if (depth < 0) break;
    if (depth === 0) text += char === "}" ? "};" : char;
    if (char === "{") depth += 1;
  }
  return text;
}

/** The free functions that a header declares or defines. @param {Unit} unit */
function declaredBy(unit) {
  /** @type {[string, Declared][]} */
  const found = [];
  for (const statement of outermost(unit.header).split(";")) {
    const code = statement
      .replace(/^\s*#.*$/gm, "")
      .replace(/\[\[\w+\]\]/g, "")
      .trim();
    if (/^(?:template\s*<[^>]*>\s*)?(?:struct|class|enum|using|namespace)\b/.test(code)) continue;
    const match = /^[^=(]*[\w>&*]\s[&*]*(\w+)\s*\(/.exec(code);
    if (match === null) continue;
    const parameters = parts(inParentheses(code, match[0].length - 1).inner);
    const least = parameters.filter((one) => !one.includes("=")).length;
    found.push([match[1], { unit: unit.name, least, most: parameters.length }]);
  }
  return found;
}

/** What a unit sees: the headers that it includes, and theirs. @param {Map<string, Unit>} units */
function visibleFrom(units) {
  return (/** @type {Unit} */ unit) => {
    const seen = new Set([unit.name]);
    const next = [...unit.includes];
    for (let header = next.pop(); header !== undefined; header = next.pop()) {
      const name = header.replace(/\.h$/, "");
      if (seen.has(name)) continue;
      seen.add(name);
      next.push(...(units.get(name)?.headerIncludes ?? []));
    }
    return seen;
  };
}

/** Functions and lambdas that the code defines for itself: they hide namesakes of other units. */
function localsOf(/** @type {string} */ code) {
  const names = new Set();
  for (const [, name] of code.matchAll(/\bauto (\w+) = \[/g)) names.add(name);
  for (const match of code.matchAll(/[\w>&*]\s[&*]*(\w+)\(/g)) {
    const { end } = inParentheses(code, match.index + match[0].length - 1);
    if (/^\)\s*(?:(?:const|noexcept|override)\s+)*\{/.test(code.slice(end, end + 40))) {
      names.add(match[1]);
    }
  }
  return names;
}

/** Which units a unit calls. */
function callsOf(
  /** @type {Unit} */ unit,
  /** @type {Map<string, Declared[]>} */ functions,
  /** @type {Set<string>} */ seen,
) {
  const code = `${unit.header}\n${unit.source}`;
  const own = new Set(declaredBy(unit).map(([name]) => name));
  const hidden = new Set([...localsOf(code)].filter((name) => !own.has(name)));
  /** @type {Map<string, Set<string>>} by unit that is called, the functions */
  const calls = new Map();
  for (const match of code.matchAll(/(\.|->|::)?\s*\b([A-Za-z_]\w*)\(/g)) {
    const [, access, name] = match;
    const qualified = access === "::" && /\bgateway$/.test(code.slice(0, match.index));
    if ((access && !qualified) || (hidden.has(name) && !qualified)) continue;
    const count = parts(inParentheses(code, match.index + match[0].length - 1).inner).length;
    const meant = (functions.get(name) ?? []).filter(
      ({ unit: of, least, most }) => seen.has(of) && count >= least && count <= most,
    );
    for (const { unit: of } of meant) {
      if (of === unit.name || meant.some((one) => one.unit === unit.name)) continue;
      calls.set(of, (calls.get(of) ?? new Set()).add(name));
    }
  }
  return calls;
}

/** The units of gateway/ with their calls. @param {Record<string, string>} files by path from native/ */
function graphOf(files) {
  /** @type {Map<string, Unit & {headerIncludes: string[]}>} */
  const units = new Map();
  for (const file of Object.keys(files).sort()) {
    const name = file.replace(/\.(?:h|cc)$/, "");
    if (units.has(name)) continue;
    const header = files[`${name}.h`] ?? "";
    const source = files[`${name}.cc`] ?? "";
    units.set(name, {
      name,
      header: stripComments(header),
      source: stripComments(source),
      includes: [...includesOf(header), ...includesOf(source)],
      headerIncludes: includesOf(header),
    });
  }
  /** @type {Map<string, Declared[]>} */
  const functions = new Map();
  for (const unit of units.values()) {
    for (const [name, declared] of declaredBy(unit)) {
      functions.set(name, [...(functions.get(name) ?? []), declared]);
    }
  }
  const visible = visibleFrom(units);
  return new Map(
    [...units.values()].map((unit) => [unit.name, callsOf(unit, functions, visible(unit))]),
  );
}

/** Groups of units that reach each other by calls (Tarjan). */
function circlesOf(/** @type {Map<string, Map<string, Set<string>>>} */ graph) {
  /** @type {Map<string, number>} */
  const index = new Map();
  /** @type {Map<string, number>} */
  const low = new Map();
  /** @type {string[]} */
  const stack = [];
  /** @type {string[][]} */
  const circles = [];
  const visit = (/** @type {string} */ name) => {
    index.set(name, index.size);
    low.set(name, index.get(name));
    stack.push(name);
    for (const to of graph.get(name).keys()) {
      if (!index.has(to)) visit(to);
      if (stack.includes(to)) low.set(name, Math.min(low.get(name), low.get(to)));
    }
    if (low.get(name) !== index.get(name)) return;
    const circle = stack.splice(stack.indexOf(name));
    if (circle.length > 1) circles.push(circle.sort());
  };
  for (const name of graph.keys()) if (!index.has(name)) visit(name);
  return circles.sort();
}

const sources = () =>
  Object.fromEntries(
    readdirSync(path.join(native, "gateway"), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(?:h|cc)$/.test(name))
      .map((name) => `gateway/${name.replaceAll("\\", "/")}`)
      .map((file) => [file, readFileSync(path.join(native, file), "utf8")]),
  );

const inGateway = (/** @type {string} */ code) => `namespace tap::gateway {\n${code}\n}`;

test("a circle by calls is found, also through a third unit", () => {
  const circle = {
    "gateway/a.h": inGateway("void first(int x);"),
    "gateway/a.cc": `#include "gateway/b.h"\n${inGateway("void first(int x) { second(x, 1); }")}`,
    "gateway/b.h": inGateway("[[nodiscard]] std::map<int, int>& second(int x, int y = 0);"),
    "gateway/b.cc": `#include "gateway/c.h"\n${inGateway("auto& x = third({1, 2}, [] { return 3; });")}`,
    "gateway/c.h": `#include "gateway/a.h"\n${inGateway("inline int third(L l, F f) { return gateway::first(1); }")}`,
    "gateway/d.cc": `#include "gateway/a.h"\n${inGateway("void fourth() { first(4); }")}`,
  };
  assert.deepEqual(circlesOf(graphOf(circle)), [["gateway/a", "gateway/b", "gateway/c"]]);
});

test("a namesake is not taken for a call of the function", () => {
  const callees = {
    "gateway/a.h": inGateway("void end(const Turn& turn, int x);\nvoid other();"),
    "gateway/b.h": inGateway("void end(const Turn& turn);\nvoid own(int x);"),
  };
  const without = (/** @type {string} */ code) => {
    const source = `#include "gateway/a.h"\n#include "gateway/b.h"\n${inGateway(code)}`;
    return [
      ...graphOf({ ...callees, "gateway/c.cc": source })
        .get("gateway/c")
        .keys(),
    ];
  };
  assert.deepEqual(without("void f() { end(turn, 1); }"), ["gateway/a"]);
  assert.deepEqual(without("void f() { end(turn); }"), ["gateway/b"]);
  for (const code of [
    "void f() { list.end(turn); }",
    "void f() { list->end(turn, 1); }",
    "void f() { std::end(turn, 1); }",
    "// end(turn, 1)",
    'auto text = "end(turn, 1)";',
    "namespace { void other() {} }  void f() { other(); }",
    "void f() { const auto own = [](int) {}; own(1); }",
  ]) {
    assert.deepEqual(without(code), [], code);
  }
  const unseen = { ...callees, "gateway/c.cc": inGateway("void f() { end(turn, 1); }") };
  assert.deepEqual([...graphOf(unseen).get("gateway/c").keys()], [], "not included");
});

test("units of native/gateway do not call each other in a circle", () => {
  const graph = graphOf(sources());
  const count = [...graph.values()].reduce((sum, calls) => sum + calls.size, 0);
  assert.ok(graph.size > 30 && count > 100, "units and calls are found at all");
  const circles = circlesOf(graph);
  const calls = circles.flatMap((circle) =>
    circle.flatMap((from) =>
      circle
        .filter((to) => graph.get(from).has(to))
        .map((to) => `${from} -> ${to}: ${[...graph.get(from).get(to)].join(", ")}`),
    ),
  );
  assert.deepEqual(circles, [], `these calls make the circles:\n${calls.join("\n")}`);
});
