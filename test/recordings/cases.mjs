// The projects whose tools record.mjs records: a shop's prices, broken and repaired.

import { CASES as NATIVE } from "./cases-native.mjs";

/**
 * @typedef {object} Case
 * @property {string} name of the file
 * @property {string} command for a shell
 * @property {string} version a command that prints it
 * @property {Record<string, string>} files
 * @property {[step: string, files: Record<string, string | null>][]} steps the changes before each cycle or run
 * @property {string} [prepare] a command before each step, which is not recorded
 * @property {boolean} [watches] a single process for all steps
 * @property {number} [quiet] ms
 * @property {Record<string, string>} [env]
 * @property {string} [url] asked for after each change
 */

/** @param {...string} all */
const lines = (...all) => `${all.join("\n")}\n`;
const MODULE = { "package.json": lines('{ "name": "shop", "private": true, "type": "module" }') };

// ---------------------------------------------------------------- JavaScript: compilers

const PRICE = lines(
  "export interface Price { amount: number; currency: string }",
  "export function add(a: Price, b: Price): Price {",
  "  return { amount: a.amount + b.amount, currency: a.currency };",
  "}",
);
const CART = lines(
  'import { add } from "./price.js";',
  'const tea = { amount: 3, currency: "EUR" };',
  "export const total = add(tea, tea).amount;",
);
const TYPES = {
  ...MODULE,
  "tsconfig.json": lines(
    '{ "compilerOptions": { "strict": true, "module": "NodeNext", "outDir": "out", "types": [] }, "include": ["src"] }',
  ),
  "src/price.ts": PRICE,
  "src/cart.ts": CART,
};
const WRONG_TYPE = CART.replace("amount: 3", 'amount: "3"');
/** @type {Case["steps"]} */
const TYPE_STEPS = [
  ["red", { "src/cart.ts": WRONG_TYPE }],
  ["same", { "src/cart.ts": WRONG_TYPE.replace("tea).amount;", "tea).amount; ") }],
  ["moved", { "src/cart.ts": `// prices\n\n${WRONG_TYPE}` }],
  ["other", { "src/cart.ts": CART.replace(".amount;", ".amonut;") }],
  [
    "several",
    {
      "src/cart.ts": `${WRONG_TYPE}export const vat: number = rate(total);\n`,
      "src/price.ts": PRICE.replace("currency: a.currency", "currency: 1"),
    },
  ],
  [
    "syntax",
    { "src/cart.ts": CART.replace("add(tea, tea)", "add(tea, tea"), "src/price.ts": PRICE },
  ],
  ["green", { "src/cart.ts": CART }],
];

const PLAIN = {
  ...MODULE,
  "src/rates.js": lines("export const vat = 0.2;", "export const low = 0.1;"),
  "src/main.js": lines('import { vat } from "./rates.js";', "console.log(10 * (1 + vat));"),
  "index.html": '<script type="module" src="/src/main.js"></script>\n',
};
const MAIN = PLAIN["src/main.js"];
/** @type {Case["steps"]} */
const BUNDLE_STEPS = [
  ["red", { "src/main.js": MAIN.replace("(1 + vat)", "(1 + vat") }],
  ["same", { "src/main.js": MAIN.replace("(1 + vat)", "(1 + vat").replace("10", "12") }],
  ["moved", { "src/main.js": `// VAT\n${MAIN.replace("(1 + vat)", "(1 + vat")}` }],
  ["other", { "src/main.js": MAIN.replace("./rates.js", "./taxes.js") }],
  [
    "several",
    {
      "src/main.js": `import { low } from "./lower.js";\n${MAIN.replace("./rates.js", "./taxes.js")}low();\n`,
    },
  ],
  ["green", { "src/main.js": MAIN }],
];

const LINTED = {
  ...MODULE,
  "eslint.config.mjs": lines(
    'import js from "@eslint/js";',
    "export default [js.configs.recommended, { rules: { eqeqeq: 2, 'no-var': 1 } }];",
  ),
  "src/rates.js": "export const vat = 0.2;\n",
};

