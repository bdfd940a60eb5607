// One line on a terminal that says how far a copy is. Elsewhere nothing: a log is not to be full of it.

import { inLine } from "../lib/visible.mjs";

const WIDTH = 30;

/** @param {number} bytes */
const megabytes = (bytes) => (bytes / (1024 * 1024)).toFixed(1);

/** @param {{bytes: number, allBytes: number}} progress */
export function formatBar({ bytes, allBytes }) {
  const part = allBytes === 0 ? 1 : Math.min(1, bytes / allBytes);
  const full = Math.round(part * WIDTH);
  const percent = `${Math.floor(part * 100)}`.padStart(3);
  const bar = "#".repeat(full).padEnd(WIDTH, "-");
  return `copying [${bar}] ${percent} %  ${megabytes(bytes)} of ${megabytes(allBytes)} MB`;
}

export class ProgressBar {
  #stream;
  #shown = "";

  /** @param {{write: (text: string) => unknown, isTTY?: boolean}} stream @param {boolean} wanted */
  constructor(stream = process.stderr, wanted = true) {
    this.#stream = wanted && stream.isTTY ? stream : undefined;
  }

  /** @param {{bytes: number, allBytes: number}} progress */
  show(progress) {
    const text = formatBar(progress);
    if (!this.#stream || text === this.#shown) return;
    this.#shown = text;
    this.#stream.write(`\r${text}`);
  }

  /** The line is free again. */
  clear() {
    if (this.#stream && this.#shown) this.#stream.write(`\r${" ".repeat(this.#shown.length)}\r`);
    this.#shown = "";
  }
}

// What a terminal says while something takes long: for how long, and how far it is.

const FIRST_MS = 2000;
const REFRESH_MS = 1000;
/** Others are read again and again. */
const LABELS = /** @type {Record<string, string>} */ ({
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
export async function showProgress(what, steps, work, stream = process.stderr) {
  if (!LABELS[what] || !stream.isTTY) return work;
  const began = performance.now();
  let width = 0;
  const show = async () => {
    const { done, total } = COUNTED.includes(what) ? await steps().catch(() => ({})) : {};
    const seconds = Math.round((performance.now() - began) / 1000);
    const far = total > 0 ? `, ${Number(done)} of ${Number(total)}` : "";
    const line = inLine(`${LABELS[what]}: ${seconds} s${far}`);
    stream.write(`\r${line.padEnd(width)}`);
    width = Math.max(width, line.length);
  };
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  let over = false;
  const again = async () => {
    await show();
    if (!over) timer = setTimeout(again, REFRESH_MS);
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
