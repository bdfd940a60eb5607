// Watches the runs of a CI: the session hears of it when they turn red, and when they are green again.

import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { provider } from "copilot-tap/provider";

// GitHub's command gh. Any program will do that prints such JSON.
const LIST =
  process.env.CI_LIST ||
  "gh run list --branch main --limit 1 --json databaseId,status,conclusion,url";
const LOG = process.env.CI_LOG || "gh run view --log-failed"; // and the number of the run
const EVERY_MS = Number(process.env.CI_EVERY_MS || 30_000);
const LOG_BYTES = 20_000; // the failure is at the end of a log

const tap = provider("ci");
const stream = tap.stream("runs");
let last; // the run that the session knows of
let red; // the run with the log to read

/** No shell: text of a log or a branch's name cannot become a command. */
async function run(command, ...more) {
  const [program, ...args] = command.split(" ");
  const limits = { timeout: 20_000, maxBuffer: 50_000_000 };
  return (await promisify(execFile)(program, [...args, ...more], limits)).stdout;
}

const latest = async () => JSON.parse(await run(LIST))[0];
const isRed = (one) => one !== undefined && one.conclusion !== "success";
const describe = ({ databaseId, status, conclusion }) =>
  `run ${databaseId} is ${conclusion || status}`;

tap.tool(
  "ci_status",
  { description: "How the latest CI run of the main branch went." },
  async () => {
    const one = await latest();
    return one ? `${describe(one)}: ${one.url}` : "There is no run.";
  },
);

/** The tool that reads the log is there only while there is something to read. */
async function offerLog(wanted) {
  if (!wanted) return tap.removeTool("ci_log");
  const description = "The end of the log of the CI run that is red now.";
  return tap.tool("ci_log", { description }, async () =>
    (await run(LOG, String(red.databaseId))).slice(-LOG_BYTES),
  );
}

async function look() {
  const one = await latest();
  if (one?.status !== "completed" || one.databaseId === last?.databaseId) return;
  if (isRed(one)) red = one; // before there is a tool that asks for it
  const changed = isRed(one) !== isRed(last);
  if (changed) await offerLog(isRed(one));
  const loud = isRed(one) ? "inject" : "surface";
  await stream.push(describe(one), { level: changed ? loud : "keep" });
  last = one; // only now: a failed push is tried again
}

await tap.connect();
for (;;) {
  await look().catch((error) => console.error(error.message));
  await sleep(EVERY_MS);
}