/** @type {Case[]} */
const COMPILERS = [
  {
    ...{ name: "tsc-watch", command: "tsc --watch", version: "tsc --version", watches: true },
    ...{ files: TYPES, steps: TYPE_STEPS },
  },
  {
    ...{ name: "tsc-pretty", command: "tsc --noEmit --pretty", version: "tsc --version" },
    ...{ files: TYPES, steps: [["green", {}], ...TYPE_STEPS] },
  },
  {
    ...{ name: "tsc-build-watch", command: "tsc -b -w --pretty false", version: "tsc --version" },
    ...{ watches: true, files: TYPES, steps: TYPE_STEPS },
  },
  {
    ...{ name: "eslint", command: "eslint src", version: "eslint --version", files: LINTED },
    steps: [
      ["green", {}],
      ["red", { "src/rates.js": "export const vat = rate;\n" }],
      ["same", { "src/rates.js": "export const  vat = rate;\n" }],
      ["moved", { "src/rates.js": "\n\nexport const vat = rate;\n" }],
      ["other", { "src/rates.js": "const low = 1;\nexport const vat = 0.2;\n" }],
      [
        "several",
        {
          "src/rates.js": "export const vat = rate == 1;\n",
          "src/main.js": 'console.log("x");\nconst y = z;\n',
        },
      ],
      ["syntax", { "src/rates.js": "export const = 1;\n", "src/main.js": null }],
      ["warning", { "src/rates.js": "var vat = 0.2;\nexport { vat };\n" }],
      ["crash", { "eslint.config.mjs": 'import "./rules.mjs";\n' }],
      [
        "green",
        { "src/rates.js": "export const vat = 0.2;\n", ...pick(LINTED, "eslint.config.mjs") },
      ],
    ],
  },
  {
    ...{ name: "vite-build-watch", command: "vite build --watch", version: "vite --version" },
    ...{ watches: true, files: PLAIN, steps: BUNDLE_STEPS },
  },
  {
    ...{ name: "vite-build", command: "vite build", version: "vite --version", files: PLAIN },
    steps: [["green", {}], ...BUNDLE_STEPS],
  },
  {
    ...{ name: "vite-dev", command: "vite --port 5387 --strictPort", version: "vite --version" },
    ...{ watches: true, files: PLAIN, url: "http://localhost:5387/src/main.js" },
    steps: [["look", {}], ...BUNDLE_STEPS],
  },
  {
    ...{
      name: "webpack-watch",
      command: "webpack --watch --mode development --entry ./src/main.js",
    },
    ...{ version: "webpack --version", watches: true, files: PLAIN, steps: BUNDLE_STEPS },
  },
  {
    ...{ name: "rollup-watch", command: "rollup -w -i src/main.js -d dist", watches: true },
    ...{ version: "rollup --version", files: PLAIN, steps: BUNDLE_STEPS },
  },
  {
    ...{ name: "esbuild-watch", watches: true, version: "esbuild --version", files: PLAIN },
    ...{
      command: "esbuild src/main.js --bundle --outdir=dist --watch=forever",
      steps: BUNDLE_STEPS,
    },
  },
  {
    ...{ name: "esbuild", version: "esbuild --version", files: PLAIN },
    ...{ command: "esbuild src/main.js --bundle --outdir=dist" },
    steps: [["green", {}], ...BUNDLE_STEPS],
  },
];

// ---------------------------------------------------------------- JavaScript: tests

const DISCOUNT = "export const discount = (price, part) => price - price * part;\n";
const LABEL = 'export const label = (price) => price.toFixed(2) + " EUR";\n';

/** @param {string} head @param {(actual: string, expected: string) => string} same a statement */
const createTests = (head, same) => ({
  "test/discount.test.js": lines(
    ...[head, 'import { discount } from "../src/discount.js";', 'describe("discount", () => {'],
    `  it("takes a part", () => { ${same("discount(10, 0.5)", "5")} });`,
    `  it("of nothing is nothing", () => { ${same("discount(0, 0.5)", "0")} });`,
    "});",
  ),
  "test/label.test.js": lines(
    ...[head, 'import { label } from "../src/label.js";', 'describe("label", () => {'],
    `  it("has two digits", () => { ${same("label(3)", '"3.00 EUR"')} });`,
    "});",
  ),
});

/** @param {Record<string, string>} tests @param {RegExp} wanted steps @returns {Case["steps"]} */
const createTestSteps = (tests, wanted) =>
  createAllSteps(tests).filter(([step]) => wanted.test(step));

const WATCHED = /red|same|several|repaired|missing|green/;
const RUN = /red|other|throws|crash|green/;

/** @param {Record<string, string>} tests @returns {Case["steps"]} */
const createAllSteps = (tests) => [
  ["red", { "src/discount.js": DISCOUNT.replace("price - price", "price + price") }],
  ["same", { "src/discount.js": `${DISCOUNT.replace("price - price", "price + price")}\n` }],
  ["other message", { "src/discount.js": DISCOUNT.replace("price - price", "1 + price") }],
  [
    "several",
    {
      "src/discount.js": DISCOUNT.replace("price - price", "1 + price"),
      "src/label.js": LABEL.replace("toFixed(2)", "toFixed(1)"),
    },
  ],
  ["first repaired", { "src/discount.js": DISCOUNT }],
  ["throws", { "src/label.js": LABEL.replace("price.toFixed(2)", "price.value.toFixed(2)") }],
  ["missing", { "src/label.js": null }],
  ["crash", { "src/label.js": LABEL, "test/label.test.js": 'describe("label", () => {\n' }],
  ["green", { "src/discount.js": DISCOUNT, "src/label.js": LABEL, ...tests }],
];

