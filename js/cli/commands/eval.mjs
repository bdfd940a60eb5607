// `eval`: runs the real CLI on cases, and judges what it did (docs/evals.md).

import fs from "node:fs";
import path from "node:path";
import { errorMessage } from "../../lib/values.mjs";
import { copilotHome, programFolder, version } from "../../lib/paths.mjs";
import { visible } from "../../lib/visible.mjs";
import { faint, Output, strong } from "../../views/output.mjs";
import { formatCount } from "../../views/wording.mjs";
import { EXIT, Failure, usage, runInterruptible } from "../exit.mjs";
import { confirm } from "../confirm.mjs";
import { withGateway } from "../gateway.mjs";
import { getEnvironment, getGatewayFiles, isRunByAgent } from "../options.mjs";

/** @typedef {import("../../evals/cases.mjs").Case} Case */
/** @typedef {import("../../evals/case-runner.mjs").CaseResult} CaseResult */
/** @typedef {import("../../evals/results.mjs").Results} Results */
/**
 * @typedef {import("../options.mjs").CommandOptions & {action: string, cases?: string, case?: string, list: boolean, cli?: string,
 *   model?: string, noJudge: boolean, judgeModel?: string, output?: string, yes: boolean}} EvalOptions
 */

const SMOKE = path.join(programFolder, "evals", "smoke.yaml");
const TICK_MS = 1000;
/** Of a gateway that does not run, or of another home's that has the port. */
const NOT_RUNNING = ["NO_GATEWAY", "PORT_TAKEN"];

// ---- the cases ------------------------------------------------------------------------------------

/** @param {string} file @param {number} most bytes */
function readBounded(file, most) {
  let stat;
  try {
    stat = fs.statSync(file);
  } catch (cause) {
    throw new Failure(`there is no ${file}`, {
      advice: "name a file of cases, or none for tap's own smoke cases",
      code: "NOT_FOUND",
      exit: EXIT.usage,
      cause,
    });
  }
  if (!stat.isFile()) throw usage(`${file} is not a file`, "copilot-tap eval run cases.yaml");
  if (stat.size > most) throw usage(`${file} has more than ${most} bytes`, "split it");
  return fs.readFileSync(file, "utf8");
}

/** @param {string} file @param {EvalOptions} given @returns {Promise<Case[]>} */
async function load(file, given) {
  const { MAX_BYTES, readCases } = await import("../../evals/cases.mjs");
  const { cases, problems } = readCases(readBounded(file, MAX_BYTES));
  if (problems.length > 0) {
    const [first, ...others] = problems.map(
      ({ line, column, text }) => `${file}:${line}:${column}: ${text}`,
    );
    throw new Failure(first, {
      advice: others.join("\n"),
      code: "INVALID_CASES",
      exit: EXIT.usage,
    });
  }
  const chosen = cases.filter(({ name }) => given.case === undefined || name === given.case);
  if (chosen.length > 0) return chosen;
  if (given.case === undefined) throw usage(`${file} has no case`);
  throw usage(`there is no case "${given.case}" in ${file}`, "--list shows which there are");
}

/** @param {Output} output @param {Case[]} cases */
const list = (output, cases) =>
  output.result(
    cases.map(({ name, prompt, rubric }) => ({ name, prompt, rubric: rubric !== undefined })),
    (all) => {
      for (const { name, prompt } of all) output.print(strong(name), "  ", faint(prompt.trim()));
    },
  );

// ---- consent --------------------------------------------------------------------------------------

/**
 * A setup's commands are programs that somebody wrote into the file: the user sees them first.
 * @param {Output} output @param {Case[]} cases @param {boolean} yes
 */
async function askForCommands(output, cases, yes) {
  const commands = [...new Set(cases.flatMap(({ setup }) => setup.commands))];
  if (commands.length === 0 || yes) return;
  if (output.json || !(process.stdin.isTTY && process.stdout.isTTY)) {
    throw new Failure(
      `these cases run ${formatCount(commands.length, "command")} on this machine`,
      {
        advice: "read them in the file, then add --yes; or run this in a terminal, without --json",
        code: "CONSENT_NEEDED",
        exit: EXIT.usage,
      },
    );
  }
  output.print("These cases run on this machine:");
  for (const command of commands) output.printText(command, "  ");
  if (await confirm("Run them? [y/N] ")) return;
  throw new Failure("not allowed; nothing was run", { code: "REFUSED" });
}

// ---- progress -------------------------------------------------------------------------------------

/** On stderr: a line for each case; in a terminal, one that says how long it has run. */
class Progress {
  #wanted;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /** @param {boolean} wanted */
  constructor(wanted) {
    this.#wanted = wanted;
  }

