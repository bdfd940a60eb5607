// Projects in other languages than JavaScript, and tools that run others (see cases.mjs).

/** @typedef {import("./cases.mjs").Case} Case */

/** @param {...string} all */
const lines = (...all) => `${all.join("\n")}\n`;

// ---------------------------------------------------------------- Python

const STOCK = lines(
  "class Stock:",
  "    def __init__(self) -> None:",
  "        self.items: dict[str, int] = {}",
  "",
  "    def add(self, name: str, count: int) -> int:",
  "        self.items[name] = self.items.get(name, 0) + count",
  "        return self.items[name]",
);
const WRONG_STOCK = STOCK.replace(", 0) + count", ", 0) - count");
const TEST_STOCK = lines(
  ...["import unittest", "from stock import Stock", "", "", "class StockTest(unittest.TestCase):"],
  ...["    def test_add(self):", '        self.assertEqual(Stock().add("tea", 2), 2)', ""],
  ...["    def test_twice(self):", "        stock = Stock()", '        stock.add("tea", 2)'],
  '        self.assertEqual(stock.add("tea", 3), 5)',
);
const PYTEST_STOCK = lines(
  ...["import pytest", "from stock import Stock", "", "", "@pytest.fixture", "def stock():"],
  ...["    return Stock()", "", "", "def test_add(stock):", '    assert stock.add("tea", 2) == 2'],
  ...["", "", '@pytest.mark.parametrize("count", [1, 3])', "def test_twice(stock, count):"],
  ...['    stock.add("tea", 2)', '    assert stock.add("tea", count) == 2 + count'],
);
const BROKEN_FIXTURE = PYTEST_STOCK.replace("return Stock()", 'return Stock("shop")');
const PYTHON = { PYTHONDONTWRITEBYTECODE: "1" };

/** @type {Case[]} */
const PYTHON_CASES = [
  {
    ...{ name: "pytest", command: "/usr/bin/python3 -m pytest -p no:cacheprovider", env: PYTHON },
    version: "pytest --version 2>&1",
    files: { "stock.py": STOCK, "test_stock.py": PYTEST_STOCK },
    steps: [
      ["green", {}],
      ["red", { "stock.py": WRONG_STOCK }],
      ["same", { "stock.py": `${WRONG_STOCK}\n` }],
      ["moved", { "test_stock.py": `\n\n${PYTEST_STOCK}` }],
      [
        "syntax",
        { "stock.py": STOCK, "test_stock.py": PYTEST_STOCK.replace("(stock):", "(stock)") },
      ],
      ["none", { "test_stock.py": "x = 1\n" }],
      ["green", { "test_stock.py": PYTEST_STOCK }],
    ],
  },
  {
    ...{ name: "pytest-short", command: "/usr/bin/python3 -m pytest -q --tb=short -rfE" },
    ...{ env: PYTHON, version: "pytest --version 2>&1" },
    files: { "stock.py": STOCK, "test_stock.py": PYTEST_STOCK },
    steps: [
      ["green", {}],
      ["red", { "stock.py": WRONG_STOCK }],
      ["fixture", { "stock.py": STOCK, "test_stock.py": BROKEN_FIXTURE }],
      ["import", { "test_stock.py": PYTEST_STOCK.replace("from stock", "from store") }],
      ["crash", { "conftest.py": "import nowhere\n" }],
      ["green", { "conftest.py": null, "test_stock.py": PYTEST_STOCK }],
    ],
  },
  {
    ...{ name: "unittest", command: "/usr/bin/python3 -m unittest", env: PYTHON },
    version: "/usr/bin/python3 --version",
    files: { "stock.py": STOCK, "test_stock.py": TEST_STOCK },
    steps: [
      ["green", {}],
      ["red", { "stock.py": WRONG_STOCK }],
      ["error", { "stock.py": STOCK.replace(".get(name, 0)", "[name]") }],
      ["crash", { "test_stock.py": TEST_STOCK.replace("(self):", "(self)") }],
      ["none", { "test_stock.py": "x = 1\n" }],
      ["green", { "stock.py": STOCK, "test_stock.py": TEST_STOCK }],
    ],
  },
  {
    ...{ name: "mypy", command: "mypy --cache-dir=/dev/null .", env: PYTHON },
    ...{ version: "mypy --version", files: { "stock.py": STOCK } },
    steps: [
      ["green", {}],
      ["red", { "stock.py": STOCK.replace("-> int", "-> str") }],
      ["several", { "stock.py": `${STOCK.replace("-> int", "-> str")}\nStock().add(1, 2, 3)\n` }],
      ["syntax", { "stock.py": STOCK.replace("class Stock:", "class Stock") }],
      ["green", { "stock.py": STOCK }],
    ],
  },
];

