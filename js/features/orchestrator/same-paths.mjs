// Which nodes of a plan name the same files in what their agents are to do, or write them by a redirection, and may run
// at the same time: what they change may conflict. A guess from words, so it is a note and no mistake.

import { inLine } from "../../base/visible.mjs";

/** Nodes that are looked at, and paths of each. */
const MOST_NODES = 500;
const MOST_PATHS = 50;
const MOST_NOTES = 5;
const MOST_NAMED = 4;
/** `src/a.ts`, `README.md`; not `https://…`, `and/or` nor the end of a sentence. */
const PATH =
  /(?<![\w/:@.-])(?:\.\/)?((?:[\w@.-]+\/)*[\w-][\w.-]*\.(?:[a-z][a-z\d]{1,4}|[chrd]))(?![\w/])/g;

/** `> file`, `>> "file"` */
const WRITTEN = />\s{0,9}["']?([^\s"'`;|&<>()$]{1,200})/g;

/** @param {unknown} command @returns {string} the files that it writes, as far as can be seen */
const writtenIn = (command) =>
  typeof command === "string"
    ? [...command.matchAll(WRITTEN)].map(([, file]) => file).join(" ")
    : "";

/** Where the files stand that a node changes. @param {any} work that nobody has checked yet @returns {string} */
function wordsOf(work) {
  if (typeof work === "string") return /^@agent\s/.test(work) ? work : writtenIn(work);
  if (work?.type !== "agent") return writtenIn(work?.command);
  return typeof work.instructions === "string" ? work.instructions : "";
}

/** @param {string} text @returns {Set<string>} */
export function pathsIn(text) {
  const found = [...text.matchAll(PATH)].map(([, path]) => path);
  return new Set(found.slice(0, MOST_PATHS));
}

/** @param {any[]} nodes of a plan without mistakes @returns {any[]} each behind those that it depends on */
function inOrder(nodes) {
  const left = new Map(nodes.map(({ id, dependencies = [] }) => [id, dependencies.length]));
  /** @type {Map<string, any[]>} */
  const dependents = new Map();
  for (const node of nodes) {
    for (const id of node.dependencies ?? []) {
      const others = dependents.get(id);
      if (others) others.push(node);
      else dependents.set(id, [node]);
    }
  }
  const order = nodes.filter(({ id }) => left.get(id) === 0);
  for (let at = 0; at < order.length; ++at) {
    for (const node of dependents.get(order[at].id) ?? []) {
      const count = (left.get(node.id) ?? 0) - 1;
      left.set(node.id, count);
      if (count === 0) order.push(node);
    }
  }
  return order;
}

/**
 * Which of the wanted nodes come before each node: one bit for each of them.
 * @param {any[]} nodes @param {string[]} wanted @returns {(id: string, other: string) => boolean} whether the other one is before it
 */
function ancestorsOf(nodes, wanted) {
  const numbers = new Map(wanted.map((id, number) => [id, number]));
  const words = Math.ceil(wanted.length / 32);
  /** @type {Map<string, Uint32Array>} */
  const before = new Map();
  for (const { id, dependencies = [] } of inOrder(nodes)) {
    const bits = new Uint32Array(words);
    for (const one of dependencies) {
      const theirs = before.get(one);
      for (let word = 0; theirs && word < words; ++word) bits[word] |= theirs[word];
      const number = numbers.get(one);
      if (number !== undefined) bits[number >> 5] |= 1 << (number & 31);
    }
    before.set(id, bits);
  }
  return (id, other) => {
    const number = numbers.get(other) ?? 0;
    return ((before.get(id)?.[number >> 5] ?? 0) & (1 << (number & 31))) !== 0;
  };
}

/** @param {string[]} ids @param {(id: string, other: string) => boolean} isBefore @returns {string[]} those with one that they do not wait for */
const together = (ids, isBefore) =>
  ids.filter((id) =>
    ids.some((other) => other !== id && !isBefore(id, other) && !isBefore(other, id)),
  );

/** @param {any[]} nodes of a plan without mistakes @returns {string[]} for the user and the model */
export function samePathNotes(nodes) {
  /** @type {Map<string, string[]>} */
  const named = new Map();
  const some = nodes.filter(({ work }) => wordsOf(work) !== "").slice(0, MOST_NODES);
  for (const { id, work } of some) {
    for (const path of pathsIn(wordsOf(work))) {
      named.set(path, [...(named.get(path) ?? []), id]);
    }
  }
  const shared = [...named].filter(([, ids]) => ids.length > 1);
  if (shared.length === 0) return [];
  const isBefore = ancestorsOf(nodes, [...new Set(shared.flatMap(([, ids]) => ids))]);
  return shared
    .map(([path, ids]) => ({ path, ids: together(ids, isBefore) }))
    .filter(({ ids }) => ids.length > 1)
    .slice(0, MOST_NOTES)
    .map(({ path, ids }) => {
      const more = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : "";
      const which = ids.slice(0, MOST_NAMED).map(inLine).join(", ");
      return `${which}${more} name ${inLine(path)} and may run at the same time: their changes may conflict; let one depend on the other`;
    });
}
