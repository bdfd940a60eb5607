// Changes a config and keeps its comments: only an item's own text and one comma are touched. jsonc-parser's own
// edits reformat neighbours, and drop comments between two items.

import fs from "node:fs";
import path from "node:path";
import jsonc from "jsonc-parser";
import { makePrivateFolder, writePrivate } from "../lib/host-files.mjs";
import { visible } from "../lib/visible.mjs";
import { allow, consentFile, listEntries } from "./consent.mjs";
import { CONFIG_NAME, findConfigName, userConfigFile } from "./file.mjs";
import { convertEntry } from "./import-names.mjs";
import { loadProjectConfig, loadUserConfig, parseConfig } from "./load.mjs";

/** @typedef {import("jsonc-parser").Node} Node */
/** @typedef {import("./load.mjs").Config} Config */
/** @typedef {import("./load.mjs").LoadedConfig} LoadedConfig */
/** @typedef {import("./load.mjs").Owner} Owner */

const COMMA = 5;
/** Line breaks, blanks and comments. */
const TRIVIA = [12, 13, 14, 15];
const END = 17;

/** @param {string} text @param {import("jsonc-parser").JSONPath} steps @returns {Node | undefined} */
function findNode(text, steps) {
  const root = jsonc.parseTree(text, [], { allowTrailingComma: true });
  return root && jsonc.findNodeAtLocation(root, steps);
}

/** The tokens from an offset on. @param {string} text @param {number} from */
function* scanTokens(text, from) {
  const scanner = jsonc.createScanner(text, false);
  scanner.setPosition(from);
  for (let kind = /** @type {number} */ (scanner.scan()); kind !== END; kind = scanner.scan()) {
    const offset = scanner.getTokenOffset();
    yield { kind, offset, end: offset + scanner.getTokenLength() };
  }
}

/** The comma that follows, if that is what follows. @param {string} text @param {number} from */
function findComma(text, from) {
  for (const token of scanTokens(text, from)) {
    if (token.kind === COMMA) return token.offset;
    if (!TRIVIA.includes(token.kind)) return undefined;
  }
  return undefined;
}

/** @param {string} text */
const lineEnd = (text) => (text.includes("\r\n") ? "\r\n" : "\n");

/** One step of indentation, as the text has it. @param {string} text */
function readIndent(text) {
  const [, step = "  "] = /^([\t ]+)\S/m.exec(text) ?? [];
  return step.startsWith("\t") ? "\t" : step.slice(0, 8);
}

/** The blanks in front of the line of an offset. @param {string} text @param {number} offset */
function readLineIndent(text, offset) {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[\t ]*/.exec(text.slice(start, offset))?.[0] ?? "";
}

/** @param {string} text @param {unknown} value @param {string} indent of its line */
const formatItem = (text, value, indent) =>
  JSON.stringify(value, null, readIndent(text)).replaceAll("\n", lineEnd(text) + indent);

/**
 * Where a new item begins: behind the last one, its comma, and the comments of that line.
 * @param {string} text @param {number} from the end of the last item
 */
function findInsertPosition(text, from) {
  let at = from;
  for (const { kind, end } of scanTokens(text, from)) {
    if (kind === 14 || (kind !== COMMA && !TRIVIA.includes(kind))) break;
    if (kind !== 15) at = end;
  }
  return at;
}

/**
 * @param {string} text of a config @param {string} list its name: a member of the root @param {unknown} item
 * @returns {string} with the item as the last one
 */
