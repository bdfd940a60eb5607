// The emitters and streams of a config: each is what js/config/emitter-spec.mjs makes of it, and each problem is told
// where it stands in the file.

import { readEmitter, readStream } from "./emitter-spec.mjs";
import { quoteInput } from "./strict-reader.mjs";

/** @typedef {import("./strict-reader.mjs").Node} Node */
/** @typedef {import("./strict-reader.mjs").StrictReader} StrictReader */
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

/** @param {Node} node @param {string} name of a member */
const findMember = (node, name) =>
  node.children?.find(({ children: [key] = [] }) => key?.value === name);

/** Where a problem is shown: at the member or the item, as deep as there is one. @param {Node} entry @param {FieldProblem} problem */
function findProblemNode(entry, { path }) {
  let [value, place] = [entry, entry];
  for (const step of path) {
    const found = typeof step === "number" ? value.children?.[step] : findMember(value, step);
    if (!found) break;
    place = found;
    value = typeof step === "number" ? found : (found.children?.[1] ?? found);
  }
  return place;
}

/** Its value, with each member given once. @param {StrictReader} reader @param {Node} node @param {string} what @returns {unknown} */
function toPlainValue(reader, node, what) {
  if (node.type === "array")
    return (node.children ?? []).map((item) => toPlainValue(reader, item, what));
  if (node.type !== "object") return node.value;
  const members = [...reader.members(node, what)];
  return Object.fromEntries(
    members.map(([name, { value }]) => [name, toPlainValue(reader, value, what)]),
  );
}

/**
 * @template Spec
 * @param {StrictReader} reader @param {Node | undefined} list @param {"emitter" | "stream"} what
 * @param {(given: unknown) => {ok: true, spec: Spec & {name: string}, notes: string[]} | {ok: false, problems: FieldProblem[]}} read
 * @returns {Entry<Spec>[]}
 */
function parseEntries(reader, list, what, read) {
  const nodes = list ? reader.list(list) : [];
  if (nodes.length > MAX_ENTRIES) {
    const text = `expected at most ${MAX_ENTRIES} ${what}s, found ${nodes.length}`;
    reader.problem(nodes[MAX_ENTRIES], text);
    return [];
  }
  const taken = new Set();
  return nodes.flatMap((node) => {
    const given = toPlainValue(reader, node, `an ${what}`.replace("an s", "a s"));
    const result = read(given);
    if (result.ok === false) {
      for (const problem of result.problems) {
        const { field, text } = problem;
        const isNamed = field === "" || text.startsWith(`unknown field ${quoteInput(field)}`);
        reader.problem(findProblemNode(node, problem), isNamed ? text : `"${field}": ${text}`);
      }
      return [];
    }
    const { spec, notes } = result;
    if (taken.has(spec.name)) {
      const place = findMember(node, "name") ?? node;
      reader.problem(
        place,
        `expected another name: there is already the ${what} ${quoteInput(spec.name)}`,
      );
    }
    taken.add(spec.name);
    return [{ name: spec.name, spec, given, notes }];
  });
}

/**
 * An emitter that says nothing about its injector has that of its stream.
 * @param {EmitterEntry} entry @param {StreamEntry[]} streams @returns {EmitterEntry}
 */
function withInjector(entry, streams) {
  const { spec } = entry;
  const given = /** @type {Record<string, unknown>} */ (entry.given);
  const stream = streams.find(({ name }) => name === spec.stream)?.spec;
  const isOwn = given.subscribe !== undefined || given.delivery !== undefined;
  if (!stream || isOwn || spec.kind === "prompt") return entry;
  return { ...entry, spec: { ...spec, subscribe: stream.subscribe, delivery: stream.delivery } };
}

/**
 * @param {StrictReader} reader @param {"user" | "project"} file
 * @param {Node | undefined} emitters @param {Node | undefined} streams lists
 * @returns {{emitters: EmitterEntry[], streams: StreamEntry[]}}
 */
export function parseEmitters(reader, file, emitters, streams) {
  const read = (/** @type {unknown} */ given) => readEmitter(given, { origin: "config", file });
  const named = parseEntries(reader, emitters, "emitter", read);
  const kept = parseEntries(reader, streams, "stream", readStream);
  return { emitters: named.map((entry) => withInjector(entry, kept)), streams: kept };
}
