// Draws the text of a terminal as SVG: text on a grid, as a browser shows it, without a picture of a font.

/**
 * A run of cells that look alike.
 * @typedef {{column: number, width: number, text: string, color?: string, background?: string, bold: boolean,
 *   italic: boolean, dim: boolean}} Run
 * @typedef {{title: string, rows: Run[][]}} Pane
 */

const CELL = { width: 8.2, height: 19, font: 13.6 };
const MARGIN = 16;
const TITLE = 30;
const GAP = 14;
const COLORS = { page: "#161b22", bar: "#21262d", text: "#d7dde4", title: "#9aa4af" };
const FONT = "ui-monospace, 'SF Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace";

/** The first 16 colours of a terminal, to be read on a dark ground. */
const PALETTE = [
  ...["#484f58", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#d7dde4"],
  ...["#6e7681", "#ffa198", "#7ee787", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff"],
];
/** The same as a ground, with light text on it. */
const GROUNDS = [
  ...["#484f58", "#b62324", "#238636", "#9e6a03", "#1f6feb", "#8957e5", "#1b7c83", "#d7dde4"],
  ...["#6e7681", "#b62324", "#238636", "#9e6a03", "#1f6feb", "#8957e5", "#1b7c83", "#ffffff"],
];
const CUBE = [0, 95, 135, 175, 215, 255];

/** @param {number[]} channels */
const hex = (channels) =>
  `#${channels.map((value) => value.toString(16).padStart(2, "0")).join("")}`;

/** @param {number} index of 256 @param {string[]} named the first 16 */
function paletteColor(index, named) {
  if (index < 16) return named[index];
  if (index >= 232) return hex(Array(3).fill(8 + (index - 232) * 10));
  const at = index - 16;
  return hex([Math.floor(at / 36), Math.floor(at / 6) % 6, at % 6].map((level) => CUBE[level]));
}

/** @param {"Fg" | "Bg"} ground @param {any} cell of xterm @returns {string | undefined} undefined: the default */
function colorOf(ground, cell) {
  if (cell[`is${ground}Default`]()) return undefined;
  const value = cell[`get${ground}Color`]();
  if (cell[`is${ground}RGB`]()) return `#${value.toString(16).padStart(6, "0")}`;
  return paletteColor(value, ground === "Fg" ? PALETTE : GROUNDS);
}

/** @param {any} cell @returns {Omit<Run, "column" | "width" | "text">} */
function styleOf(cell) {
  const [fore, back] = [colorOf("Fg", cell), colorOf("Bg", cell)];
  const inverse = Boolean(cell.isInverse());
  return {
    color: inverse ? (back ?? COLORS.page) : fore,
    background: inverse ? (fore ?? COLORS.text) : back,
    bold: Boolean(cell.isBold()),
    italic: Boolean(cell.isItalic()),
    dim: Boolean(cell.isDim()),
  };
}

/** @param {any} line of xterm's buffer @param {number} columns @returns {Run[]} */
export function runsOf(line, columns) {
  /** @type {Run[]} */
  const runs = [];
  let last = "";
  for (let column = 0; column < columns; column += 1) {
    const cell = line.getCell(column);
    if (!cell || cell.getWidth() === 0) continue; // the right half of a wide character
    const style = styleOf(cell);
    const key = JSON.stringify(style);
    const text = cell.getChars() || " ";
    const run = runs.at(-1);
    if (run && key === last) {
      run.text += text;
      run.width += cell.getWidth();
    } else runs.push({ column, width: cell.getWidth(), text, ...style });
    last = key;
  }
  return runs;
}

/** Plain lines, as of a terminal without colours. @param {string[]} lines @returns {Run[][]} */
export const plainRows = (lines) =>
  lines.map((text) => [
    { column: 0, width: text.length, text, bold: false, italic: false, dim: false },
  ]);

/** @param {string} text */
const escaped = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** @param {number} value */
const round = (value) => Number(value.toFixed(1));

/** @param {Run} run @param {number} top of its row */
function runSvg({ column, width, text, color, background, bold, italic, dim }, top) {
  const x = round(MARGIN + column * CELL.width);
  const wide = round(width * CELL.width);
  const ground = background
    ? `<rect x="${x}" y="${round(top)}" width="${wide}" height="${CELL.height}" fill="${background}"/>`
    : "";
  const trimmed = text.trimEnd();
  if (!trimmed) return ground;
  const length = round((width - (text.length - trimmed.length)) * CELL.width);
  const style = [
    color && color !== COLORS.text ? ` fill="${color}"` : "",
    bold ? ' font-weight="bold"' : "",
    italic ? ' font-style="italic"' : "",
    dim ? ' opacity="0.7"' : "",
  ].join("");
  return `${ground}<text x="${x}" y="${round(top + 14)}" textLength="${length}"${style}>${escaped(trimmed)}</text>`;
}

/** @param {Pane} pane @param {number} top @param {number} rows that it has room for @param {number} width */
function paneSvg({ title, rows: lines }, top, rows, width) {
  const height = TITLE + rows * CELL.height + MARGIN;
  const text = lines.flatMap((line, index) =>
    line.map((run) => runSvg(run, top + TITLE + 8 + index * CELL.height)),
  );
  const dots = ["#ff5f57", "#febc2e", "#28c840"].map(
    (fill, index) => `<circle cx="${20 + index * 18}" cy="${top + 15}" r="5.5" fill="${fill}"/>`,
  );
  return [
    `<rect x="0.5" y="${top + 0.5}" width="${width - 1}" height="${height - 1}" rx="8" fill="${COLORS.page}" stroke="#3d444d"/>`,
    `<path d="M1 ${top + TITLE}h${width - 2}" stroke="#3d444d"/>`,
    ...dots,
    `<text x="84" y="${top + 20}" fill="${COLORS.title}">${escaped(title)}</text>`,
    ...text,
  ].join("\n");
}

/**
 * Frames in turn, without an end; only the last frame where motion is unwanted or impossible.
 * @param {{columns: number, seconds: number[], alt: string}} look how long each frame stands
 * @param {Pane[][]} frames each with the same panes, from top to bottom
 * @returns {string}
 */
export function animatedSvg({ columns, seconds, alt }, frames) {
  const width = Math.ceil(columns * CELL.width + 2 * MARGIN);
  const rows = frames[0].map((_pane, index) =>
    Math.max(...frames.map((frame) => frame[index].rows.length)),
  );
  const heights = rows.map((count) => TITLE + count * CELL.height + MARGIN);
  const tops = heights.map((_height, index) =>
    heights.slice(0, index).reduce((sum, height) => sum + height + GAP, 0),
  );
  const height = Math.ceil(tops.at(-1) + heights.at(-1));
  const total = seconds.reduce((sum, length) => sum + length, 0);
  const percent = (/** @type {number} */ index) =>
    round((100 * seconds.slice(0, index).reduce((sum, length) => sum + length, 0)) / total);
  const keyframes = frames.map((_frame, index) => {
    const [from, to] = [percent(index), percent(index + 1)];
    const before = index > 0 ? `0%{visibility:hidden}` : "";
    return `@keyframes f${index}{${before}${from}%{visibility:visible}${to}%,100%{visibility:${to === 100 ? "visible" : "hidden"}}}`;
  });
  const still = frames.slice(0, -1).map((_frame, index) => `.f${index}{visibility:hidden}`);
  const moving = frames.map(
    (_frame, index) => `.f${index}{animation:f${index} ${total}s step-end infinite}`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" fill="${COLORS.text}" role="img" aria-label="${escaped(alt)}">
<style>
text{font:${CELL.font}px ${FONT};white-space:pre}
${still.join("\n")}
@media (prefers-reduced-motion:no-preference){
${[...keyframes, ...moving].join("\n")}
}
</style>
${frames
  .map(
    (frame, index) =>
      `<g class="f${index}">\n${frame.map((pane, at) => paneSvg(pane, tops[at], rows[at], width)).join("\n")}\n</g>`,
  )
  .join("\n")}
</svg>
`;
}
