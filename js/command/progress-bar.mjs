// One line on a terminal that says how far a copy is. Elsewhere nothing: a log is not to be full of it.

const WIDTH = 30;

/** @param {number} bytes */
const megabytes = (bytes) => (bytes / (1024 * 1024)).toFixed(1);

/** @param {{bytes: number, allBytes: number}} progress */
export function barOf({ bytes, allBytes }) {
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
    const text = barOf(progress);
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
