// Reviews are records: one for each finding, and one more for each change of its status. The latest one of an id
// counts.

import { shortenText, visible } from "../../lib/visible.mjs";
import { ToolError } from "../../../sdk/node/errors.mjs";

/** @typedef {import("../../feature-host/service-access.mjs").Services} Services */
/**
 * @typedef {object} Review
 * @property {string} review its id
 * @property {string} finding
 * @property {"low" | "medium" | "high" | "critical"} severity
 * @property {string} evidence
 * @property {"open" | "fixed" | "dismissed"} status
 * @property {string} cwd the folder that it is about
 */

const ID = /^r-[0-9a-f]{8}$/;
/** Of a body as JSON; the store takes 4096. */
const MAX_BODY_BYTES = 3800;
/** Records of one folder that are looked at. */
const MAX_RECORDS = 1000;
/** Of one folder. */
export const MAX_OPEN_REVIEWS = 100;
const SEVERITIES = ["critical", "high", "medium", "low"];

/** @param {Services} services @param {string} session */
async function findFolder(services, session) {
  const all = await services.sessions.list();
  return all.find((/** @type {{id: string}} */ { id }) => id === session)?.cwd ?? "";
}

/** @param {Services} services @param {string} cwd @returns {Promise<Review[]>} the latest state of each */
async function listReviews(services, cwd) {
  const query = { collection: "review", where: { cwd }, limit: MAX_RECORDS };
  const { records } = await services.records.query(query);
  /** @type {Map<string, Review>} */
  const latest = new Map();
  for (const { body } of records) if (!latest.has(body.review)) latest.set(body.review, body);
  return [...latest.values()];
}

/** Of a folder, the most severe first. @param {Services} services @param {string} cwd */
export async function listOpenReviews(services, cwd) {
  const open = (await listReviews(services, cwd)).filter(({ status }) => status === "open");
  const rank = (/** @type {Review} */ { severity }) => SEVERITIES.indexOf(severity);
  return open.sort((a, b) => rank(a) - rank(b));
}

/**
 * @param {Services} services @param {string} session
 * @param {Pick<Review, "finding" | "severity" | "evidence" | "status"> & {review?: string}} given
 * @returns {Promise<string>} for the model
 */
export async function addReview(services, session, { review, ...given }) {
  const cwd = await findFolder(services, session);
  const known = await listReviews(services, cwd);
  if (review !== undefined && !(ID.test(review) && known.some((one) => one.review === review))) {
    const name = shortenText(visible(review), 64);
    throw new ToolError("NOT_FOUND", `there is no review "${name}" in this folder`);
  }
  if (
    review === undefined &&
    known.filter(({ status }) => status === "open").length >= MAX_OPEN_REVIEWS
  ) {
    throw new ToolError(
      "INVALID_ARGUMENTS",
      `${MAX_OPEN_REVIEWS} reviews are open: close some before`,
    );
  }
  const id = review ?? `r-${crypto.randomUUID().slice(0, 8)}`;
  const body = { review: id, ...given, cwd };
  const bytes = new TextEncoder().encode(JSON.stringify(body)).length;
  if (bytes > MAX_BODY_BYTES) {
    const most = `a review may have ${MAX_BODY_BYTES} bytes as JSON, and this one has ${bytes}`;
    throw new ToolError("INVALID_ARGUMENTS", most);
  }
  const durable = await services.records.commit({ collection: "review", session, body });
  if (!durable) {
    const why = 'records cannot be written, or the config has "records": false';
    throw new ToolError("INTERNAL", why);
  }
  return `The review ${id} is recorded: ${given.severity}, ${given.status}.`;
}
