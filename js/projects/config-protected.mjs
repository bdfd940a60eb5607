// `protectedBranches` of the user's config and of a project's: on them no plan lands (docs/configuration.md).

import { shown } from "./strict-reader.mjs";

const MOST = 100;
const MOST_NAME = 200;
/** No name of a branch has these. */
const NEVER = /[\u0000-\u0020\u007f~^:?[\\]|\.\./; // eslint-disable-line no-control-regex

/**
 * @param {import("./strict-reader.mjs").StrictReader} reader @param {import("jsonc-parser").Node} node
 * @returns {string[]} names, in which `*` and `**` may stand
 */
export function protectedIn(reader, node) {
  const items = reader.list(node);
  if (items.length > MOST) {
    reader.problem(items[MOST], `expected at most ${MOST} branches, found ${items.length}`);
    return [];
  }
  return items.map((item) => {
    const name = reader.string(item);
    if (item.type !== "string") return name;
    if (name === "" || name.length > MOST_NAME || NEVER.test(name) || name.startsWith("refs/")) {
      const wanted = 'expected a branch such as "main" or "release/*", without refs/heads/';
      reader.problem(item, `${wanted}, found ${shown(name)}`);
    }
    return name;
  });
}
