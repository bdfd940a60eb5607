// What an http emitter watches: the body of a URL, or a part of its JSON.

import { parseJsonPath, resolveJsonPath } from "../../config/emitter-values.mjs";

const TIMEOUT_MS = 20_000;

/**
 * @param {import("../../feature-host/service-access.mjs").Services} services @param {string} url
 * @param {string} [jsonPath] as emitter-spec.mjs has checked it
 * @returns {Promise<string>} rejected with the reason, for people
 */
export async function fetchValue(services, url, jsonPath) {
  const { status, text, cut } = await services.network.get({ url, timeoutMs: TIMEOUT_MS });
  if (status < 200 || status > 299) throw new Error(`the server has answered with ${status}`);
  if (jsonPath === undefined) return text;
  if (cut) throw new Error("the answer has more than 1 MB, too much for a jsonPath");
  /** @type {unknown} */
  let document;
  try {
    document = JSON.parse(text);
  } catch {
    throw new Error("the answer is not JSON, which a jsonPath needs");
  }
  const value = resolveJsonPath(document, parseJsonPath(jsonPath) ?? []);
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
}
