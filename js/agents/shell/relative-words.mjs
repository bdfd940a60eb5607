// Words of a program that could go elsewhere by an option, and does not: they are relative to the shell's folder.

/** @typedef {import("./shell-command.mjs").Segment} Segment */

/**
 * What a program may be given so that its folder is the shell's. `options`: whole words that move nothing; `named`: an
 * option before a path; `joined`: both in one word; `path`: one that stands alone; `names`: they hold no path.
 * @typedef {{first?: RegExp, options: RegExp, named?: RegExp, joined?: RegExp, path?: RegExp, names: RegExp}} Shape
 */

const FILE = /^[\w.][\w./-]*$/;

/** Not -C, which moves make, nor a variable, which a recipe may read anywhere. @type {Shape} */
const MAKE = {
  options: /^(-[Beiknqrs]+|-j\d*|--(silent|quiet|keep-going|always-make|dry-run))$/,
  named: /^-f$/,
  joined: /^(-f|--(file|makefile)=)(?=[\w.])[\w./-]+$/,
  names: /^\w[\w.-]*$/,
};
/** What stands behind -- goes to another program. @type {Shape} */
const CARGO = {
  first: /^(build|check|test|run|doc|bench)$/,
  options:
    /^(-[vqrp]+|-j\d*|--(release|all|workspace|lib|bins?|tests?|package|features|all-features|locked|offline))$/,
  named: /^--manifest-path$/,
  joined: /^--manifest-path=(?=[\w.])[\w./-]+$/,
  names: /^\w[\w-]*$/,
};
/** Flags that go does not know are those of a test, which runs in the folder of its package. @type {Shape} */
const GO = {
  first: /^(test|vet|build)$/,
  options: /^-(v|x|a|race|short|cover|failfast|json|(count|timeout|parallel|p|run)=\w+)$/,
  path: /^(\.\.?\/)*(\w[\w-]*\/)*(\w[\w-]*|\.\.?|\.\.\.)$/,
  names: /^$/,
};
/** @type {Map<string, Shape>} */
const SHAPES = new Map([
  ["make", MAKE],
  ["cargo", CARGO],
  ["go", GO],
]);

/**
 * @param {Shape} shape @param {string[]} words
 * @returns {number} so many of them belong together: 2 with a path in the second, 1 with one in the first; 0: none is one;
 *   -1: the first is not known
 */
function pathAt({ options, named, joined, path, names }, [word, next = ""]) {
  if (named?.test(word) && FILE.test(next)) return 2;
  if (joined?.test(word) || path?.test(word)) return 1;
  return options.test(word) || names.test(word) ? 0 : -1;
}

/**
 * @param {Segment} segment
 * @returns {Set<number>} which of its words are paths from the shell's folder. None, if a word is not known.
 */
export function relativeWords({ name, before, words }) {
  const shape = before.length === 0 ? SHAPES.get(name) : undefined;
  /** @type {Set<number>} */
  const paths = new Set();
  const begin = shape?.first ? 1 : 0;
  if (!shape || (shape.first && !shape.first.test(words[0] ?? ""))) return paths;
  for (let at = begin; at < words.length; at += 1) {
    const count = pathAt(shape, words.slice(at, at + 2));
    if (count === -1) return new Set();
    at += Math.max(0, count - 1);
    if (count > 0) paths.add(at);
  }
  return paths;
}
