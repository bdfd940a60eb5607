// Part of npm run picture: makes docs/images/plan.svg, a plan of agents of the real Copilot CLI, as `copilot-tap plan
// watch` shows it. The model is a scripted stand-in; the rest is the same as for a user.

import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { CopilotCli, findFreePort, REPO_ROOT } from "../test/support/cli.mjs";
import { InTerminal, tap } from "../test/support/cli-process.mjs";
import { callTool, say, ScriptedModel, toolResults, userTexts } from "../test/support/model.mjs";
import { animatedSvg, plainRows } from "../test/support/screen-svg.mjs";

const SIZE = { cols: 96, rows: 12 };
const TARGET = path.join(REPO_ROOT, "docs", "images", "plan.svg");
const ALT =
  "copilot-tap plan watch shows a plan of five agents. Three work at the same time. The check of the last one fails; " +
  "after a retry it succeeds, and the plan has landed.";

const PLAN = `name: a calculator
targetBranch: feature/calculator
nodes:
  - id: grammar
    work: "@agent Write the grammar to grammar.md."
  - id: lexer
    dependencies: [grammar]
    work: "@agent Write the lexer."
  - id: evaluator
    dependencies: [grammar]
    work: "@agent Write the evaluator."
  - id: manual
    dependencies: [grammar]
    work: "@agent Write the manual."
  - id: calculator
    dependencies: [lexer, evaluator]
    work: "@agent Put lexer and evaluator together in calculate.mjs."
    postchecks: node check.mjs
`;
/** The test in the repository that the last node has to pass. */
const CHECK = `import { calculate } from "./calculate.mjs";
const result = calculate("8 - 2 - 1");
console.log(\`8 - 2 - 1: expected 5, got \${result}\`);
process.exit(result === 5 ? 0 : 1);
`;

/** @param {string} name @param {string} text */
const write = (name, text) => `cat > ${name} <<'END'\n${text}\nEND\nwc -l ${name}`;
const FIRST = `import { tokens } from "./lexer.mjs";
import { evaluate } from "./evaluate.mjs";
export const calculate = (text) => evaluate(tokens(text).reverse());`;

/** The commands of an agent, by its task. @type {Record<string, string[]>} */
const AGENTS = {
  "Write the grammar to grammar.md.": [write("grammar.md", "sum = number { sign number }")],
  "Write the lexer.": [
    write("lexer.mjs", 'export const tokens = (text) => text.split(" ");'),
    `node -e 'import("./lexer.mjs").then((m) => console.log(m.tokens("8 - 2").join(" | ")))'`,
  ],
  "Write the evaluator.": [
    write(
      "evaluate.mjs",
      `export const evaluate = ([first, sign, ...rest]) =>
  sign ? evaluate([Number(first) - Number(rest[0]), ...rest.slice(1)]) : Number(first);`,
    ),
    `node -e 'import("./evaluate.mjs").then((m) => console.log("9 - 4 =", m.evaluate([9, "-", 4])))'`,
  ],
  "Write the manual.": [write("manual.md", "# A calculator")],
  "Put lexer and evaluator together": [write("calculate.mjs", FIRST)],
};
const FIX = "sed -i 's/.reverse()//' calculate.mjs && node check.mjs";

/** Which agents answer: the picture is taken while the others think. */
class Gates {
  /** @type {Map<string, {opened: Promise<void>, open: () => void}>} */
  #gates = new Map();

  /** @param {string} name */
  #find(name) {
    const known = this.#gates.get(name);
    if (known) return known;
    let open = () => {};
    const opened = new Promise((resolve) => (open = () => resolve(undefined)));
    const gate = { opened, open };
    this.#gates.set(name, gate);
    return gate;
  }

  /** @param {string} name */
  passed = (name) => this.#find(name).opened;

  /** @param {string[]} names */
  open(...names) {
    for (const name of names) this.#find(name).open();
  }
}

/** @param {Gates} gates */
function agentsModel(gates) {
  return async (/** @type {import("../test/support/model.mjs").ModelRequest} */ request) => {
    const text = userTexts(request).join("\n");
    const task = Object.keys(AGENTS).find((start) => text.includes(start));
    if (task === undefined) return say("I do not know that.");
    const isRetry = text.includes("failed a check");
    const commands = isRetry ? [...AGENTS[task], FIX] : AGENTS[task];
    const done = toolResults(request).length;
    if (done === commands.length) await gates.passed(isRetry ? `${task} again` : task);
    if (done >= commands.length) return say("It is done.");
    return callTool("bash", { command: commands[done], description: "work" });
  };
}

