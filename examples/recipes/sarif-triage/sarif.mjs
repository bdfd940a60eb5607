// Reads SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/): the results as findings, each with an id that
// stays the same while lines move. A file is what others write: its size, its lists and its texts are bounded.

import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { stripVTControlCharacters } from "node:util";

export const MOST_BYTES = 20_000_000;
export const MOST_FINDINGS = 10_000;
const MOST_RUNS = 20;
const MOST_LOCATIONS = 10;
const MOST_TEXT = 2_000;
const MOST_NAME = 200;
export const LEVELS = ["error", "warning", "note", "none"];

/** A file that is not what it should be; the message says why. */
export class NotSarif extends Error {}

const listOf = (value) => (Array.isArray(value) ? value : []);
const objectOf = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};

/** What a terminal would obey is gone, line breaks stay. @param {unknown} value @param {number} [most] */
function textOf(value, most = MOST_TEXT) {
  if (typeof value !== "string") return "";
  const text = stripVTControlCharacters(value.slice(0, 2 * most)).replace(
    /[^\P{C}\n\t]/gu,
    "\uFFFD",
  );
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** @param {unknown} value @param {number} [most] */
export const nameOf = (value, most = MOST_NAME) => textOf(value, most).replace(/\s+/g, " ").trim();

/** @param {string} file @returns {Promise<string>} at most MOST_BYTES of it */
async function readBounded(file) {
  const handle = await open(file, "r");
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new NotSarif("it is not a file");
    if (stat.size > MOST_BYTES) {
      throw new NotSarif(`it has ${stat.size} bytes, and at most ${MOST_BYTES} are read`);
    }
    // It may grow meanwhile: no more than that is read.
    const buffer = Buffer.alloc(stat.size);
    const { bytesRead } = await handle.read(buffer, 0, stat.size, 0);
    return buffer.toString("utf8", 0, bytesRead).replace(/^\uFEFF/, "");
  } finally {
    await handle.close();
  }
}

/** A message's text: its own, or one of the rule with its arguments. */
function messageOf(message, rule) {
  const { text, id, arguments: given } = objectOf(message);
  if (typeof text === "string") return textOf(text);
  const strings = objectOf(rule.messageStrings);
  const found = Object.hasOwn(strings, String(id)) ? objectOf(strings[id]).text : undefined;
  const values = listOf(given).slice(0, 20);
  return textOf(found).replace(/\{(\d+)\}/g, (whole, at) =>
    Number(at) < values.length ? textOf(values[Number(at)], MOST_NAME) : whole,
  );
}