export function insertItem(text, list, item) {
  const node = findNode(text, [list]);
  const options = {
    insertSpaces: readIndent(text) !== "\t",
    tabSize: readIndent(text).length,
    eol: lineEnd(text),
  };
  if (!node) {
    const edits = jsonc.modify(text, [list], [item], { formattingOptions: options });
    return jsonc.applyEdits(text, edits);
  }
  const eol = lineEnd(text);
  const last = node.children?.at(-1);
  const base = readLineIndent(text, node.offset);
  const end = node.offset + node.length - 1;
  if (!last) {
    const inner = base + readIndent(text);
    const rest = text.slice(node.offset + 1, end).trimEnd();
    const before = `${text.slice(0, node.offset + 1)}${rest}${eol}${inner}`;
    return `${before}${formatItem(text, item, inner)}${eol}${base}${text.slice(end)}`;
  }
  const isBlock = text.slice(node.offset, last.offset).includes("\n");
  const indent = isBlock ? readLineIndent(text, last.offset) : base + readIndent(text);
  const lastEnd = last.offset + last.length;
  const trailing = findComma(text, lastEnd) !== undefined;
  const at = findInsertPosition(text, lastEnd);
  const added = `${eol}${indent}${formatItem(text, item, indent)}${trailing ? "," : ""}`;
  const closing = /^[\t ]*\]/.test(text.slice(at)) ? eol + base : "";
  const rest = closing ? text.slice(at).trimStart() : text.slice(at);
  return `${text.slice(0, lastEnd)}${trailing ? "" : ","}${text.slice(lastEnd, at)}${added}${closing}${rest}`;
}

/** Without a part, and without its line where nothing else is on it. @param {string} text @param {number} from @param {number} to */
function cutText(text, from, to) {
  const before = text.slice(0, from);
  const after = text.slice(to);
  const start = /(?:^|\n)([\t ]*)$/.exec(before);
  const rest = /^[\t ]*(?:\r?\n)/.exec(after);
  if (!start || !rest) return before + after;
  return before.slice(0, before.length - start[1].length) + after.slice(rest[0].length);
}

/**
 * @param {string} text @param {[list: string, index: number]} path
 * @returns {string} without the item; comments stay
 */
export function removeItem(text, [list, index]) {
  const item = findNode(text, [list, index]);
  const former = index > 0 ? findNode(text, [list, index - 1]) : undefined;
  if (!item) return text;
  const end = item.offset + item.length;
  const comma = findComma(text, end);
  if (comma !== undefined) {
    // From the back to the front, so that the offsets hold.
    const short = text.slice(end, comma).trim() === "";
    return short
      ? cutText(text, item.offset, comma + 1)
      : cutText(cutText(text, comma, comma + 1), item.offset, end);
  }
  const without = cutText(text, item.offset, end);
  const before = former && findComma(text, former.offset + former.length);
  return before === undefined ? without : without.slice(0, before) + without.slice(before + 1);
}

/**
 * Makes an object have exactly these members. Those that are equal stay as they are, with their comments.
 * @param {string} text @param {[list: string, index: number]} steps @param {Record<string, unknown>} members
 */
export function setMembers(text, steps, members) {
  const step = readIndent(text);
  const formattingOptions = {
    insertSpaces: step !== "\t",
    tabSize: step.length,
    eol: lineEnd(text),
  };
  const node = findNode(text, steps);
  const former = new Map(
    (node?.children ?? []).map(({ children: [key, value] = [] }) => [String(key.value), value]),
  );
  const isSame = (/** @type {string} */ name) => {
    const value = former.get(name);
    return value && JSON.stringify(jsonc.getNodeValue(value)) === JSON.stringify(members[name]);
  };
  const names = [...new Set([...former.keys(), ...Object.keys(members)])];
  return names
    .filter((name) => !isSame(name))
    .reduce((changed, name) => {
      const edits = jsonc.modify(changed, [...steps, name], members[name], { formattingOptions });
      return jsonc.applyEdits(changed, edits);
    }, text);
}

// Changes a config: one value or one entry, with the comments, the order and the rest as they were. What would not be
// read afterwards is not written.

/**
 * @typedef {object} Target
 * @property {Owner} owner
 * @property {string} file
 * @property {LoadedConfig | undefined} former
 * @property {(content: string) => void} write at once and in full
 */

const BOM = "\ufeff";

/** @param {{home: string}} files @returns {Target} */
function userTarget(files) {
  const file = userConfigFile(files);
  const write = (/** @type {string} */ content) => {
    makePrivateFolder(path.dirname(file));
    writePrivate(file, content);
  };
  return { owner: "user", file, former: loadUserConfig(file), write };
}

