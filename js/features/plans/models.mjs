// Which models the tools' schemas offer for agents: those of the account, as a session's CLI says, else those that the
// agents' server was built with. Free text is allowed where neither is known, and beside them.

const FILE = "models";
const VERSION = 1;
const HOUR_MS = 3_600_000;
const MAX_MODELS = 40;
const MAX_TEXT = 1500;

/** @typedef {import("../../lib/models.mjs").Models} Models */

/** By vendor, with the tier where it is known. @param {Models} known @returns {string} */
export function formatModels({ models }) {
  /** @type {Map<string, string[]>} */
  const byVendor = new Map();
  for (const { id, vendor = "others", tier } of models.slice(0, MAX_MODELS)) {
    const list = byVendor.get(vendor) ?? [];
    byVendor.set(vendor, [...list, tier ? `${id} (${tier})` : id]);
  }
  const parts = [...byVendor].map(([vendor, ids]) => `${vendor}: ${ids.join(", ")}`);
  return parts.join("; ").slice(0, MAX_TEXT);
}

/** @param {unknown} value @returns {value is {at: number, known: Models}} */
const isSaved = (value) => Array.isArray(/** @type {any} */ (value)?.known?.models);

export class AvailableModels {
  #services;
  #onChange;
  #text = "";
  #at = 0;
  /** @type {Models["source"]} */
  #source = "none";

  /** @param {import("../../feature-host/service-access.mjs").Services} services @param {() => void} onChange the text is another one now */
  constructor(services, onChange) {
    this.#services = services;
    this.#onChange = onChange;
  }

  /** For a description; "": nothing is known. */
  get text() {
    return this.#text;
  }

  /** What was known before. */
  async load() {
    const saved = await this.#services.files.read(FILE).catch(() => undefined);
    if (!isSaved(saved?.value)) return;
    const { at, known } = saved.value;
    this.#text = formatModels(known);
    this.#source = known.source;
    this.#at = at;
  }

  /** @param {number} [now] whether the list is not to be asked for again */
  isFresh(now = Date.now()) {
    return this.#source === "account" && now - this.#at < HOUR_MS && now >= this.#at;
  }

  /** Asks a session for those of its account. @param {string} session */
  async fetchFromSession(session) {
    if (this.isFresh()) return;
    const known = await this.#services.sessions.models({ session }).catch(() => undefined);
    await this.update(known);
  }

  /** Asks the server of agents. @param {{models: (cli: any) => Promise<Models>}} workers @param {{cli: string, sdk: string}} cli */
  async fetchFromWorkers(workers, cli) {
    if (this.isFresh()) return;
    await this.update(await workers.models(cli).catch(() => undefined));
  }

  /** Those that a CLI was built with say less than those of an account. @param {Models | undefined} known */
  async update(known, now = Date.now()) {
    if (!known || known.models.length === 0) return;
    if (known.source === "catalog" && this.isFresh(now)) return;
    const [before, text] = [this.#text, formatModels(known)];
    [this.#text, this.#source, this.#at] = [text, known.source, now];
    await this.#services.files.write(FILE, VERSION, { at: now, known }).catch(() => {});
    if (text !== before) this.#onChange();
  }
}
