// The slash commands of the session. The gateway's host runs them; the model does not see them or their output.

import { SLASH, SLASH_COMMANDS } from "../lib/slash-commands.mjs";

/** In bytes; the gateway does not accept more. */
const MAX_ARGUMENTS_BYTES = 4096;

/**
 * @typedef {object} SlashOptions
 * @property {(text: string) => void} show a text in the timeline
 * @property {{connected: boolean, obstacle: string, send: (message: object) => void}} link `obstacle`: why there
 *   is no gateway, if the user can help
 */

export class SlashCommands {
  #show;
  #link;
  #count = 0;
  /** Names of unanswered commands, by id. @type {Map<string, string>} */
  #waiting = new Map();

  /** @param {SlashOptions} options */
  constructor({ show, link }) {
    this.#show = show;
    this.#link = link;
  }

  /** For the CLI. */
  list() {
    return SLASH_COMMANDS.map(({ name, description }) => ({
      name,
      description,
      handler: async (/** @type {{args?: string} | undefined} */ typed) =>
        this.#run(name, typed?.args ?? ""),
    }));
  }

  /** @param {string} name @param {string} args */
  #run(name, args) {
    const { connected, obstacle } = this.#link;
    if (!connected) {
      const why = obstacle || "it is being started; try again in a few seconds";
      return this.#show(
        `tap: no gateway runs: ${why}. In a terminal, \`copilot-tap doctor\` has details`,
      );
    }
    if (Buffer.byteLength(args) > MAX_ARGUMENTS_BYTES) {
      return this.#show(`tap: /${name} was not run: its arguments have more than 4096 bytes`);
    }
    if (name === SLASH.pair.name) return this.#link.send({ type: "pairings.show" });
    if (name === SLASH.use.name) return this.#use(args.trim());
    const commandId = String(++this.#count);
    this.#waiting.set(commandId, name);
    this.#link.send({ type: "command.run", commandId, name, arguments: args });
  }

  /** @param {string} provider */
  #use(provider) {
    if (provider) return this.#link.send({ type: "provider.use", provider });
    this.#show("tap: which provider? As in: /tap-use weather. /tap lists them");
  }

  /** The gateway's `command.result`. @param {{commandId: string, text: string}} result */
  showResult({ commandId, text }) {
    if (this.#waiting.delete(commandId)) this.#show(text);
  }

  /** The link has ended: pending commands get no answer. */
  gatewayGone() {
    for (const name of this.#waiting.values()) {
      this.#show(
        `tap: /${name} was not finished: the gateway has ended; try again in a few seconds`,
      );
    }
    this.#waiting.clear();
  }
}
