// The emitters and streams of a config: each is what js/config/emitter-spec.mjs makes of it, and each problem is told
// where it stands in the file.

import { readEmitter, readStream } from "./emitter-spec.mjs";
import { list } from "./schema.mjs";

/** @typedef {import("./emitter-spec.mjs").EmitterSpec} EmitterSpec */
/** @typedef {import("./emitter-spec.mjs").StreamSpec} StreamSpec */
/** @typedef {import("./emitter-fields.mjs").FieldProblem} FieldProblem */
/**
 * @template Spec
 * @typedef {{name: string, spec: Spec, given: unknown, notes: string[]}} Entry `given`: as it is in the file
 */
/** @typedef {Entry<EmitterSpec>} EmitterEntry */
/** @typedef {Entry<Readonly<StreamSpec>>} StreamEntry */

export const MAX_ENTRIES = 50;

/**
 * @param {(given: unknown) => {ok: true, spec: any, notes: string[]} | {ok: false, problems: FieldProblem[]}} read
 * @returns {import("./schema.mjs").Schema<any>}
 */
const toEntrySchema = (read) => ({
  read(given, place) {
    const result = read(given);
    if (result.ok) return { name: result.spec.name, spec: result.spec, given, notes: result.notes };
    for (const { path, text } of result.problems)
      path
        .reduce((at, step) => at.at(step), place)
        .problem(text, text.startsWith("unknown field") && path.length > 0);
  },
});

/** @param {"user" | "project"} file */
export const createEmitters = (file) =>
  list(
    toEntrySchema((given) => readEmitter(given, { origin: "config", file })),
    { most: MAX_ENTRIES, what: "emitters" },
  );

export const streams = list(toEntrySchema(readStream), { most: MAX_ENTRIES, what: "streams" });

/**
 * An emitter that says nothing about its injector has that of its stream.
 * @param {EmitterEntry} entry @param {StreamEntry[]} all @returns {EmitterEntry}
 */
export function withInjector(entry, all) {
  const { spec } = entry;
  const given = /** @type {Record<string, unknown>} */ (entry.given);
  const stream = all.find(({ name }) => name === spec.stream)?.spec;
  const isOwn = given.subscribe !== undefined || given.delivery !== undefined;
  if (!stream || isOwn || spec.kind === "prompt") return entry;
  return { ...entry, spec: { ...spec, subscribe: stream.subscribe, delivery: stream.delivery } };
}
