// Lists in pages, each an answer within 32 KB. A cursor names the entry after which the next page begins, by what of
// that entry never changes. So what changes, begins or goes between two pages makes no other entry come twice or never.

import { visible } from "../../base/visible.mjs";
import { PlanError } from "./plan-error.mjs";

const MOST_ANSWER = 31_000;
const PAGE = 100;
/** As JSON: 100 places of nodes, or the path of a group. */
const MOST_CURSOR = 1024;
/** Whether it is of the asker's folder, when it was made, its id. */
const OF_PLAN = /^([01])\.(\d{1,15})\.([\w-]{1,80})$/;
/** Places of nodes in their plan: where to go on, and which of those behind were shown. */
const OF_NODES = /^\d{1,5}(?:,\d{1,5}(?:-\d{1,5})?)*$/;

/** @typedef {import("./plans.mjs").Plans} Plans */
/** @typedef {[here: number, createdAt: number, planId: string]} PlanKey */
/**
 * @typedef {object} Page
 * @property {number} rest entries from the first of this page on
 * @property {(count: number) => string} cursorAfter so many of this page
 * @property {string} [name] of the list
 */

/** @param {object} value */
const bytesOf = (value) => Buffer.byteLength(JSON.stringify(value));

/** @param {string} cursor @returns {never} */
function refuse(cursor) {
  const text = `cursor: "${visible(cursor).slice(0, 64)}" is not that of an answer; without it you get the first page`;
  throw new PlanError("UNKNOWN_CURSOR", text);
}

/**
 * As many as have room, at least one: the cursor goes on.
 * @param {Record<string, any>} answer @param {any[]} all @param {Page} page @returns {Record<string, any>}
 */
export function bounded(answer, all, { rest, cursorAfter, name = "nodes" }) {
  let room = MOST_ANSWER - MOST_CURSOR - bytesOf({ ...answer, [name]: [], omitted: rest });
  const shown = [];
  for (const one of all) {
    room -= bytesOf(one) + 1;
    if (room < 0 && shown.length > 0) break;
    shown.push(one);
  }
  const omitted = rest - shown.length;
  const more = omitted > 0 && { omitted, cursor: cursorAfter(shown.length) };
  return { ...answer, [name]: shown, ...more };
}

// ---- plans ---------------------------------------------------------------------------------------

/** Where a plan is in a list. @param {string} cwd the asker's @param {any} plan @returns {PlanKey} */
const keyOf = (cwd, { planId, cwd: made, repo, createdAt = 0 }) => [
  Number(made === cwd || cwd === repo || cwd.startsWith(`${repo}/`)),
  createdAt,
  planId,
];

/** @param {PlanKey} one @param {PlanKey} other */
function compareKeys([here, createdAt, planId], [otherHere, otherCreatedAt, otherId]) {
  const byTime = otherHere - here || otherCreatedAt - createdAt;
  return byTime || Number(planId > otherId) - Number(planId < otherId);
}

/** Those of the asker's folder first, the last made first: neither ever changes. @param {any[]} plans @param {string} cwd */
export const inOrder = (plans, cwd) =>
  plans.toSorted((one, other) => compareKeys(keyOf(cwd, one), keyOf(cwd, other)));

/** The plan that a cursor names may be deleted. @param {any[]} plans in order @param {string} cwd @param {string} [cursor] */
export function pageOfPlans(plans, cwd, cursor) {
  let rest = plans;
  if (cursor !== undefined) {
    const [, here, createdAt, planId] = OF_PLAN.exec(cursor) ?? refuse(cursor);
    /** @type {PlanKey} */
    const last = [Number(here), Number(createdAt), planId];
    rest = plans.filter((one) => compareKeys(keyOf(cwd, one), last) > 0);
  }
  return bounded({}, rest.slice(0, PAGE), {
    ...{ name: "plans", rest: rest.length },
    cursorAfter: (count) => keyOf(cwd, rest[count - 1]).join("."),
  });
}

// ---- nodes and groups: a plan never loses any ----------------------------------------------------

/** @param {number} from @param {number[]} shown places, ascending @returns {string} such as "12,15-20,33" */
function cursorOf(from, shown) {
  let next = from;
  /** @type {number[][]} */
  const ranges = [];
  for (const place of shown) {
    const last = ranges.at(-1);
    if (place === next) next += 1;
    else if (last && last[1] + 1 === place) last[1] = place;
    else if (place > next) ranges.push([place, place]);
  }
  const texts = ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  return [next, ...texts].join(",");
}