/** @param {import("../test/support/cli.mjs").CopilotCli} cli @param {string} modelUrl */
function prepare(cli, modelUrl) {
  const repo = cli.workFolder;
  const git = (/** @type {string[]} */ ...args) => execFileSync("git", args, { cwd: repo });
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.com");
  writeFileSync(path.join(repo, "check.mjs"), CHECK);
  writeFileSync(path.join(repo, "plan.yaml"), PLAN);
  git("add", "--all");
  git("commit", "--quiet", "--message=Begin");
  const folder = path.join(cli.home, "tap");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const provider = { type: "openai", baseUrl: modelUrl, model: "scripted" };
  const config = JSON.stringify({ workers: { provider } });
  writeFileSync(path.join(folder, "config.json"), config, { mode: 0o600 });
}

/** The CLI as `copilot`, where a user would have it. @param {import("../test/support/cli.mjs").CopilotCli} cli @param {string} root */
function withCli(cli, root) {
  const { command, prefix } = cli.command;
  const file = path.join(root, "copilot");
  writeFileSync(file, `#!/bin/sh\nexec ${[command, ...prefix].join(" ")} "$@"\n`);
  chmodSync(file, 0o755);
  return [root, process.env.PATH].join(path.delimiter);
}

/** @type {(() => void)[]} */
const ends = [];
const t = /** @type {any} */ ({ after: (/** @type {() => void} */ end) => ends.push(end) });
const root = mkdtempSync(path.join(os.tmpdir(), "tap-"));
const gates = new Gates();
const model = await ScriptedModel.start(agentsModel(gates));
const port = String(await findFreePort());
const cli = await CopilotCli.create({ model });
prepare(cli, model.url);
const { COPILOT_AGENT_SESSION_ID: _session, NO_COLOR: _color, ...own } = process.env;
const PATH = withCli(cli, root);
const env = { ...own, PATH, COPILOT_HOME: cli.home, TAP_GATEWAY_PORT: port };
const at = { env, workspace: cli.workFolder };
try {
  /** @type {string[]} */
  const typed = [];
  const run = async (/** @type {string[]} */ ...args) => {
    const { out, err, code } = await tap(["plan", ...args], at);
    if (code !== 0) throw new Error(err);
    typed.push(`$ copilot-tap plan ${args.join(" ")}`, ...out.trimEnd().split("\n"));
  };
  /** @type {import("../test/support/screen-svg.mjs").Pane[][]} */
  const frames = [];
  await run("run", "plan.yaml", "--detach");
  const watch = new InTerminal(t, ["plan", "watch", "p"], at, SIZE);
  const shoot = () =>
    frames.push([
      { title: "your terminal", rows: plainRows([...typed]) },
      { title: "copilot-tap plan watch p", rows: watch.runs },
    ]);
  gates.open("Write the grammar to grammar.md.");
  await watch.shows(/lexer +running \(work\) +8 \| - \| 2/);
  await watch.shows(/evaluator +running \(work\) +9 - 4 = 5/);
  await watch.shows(/manual +running \(work\) +1 manual.md/);
  shoot();
  gates.open("Write the manual.", "Write the lexer.", "Write the evaluator.");
  await watch.shows(/calculator +running \(work\) +\d calculate.mjs/);
  shoot();
  gates.open("Put lexer and evaluator together");
  await watch.shows(/calculator +failed \(postchecks\)/);
  await watch.shows(/ {4}8 - 2 - 1: expected 5, got/);
  shoot();
  await run("retry", "p/calculator");
  await watch.shows(/calculator +running \(work, attempt 2\)/);
  shoot();
  gates.open("Put lexer and evaluator together again");
  await watch.shows(/^p\w+ a calculator +succeeded/m);
  shoot();
  const look = { columns: SIZE.cols, seconds: [4, 3, 4, 3, 6], alt: ALT };
  const svg = animatedSvg(look, frames);
  writeFileSync(TARGET, svg);
  console.log(`${path.relative(REPO_ROOT, TARGET)}: ${svg.length} bytes`);
} finally {
  for (const end of ends) end();
  await tap(["stop"], at);
  await cli.dispose();
  await model.close();
  rmSync(root, { recursive: true, force: true });
}