  /** @param {string} text */
  begin(text) {
    if (!this.#wanted) return;
    if (!process.stderr.isTTY) return void process.stderr.write(`${text} …\n`);
    const begun = performance.now();
    const show = () => {
      const seconds = Math.round((performance.now() - begun) / 1000);
      process.stderr.write(`\r${text} … ${seconds} s`);
    };
    show();
    this.#timer = setInterval(show, TICK_MS);
  }

  end() {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    process.stderr.write("\r\u001b[K");
  }
}

// ---- the run --------------------------------------------------------------------------------------

/** @param {EvalOptions} given @param {NodeJS.ProcessEnv} env */
async function findCli(given, env) {
  if (given.cli !== undefined) {
    if (fs.existsSync(given.cli)) return path.resolve(given.cli);
    throw usage(`there is no ${given.cli}`, "--cli names the program copilot");
  }
  const { findCopilotProgram } = await import("../../process/copilot-cli.mjs");
  const found = findCopilotProgram(env);
  if (found !== undefined) return found;
  throw new Failure("there is no copilot on PATH", {
    advice: "install GitHub Copilot CLI, or name the program with --cli",
    code: "NO_CLI",
    exit: EXIT.usage,
  });
}

/** @param {CaseResult} first that was run: all others would end as it did */
function requireLogin({ code }) {
  if (code !== "NO_LOGIN") return;
  throw new Failure("the environment has no login for the Copilot CLI, so no case can run", {
    advice: "set COPILOT_GITHUB_TOKEN, or COPILOT_PROVIDER_BASE_URL for a model of your own",
    code: "NO_LOGIN",
  });
}

/** @param {Case[]} cases @param {EvalOptions} given @param {string} cli @param {NodeJS.ProcessEnv} env */
async function runAll(cases, given, cli, env) {
  const { runCase } = await import("../../evals/case-runner.mjs");
  const { resultsPlace } = await import("../../evals/results.mjs");
  const { verdicts } = resultsPlace(copilotHome(env));
  const judge = given.noJudge ? undefined : { model: given.judgeModel, cache: verdicts };
  const progress = new Progress(!given.json);
  return runInterruptible(async (ending) => {
    /** @type {CaseResult[]} */
    const results = [];
    for (const [at, wanted] of cases.entries()) {
      progress.begin(`${at + 1}/${cases.length} ${wanted.name}`);
      const options = { cli, env, model: given.model, judge, ending };
      const result = await runCase(wanted, options)
        .catch((error) => {
          if (!error.interrupted) throw error;
          const message = "interrupted: nothing of the run is left";
          throw new Failure(message, { code: "INTERRUPTED", exit: EXIT.interrupted });
        })
        .finally(() => progress.end());
      if (results.every(({ status }) => status === "broken")) requireLogin(result);
      results.push(result);
    }
    return results;
  });
}

/** Before a run that takes long. @param {string | undefined} output */
function checkOutput(output) {
  if (output === undefined || fs.existsSync(path.dirname(path.resolve(output)))) return;
  throw usage(`the folder of ${output} does not exist`, "--output names a file for the results");
}

/**
 * Where the gateway runs, its store gets what came of each case.
 * @param {EvalOptions} given @param {object[]} bodies
 * @returns {Promise<void>} rejected never: the results are in their file
 */
async function record(given, bodies) {
  const write = async (/** @type {import("../../link/control.mjs").Control} */ control) => {
    for (const body of bodies) {
      await control.request("records.append", { collection: "eval", source: "copilot-tap", body });
    }
  };
  await withGateway(getGatewayFiles(given), write).catch((error) => {
    if (error instanceof Failure && NOT_RUNNING.includes(error.code)) return;
    process.stderr.write(`The results are not in the records: ${visible(errorMessage(error))}\n`);
  });
}

/** @param {EvalOptions} given */
async function run(given) {
  const output = new Output(given);
  const file = given.cases === undefined ? SMOKE : path.resolve(given.cases);
  const cases = await load(file, given);
  if (given.list) return list(output, cases);
  if (isRunByAgent()) {
    throw new Failure("an eval lets an agent use every tool, which is yours to start", {
      advice: "run this in a terminal of your own",
      code: "NOT_FOR_AGENTS",
    });
  }
  checkOutput(given.output);
  const env = getEnvironment(given);
  const cli = await findCli(given, env);
  await askForCommands(output, cases, given.yes);
  const { countByStatus, toRecords, reportLines, writeResults } =
    await import("../../evals/results.mjs");
  const [startedAt, begun] = [new Date().toISOString(), performance.now()];
  const done = await runAll(cases, given, cli, env);
  /** @type {Results} */
  const results = {
    ...{
      version: 1,
      tap: version,
      cli,
      file,
      startedAt,
      ms: Math.round(performance.now() - begun),
    },
    ...{ counts: countByStatus(done), cases: done },
  };
  const written = writeResults(results, copilotHome(env), given.output);
  await record(given, toRecords(results));
  output.result(results, () => {
    for (const line of reportLines(results, written)) output.print(line);
  });
  return results.counts.passed < done.length ? EXIT.notDone : EXIT.done;
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "eval <action> [cases]",
  describe: "run Copilot on cases, and judge what it did",
  usages: ["eval run [cases]"],
  about:
    "Runs the Copilot CLI on each case of a YAML file, with tap, in a workspace and a " +
    "COPILOT_HOME of its own. Then it checks which tools Copilot called, what Copilot saw and " +
    "claimed, and which files and records there are; a model judges rubrics. In that " +
    "workspace the agent may use every tool without asking. Without a file, it runs the smoke " +
    "cases of tap.",
  positionals: {
    action: { describe: "what to do", choices: ["run"] },
    cases: { describe: "a YAML file of cases" },
  },
  options: {
    case: { describe: "only this one" },
    list: { describe: "show the cases; run none", type: "boolean" },
    cli: { describe: "the program copilot; default: that on PATH" },
    model: { describe: "the model for the runs" },
    "judge-model": { describe: "the model that judges rubrics" },
    "no-judge": { describe: "leave out rubrics", type: "boolean" },
    output: { describe: "a JSON file for the results; default: one in tap/evals of the home" },
    yes: {
      short: "y",
      describe: "run the commands of setups: you have read them",
      type: "boolean",
    },
  },
  examples: [
    ["$0 eval run", "do tap's tools reach a session?"],
    ["$0 eval run cases.yaml --case deploy --no-judge", "one case, without a judge"],
  ],
  handler: run,
};