// ---------------------------------------------------------------- Rust, Go, C

const CARGO = {
  "Cargo.toml": lines("[package]", 'name = "shop"', 'version = "0.1.0"', 'edition = "2021"'),
  "src/lib.rs": lines(
    ...["pub mod tax;", "", "pub fn gross(net: u32) -> u32 {", "    net + tax::vat(net)", "}", ""],
    ...["#[cfg(test)]", "mod tests {", "    #[test]", "    fn adds_vat() {"],
    ...["        assert_eq!(super::gross(100), 120);", "    }", "", "    #[test]"],
    ...[
      "    fn nothing_costs_nothing() {",
      "        assert_eq!(super::gross(0), 0);",
      "    }",
      "}",
    ],
  ),
  "src/tax.rs": lines("pub fn vat(net: u32) -> u32 {", "    net / 5", "}"),
};
const TAX = CARGO["src/tax.rs"];
/** @type {Case["steps"]} */
const CARGO_STEPS = [
  ["green", {}],
  ["red", { "src/tax.rs": TAX.replace("net / 5", "net / 5.0") }],
  ["same", { "src/tax.rs": `${TAX.replace("net / 5", "net / 5.0")}\n` }],
  ["moved", { "src/tax.rs": `// VAT\n${TAX.replace("net / 5", "net / 5.0")}` }],
  ["several", { "src/tax.rs": TAX.replace("net / 5", "let a: u8 = rate();\n    nett / 5") }],
  ["warning", { "src/tax.rs": TAX.replace("    net", "    let rate = 5;\n    net") }],
  ["test", { "src/tax.rs": TAX.replace("net / 5", "net / 4 + 1") }],
  ["green", { "src/tax.rs": TAX }],
];

const GO = {
  "go.mod": lines("module example.com/shop", "", "go 1.19"),
  "tax.go": lines("package shop", "", "func Vat(net int) int {", "\treturn net / 5", "}"),
  "tax_test.go": lines(
    ...["package shop", "", 'import "testing"', "", "func TestVat(t *testing.T) {"],
    ...["\tif got := Vat(100); got != 20 {", '\t\tt.Errorf("Vat(100) = %d", got)', "\t}", "}", ""],
    ...["func TestParts(t *testing.T) {", '\tt.Run("none", func(t *testing.T) {'],
    ...[
      "\t\tif got := Vat(0); got != 0 {",
      '\t\t\tt.Fatal("none costs", got)',
      "\t\t}",
      "\t})",
      "}",
    ],
  ),
};
/** @type {Case["steps"]} */
const GO_STEPS = [
  ["green", {}],
  ["red", { "tax.go": GO["tax.go"].replace("net / 5", '"net"') }],
  ["same", { "tax.go": `${GO["tax.go"].replace("net / 5", '"net"')}\n` }],
  ["several", { "tax.go": GO["tax.go"].replace("return net / 5", "return nett / rate") }],
  ["test", { "tax.go": GO["tax.go"].replace("net / 5", "net/4 + 1") }],
  ["crash", { "tax.go": GO["tax.go"].replace("net / 5", "100 / net") }],
  ["syntax", { "tax.go": GO["tax.go"].replace("net / 5", "net /") }],
  ["green", { "tax.go": GO["tax.go"] }],
];

