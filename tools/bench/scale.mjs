// The cost of a change of a tool, by the number of tools that are there already, all bound to each session:
// instructions in the core, counted by callgrind within measured() (scale.cc), and bytes on the links.

import { attempt, CommandFailed } from "../commands.mjs";

const TOOLS_EACH = 20;
const MAX_PROVIDERS = 50;

/** The cases, with their names in scale.cc. */
const changes = {
  "a tool is added": "adds",
  "a provider leaves": "leaves",
  "a provider comes": "comes",
};

/** @param {string} program @param {number} providers @param {number} sessions @param {string} change */
async function count(program, providers, sessions, change) {
  const tool = ["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=measured"];
  const load = [providers, TOOLS_EACH, sessions].map(String);
  const { ok, output } = await attempt("valgrind", [...tool, program, ...load, change], {
    quiet: true,
  });
  const [, bytes] = /^(\d+)$/m.exec(output) ?? [];
  const [, collected] = /Collected : (\d+)/.exec(output) ?? [];
  if (!ok || !(Number(collected) > 0)) {
    throw new CommandFailed(
      `callgrind counted no instruction for ${providers} providers:\n${output}`,
    );
  }
  return {
    instructions: Number(collected) / sessions,
    linkBytes: Number(bytes) / sessions,
  };
}

/**
 * All counts are alike: there are no rounds. @param {string} program @param {number} sessions
 * @returns {Promise<import("./report.mjs").All>}
 */
export async function scale(program, sessions) {
  /** @type {import("./report.mjs").All} */
  const all = {};
  for (const [name, change] of Object.entries(changes)) {
    all[name] = {};
    for (const providers of [5, 10, 25, MAX_PROVIDERS]) {
      const { instructions, linkBytes } = await count(program, providers, sessions, change);
      all[name][`${providers * TOOLS_EACH} tools`] = {
        instructions: [instructions],
        linkBytes: [linkBytes],
      };
    }
  }
  return all;
}
