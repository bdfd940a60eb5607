// `copilot-tap eval run` with the real CLI and a scripted model.

import fs from "node:fs";
import path from "node:path";
import { readCases } from "../../js/evals/cases.mjs";
import { findCli, REPO_ROOT } from "./cli.mjs";
import { CLI, Running } from "./cli-process.mjs";
import { callTool, say, ScriptedModel, toolResults, userTexts } from "./model.mjs";
import { temporaryFolder } from "./temporary.mjs";

export const SMOKE = path.join(REPO_ROOT, "evals", "smoke.yaml");

/**
 * Plays the first pass example of the case whose prompt it reads: its calls, then its answer.
 * @param {import("../../js/evals/cases.mjs").Case[]} cases
 * @returns {import("./model.mjs").Script}
 */
export const playing = (cases) => (request) => {
  const played = cases.find(({ prompt }) =>
    userTexts(request).some((text) => text.includes(prompt.trim())),
  );
  const { calls = [], answer = "done" } = played?.examples.pass[0] ?? {};
  const call = calls[toolResults(request).length];
  return call ? callTool(call.tool, call.arguments ?? {}) : say(answer);
};

/** The cases of a text without problems. @param {string} source */
export function casesIn(source) {
  const { cases, problems } = readCases(source);
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  return cases;
}

/** The variables that would change a run, or the place of its files. */
const SURROUNDINGS = /^(TAP_|COPILOT_|GH_TOKEN|GITHUB_TOKEN|NO_COLOR|FORCE_COLOR)/;

export class EvalRig {
  /** @type {ScriptedModel} */ model;
  /** @type {string} */ folder;

  /**
   * @param {import("node:test").TestContext} t @param {import("./model.mjs").Script | import("./model.mjs").Reply[]} script
   * @param {{auxiliaryReply?: import("./model.mjs").Reply}} [options] the reply of a judge, which has no tools
   */
  static async start(t, script, options) {
    const rig = new EvalRig();
    rig.model = await ScriptedModel.start(script, options);
    t.after(() => rig.model.close());
    rig.folder = fs.realpathSync(temporaryFolder(t));
    fs.mkdirSync(path.join(rig.folder, "tmp"));
    return rig;
  }

  /** The user's environment: his home, and a model of his own. */
  get env() {
    const kept = Object.entries(process.env).filter(([name]) => !SURROUNDINGS.test(name));
    return {
      ...Object.fromEntries(kept),
      COPILOT_HOME: path.join(this.folder, "home"),
      COPILOT_OFFLINE: "true",
      COPILOT_MODEL: "fake",
      COPILOT_PROVIDER_BASE_URL: this.model.url,
      TMPDIR: path.join(this.folder, "tmp"),
    };
  }

  /** @param {string} source YAML text @returns {string} its file */
  write(source) {
    const file = path.join(this.folder, "cases.yaml");
    fs.writeFileSync(file, source);
    return file;
  }

  /** A CLI that is a script of a shell. @param {string} body */
  fakeCli(body) {
    const file = path.join(this.folder, "copilot");
    fs.writeFileSync(file, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
    return file;
  }

  /** @param {string[]} args after `eval run` @param {{cli?: string, env?: object}} [options] */
  start(args, { cli = findCli().command, env = {} } = {}) {
    return new Running(["eval", "run", ...args, "--cli", cli], {
      env: { ...this.env, ...env },
      workspace: this.folder,
    });
  }

  /**
   * @param {string[]} args @param {{cli?: string, env?: object}} [options]
   * @returns {Promise<{code: number | null, out: string, err: string, results: any}>}
   */
  async run(args, options) {
    const output = path.join(this.folder, "results.json");
    fs.rmSync(output, { force: true });
    const running = this.start([...args, "--output", output], options);
    const { code } = await running.ended;
    const results = fs.existsSync(output) ? JSON.parse(fs.readFileSync(output, "utf8")) : undefined;
    return { code, out: running.out, err: running.err, results };
  }

  /** The files that runs have left in the folder for temporary files. */
  get left() {
    return fs.readdirSync(path.join(this.folder, "tmp")).filter((name) => /^tap-/.test(name));
  }

  /** Processes that have a home below that folder, or run in it. @returns {string[]} */
  get processes() {
    const mark = path.join(this.folder, "tmp", "tap-");
    return fs
      .readdirSync("/proc")
      .filter((pid) => /^\d+$/.test(pid))
      .filter((pid) => {
        try {
          const [state] = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1) ?? "Z";
          return state !== "Z" && fs.readFileSync(`/proc/${pid}/environ`, "utf8").includes(mark);
        } catch {
          return false;
        }
      });
  }
}

export { CLI };