/** @param {string} file @param {string} content */
function replace(file, content) {
  const mode = fs.statSync(file, { throwIfNoEntry: false })?.mode ?? 0o666;
  const beside = `${file}.${process.pid}.tmp`;
  fs.rmSync(beside, { force: true });
  try {
    fs.writeFileSync(beside, content, { mode: mode & 0o777, flag: "wx" });
    fs.renameSync(beside, file);
  } catch (error) {
    fs.rmSync(beside, { force: true });
    throw error;
  }
}

/**
 * The config of a workspace. One that a link leads to is not changed: it may be anywhere.
 * @param {string} workspace @param {string} [name] from there @returns {Target}
 */
function projectTarget(workspace, name) {
  const root = fs.realpathSync(workspace);
  const file = path.join(root, name ?? findConfigName(root) ?? CONFIG_NAME);
  const check = () => {
    if (fs.realpathSync(path.dirname(file)) !== path.dirname(file)) {
      throw new Error(`${visible(path.dirname(file))} is a link: change the config yourself`);
    }
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    if (stat === undefined || stat.isFile()) return;
    throw new Error(`${visible(file)} is not a plain file: change the config yourself`);
  };
  check();
  const write = (/** @type {string} */ content) => {
    check();
    replace(file, content);
  };
  return { owner: "project", file, former: loadProjectConfig(root, name), write };
}

/**
 * @param {Target} target @param {string} empty the text of a new config
 * @param {(text: string, config: Config | undefined) => string} change
 * @returns {Config} what it says now
 * @throws where it has mistakes, or would have
 */
function edit(target, empty, change) {
  const { file, former } = target;
  if (former?.result.ok === false) throw new Error(former.result.problems[0].text);
  const content = former ? fs.readFileSync(file, "utf8") : empty;
  return rewrite(target, content, (text) =>
    change(text, former?.result.ok ? former.result : undefined),
  );
}

/** @param {Target} target @param {string} content @param {(text: string) => string} change @returns {Config} */
function rewrite({ owner, file, write }, content, change) {
  const changed = change(content.replace(BOM, ""));
  const now = parseConfig(changed, file, owner);
  if (now.ok === false) throw new Error(now.problems[0].text);
  write(content.startsWith(BOM) ? BOM + changed : changed);
  return now;
}

const FORMAT = { formattingOptions: { insertSpaces: true, tabSize: 2, eol: "\n" } };

/**
 * @param {{home: string}} files of gatewayFiles() @param {string} id of a feature @param {boolean} on
 * @returns {{file: string, features: Record<string, boolean>}} what the config says now
 * @throws where the config has mistakes, or is not the user's alone
 */
export function setFeature(files, id, on) {
  const target = userTarget(files);
  const { features } = edit(target, "{}\n", (text) =>
    jsonc.applyEdits(text, jsonc.modify(text, ["features", id], on, FORMAT)),
  );
  return { file: target.file, features };
}

/**
 * Adds an MCP server to the user's config, or replaces the one of that name.
 * @param {{home: string}} files of gatewayFiles() @param {string} name
 * @param {Record<string, unknown>} [entry] as a config has it; without it the server is removed
 * @returns {{file: string, servers: import("./mcp.mjs").McpServerConfig[]}} what the config says now
 * @throws where the config has mistakes, or would have
 */
export function setMcpServer(files, name, entry) {
  const target = userTarget(files);
  const { mcpServers = [] } = edit(target, "{}\n", (text) =>
    jsonc.applyEdits(text, jsonc.modify(text, ["mcpServers", name], entry, FORMAT)),
  );
  return { file: target.file, servers: mcpServers };
}

/**
 * Whose config: that of a workspace, or the user's own.
 * @typedef {{file: "project", folder: string} | {file: "user", files: {home: string}}} ConfigLocation
 */

/** @param {ConfigLocation} where */
const openTarget = (where) =>
  where.file === "user" ? userTarget(where.files) : projectTarget(where.folder);