const C = {
  "src/tax.h": "int vat(int net);\n",
  "src/tax.c": lines('#include "tax.h"', "int vat(int net) {", "  return net / 5;", "}"),
  "src/main.c": lines(
    ...["#include <stdio.h>", '#include "tax.h"', "int main(void) {"],
    ...['  printf("%d\\n", vat(100));', "  return vat(100) == 20 ? 0 : 1;", "}"],
  ),
  Makefile: lines(
    ...["CFLAGS = -Wall", "shop: src/main.o src/tax.o", "\t$(CC) -o $@ $^"],
    ...["src/main.o src/tax.o: src/tax.h", "test: shop", "\t./shop"],
  ),
  "CMakeLists.txt": lines(
    ...["cmake_minimum_required(VERSION 3.20)", "project(shop C)", "enable_testing()"],
    ...["add_executable(shop src/main.c src/tax.c)", "add_test(NAME vat COMMAND shop)"],
  ),
};
const TAX_C = C["src/tax.c"];
/** @type {Case["steps"]} */
const C_STEPS = [
  ["green", {}],
  ["red", { "src/tax.c": TAX_C.replace("net / 5", "nett / 5") }],
  ["same", { "src/tax.c": `${TAX_C.replace("net / 5", "nett / 5")}\n` }],
  ["moved", { "src/tax.c": `\n\n${TAX_C.replace("net / 5", "nett / 5")}` }],
  ["several", { "src/tax.c": TAX_C.replace("net / 5", "nett / 5 + rate(net)\n  net") }],
  ["include", { "src/tax.c": TAX_C.replace("tax.h", "taxes.h") }],
  ["warning", { "src/tax.c": TAX_C.replace("  return", "  int rate;\n  return") }],
  ["link", { "src/tax.c": TAX_C.replace("int vat", "int tax") }],
  ["green", { "src/tax.c": TAX_C }],
];
const CONFIGURE = C["CMakeLists.txt"];

/** @type {Case[]} */
const NATIVE_CASES = [
  {
    ...{ name: "cargo-build", command: "cargo build --offline", version: "cargo --version" },
    ...{ files: CARGO, steps: CARGO_STEPS },
  },
  {
    ...{ name: "cargo-test", command: "cargo test --offline", version: "cargo --version" },
    ...{ files: CARGO, steps: CARGO_STEPS.filter(([step]) => !/same|moved/.test(step)) },
  },
  {
    ...{ name: "go-build", command: "go build ./...", version: "go version", files: GO },
    steps: GO_STEPS.filter(([step]) => !/test|crash/.test(step)),
  },
  {
    ...{ name: "go-test", command: "go test ./...", version: "go version" },
    ...{ files: GO, steps: GO_STEPS },
  },
  {
    ...{ name: "gcc", command: "gcc -Wall src/main.c src/tax.c -o shop", version: "gcc --version" },
    ...{ files: C, steps: C_STEPS },
  },
  {
    ...{ name: "clang", command: "clang -Wall src/main.c src/tax.c -o shop" },
    ...{ version: "clang --version", files: C, steps: C_STEPS },
  },
  {
    ...{ name: "make", command: "make -j2 test", version: "make --version", files: C },
    steps: [
      ...C_STEPS.slice(0, -1),
      ["test", { "src/tax.c": TAX_C.replace("net / 5", "net / 4") }],
      ["no rule", { "src/tax.h": null }],
      [
        "syntax",
        {
          "src/tax.c": TAX_C,
          "src/tax.h": C["src/tax.h"],
          Makefile: C.Makefile.replace("\t./shop", "./shop"),
        },
      ],
      ["green", pickMakefile()],
    ],
  },
  {
    ...{ name: "cmake-make", command: "cmake -B build >/dev/null && cmake --build build" },
    ...{ version: "cmake --version", files: C },
    steps: [
      ...C_STEPS,
      ["configure", { "CMakeLists.txt": CONFIGURE.replace("src/tax.c", "src/taxes.c") }],
      ["green", { "CMakeLists.txt": CONFIGURE }],
    ],
  },
  {
    ...{ name: "ninja", command: "ninja -C build", version: "ninja --version", env: {} },
    files: { ...C, "build/build.ninja": createNinja() },
    steps: C_STEPS.filter(([step]) => step !== "include"),
  },
  {
    ...{ name: "ctest", version: "ctest --version", files: C },
    ...{ prepare: "cmake -B build && cmake --build build", command: "ctest --test-dir build" },
    steps: [
      ["green", {}],
      ["red", { "src/tax.c": TAX_C.replace("net / 5", "net / 4") }],
      ["none", { "CMakeLists.txt": CONFIGURE.replace(/add_test.*\n/, "") }],
      ["green", { "src/tax.c": TAX_C, "CMakeLists.txt": CONFIGURE }],
    ],
  },
];

function pickMakefile() {
  return { Makefile: C.Makefile };
}

function createNinja() {
  return lines(
    ...["rule cc", "  command = gcc -Wall -c $in -o $out", "  description = CC $out"],
    ...["rule link", "  command = gcc $in -o $out", "build main.o: cc ../src/main.c"],
    ...["build tax.o: cc ../src/tax.c", "build shop: link main.o tax.o"],
  );
}

