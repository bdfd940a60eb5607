import js from "@eslint/js";
import globals from "globals";

/** What a function is called: a verb and its object, in the words of programs. */
const FUNCTION_NAMES = [
  {
    pattern: "/^(?!isIn$).*[a-z](Of|In)$/",
    message: "name it by a verb and its object, such as readJournal, not journalOf or journalIn",
  },
  {
    pattern: "/^(tell|say|hear|heed|mend|lend|greet)([A-Z]|$)/",
    message: "programs send, print, receive, repair: write what it does",
  },
];
/** Where a function gets its name. */
const FUNCTIONS = [
  (/** @type {string} */ pattern) => `FunctionDeclaration[id.name=${pattern}] > Identifier.id`,
  (/** @type {string} */ pattern) =>
    `VariableDeclarator[id.name=${pattern}][init.type=/Function/] > Identifier.id`,
  (/** @type {string} */ pattern) => `MethodDefinition[key.name=${pattern}] > .key`,
];

const NAMES = [
  "error",
  ...FUNCTION_NAMES.flatMap(({ pattern, message }) =>
    FUNCTIONS.map((select) => ({ selector: select(pattern), message })),
  ),
  {
    selector: "VariableDeclarator > Identifier.id[name=/^(MOST|LEAST|LONGEST)_/]",
    message: "bounds are MAX_ and MIN_",
  },
];

export default [
  { ignores: ["build/", "build-*/", "dist/", "node_modules/", ".cache/"] },
  js.configs.recommended,
  {
    files: ["**/*.mjs", "**/*.js"],
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: globals.nodeBuiltin },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "no-shadow": ["error", { hoist: "never", allow: ["t"] }],
      "no-throw-literal": "error",
      "no-implicit-coercion": "error",
      "no-self-compare": "error",
      "no-template-curly-in-string": "error",
      "no-unreachable-loop": "error",
      "object-shorthand": "error",
      "prefer-promise-reject-errors": "error",
      "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true }],
      "max-depth": ["error", 4],
      // Prettier breaks code; what it leaves alone are comments. Types in JSDoc may take a line of any length.
      "max-len": [
        "error",
        {
          code: 100,
          comments: 120,
          ignoreStrings: true,
          ignoreTemplateLiterals: true,
          ignoreRegExpLiterals: true,
          ignoreUrls: true,
          ignoreTrailingComments: true,
          ignorePattern: "@[a-z]+ \\{",
        },
      ],
      complexity: ["error", 15],
    },
  },
  {
    // A test's suite is one long function by nature.
    files: ["test/**/*.test.mjs"],
    rules: { "max-lines-per-function": "off" },
  },
  {
    // A connection from its beginning to its end, told in one piece: docs/protocol.md shows it.
    files: ["examples/hello.mjs"],
    rules: {
      "max-lines-per-function": ["error", { max: 80, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ["js/**", "sdk/node/**", "tools/**", "extension.mjs"],
    // Its exports are the test kit's.
    ignores: ["js/develop/replay.mjs", "js/develop/testing.mjs"],
    rules: { "no-restricted-syntax": NAMES },
  },
  {
    // stdout is the CLI's own channel in an extension process: one stray line ends it.
    files: ["js/**", "extension.mjs"],
    rules: { "no-console": "error" },
  },
  {
    // A command also runs in processes that go on after it: it returns its exit code.
    files: ["js/cli/**"],
    ignores: ["js/cli/main.mjs"],
    rules: {
      "no-restricted-properties": [
        "error",
        ...["exit", "exitCode"].map((property) => ({ object: "process", property })),
      ],
    },
  },
];