/**
 * Adds an emitter or a stream, or changes the one of that name. Saving it allows nothing.
 * @param {ConfigLocation} where @param {Record<string, unknown>} entry as a config has it @param {"emitters" | "streams"} [list]
 * @returns {{path: string, digest: string}} `digest`: what a consent would be to
 * @throws where the config has mistakes, or would have
 */
export function saveEmitter(where, entry, list = "emitters") {
  const target = openTarget(where);
  const empty = `{\n  "${list}": []\n}\n`;
  const now = edit(target, empty, (text, config) => {
    const at = config?.[list].findIndex(({ name }) => name === entry.name) ?? -1;
    if (at < 0) return insertItem(text, list, entry);
    return setMembers(text, [list, at], entry);
  });
  const saved = listEntries(now).find(
    ({ kind, name }) => kind === "emitter" && name === entry.name,
  );
  return { path: target.file, digest: saved?.digest ?? "" };
}

/**
 * Adds an emitter that the user starts in the background, and allows it.
 * @param {import("../lib/paths.mjs").GatewayFiles} files @param {string} folder of the project
 * @param {{section: "watch" | "emitters", name: string, entry: Record<string, unknown>}} added
 * @returns {{path: string}} @throws where it is there already, or would not be read
 */
export function saveBackground(files, folder, { section, name, entry }) {
  const target = projectTarget(folder);
  const now = edit(target, "{}\n", (text, config) => {
    const there = [...(config?.emitters ?? []), ...(config?.watch ?? [])];
    if (there.some((one) => one.name === name))
      throw new RangeError(`${visible(target.file)} has an emitter ${visible(name)} already`);
    if (section === "emitters") return insertItem(text, section, { name, ...entry });
    return jsonc.applyEdits(text, jsonc.modify(text, ["watch", name], entry, FORMAT));
  });
  const saved = listEntries(now).filter((one) => one.kind === "emitter" && one.name === name);
  allow(consentFile(files), target.file, saved);
  return { path: target.file };
}

/**
 * @param {ConfigLocation} where @param {string} name
 * @returns {{path: string}}
 * @throws where there is no such emitter, or the config has mistakes
 */
export function removeEmitter(where, name) {
  const target = openTarget(where);
  const config = target.former?.result;
  const isWatch = config?.ok && config.watch.some((entry) => entry.name === name);
  const isThere = !config?.ok || isWatch || config.emitters.some((entry) => entry.name === name);
  if (!config || !isThere) {
    throw new RangeError(`there is no emitter "${visible(name)}" in ${visible(target.file)}`);
  }
  edit(target, "", (text, { emitters } = /** @type {Config} */ (config)) =>
    isWatch
      ? jsonc.applyEdits(text, jsonc.modify(text, ["watch", name], undefined, FORMAT))
      : removeItem(text, ["emitters", emitters.findIndex((entry) => entry.name === name)]),
  );
  return { path: target.file };
}

/**
 * Gives the emitters and streams of a config of copilot-tap-extension the fields of tap. Comments of entries stay.
 * @param {string} folder @param {string} [name] of the config from there
 * @returns {{path: string, changed: string[]}} names of the entries that were converted
 * @throws where there is no such file, or tap would not read the result
 */
export function importConfig(folder, name) {
  const target = projectTarget(folder, name);
  const content = fs.readFileSync(target.file, "utf8");
  const given = jsonc.parse(content.replace(BOM, ""), [], { allowTrailingComma: true }) ?? {};
  /** @type {string[]} */
  const changed = [];
  rewrite(target, content, (text) =>
    ["emitters", "streams"].reduce((all, list) => {
      const entries = Array.isArray(given[list]) ? given[list] : [];
      return entries.reduce((before, entry, index) => {
        const isEntry = typeof entry === "object" && entry !== null && !Array.isArray(entry);
        const after = isEntry ? setMembers(before, [list, index], convertEntry(entry)) : before;
        if (after !== before) changed.push(String(entry.name));
        return after;
      }, all);
    }, text),
  );
  return { path: target.file, changed };
}
