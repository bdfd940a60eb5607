// Edits of the system message, for a session that joined without them. Edits and changes of tools do not wait for each
// other.

import { canResume, resume } from "./copilot-session.mjs";

/**
 * The CLI puts other sections at the end of the message, without an error. The gateway has the same
 * list (native/protocol/hook_rules.cc).
 */
export const SECTIONS = new Set([
  "preamble",
  "identity",
  "tone",
  "tool_efficiency",
  "environment_context",
  "code_change_rules",
  "guidelines",
  "safety",
  "tool_instructions",
  "custom_instructions",
  "runtime_instructions",
  "last_instructions",
]);

/** The agent's identity and its restrictions: text may only be added after them. */
const APPEND_ONLY = new Set(["identity", "preamble", "safety"]);

/**
 * With `callback`, the text is requested each time the CLI builds the system message.
 * @typedef {{prepend?: string, append?: string, replace?: string, callback?: boolean}} SectionEdit
 * @typedef {{action: "prepend" | "append" | "replace" | "transform", content?: string}} WireSection
 * @typedef {(content: string) => Promise<string>} SectionTransform
 * @typedef {(section: string, text: string) => Promise<string | undefined>} SectionBuilder
 * @typedef {"in-force" | "unavailable"} EditOutcome
 */

/** @param {(string | undefined)[]} parts */
const lines = (...parts) => parts.filter(Boolean).join("\n");

/** @param {string} section @param {SectionEdit} edit @returns {SectionEdit} */
function restrictEdit(section, edit) {
  if (!SECTIONS.has(section)) return {};
  return APPEND_ONLY.has(section) ? { append: edit.append } : edit;
}

/**
 * Only actions that the CLI knows: it accepts an unknown action without an error, and then starts no more turns.
 * The CLI puts no separator between an addition and the section's own text.
 * @param {SectionEdit} edit @returns {WireSection | undefined}
 */
function wireSection({ prepend, append, replace, callback }) {
  if (callback) return { action: "transform" };
  if (replace !== undefined) return { action: "replace", content: lines(prepend, replace, append) };
  if (prepend && append) return { action: "transform" };
  if (prepend) return { action: "prepend", content: `${prepend}\n` };
  return append ? { action: "append", content: `\n${append}` } : undefined;
}

/**
 * @param {Record<string, SectionEdit>} edits
 * @param {SectionBuilder} build
 * @returns {{sections: Record<string, WireSection>, transforms: Map<string, SectionTransform>, built: boolean, key:
 *   string}} two edits with the same key are equal; `built`: a part is requested each time
 */
function planEdits(edits, build) {
  /** @type {Record<string, WireSection>} */
  const sections = {};
  /** @type {Map<string, SectionTransform>} additions on both sides, for which the CLI has no action */
  const transforms = new Map();
  const parts = [];
  for (const section of Object.keys(edits).sort()) {
    const edit = restrictEdit(section, edits[section]);
    const wire = wireSection(edit);
    if (!wire) continue;
    sections[section] = wire;
    parts.push([section, edit.prepend, edit.append, edit.replace, edit.callback]);
    if (wire.action !== "transform") continue;
    transforms.set(section, async (content) => {
      const base = edit.replace ?? content;
      const built = edit.callback ? await build(section, base) : undefined;
      return lines(edit.prepend, built ?? base, edit.append);
    });
  }
  const built = Object.values(edits).some(({ callback }) => callback);
  return { sections, transforms, built, key: JSON.stringify(parts) };
}

/**
 * The edits of a session's system message. The model sees a change from the next turn on. No request
 * is sent before the first edit, since after it the CLI introduces the agent in other words.
 */
export class SystemMessageEditor {
  #session;
  #build;
  #wanted = planEdits({}, async () => undefined);
  /** @type {ReturnType<typeof planEdits> | undefined} undefined after a failed request */
  #inForce = this.#wanted;
  /** @type {Promise<EditOutcome> | undefined} */
  #running;

  /**
   * @param {any} session the result of joinSession()
   * @param {SectionBuilder} [build] for sections with a callback
   */
  constructor(session, build = async () => undefined) {
    this.#session = session;
    this.#build = build;
  }

  /**
   * Makes the CLI, which caches the system message, build it again for the next turn.
   * Only between turns, since within a turn the edits would be lost for the rest of it.
   */
  async rebuild() {
    const current = this.#inForce;
    if (this.#running || !current?.built) return;
    this.#running = this.#run(current);
    await this.#running;
  }

  /**
   * Replaces all edits. Requests are sent in sequence, and only for a change; of the changes during a request, only the
   * last is sent. Rejects with the CLI's message; the next call then tries again.
   * @param {Record<string, SectionEdit>} edits @returns {Promise<EditOutcome>}
   */
  async apply(edits) {
    const session = this.#session;
    if (!canResume(session) || typeof session.registerTransformCallbacks !== "function") {
      return "unavailable";
    }
    this.#wanted = planEdits(edits, this.#build);
    if (!this.#running) {
      if (this.#wanted.key === this.#inForce?.key) return "in-force";
      this.#running = this.#run(this.#wanted);
    }
    return this.#running;
  }

  /** @param {ReturnType<typeof planEdits>} first @returns {Promise<EditOutcome>} */
  async #run(first) {
    try {
      await this.#send(first);
      while (this.#wanted.key !== this.#inForce?.key) await this.#send(this.#wanted);
      return "in-force";
    } finally {
      // Synchronously, so that a later edit starts a new run.
      this.#running = undefined;
    }
  }

  /** @param {ReturnType<typeof planEdits>} next */
  async #send(next) {
    const former = this.#inForce;
    this.#inForce = undefined;
    this.#registerTransforms(next);
    try {
      const systemMessage = { mode: "customize", sections: next.sections };
      await resume(this.#session, { systemMessage });
      // Within a turn the CLI uses the transforms of the former message.
      if (next.transforms.size > 0) await resume(this.#session, { systemMessage });
      this.#inForce = next;
    } catch (error) {
      if (former) this.#registerTransforms(former);
      throw error;
    }
  }

  /** @param {{transforms: Map<string, SectionTransform>}} edits */
  #registerTransforms({ transforms }) {
    this.#session.registerTransformCallbacks(transforms.size > 0 ? transforms : undefined);
  }
}