const SOURCES = { ...MODULE, "src/discount.js": DISCOUNT, "src/label.js": LABEL };
const ASSERT = 'import assert from "node:assert/strict";';
const NODE_TESTS = createTests(
  `import { describe, it } from "node:test";\n${ASSERT}`,
  (a, b) => `assert.equal(${a}, ${b});`,
);
const MOCHA_TESTS = createTests(ASSERT, (a, b) => `assert.equal(${a}, ${b});`);
const JEST_TESTS = createTests("", (a, b) => `expect(${a}).toBe(${b});`);
const VITEST_TESTS = createTests(
  'import { describe, expect, it } from "vitest";',
  (a, b) => `expect(${a}).toBe(${b});`,
);
/** jest reads modules by babel, which needs a preset: the sources are CommonJS. @param {string} source */
const toCommonJs = (source) =>
  source
    .replaceAll(/import (\w+|\{ \w+ \}) from ("[^"]+")/g, "const $1 = require($2)")
    .replaceAll(/export const (\w+) =/g, "exports.$1 =");
/** @template {Record<string, string | null>} T @param {T} files @returns {T} */
const toCommonFiles = (files) =>
  /** @type {T} */ (
    Object.fromEntries(
      Object.entries(files).map(([name, text]) => [name, text && toCommonJs(text)]),
    )
  );
const JEST = toCommonFiles({
  ...{ ...SOURCES, ...JEST_TESTS },
  "package.json": '{ "name": "shop", "private": true }\n',
});
/** @type {Case["steps"]} */
const JEST_STEPS = createAllSteps(JEST_TESTS).map(([step, files]) => [step, toCommonFiles(files)]);

/** @type {Case[]} */
const TESTS = [
  {
    ...{ name: "jest-watch", command: "jest --watchAll", version: "jest --version" },
    ...{ watches: true, files: JEST, steps: JEST_STEPS.filter(([step]) => WATCHED.test(step)) },
  },
  {
    ...{ name: "jest", command: "jest", version: "jest --version", files: JEST },
    steps: [["green", {}], ...JEST_STEPS.filter(([step]) => /red|crash|green/.test(step))],
  },
  {
    ...{ name: "vitest-watch", command: "vitest --watch", version: "vitest --version" },
    ...{ watches: true, files: { ...SOURCES, ...VITEST_TESTS }, env: { NO_COLOR: "1" } },
    steps: createTestSteps(VITEST_TESTS, /red|several|repaired|missing|green/),
  },
  {
    ...{ name: "vitest-run", command: "vitest run", version: "vitest --version" },
    ...{ files: { ...SOURCES, ...VITEST_TESTS }, env: { NO_COLOR: "1" } },
    steps: [["green", {}], ...createTestSteps(VITEST_TESTS, RUN)],
  },
  {
    ...{ name: "mocha-watch", command: "mocha --watch test", version: "mocha --version" },
    ...{ watches: true, files: toCommonFiles({ ...JEST, ...MOCHA_TESTS }) },
    steps: createTestSteps(MOCHA_TESTS, /red|same|repaired|missing|green/).map(([step, files]) => [
      step,
      toCommonFiles(files),
    ]),
  },
  {
    ...{ name: "mocha", command: "mocha test", version: "mocha --version" },
    files: { ...SOURCES, ...MOCHA_TESTS },
    steps: [
      ["green", {}],
      ...createTestSteps(MOCHA_TESTS, RUN),
      ["none", { "test/label.test.js": "\n", "test/discount.test.js": "\n" }],
    ],
  },
  {
    ...{ name: "node-test", command: "node --test", version: "node --version" },
    ...{ files: { ...SOURCES, ...NODE_TESTS } },
    steps: [["green", {}], ...createTestSteps(NODE_TESTS, /red|missing|green/)],
  },
  {
    ...{ name: "node-test-spec", command: "node --test --test-reporter=spec" },
    ...{ version: "node --version", files: { ...SOURCES, ...NODE_TESTS } },
    steps: [["green", {}], ...createTestSteps(NODE_TESTS, /red|throws|crash|green/)],
  },
  {
    ...{ name: "node-test-watch", command: "node --test --watch --test-reporter=spec test/" },
    ...{ version: "node --version", watches: true, files: { ...SOURCES, ...NODE_TESTS } },
    steps: createTestSteps(NODE_TESTS, WATCHED),
  },
];

/** @param {Record<string, string>} files @param {string} name */
function pick(files, name) {
  return { [name]: files[name] };
}

export const CASES = [...COMPILERS, ...TESTS, ...NATIVE];