/** @param {string} cursor @param {number} total nodes of the plan @returns {{from: number, shown: number[]}} */
function placesOf(cursor, total) {
  if (cursor.length > MOST_CURSOR || !OF_NODES.test(cursor)) refuse(cursor);
  const [from, ...ranges] = cursor.split(",");
  /** @type {number[]} */
  const shown = [];
  for (const range of ranges) {
    const [first, last = first] = range.split("-").map(Number);
    const isNext = first > (shown.at(-1) ?? Number(from)) && last >= first && last < total;
    if (!isNext || shown.length + last - first >= PAGE) refuse(cursor);
    for (let place = first; place <= last; place += 1) shown.push(place);
  }
  if (Number(from) >= total) refuse(cursor);
  return { from: Number(from), shown };
}

/**
 * All nodes of a plan: on the first page those first that failed or run; then the others, as the plan has them.
 * @param {Plans} plans @param {Record<string, any>} answer
 * @param {{planId: string, total: number, cursor?: string}} asked total: nodes of the plan
 */
export function pageOfAllNodes(plans, answer, { planId, total, cursor }) {
  if (cursor === undefined) {
    const { nodes, places, rest } = plans.view({ view: "nodes", planId, most: PAGE });
    const sorted = (/** @type {number} */ count) =>
      places.slice(0, count).sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
    return bounded(answer, nodes, { rest, cursorAfter: (count) => cursorOf(0, sorted(count)) });
  }
  const { from, shown } = placesOf(cursor, total);
  const asked = { view: "nodes", planId, inOrder: true, from, most: PAGE + shown.length };
  const page = plans.view(asked);
  const isNew = (/** @type {any} */ _, /** @type {number} */ at) =>
    !shown.includes(page.places[at]);
  const places = page.places.filter(isNew);
  const isAfter = (/** @type {number} */ next) => shown.filter((place) => place >= next);
  return bounded(answer, page.nodes.filter(isNew).slice(0, PAGE), {
    rest: page.rest - shown.length,
    cursorAfter: (count) => cursorOf(places[count - 1] + 1, isAfter(places[count - 1])),
  });
}

/**
 * Some nodes of a plan, as it has them.
 * @param {Plans} plans @param {string} planId @param {{cursor?: string, status?: string, group?: string, phase?: string}} asked
 */
export function pageOfNodes(plans, planId, { cursor = "0", ...filter }) {
  const { total } = plans.view({ view: "plan", planId });
  const { from, shown } = placesOf(cursor, total);
  if (shown.length > 0) refuse(cursor);
  const asked = { view: "nodes", planId, inOrder: true, from, most: PAGE, ...filter };
  const page = plans.view(asked);
  return bounded({ planId, total: page.total }, page.nodes, {
    rest: page.rest,
    cursorAfter: (count) => String(page.places[count - 1] + 1),
  });
}

/** Those that the asker names, whose list is the order. @template T @param {Record<string, any>} answer @param {string[]} ids @param {(id: string) => T} viewOf @param {string} [cursor] */
export function pageOfNamed(answer, ids, viewOf, cursor = "0") {
  const from = /^\d{1,9}$/.test(cursor) ? Number(cursor) : refuse(cursor);
  if (from > 0 && from >= ids.length) refuse(cursor);
  return bounded(answer, ids.slice(from, from + PAGE).map(viewOf), {
    rest: ids.length - from,
    cursorAfter: (count) => String(from + count),
  });
}

/** Sorted by their paths. @param {Plans} plans @param {string} planId @param {string} [cursor] */
export function pageOfGroups(plans, planId, cursor) {
  const { groups, ...answer } = plans.view({ view: "groups", planId });
  const last = groups.findIndex((/** @type {any} */ { group }) => group === cursor);
  if (cursor !== undefined && last < 0) refuse(cursor);
  const rest = groups.slice(last + 1);
  return bounded(answer, rest.slice(0, PAGE), {
    ...{ name: "groups", rest: rest.length },
    cursorAfter: (count) => rest[count - 1].group,
  });
}
