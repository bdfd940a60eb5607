// Which entry reads the output of a command line, and what is added to the command.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { improve, recognize, runsForever } from "../../../js/watch/commands.mjs";
import { loadEntries } from "../../../js/watch/entries.mjs";

const { tools } = loadEntries();
const SCRIPTS = new Map([
  ["dev", "vite --host"],
  ["build", "tsc -b && vite build"],
  ["test", "NODE_ENV=test jest"],
  ["types", "tsc --noEmit"],
  ["all", "npm run test"],
  ["start", "node server.js"],
]);
/** @param {string} name */
const readScript = (name) => SCRIPTS.get(name);

/** @param {string | string[]} command */
function summarize(command) {
  const found = recognize(command, tools, readScript);
  if (!found) return undefined;
  const { entry, by, words } = found;
  return [entry.tool, by, runsForever(entry, words) ? "runs" : "ends"].join(" ");
}

/** [command, tool, how, whether it ends] */
const COMMANDS = [
  ["tsc --watch", "tsc argv runs"],
  ["tsc -w -p web", "tsc argv runs"],
  ["tsc -b", "tsc argv ends"],
  ["npx tsc --noEmit", "tsc argv ends"],
  ["npx -y -p typescript@5 tsc --watch", "tsc argv runs"],
  ["npx vue-tsc --noEmit", "tsc argv ends"],
  ["node_modules/.bin/tsc --watch", "tsc argv runs"],
  ["./node_modules/.bin/tsc", "tsc argv ends"],
  ["node ./node_modules/typescript/bin/tsc -w", "tsc argv runs"],
  ["cd web && npx tsc --watch", "tsc argv runs"],
  ["NODE_OPTIONS='--max-old-space-size=4096' tsc -w", "tsc argv runs"],
  ["npm exec -- tsc -w", "tsc argv runs"],
  ["pnpm exec tsc -w", "tsc argv runs"],
  ["pnpm --dir web exec tsc", "tsc argv ends"],
  ["yarn tsc --watch", "tsc argv runs"],
  ["bunx eslint .", "eslint argv ends"],
  ["npx eslint@9 src --max-warnings=0", "eslint argv ends"],
  ["pnpm dlx vite", "vite argv runs"],
  ["vite --port 5199", "vite argv runs"],
  ["vite build", "vite-build argv ends"],
  ["vite build --watch", "vite-build argv runs"],
  ["vite --mode dev build -w", "vite-build argv runs"],
  ["vite preview", undefined],
  ["webpack --watch --mode development", "webpack argv runs"],
  ["webpack serve", "webpack argv runs"],
  ["rollup -c -w", "rollup argv runs"],
  ["esbuild a.js --bundle --outdir=dist --watch", "esbuild argv runs"],
  ["next dev", "next argv runs"],
  ["next build", "next argv ends"],
  ["jest --watch", "jest argv runs"],
  ["jest src/a.test.js", "jest argv ends"],
  ["node --experimental-vm-modules node_modules/jest/bin/jest.js --watchAll", "jest argv runs"],
  ["cross-env CI=1 jest", "jest argv ends"],
  ["npx vitest", "vitest argv runs"],
  ["npx vitest run", "vitest argv ends"],
  ["vitest --run", "vitest argv ends"],
  ["mocha -w", "mocha argv runs"],
  ["node --test", "node-test argv ends"],
  ["node --test --watch test/", "node-test argv runs"],
  ["node --import tsx --test", "node-test argv ends"],
  ["node --watch server.js", "nodemon argv runs"],
  ["npx tsx watch src/a.ts", "nodemon argv runs"],
  ["nodemon src/a.js", "nodemon argv runs"],
  ["node server.js", undefined],
  ["npx playwright test --project=chromium", "playwright argv ends"],
  ["pytest -q", "pytest argv ends"],
  ["/usr/bin/pytest", "pytest argv ends"],
  ["python -m pytest tests", "pytest argv ends"],
  ["python3.12 -u -m pytest", "pytest argv ends"],
  ["uv run --with pytest-xdist pytest -n 4", "pytest argv ends"],
  ["poetry run pytest", "pytest argv ends"],
  ["coverage run -m pytest", "pytest argv ends"],
  ["python manage.py test", "unittest argv ends"],
  ["python3 -m unittest discover", "unittest argv ends"],
  ["uvx ruff check --watch", "ruff argv runs"],
  ["mypy src", "mypy argv ends"],
  ["cargo test --workspace", "cargo argv ends"],
  ["RUSTFLAGS=-Dwarnings cargo clippy", "cargo argv ends"],
  ["cargo watch -x test", "cargo argv runs"],
  ["go test ./...", "go argv ends"],
  ["go fmt ./...", undefined],
  ["x86_64-linux-gnu-gcc-12 -c a.c", "cc argv ends"],
  ["clang++ -std=c++20 a.cc", "cc argv ends"],
  ["make -j8 && ./app", "make argv ends"],
  ["time make test", "make argv ends"],
  ["cmake -B build && cmake --build build", "cmake argv ends"],
  ["ninja -C build", "ninja argv ends"],
  ["(cd build; ctest)", "ctest argv ends"],
  ["./gradlew test --continuous", "gradle argv runs"],
  ["./mvnw -q verify", "maven argv ends"],
  ["dotnet watch test", "dotnet argv runs"],
  ["docker build -t app .", "docker-build argv ends"],
  ["docker buildx build .", "docker-build argv ends"],
  ["docker compose -f dev.yml up", "docker-compose argv runs"],
  ["docker compose up -d", "docker-compose argv ends"],
  ["turbo run build", "turbo argv ends"],
  ["npx nx run-many -t test", "nx argv ends"],
  ["concurrently -n a,b 'npm:dev' 'npm:types'", "concurrently argv runs"],
  ["sudo -u ada timeout 5m pytest", "pytest argv ends"],
  ["bash -lc 'cd web && tsc -w'", "tsc argv runs"],
  ["pytest 2>&1 | tee log.txt", "pytest argv ends"],
  ["rm -rf dist; tsc > out.txt", "tsc argv ends"],
  ["tsc && vite", "vite argv runs"],
  ["npm run dev", "vite script runs"],
  ["npm run build", "tsc script ends"],
  ["npm test", "jest script ends"],
  ["npm t -- --watch", "jest script runs"],
  ["npm test --watch", "jest script ends"],
  ["pnpm test --watch", "jest script runs"],
  ["yarn dev", "vite script runs"],
  ["yarn run types --watch", "tsc script runs"],
  ["bun run dev", "vite script runs"],
  ["pnpm -C web dev", "vite script runs"],
  ["node --run test", "jest script ends"],
  ["npm run missing", undefined],
  ["npm run all", undefined],
  ["npm start", undefined],
  ["npm install", undefined],
  ["npm test -w web", undefined],
  ["npm -w web test", undefined],
  ["pnpm --filter web test", undefined],
  ["bun test", undefined],
  ["echo tsc", undefined],
  ["cat jest.log", undefined],
  ["", undefined],
  ["'unclosed", undefined],
];

