// The last texts that something has said of its own troubles: bounded, and without secrets.

import { redact } from "./redact.mjs";
import { shortened, visible } from "./visible.mjs";

/** The latest are kept. */
export const MOST_DIAGNOSTICS = 20;
/** Of one text. */
export const MOST_TEXT = 300;

/** @typedef {{at: string, text: string}} Diagnostic `at`: ISO 8601 */

/** A text for a report: one line, bounded, without secrets. @param {unknown} text */
export const reportText = (text) => visible(shortened(redact(String(text)), MOST_TEXT));

/** The last texts of a feature; the same text again only counts once in a row. */
export class Diagnostics {
  /** @type {Diagnostic[]} */
  #kept = [];
  #now;
  #onAdded;

  /** @param {{now?: () => Date, onAdded?: (text: string) => void}} [options] */
  constructor({ now = () => new Date(), onAdded = () => {} } = {}) {
    this.#now = now;
    this.#onAdded = onAdded;
  }

  /** @param {unknown} text */
  add(text) {
    const said = reportText(text);
    if (this.#kept.at(-1)?.text === said) return;
    this.#kept = [...this.#kept, { at: this.#now().toISOString(), text: said }].slice(
      -MOST_DIAGNOSTICS,
    );
    this.#onAdded(said);
  }

  /** Those of a former installation come first. @param {Diagnostic[]} [former] */
  continue(former = []) {
    this.#kept = [...former, ...this.#kept].slice(-MOST_DIAGNOSTICS);
  }

  list() {
    return [...this.#kept];
  }
}