// ---------------------------------------------------------------- tools that run others

const SERVER = lines(
  "const prices = { tea: 3 };",
  'console.log("tea costs", prices.tea);',
  "setInterval(() => {}, 1000);",
);
/** @type {Case["steps"]} */
const SERVER_STEPS = [
  ["crash", { "server.js": SERVER.replace("prices.tea)", "prices.tea.amount.value)") }],
  ["same", { "server.js": `${SERVER.replace("prices.tea)", "prices.tea.amount.value)")}\n` }],
  ["syntax", { "server.js": SERVER.replace("{ tea: 3 }", "{ tea: 3") }],
  ["green", { "server.js": SERVER }],
];
const PACKAGE = '{ "name": "shop", "private": true, "type": "module" }\n';

/** @type {Case[]} */
const OUTER_CASES = [
  {
    ...{ name: "nodemon", command: "nodemon --watch server.js server.js", watches: true },
    ...{ version: "nodemon --version", steps: SERVER_STEPS },
    files: { "package.json": PACKAGE, "server.js": SERVER },
  },
  {
    ...{ name: "node-watch", command: "node --watch server.js", watches: true },
    ...{ version: "node --version", steps: SERVER_STEPS },
    files: { "package.json": PACKAGE, "server.js": SERVER },
  },
  {
    ...{ name: "concurrently", watches: true, version: "concurrently --version" },
    command:
      'concurrently -n types,web "tsc --watch --noEmit" "esbuild main.js --bundle --outdir=dist --watch=forever"',
    files: {
      "package.json": PACKAGE,
      "tsconfig.json":
        '{ "compilerOptions": { "strict": true, "types": [] }, "files": ["rate.ts"] }\n',
      ...{ "rate.ts": "export const rate: number = 0.2;\n", "main.js": "console.log(0.2);\n" },
    },
    steps: [
      ["types red", { "rate.ts": 'export const rate: number = "0.2";\n' }],
      ["both red", { "main.js": "console.log(0.2;\n" }],
      ["types green", { "rate.ts": "export const rate: number = 0.2;\n" }],
      ["green", { "main.js": "console.log(0.2);\n" }],
    ],
  },
];

/** @param {string} name @param {string} scripts of its package.json */
const createMember = (name, scripts) => ({
  [`packages/${name}/package.json`]: `{ "name": "${name}", "version": "1.0.0", "scripts": ${scripts} }\n`,
  [`packages/${name}/tsconfig.json`]:
    '{ "compilerOptions": { "strict": true, "noEmit": true, "types": [] }, "files": ["index.ts"] }\n',
  [`packages/${name}/index.ts`]: "export const rate: number = 0.2;\n",
});
const BUILD = '{ "build": "tsc --pretty false" }';
const MEMBERS = { ...createMember("tax", BUILD), ...createMember("cart", BUILD) };
/** @type {Case["steps"]} */
const MEMBER_STEPS = [
  ["green", {}],
  ["red", { "packages/tax/index.ts": 'export const rate: number = "0.2";\n' }],
  ["both red", { "packages/cart/index.ts": "export const rate: string = 0.2;\n" }],
  [
    "green",
    {
      "packages/tax/index.ts": "export const rate: number = 0.3;\n",
      "packages/cart/index.ts": "export const rate: number = 0.3;\n",
    },
  ],
];
const WORKSPACES = lines(
  '{ "name": "shop", "private": true, "packageManager": "npm@11.0.0", "workspaces": ["packages/*"] }',
);

