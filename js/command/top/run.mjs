// `copilot-tap top` while it runs: looks, keys and sizes make frames.

import { frameOf } from "../../views/top/frame.mjs";
import { FIRST, pressed } from "../../views/top/state.mjs";
import { pause, untilInterrupted } from "../interruption.mjs";
import { painted } from "./painted.mjs";
import { Screen } from "./screen.mjs";
import { Source } from "./source.mjs";

/** @typedef {import("../../views/top/panel.mjs").Seen} Seen */

const LOOK_MS = 1000;

/**
 * Until the user quits or a signal comes.
 * @param {import("../../base/paths.mjs").GatewayFiles} files
 */
export async function runTop(files) {
  const source = new Source(files);
  const quit = new AbortController();
  let state = FIRST;
  /** @type {Seen | undefined} */
  let seen;
  let frame = frameOf(state, seen, { columns: 80, rows: 23 });
  const draw = () => {
    frame = frameOf(state, seen, screen.size);
    screen.show(painted(frame.lines));
  };
  const screen = new Screen({
    input: process.stdin,
    output: process.stdout,
    onKey: (key) => {
      const next = pressed(state, key, frame);
      if (next === state) return;
      state = next;
      if (state.quit) return quit.abort();
      draw();
    },
    onResize: draw,
    onEnd: () => quit.abort(),
  });
  await untilInterrupted(async (interrupted) => {
    const ending = AbortSignal.any([interrupted, quit.signal]);
    // At once, not when a look has its answer: a second signal ends the process.
    ending.addEventListener("abort", () => screen.close());
    screen.open();
    try {
      draw();
      const ended = new Promise((resolve) =>
        ending.addEventListener("abort", () => resolve(undefined)),
      );
      for (; !ending.aborted; await pause(LOOK_MS, ending)) {
        if (state.paused) continue;
        const latest = await Promise.race([source.look(), ended]);
        if (latest === undefined || state.paused) continue;
        seen = /** @type {Seen} */ (latest);
        draw();
      }
    } finally {
      screen.close();
      source.close();
    }
  });
}
