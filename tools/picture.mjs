// npm run picture: makes docs/images/timer.svg, the real Copilot CLI with the provider of the tutorial. The
// model is a scripted stand-in; the rest is the same as for a user.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { CopilotCli, findFreePort, REPO_ROOT } from "../test/support/cli.mjs";
import { ScriptedModel } from "../test/support/model.mjs";
import { animatedSvg, plainRows } from "../test/support/screen-svg.mjs";
import { startInteractive } from "../test/support/terminal.mjs";
import { tutorialModel } from "../test/support/tutorial.mjs";
import { Walkthrough } from "../test/support/walkthrough.mjs";
import { waitFor } from "../test/support/wait.mjs";

const COLUMNS = 96;
/** The line in the timeline that the picture begins with. */
const CONNECTED = "tap: timer is here: set_timer";
const TARGET = path.join(REPO_ROOT, "docs", "images", "timer.svg");
const ALT =
  "A provider runs in one terminal. In the other, Copilot CLI says that it is connected, asks whether the tool " +
  "set_timer may run, runs it, and is told by the provider that the egg is ready.";

/** The provider as the tutorial leaves it; without questions and output. @param {string} folder @param {object} where */
async function startProvider(folder, where) {
  const skip = async () => {};
  const player = { start: skip, prompt: skip, key: skip, shows: skip };
  const walk = new Walkthrough({ language: "node", folder, env: { ...where }, player });
  await walk.follow("docs/tutorial.md", ({ words }) =>
    words.some((word) => /^file=|^step$/.test(word)),
  );
  const begin = () => walk.start("node provider.mjs");
  return { walk, begin };
}

/** @param {import("../test/support/terminal.mjs").Terminal} terminal from tap's first line to the input, without the folder's line */
function readTimeline(terminal) {
  const lines = terminal.screenText().split("\n");
  const runs = terminal.screenRuns();
  const start = lines.findIndex((line) => line.includes(CONNECTED));
  const folder = lines.findIndex((line) => line.includes("[⎇ main]"));
  const footer = lines.findIndex((line) => line.includes("/ commands"));
  const filled = (/** @type {number} */ end) =>
    lines.slice(0, end).findLastIndex((line) => line.trim() !== "") + 1;
  if (start < 0) throw new Error(`the screen does not show "${CONNECTED}"`);
  if (folder < 0) {
    // A dialog stands at the lower end of the screen: the empty lines above it are left out.
    const dialog = lines.findIndex((line) => line.startsWith("╭─"));
    const above = runs.slice(start, filled(dialog) + 1);
    return [...above, ...runs.slice(dialog, filled(lines.length))];
  }
  return [...runs.slice(start, filled(folder) + 1), ...runs.slice(folder + 1, footer)];
}

const root = mkdtempSync(path.join(os.tmpdir(), "tap-"));
const model = await ScriptedModel.start(tutorialModel);
const port = await findFreePort();
const cli = await CopilotCli.create({
  extension: REPO_ROOT,
  model,
  env: { TAP_GATEWAY_PORT: String(port) },
});
const where = { COPILOT_HOME: cli.home, TAP_GATEWAY_PORT: String(port), TAP_PROVIDER_TOKEN: "" };
const { walk, begin } = await startProvider(root, where);
/** @type {import("../test/support/terminal.mjs").Terminal | undefined} */
let terminal;
try {
  terminal = await startInteractive(cli, { allow: [], cols: COLUMNS, rows: 60 });
  const screen = terminal;
  /** @type {import("../test/support/screen-svg.mjs").Pane[][]} */
  const frames = [];
  const shoot = () => {
    const own = ["$ node provider.mjs", ...walk.output.trimEnd().split("\n")];
    frames.push([
      { title: "your provider", rows: plainRows(own) },
      { title: "copilot --experimental", rows: readTimeline(screen) },
    ]);
  };
  await begin();
  await screen.waitForScreen((shown) => shown.includes(CONNECTED));
  await waitFor(() => walk.output.includes("bound to"), { what: "the provider is bound" });
  shoot();
  await screen.submit("Set a timer for my egg, 2 seconds.");
  await screen.waitForScreen(/enter to select/);
  shoot();
  screen.type("2");
  await screen.waitForScreen(/The timer is set/);
  await screen.waitUntilReady();
  shoot();
  await screen.waitForScreen(/Your egg is ready/);
  await screen.waitUntilReady();
  shoot();
  const svg = animatedSvg({ columns: COLUMNS, seconds: [2, 4, 3, 6], alt: ALT }, frames);
  mkdirSync(path.dirname(TARGET), { recursive: true });
  writeFileSync(TARGET, svg);
  console.log(`${path.relative(REPO_ROOT, TARGET)}: ${svg.length} bytes`);
} finally {
  terminal?.dispose();
  await walk.stop();
  await cli.dispose();
  await model.close();
  rmSync(root, { recursive: true, force: true });
}
