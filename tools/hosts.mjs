// npm run test:hosts: the live path on older published versions of the Copilot CLI. A provider that
// connects in the middle of a turn must be called in that turn, by the same extension process. The
// result is docs/compatibility.md. `node tools/hosts.mjs 1.0.62` tries single versions and only prints.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { root, run, printLine, step } from "./commands.mjs";
import { npm, setUp } from "./setup.mjs";

const OLDER = ["1.0.48", "1.0.62", "1.0.80"];
const RUNS = 3;
const DOCUMENT = path.join(root, "docs", "compatibility.md");

const cache = path.join(
  process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), ".cache"),
  "copilot-tap-tests",
);
const pinned = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")).devDependencies[
  "@github/copilot"
];

/** @param {string} version @returns {Promise<string>} a folder with that CLI in its node_modules */
async function installed(version) {
  if (version === pinned) return root;
  const folder = path.join(cache, `copilot-${version}`);
  if (existsSync(path.join(folder, "node_modules", "@github", "copilot", "package.json"))) {
    return folder;
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "package.json"), '{ "private": true }\n');
  const { command, args } = npm();
  await step(`installing @github/copilot ${version}`, () =>
    run(command, [...args, "install", "--no-save", `@github/copilot@${version}`], {
      cwd: folder,
      quiet: true,
    }),
  );
  return folder;
}

/**
 * A turn of that CLI: the provider connects after the first request.
 * @param {string} cli @returns {Promise<number>} ms from hello to the request that offers the tool
 */
async function liveTurn(cli) {
  const { startTap, steps, onceOffered } = await import("../test/support/tap.mjs");
  const model = await import("../test/support/model.mjs");
  /** @type {(() => unknown)[]} */
  const cleanUp = [];
  const scope = /** @type {any} */ ({
    after: (/** @type {() => unknown} */ action) => void cleanUp.unshift(action),
  });
  try {
    const rig = await startTap(scope, undefined, { cli });
    const pids = new Set();
    let helloAt = 0;
    const collectPids = async () => {
      for (const { pid } of await rig.cli.extensionProcesses()) pids.add(pid);
    };
    const connect = async () => {
      await collectPids();
      const { provider, sessions } = await rig.connect();
      provider.handle({ greet: { handler: () => "Hello, Ada!" } });
      const tools = [{ name: "greet", description: "Greets", parameters: { type: "object" } }];
      helloAt = performance.now();
      await provider.hello({ name: "greeter", session: sessions.active[0].id, tools });
      return model.callTool("tap_status");
    };
    const leave = async () => {
      await collectPids();
      return model.say("bye");
    };
    rig.model.script(steps([connect, onceOffered("greet"), leave]));
    await rig.run();
    if (rig.result("greet") !== "Hello, Ada!") throw new Error("the tool's answer did not arrive");
    if (pids.size !== 1) throw new Error(`${pids.size} extension processes were used`);
    const offered = rig.model.requests.find((request) =>
      model.toolNames(request).includes("greet"),
    );
    return offered.at - helloAt;
  } finally {
    for (const action of cleanUp) await action();
  }
}

/** @typedef {{version: string, ms?: number}} Row without ms it does not work */

/** @param {string} version @returns {Promise<Row>} */
async function tryVersion(version) {
  try {
    const cli = await installed(version);
    const times = [];
    for (let i = 0; i < RUNS; ++i) times.push(await liveTurn(cli));
    times.sort((a, b) => a - b);
    const ms = Math.round(times[Math.floor(RUNS / 2)]);
    printLine(`${version}: works, ${ms} ms`);
    return { version, ms };
  } catch (error) {
    printLine(`${version}: does not work\n${error?.stack ?? error}`);
    return { version };
  }
}

/** @param {Row[]} rows */
const formatDocument = (rows) => `# Compatibility

\`npm run test:hosts\` runs each of these versions of the Copilot CLI and writes this page. In the middle of a turn, after the
first model request, a provider connects. Its tool has to be offered to the model and called in the same turn, by the same
extension process: the live synchronisation of [architecture.md](architecture.md).

| Copilot CLI | Live synchronisation | From hello to the first request with the tool |
|---|---|---|
${rows
  .map(({ version, ms }) =>
    ms === undefined ? `| ${version} | no | |` : `| ${version} | yes | ${ms} ms |`,
  )
  .join("\n")}

The time is the median of ${RUNS} runs and includes the 20 ms (\`live-debounce-ms\` in [limits.md](limits.md)) that the gateway waits for further
changes. ${pinned} is the version that \`npm test\` uses.

The addon is built once, with Node-API version 8, and loads in Node.js 20 and later: \`npm run test:nodes\` runs the
JavaScript tests on Node.js 22 and 24 with the addon that Node.js 20 built.
`;

await setUp({ for: "e2e" });
const wanted = process.argv.slice(2);
/** @type {Row[]} */
const rows = [];
for (const version of wanted.length > 0 ? wanted : [...OLDER, pinned]) {
  rows.push(await tryVersion(version));
}
if (wanted.length === 0) {
  writeFileSync(DOCUMENT, formatDocument(rows));
  printLine(`written: ${path.relative(root, DOCUMENT)}`);
}
process.exitCode = rows.some(({ ms }) => ms === undefined) ? 1 : 0;
