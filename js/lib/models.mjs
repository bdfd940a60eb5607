// The models that a CLI can name. Only names are certain; unknown fields are left out.

/** @typedef {{id: string, name?: string, vendor?: string, tier?: string}} Model */
/** `none`: unknown, so any name is accepted. @typedef {{source: "account" | "catalog" | "none", models: Model[]}} Models */

const MAX_MODELS = 200;
const VENDORS = /** @type {const} */ ([
  [/^claude-/, "anthropic"],
  [/^(gpt-|o\d)/, "openai"],
  [/^gemini-/, "google"],
  [/^grok-/, "xai"],
]);

/** @param {string} id */
const findVendor = (id) => VENDORS.find(([pattern]) => pattern.test(id))?.[1];

/** @param {any} info of the CLI @returns {Model[]} */
function parseModel(info) {
  const { id, name, vendor, modelPickerCategory: tier } = info ?? {};
  if (typeof id !== "string" || !/^[\w./:-]{1,128}$/.test(id)) return [];
  const known = { name, vendor: vendor ?? findVendor(id), tier };
  const texts = Object.entries(known).filter(
    ([field, value]) => typeof value === "string" && (field !== "name" || value !== id),
  );
  return [
    { id, ...Object.fromEntries(texts.map(([field, value]) => [field, value.slice(0, 80)])) },
  ];
}

/** @param {"account" | "catalog"} source @param {any} list @returns {Models | undefined} */
export function parseModels(source, list) {
  const models = Array.isArray(list) ? list.slice(0, MAX_MODELS).flatMap(parseModel) : [];
  return models.length > 0 ? { source, models } : undefined;
}