/** A URI as the path that it means. @param {string} uri */
function pathOf(uri) {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

/** @param {unknown} location @param {unknown} artifacts of the run: a place may give its index alone */
function locationOf(location, artifacts) {
  const { artifactLocation, region } = objectOf(objectOf(location).physicalLocation);
  const { uri, index } = objectOf(artifactLocation);
  const { startLine } = objectOf(region);
  const named = uri ?? objectOf(objectOf(listOf(artifacts)[index]).location).uri;
  return {
    uri: nameOf(typeof named === "string" ? pathOf(named) : "", 400),
    line: Number.isSafeInteger(startLine) && startLine > 0 ? startLine : 0,
  };
}

/** The rules of a run: those of its tool, and those of the tool's extensions, such as CodeQL's packs. */
function rulesOf(tool) {
  const [driver, ...extensions] = [tool.driver, ...listOf(tool.extensions).slice(0, MOST_RUNS)].map(
    (part) => listOf(objectOf(part).rules).slice(0, MOST_FINDINGS).map(objectOf),
  );
  const all = [...extensions, driver].flat();
  return { driver, extensions, byId: new Map(all.map((one) => [String(one.id), one])) };
}

/** What a reference means: by the index in its part of the tool, else by the id. */
function referred(reference, rules) {
  const { id, index, toolComponent } = objectOf(reference);
  const part = objectOf(toolComponent).index;
  const list = Number.isSafeInteger(part) ? listOf(rules.extensions[part]) : rules.driver;
  if (Number.isSafeInteger(index) && list[index]) return list[index];
  // "CA1000/1" is a kind of "CA1000".
  return rules.byId.get(String(id)) ?? rules.byId.get(String(id).split("/")[0]);
}

function ruleOf({ ruleId, ruleIndex, rule }, rules) {
  return referred({ id: ruleId, index: ruleIndex, ...objectOf(rule) }, rules) ?? {};
}

/** What the run's invocation has set for rules. @returns {Map<object, string>} levels, by rule */
function overridesOf(run, rules) {
  const all = listOf(run.invocations)
    .slice(0, MOST_RUNS)
    .flatMap((one) => listOf(objectOf(one).ruleConfigurationOverrides).slice(0, MOST_FINDINGS));
  return new Map(
    all.map((one) => {
      const { descriptor, configuration } = objectOf(one);
      return [referred(descriptor, rules), objectOf(configuration).level];
    }),
  );
}

/** What names a finding: what the tool says for this, else its place and words without the line. */
function signOf(result, { tool, rule, message, locations }) {
  const prints = [objectOf(result.fingerprints), objectOf(result.partialFingerprints)];
  const own = prints.flatMap((one) => Object.entries(one).slice(0, 20).sort());
  const [{ uri } = { uri: "" }] = locations;
  return JSON.stringify([tool, rule, uri, own.length > 0 ? own : message]);
}

const KINDS = ["fail", "open", "review", undefined];

/** "none": it is no finding, or no longer one. */
function levelOf(result, rule, overrides) {
  if (!KINDS.includes(result.kind) || result.baselineState === "absent") return "none";
  const usual = objectOf(rule.defaultConfiguration).level;
  return (
    [result.level, overrides.get(rule), usual].find((one) => LEVELS.includes(one)) ?? "warning"
  );
}

/** @returns {object[]} the findings of one run */
function findingsOf(run, seen) {
  const rules = rulesOf(objectOf(run.tool));
  const overrides = overridesOf(run, rules);
  const tool = nameOf(objectOf(objectOf(run.tool).driver).name) || "a tool";
  return listOf(run.results)
    .slice(0, MOST_FINDINGS)
    .map((raw) => {
      const result = objectOf(raw);
      const rule = ruleOf(result, rules);
      const finding = {
        tool,
        rule: nameOf(result.ruleId ?? objectOf(result.rule).id ?? rule.id) || "(no rule)",
        level: levelOf(result, rule, overrides),
        message: messageOf(result.message, rule),
        locations: listOf(result.locations)
          .slice(0, MOST_LOCATIONS)
          .map((one) => locationOf(one, run.artifacts)),
        suppressed: listOf(result.suppressions).some((one) => objectOf(one).status !== "rejected"),
        about: textOf(objectOf(rule.fullDescription).text || objectOf(rule.shortDescription).text),
        help: textOf(objectOf(rule.help).text),
      };
      const sign = signOf(result, finding);
      // The same words twice in a file are two findings.
      const count = (seen.get(sign) ?? 0) + 1;
      seen.set(sign, count);
      const id = createHash("sha256").update(`${sign}${count}`).digest("hex").slice(0, 12);
      return { id: `f-${id}`, ...finding };
    });
}

/**
 * @param {string} file
 * @returns {Promise<{findings: object[], cut: boolean}>} cut: there are more than MOST_FINDINGS
 * @throws {NotSarif} @throws where it cannot be read
 */
export async function readSarif(file) {
  const text = await readBounded(file);
  let log;
  try {
    log = objectOf(JSON.parse(text));
  } catch (error) {
    throw new NotSarif(`it is not JSON: ${nameOf(error.message)}`);
  }
  if (log.version !== "2.1.0" || !Array.isArray(log.runs)) {
    throw new NotSarif(
      `it is not SARIF 2.1.0: its version is ${nameOf(JSON.stringify(log.version), 40) || "missing"}`,
    );
  }
  const seen = new Map();
  const all = log.runs.slice(0, MOST_RUNS).flatMap((run) => findingsOf(objectOf(run), seen));
  const findings = all.filter(({ level }) => level !== "none");
  return { findings: findings.slice(0, MOST_FINDINGS), cut: findings.length > MOST_FINDINGS };
}
