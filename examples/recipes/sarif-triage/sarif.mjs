// Reads SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/): the results as findings, each with an id that
// stays the same while lines move. A file is text of others: its size, its lists and its texts are bounded.

import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { stripVTControlCharacters } from "node:util";

export const MAX_BYTES = 20_000_000;
export const MAX_FINDINGS = 10_000;
const MAX_RUNS = 20;
const MAX_LOCATIONS = 10;
const MAX_TEXT = 2_000;
const MAX_NAME = 200;
export const LEVELS = ["error", "warning", "note", "none"];

/** A file with a mistake; the message says why. */
export class NotSarif extends Error {}

const toList = (value) => (Array.isArray(value) ? value : []);
const toObject = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};

/** Without control characters; line breaks stay. @param {unknown} value @param {number} [most] */
function toText(value, most = MAX_TEXT) {
  if (typeof value !== "string") return "";
  const text = stripVTControlCharacters(value.slice(0, 2 * most)).replace(
    /[^\P{C}\n\t]/gu,
    "\uFFFD",
  );
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** @param {unknown} value @param {number} [most] */
export const toName = (value, most = MAX_NAME) => toText(value, most).replace(/\s+/g, " ").trim();

/** @param {string} file @returns {Promise<string>} at most MAX_BYTES of it */
async function readBounded(file) {
  const handle = await open(file, "r");
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new NotSarif("it is not a file");
    if (stat.size > MAX_BYTES) {
      throw new NotSarif(`it has ${stat.size} bytes, and at most ${MAX_BYTES} are read`);
    }
    // It may grow meanwhile: no more than that is read.
    const buffer = Buffer.alloc(stat.size);
    const { bytesRead } = await handle.read(buffer, 0, stat.size, 0);
    return buffer.toString("utf8", 0, bytesRead).replace(/^\uFEFF/, "");
  } finally {
    await handle.close();
  }
}

/** A message's text: its own, or a message of the rule with its arguments. */
function readMessage(message, rule) {
  const { text, id, arguments: given } = toObject(message);
  if (typeof text === "string") return toText(text);
  const strings = toObject(rule.messageStrings);
  const found = Object.hasOwn(strings, String(id)) ? toObject(strings[id]).text : undefined;
  const values = toList(given).slice(0, 20);
  return toText(found).replace(/\{(\d+)\}/g, (whole, at) =>
    Number(at) < values.length ? toText(values[Number(at)], MAX_NAME) : whole,
  );
}

