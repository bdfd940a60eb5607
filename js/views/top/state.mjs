// The state of the user interface of `copilot-tap top`, and the effects of keys.

import { PLACES } from "./panels.mjs";

/**
 * `chosen`: by place, the key of the marked row; `open`: its details are shown, from line `line` on; `typing`:
 * keys edit the filter.
 * @typedef {object} State
 * @property {string} place of PLACES
 * @property {Record<string, string>} chosen
 * @property {boolean} open
 * @property {number} line
 * @property {string} filter
 * @property {boolean} typing
 * @property {boolean} paused
 * @property {boolean} help
 * @property {boolean} quit
 */

/**
 * A key as node:readline reports it.
 * @typedef {{name?: string, sequence?: string, ctrl?: boolean, shift?: boolean, meta?: boolean}} Key
 */

/**
 * `keys`: of the rows of the place; `page`: number of rows that fit; `most`: the last line at which details may
 * start.
 * @typedef {{keys: string[], page: number, most: number}} Viewport
 */

const MAX_FILTER = 60;

/** @type {State} */
export const FIRST = {
  ...{ place: PLACES[0], chosen: {}, open: false, line: 0 },
  ...{ filter: "", typing: false, paused: false, help: false, quit: false },
};

/** @param {State} state @param {string[]} keys @returns {number} index of the marked row; 0 if it no longer exists */
export const findMarked = ({ place, chosen }, keys) => Math.max(0, keys.indexOf(chosen[place]));

/** @param {State} state @param {number} by @returns {State} */
function go(state, by) {
  const at = PLACES.indexOf(state.place) + by;
  return { ...state, place: PLACES[(at + PLACES.length) % PLACES.length], open: false, line: 0 };
}

/** @param {State} state @param {Viewport} shown @param {number} by @returns {State} */
function mark(state, { keys, most }, by) {
  if (state.open) return { ...state, line: Math.max(0, Math.min(most, state.line + by)) };
  if (keys.length === 0) return state;
  const at = Math.min(keys.length - 1, Math.max(0, findMarked(state, keys) + by));
  return { ...state, chosen: { ...state.chosen, [state.place]: keys[at] } };
}

/** Opens the marked row; in the overview, its panel. @param {State} state @param {Viewport} shown @returns {State} */
function open(state, { keys }) {
  const key = keys[findMarked(state, keys)];
  if (key === undefined || state.open) return state;
  if (PLACES.includes(key) && state.place === PLACES[0]) return { ...state, place: key };
  const chosen = { ...state.chosen, [state.place]: key };
  return { ...state, chosen, open: true, line: 0 };
}

/** Closes the innermost open part. @param {State} state @returns {State} */
function back(state) {
  if (state.open) return { ...state, open: false, line: 0 };
  if (state.filter !== "") return { ...state, filter: "" };
  return { ...state, place: PLACES[0] };
}

/** @type {Record<string, (state: State, shown: Viewport) => State>} */
const ACTIONS = {
  q: (state) => ({ ...state, quit: true }),
  tab: (state) => go(state, 1),
  right: (state) => go(state, 1),
  left: (state) => go(state, -1),
  "shift-tab": (state) => go(state, -1),
  up: (state, shown) => mark(state, shown, -1),
  down: (state, shown) => mark(state, shown, 1),
  k: (state, shown) => mark(state, shown, -1),
  j: (state, shown) => mark(state, shown, 1),
  pageup: (state, shown) => mark(state, shown, -shown.page),
  pagedown: (state, shown) => mark(state, shown, shown.page),
  home: (state, shown) => mark(state, shown, -Infinity),
  end: (state, shown) => mark(state, shown, Infinity),
  return: open,
  enter: open,
  escape: back,
  p: (state) => ({ ...state, paused: !state.paused }),
  "/": (state) => ({ ...state, typing: true, open: false, line: 0 }),
  "?": (state) => ({ ...state, help: true }),
};

/** @param {State} state @param {Key} key @returns {State} */
function type(state, { name, sequence = "", ctrl, meta }) {
  const done = { ...state, typing: false };
  if (name === "return" || name === "enter" || name === "tab") return done;
  if (name === "escape") return { ...done, filter: "" };
  if (name === "backspace") return { ...state, filter: [...state.filter].slice(0, -1).join("") };
  if (ctrl && name === "u") return { ...state, filter: "" };
  if (ctrl || meta || !/^[^\p{C}]+$/u.test(sequence)) return state;
  return { ...state, filter: [...(state.filter + sequence)].slice(0, MAX_FILTER).join("") };
}

/** @param {Key} key */
function getKeyName({ name, sequence = "", shift }) {
  if (name === "tab" && shift) return "shift-tab";
  return sequence === "/" || sequence === "?" ? sequence : (name ?? "");
}

/** @param {State} state @param {Key} key @param {Viewport} shown @returns {State} unchanged for a key without a meaning */
export function applyKey(state, key, shown) {
  if (key.ctrl && (key.name === "c" || key.name === "d")) return { ...state, quit: true };
  if (state.help) return { ...state, help: false };
  if (state.typing) return type(state, key);
  // node:readline reports a lone Escape with meta.
  if (key.ctrl || (key.meta && key.name !== "escape")) return state;
  const name = getKeyName(key);
  return Object.hasOwn(ACTIONS, name) ? ACTIONS[name](state, shown) : state;
}
