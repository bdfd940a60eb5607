// What a terminal says while something takes long: for how long, and how far it is.

import { inLine } from "../../base/visible.mjs";

const FIRST_MS = 2000;
const LOOK_MS = 1000;
/** Others are read again and again. */
const SHOWN = /** @type {Record<string, string>} */ ({
  create: "looking at the repository",
  validate: "looking at the repository",
  land: "landing the result",
  checks: "checking what is to land",
  delete_copilot_plan: "removing worktrees",
  orphans: "looking at worktrees",
  clean: "keeping and removing",
  restore: "restoring",
  export: "reading the journal",
  import: "reading the plan",
});

/** What says how far it is. */
const COUNTED = ["delete_copilot_plan", "checks"];

/**
 * @template T @param {string} what @param {() => Promise<any>} steps `{done, total}`, or nothing of it
 * @param {Promise<T>} work @param {NodeJS.WriteStream} [stream]
 * @returns {Promise<T>}
 */
export async function shown(what, steps, work, stream = process.stderr) {
  if (!SHOWN[what] || !stream.isTTY) return work;
  const began = performance.now();
  let width = 0;
  const show = async () => {
    const { done, total } = COUNTED.includes(what) ? await steps().catch(() => ({})) : {};
    const seconds = Math.round((performance.now() - began) / 1000);
    const far = total > 0 ? `, ${Number(done)} of ${Number(total)}` : "";
    const line = inLine(`${SHOWN[what]}: ${seconds} s${far}`);
    stream.write(`\r${line.padEnd(width)}`);
    width = Math.max(width, line.length);
  };
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  let over = false;
  const again = async () => {
    await show();
    if (!over) timer = setTimeout(again, LOOK_MS);
  };
  timer = setTimeout(again, FIRST_MS);
  try {
    return await work;
  } finally {
    over = true;
    clearTimeout(timer);
    if (width > 0) stream.write(`\r${" ".repeat(width)}\r`);
  }
}