describe("recognition of a command", () => {
  for (const [command, expected] of COMMANDS)
    test(`${command}: ${expected}`, () => assert.equal(summarize(command), expected));

  test("a program and its arguments are not read as a shell reads them", () => {
    assert.equal(summarize(["/opt/my tools/tsc", "-p", "a && b"]), "tsc argv ends");
    assert.equal(summarize(["echo", "tsc"]), undefined);
  });

  test("a script is read in the folder that the command changes to", () => {
    /** @type {unknown[]} */
    const read = [];
    for (const command of ["cd web && npm test", "npm --prefix api run dev", "npm t --prefix=api"])
      recognize(command, tools, (name, folder) => void read.push([name, folder]));
    assert.deepEqual(read, [
      ["test", "web"],
      ["dev", "api"],
      ["test", "api"],
    ]);
  });

  test("of two tools in one line the entry of one has the failures of both", () => {
    assert.deepEqual(recognize("tsc && vite", tools)?.entry.uses, ["tsc"]);
    assert.deepEqual(recognize("tsc -b && vite build", tools)?.entry.uses, ["vite-build"]);
  });
});

/** @param {string | string[]} command */
function change(command, how = {}) {
  const found = recognize(command, tools, readScript);
  assert.ok(found);
  return improve(command, found, how);
}

describe("better options", () => {
  for (const [command, expected] of [
    ["npx tsc --watch", "npx tsc --preserveWatchOutput --pretty false --watch"],
    ["tsc -b -w", "tsc -b --preserveWatchOutput --pretty false -w"],
    ["tsc --watch --pretty true", "tsc --preserveWatchOutput --watch --pretty true"],
    ["cd a && tsc -w | tee log", "cd a && tsc --preserveWatchOutput --pretty false -w | tee log"],
    ["jest --watch", "jest --watchAll"],
    ["esbuild 'a b.js' --watch", "esbuild 'a b.js' --watch=forever"],
    ["esbuild a.js --watch=forever", "esbuild a.js --watch=forever"],
    ["node --test test/", "node --test --test-reporter=spec test/"],
    ["node --test --test-reporter=tap", "node --test --test-reporter=tap"],
    ["docker build .", "docker build --progress=plain ."],
    ["pytest -- -x", "pytest --tb=short -rfE -- -x"],
    ["npm run dev", "npm run dev"],
    ["bash -c 'tsc -w'", "bash -c 'tsc -w'"],
    ["webpack --watch", "webpack --watch"],
  ])
    test(`${command}: ${expected}`, () => assert.equal(change(command).command, expected));

  test("words stay words where the command is a list", () => {
    assert.deepEqual(change(["tsc", "-p", "a b"]).command, [
      ...["tsc", "--preserveWatchOutput", "--pretty", "false", "-p", "a b"],
    ]);
  });

  test("a quoted word that looks like several gets no option in its middle", () => {
    const command = ["npx", "playwright test"];
    assert.deepEqual(change(command), { command, env: {}, changed: [] });
  });

  test("variables are added, but not over those of the command", () => {
    assert.deepEqual(change("cargo test").env, { CARGO_TERM_COLOR: "never", RUST_BACKTRACE: "0" });
    assert.deepEqual(change("RUST_BACKTRACE=1 cargo test").env, { CARGO_TERM_COLOR: "never" });
  });

  test("each change is named", () => {
    assert.deepEqual(change("jest --watch").changed, ["--watch → --watchAll"]);
    assert.deepEqual(change("cargo test").changed, ["CARGO_TERM_COLOR=never", "RUST_BACKTRACE=0"]);
  });

  test("as it is: nothing changes", () => {
    const command = "tsc --watch";
    assert.deepEqual(change(command, { asIs: true }), { command, env: {}, changed: [] });
  });
});