/** @type {Case[]} */
const MONOREPO_CASES = [
  {
    ...{ name: "turbo", command: "turbo run build --continue", version: "turbo --version" },
    ...{ env: { TURBO_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1" }, steps: MEMBER_STEPS },
    files: {
      ...{ ...MEMBERS, "package.json": WORKSPACES },
      "turbo.json": '{ "tasks": { "build": {} } }\n',
      "package-lock.json": lines(
        '{ "name": "shop", "lockfileVersion": 3, "packages": { "": { "workspaces": ["packages/*"] },',
        '"packages/tax": { "name": "tax", "version": "1.0.0" },',
        '"packages/cart": { "name": "cart", "version": "1.0.0" } } }',
      ),
    },
  },
  {
    ...{
      name: "nx",
      command: "nx run-many -t build",
      version: "nx --version | grep -o 'v[0-9].*'",
    },
    ...{ env: { NX_TUI: "false", NX_DAEMON: "false", NX_NO_CLOUD: "true" }, steps: MEMBER_STEPS },
    files: { ...MEMBERS, "package.json": WORKSPACES, "nx.json": "{}\n" },
  },
];

const SHOP_SPEC = lines(
  'import { expect, test } from "@playwright/test";',
  'test("tea has a price", () => { expect(10 * 0.2).toBe(2); });',
  'test("water has none", () => { expect(0 * 0.2).toBe(0); });',
);
const PAGE = lines(
  "const price: number = 3;",
  "export default function Page() { return <p>{price}</p>; }",
);

/** @type {Case[]} */
const FRAMEWORK_CASES = [
  {
    ...{ name: "playwright", command: "playwright test", version: "playwright --version" },
    files: { "package.json": PACKAGE, "tests/shop.spec.js": SHOP_SPEC },
    steps: [
      ["green", {}],
      ["red", { "tests/shop.spec.js": SHOP_SPEC.replace("toBe(2)", "toBe(3)") }],
      ["moved", { "tests/shop.spec.js": `\n\n${SHOP_SPEC.replace("toBe(2)", "toBe(3)")}` }],
      [
        "several",
        {
          "tests/shop.spec.js": SHOP_SPEC.replace("toBe(2)", "toBe(4)").replace(
            "toBe(0)",
            "toBe(1)",
          ),
        },
      ],
      ["crash", { "tests/shop.spec.js": SHOP_SPEC.replace("toBe(2); });", "toBe(2); }") }],
      ["none", { "tests/shop.spec.js": "\n" }],
      ["green", { "tests/shop.spec.js": SHOP_SPEC }],
    ],
  },
  {
    ...{ name: "next-build", command: "next build", version: "next --version" },
    env: { NEXT_TELEMETRY_DISABLED: "1", CI: "1" },
    files: {
      "package.json": '{ "name": "shop", "private": true }\n',
      "app/layout.tsx": lines(
        "export default function Layout({ children }: { children: React.ReactNode }) {",
        "  return <html><body>{children}</body></html>;",
        "}",
      ),
      "app/page.tsx": PAGE,
      "tsconfig.json": lines(
        '{ "compilerOptions": { "jsx": "preserve", "strict": true, "skipLibCheck": true, "module": "esnext",',
        '"moduleResolution": "bundler", "lib": ["dom", "esnext"], "noEmit": true, "esModuleInterop": true,',
        '"resolveJsonModule": true, "isolatedModules": true, "allowJs": true, "incremental": true,',
        '"plugins": [{ "name": "next" }] }, "include": ["next-env.d.ts", "app", ".next/types"] }',
      ),
    },
    steps: [
      ["green", {}],
      ["red", { "app/page.tsx": PAGE.replace("= 3", '= "3"') }],
      ["syntax", { "app/page.tsx": PAGE.replace("</p>", "</b>") }],
      [
        "import",
        { "app/page.tsx": `import { vat } from "./vat";\n${PAGE.replace("price}", "vat}")}` },
      ],
      ["render", { "app/page.tsx": PAGE.replace("{price}", "{price.toFixed(200)}") }],
      ["green", { "app/page.tsx": PAGE }],
    ],
  },
];

const APP_JAVA = lines("class Tax {", "  int vat(int net) { return net / 5; }", "}");
/** @type {Case[]} */
const JAVA_CASES = [
  {
    ...{ name: "gradle", command: "gradle --offline --console=plain build" },
    version: "gradle --version | grep '^Gradle'",
    files: { "build.gradle": "apply plugin: 'java'\n", "src/main/java/Tax.java": APP_JAVA },
    steps: [
      ["green", {}],
      ["red", { "src/main/java/Tax.java": APP_JAVA.replace("net / 5", '"net"') }],
      ["several", { "src/main/java/Tax.java": APP_JAVA.replace("net / 5", "nett / rate") }],
      ["config", { "build.gradle": "apply plugin: 'jawa'\n" }],
      ["green", { "build.gradle": "apply plugin: 'java'\n", "src/main/java/Tax.java": APP_JAVA }],
    ],
  },
];

export const CASES = [
  ...[...PYTHON_CASES, ...NATIVE_CASES, ...OUTER_CASES],
  ...[...MONOREPO_CASES, ...FRAMEWORK_CASES, ...JAVA_CASES],
];
