// npm run faults -- [--from N] [--to N]: a plan of twelve nodes, again and again; each time its feature host is killed
// at a later write of its journal: right before it, right after it, and right after it and again while the next host
// takes up the plan. Each time the outcome has to be that of an undisturbed plan.

import process from "node:process";
import { isDeepStrictEqual } from "node:util";
import { contained, runWithFaults } from "../test/js/features/plan-faults.mjs";
import { CommandFailed, printLine } from "./commands.mjs";
import { option } from "./option.mjs";
import { setUp } from "./setup.mjs";

const AT_A_TIME = 2;

/** @typedef {import("../test/support/fixtures/plans/faulty-plans.mjs").Order} Order */

/** @param {"before" | "after"} when @returns {(at: number) => Order} */
const kill = (when) => (at) => ({ at, when, whom: "feature-host" });
/** @type {Record<string, (at: number) => Order[]>} */
const KINDS = {
  before: (at) => [kill("before")(at)],
  after: (at) => [kill("after")(at)],
  twice: (at) => [kill("after")(at), kill("after")(1)],
};

class Faults {
  runs = 0;
  kills = 0;
  problems = 0;
  /** Beyond the last write no host is killed. */
  #last = Infinity;
  /** @type {object | undefined} */
  #wanted;

  async start() {
    const { result, problems } = await contained((t) => runWithFaults(t, []));
    if (problems.length > 0) throw new CommandFailed(problems.join("\n"));
    this.#wanted = result;
  }

  /** @param {string} name @param {number} at */
  async #disturb(name, at) {
    this.runs += 1;
    const { problems, what } = await contained(async (t) => {
      const { result, problems: found, kills } = await runWithFaults(t, KINDS[name](at));
      this.kills += kills.length;
      if (kills.length === 0) this.#last = Math.min(this.#last, at);
      const same = isDeepStrictEqual(result, this.#wanted);
      const texts = same ? found : [...found, `not as undisturbed: ${JSON.stringify(result)}`];
      return { problems: texts, what: kills.map((fault) => fault.what).join("; ") };
    }).catch((error) => ({ problems: [String(error.stack)], what: "" }));
    this.problems += problems.length;
    if (problems.length > 0 || at % 10 === 0) printLine(`   ${at} ${name} (${what})`);
    for (const problem of problems) printLine(`      ${problem}`);
  }

  /** @param {number} from @param {number} to */
  async run(from, to) {
    let at = from;
    const walk = async () => {
      while (at <= to && at < this.#last) {
        const next = at++;
        for (const name of Object.keys(KINDS)) await this.#disturb(name, next);
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, walk));
    return this.#last;
  }
}

try {
  await setUp({ for: "faults" });
  const faults = new Faults();
  await faults.start();
  const last = await faults.run(option("from", 1), option("to", Infinity));
  const { runs, kills, problems } = faults;
  printLine(
    `${problems ? "FAILED" : "PASSED"}: ${runs} runs, ${kills} kills, ${problems} problems; ${last - 1} writes`,
  );
  process.exitCode = problems ? 1 : 0;
} catch (error) {
  if (!(error instanceof CommandFailed)) throw error;
  printLine(error.message);
  process.exitCode = 1;
}
