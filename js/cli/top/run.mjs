// `copilot-tap top` while it runs: looks, keys and sizes make frames.

import { renderFrame } from "../../views/top/frame.mjs";
import { FIRST, applyKey } from "../../views/top/state.mjs";
import { pause, runInterruptible } from "../exit.mjs";
import { paintLines, Screen } from "./screen.mjs";
import { Source } from "./source.mjs";

/** @typedef {import("../../views/top/panel.mjs").Snapshot} Snapshot */

const POLL_MS = 1000;

/**
 * Until the user quits or a signal comes.
 * @param {import("../../lib/paths.mjs").GatewayFiles} files
 */
export async function runTop(files) {
  const source = new Source(files);
  const quit = new AbortController();
  let state = FIRST;
  /** @type {Snapshot | undefined} */
  let seen;
  let frame = renderFrame(state, seen, { columns: 80, rows: 23 });
  const draw = () => {
    frame = renderFrame(state, seen, screen.size);
    screen.show(paintLines(frame.lines));
  };
  const screen = new Screen({
    input: process.stdin,
    output: process.stdout,
    onKey: (key) => {
      const next = applyKey(state, key, frame);
      if (next === state) return;
      state = next;
      if (state.quit) return quit.abort();
      draw();
    },
    onResize: draw,
    onEnd: () => quit.abort(),
  });
  await runInterruptible(async (interrupted) => {
    const ending = AbortSignal.any([interrupted, quit.signal]);
    // At once, not when a look has its answer: a second signal ends the process.
    ending.addEventListener("abort", () => screen.close());
    screen.open();
    try {
      draw();
      const ended = new Promise((resolve) =>
        ending.addEventListener("abort", () => resolve(undefined)),
      );
      for (; !ending.aborted; await pause(POLL_MS, ending)) {
        if (state.paused) continue;
        const latest = await Promise.race([source.poll(), ended]);
        if (latest === undefined || state.paused) continue;
        seen = /** @type {Snapshot} */ (latest);
        draw();
      }
    } finally {
      screen.close();
      source.close();
    }
  });
}
