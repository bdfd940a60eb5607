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

/** What comes before each node. @param {any[]} nodes @param {Set<string>} wanted @returns {Map<string, Set<string>>} */
function ancestorsOf(nodes, wanted) {
  const before = new Map(nodes.map(({ id, dependencies }) => [id, dependencies ?? []]));
  const found = new Map();
  for (const id of wanted) {
    const all = new Set();
    const left = [...(before.get(id) ?? [])];
    for (let one = left.pop(); one !== undefined; one = left.pop()) {
      if (all.has(one)) continue;
      all.add(one);
      left.push(...(before.get(one) ?? []));
    }
    found.set(id, all);
  }
  return found;
}

/** @param {string[]} ids @param {Map<string, Set<string>>} before @returns {string[]} those with one that they do not wait for */
const together = (ids, before) =>
  ids.filter((id) =>
    ids.some((other) => other !== id && !before.get(id)?.has(other) && !before.get(other)?.has(id)),
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
  const before = ancestorsOf(nodes, new Set(shared.flatMap(([, ids]) => ids)));
  return shared
    .map(([path, ids]) => ({ path, ids: together(ids, before) }))
    .filter(({ ids }) => ids.length > 1)
    .slice(0, MOST_NOTES)
    .map(({ path, ids }) => {
      const more = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : "";
      const which = ids.slice(0, MOST_NAMED).map(inLine).join(", ");
      return `${which}${more} name ${inLine(path)} and may run at the same time: their changes may conflict; let one depend on the other`;
    });
}