/** A URI as the path that it means. @param {string} uri */
function decodePath(uri) {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

/** @param {unknown} location @param {unknown} artifacts of the run: a place may give its index alone */
function readLocation(location, artifacts) {
  const { artifactLocation, region } = toObject(toObject(location).physicalLocation);
  const { uri, index } = toObject(artifactLocation);
  const { startLine } = toObject(region);
  const named = uri ?? toObject(toObject(toList(artifacts)[index]).location).uri;
  return {
    uri: toName(typeof named === "string" ? decodePath(named) : "", 400),
    line: Number.isSafeInteger(startLine) && startLine > 0 ? startLine : 0,
  };
}

/** The rules of a run: those of its tool, and those of the tool's extensions, such as CodeQL's packs. */
function listRules(tool) {
  const [driver, ...extensions] = [tool.driver, ...toList(tool.extensions).slice(0, MAX_RUNS)].map(
    (part) => toList(toObject(part).rules).slice(0, MAX_FINDINGS).map(toObject),
  );
  const all = [...extensions, driver].flat();
  return { driver, extensions, byId: new Map(all.map((one) => [String(one.id), one])) };
}

/** The target of a reference: by the index in its part of the tool, or by the id. */
function findReferenced(reference, rules) {
  const { id, index, toolComponent } = toObject(reference);
  const part = toObject(toolComponent).index;
  const list = Number.isSafeInteger(part) ? toList(rules.extensions[part]) : rules.driver;
  if (Number.isSafeInteger(index) && list[index]) return list[index];
  // "CA1000/1" is a kind of "CA1000".
  return rules.byId.get(String(id)) ?? rules.byId.get(String(id).split("/")[0]);
}

function findRule({ ruleId, ruleIndex, rule }, rules) {
  return findReferenced({ id: ruleId, index: ruleIndex, ...toObject(rule) }, rules) ?? {};
}

/** Settings of rules by the run's invocation. @returns {Map<object, string>} levels, by rule */
function listOverrides(run, rules) {
  const all = toList(run.invocations)
    .slice(0, MAX_RUNS)
    .flatMap((one) => toList(toObject(one).ruleConfigurationOverrides).slice(0, MAX_FINDINGS));
  return new Map(
    all.map((one) => {
      const { descriptor, configuration } = toObject(one);
      return [findReferenced(descriptor, rules), toObject(configuration).level];
    }),
  );
}

/** The identity of a finding: the tool's fingerprint, or its place and words without the line. */
function formatSignature(result, { tool, rule, message, locations }) {
  const prints = [toObject(result.fingerprints), toObject(result.partialFingerprints)];
  const own = prints.flatMap((one) => Object.entries(one).slice(0, 20).sort());
  const [{ uri } = { uri: "" }] = locations;
  return JSON.stringify([tool, rule, uri, own.length > 0 ? own : message]);
}

const KINDS = ["fail", "open", "review", undefined];

/** "none": it is not a finding, or no longer. */
function readLevel(result, rule, overrides) {
  if (!KINDS.includes(result.kind) || result.baselineState === "absent") return "none";
  const usual = toObject(rule.defaultConfiguration).level;
  return (
    [result.level, overrides.get(rule), usual].find((one) => LEVELS.includes(one)) ?? "warning"
  );
}

/** @returns {object[]} the findings of a run */
function readFindings(run, seen) {
  const rules = listRules(toObject(run.tool));
  const overrides = listOverrides(run, rules);
  const tool = toName(toObject(toObject(run.tool).driver).name) || "a tool";
  return toList(run.results)
    .slice(0, MAX_FINDINGS)
    .map((raw) => {
      const result = toObject(raw);
      const rule = findRule(result, rules);
      const finding = {
        tool,
        rule: toName(result.ruleId ?? toObject(result.rule).id ?? rule.id) || "(no rule)",
        level: readLevel(result, rule, overrides),
        message: readMessage(result.message, rule),
        locations: toList(result.locations)
          .slice(0, MAX_LOCATIONS)
          .map((one) => readLocation(one, run.artifacts)),
        suppressed: toList(result.suppressions).some((one) => toObject(one).status !== "rejected"),
        about: toText(toObject(rule.fullDescription).text || toObject(rule.shortDescription).text),
        help: toText(toObject(rule.help).text),
      };
      const sign = formatSignature(result, finding);
      // The same words twice in a file are two findings.
      const count = (seen.get(sign) ?? 0) + 1;
      seen.set(sign, count);
      const id = createHash("sha256").update(`${sign}${count}`).digest("hex").slice(0, 12);
      return { id: `f-${id}`, ...finding };
    });
}

/**
 * @param {string} file
 * @returns {Promise<{findings: object[], cut: boolean}>} cut: there are more than MAX_FINDINGS
 * @throws {NotSarif} @throws where it cannot be read
 */
export async function readSarif(file) {
  const text = await readBounded(file);
  let log;
  try {
    log = toObject(JSON.parse(text));
  } catch (error) {
    throw new NotSarif(`it is not JSON: ${toName(error.message)}`);
  }
  if (log.version !== "2.1.0" || !Array.isArray(log.runs)) {
    throw new NotSarif(
      `it is not SARIF 2.1.0: its version is ${toName(JSON.stringify(log.version), 40) || "missing"}`,
    );
  }
  const seen = new Map();
  const all = log.runs.slice(0, MAX_RUNS).flatMap((run) => readFindings(toObject(run), seen));
  const findings = all.filter(({ level }) => level !== "none");
  return { findings: findings.slice(0, MAX_FINDINGS), cut: findings.length > MAX_FINDINGS };
}
