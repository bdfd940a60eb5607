// Changes a config: one value or one entry, with the comments, the order and the rest as they were. What would not be
// read afterwards is not written.

import fs from "node:fs";
import path from "node:path";
import jsonc from "jsonc-parser";
import { makePrivateFolder, writePrivate } from "../base/host-files.mjs";
import { visible } from "../base/visible.mjs";
import { CONFIG_NAME, configNameIn, userConfigFile } from "./config-file.mjs";
import { loadProjectConfig, loadUserConfig, readProjectConfig } from "./config.mjs";
import { entriesOf } from "./consent.mjs";
import { insertItem, removeItem, setMembers } from "./edit-list.mjs";

/** @typedef {import("./config.mjs").Config} Config */
/** @typedef {import("./config.mjs").LoadedConfig} LoadedConfig */
/** @typedef {import("./config.mjs").Owner} Owner */
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
 * @param {string} workspace @returns {Target}
 */
function projectTarget(workspace) {
  const root = fs.realpathSync(workspace);
  const file = path.join(root, configNameIn(root) ?? CONFIG_NAME);
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
  return { owner: "project", file, former: loadProjectConfig(root), write };
}

/**
 * @param {Target} target @param {string} empty the text of a new config
 * @param {(text: string, config: Config | undefined) => string} change
 * @returns {Config} what it says now
 * @throws where it has mistakes, or would have
 */
function edit({ owner, file, former, write }, empty, change) {
  if (former?.result.ok === false) throw new Error(former.result.problems[0].text);
  const content = former ? fs.readFileSync(file, "utf8") : empty;
  const text = content.replace(BOM, "");
  const changed = change(text, former?.result.ok ? former.result : undefined);
  const now = readProjectConfig(changed, file, owner);
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
 * Whose config: that of a workspace, or the user's own.
 * @typedef {{file: "project", folder: string} | {file: "user", files: {home: string}}} Where
 */

/** @param {Where} where */
const targetOf = (where) =>
  where.file === "user" ? userTarget(where.files) : projectTarget(where.folder);

/**
 * Adds an emitter or a stream, or changes the one of that name. Saving it allows nothing.
 * @param {Where} where @param {Record<string, unknown>} entry as a config has it @param {"emitters" | "streams"} [list]
 * @returns {{path: string, digest: string}} `digest`: what a consent would be to
 * @throws where the config has mistakes, or would have
 */
export function saveEmitter(where, entry, list = "emitters") {
  const target = targetOf(where);
  const empty = `{\n  "${list}": []\n}\n`;
  const now = edit(target, empty, (text, config) => {
    const at = config?.[list].findIndex(({ name }) => name === entry.name) ?? -1;
    if (at < 0) return insertItem(text, list, entry);
    return setMembers(text, [list, at], entry);
  });
  const saved = entriesOf(now).find(({ kind, name }) => kind === "emitter" && name === entry.name);
  return { path: target.file, digest: saved?.digest ?? "" };
}

/**
 * @param {Where} where @param {string} name
 * @returns {{path: string}}
 * @throws where there is no such emitter, or the config has mistakes
 */
export function removeEmitter(where, name) {
  const target = targetOf(where);
  const config = target.former?.result;
  const isThere = !config?.ok || config.emitters.some((entry) => entry.name === name);
  if (!config || !isThere) {
    throw new RangeError(`there is no emitter "${visible(name)}" in ${visible(target.file)}`);
  }
  edit(target, "", (text, { emitters } = /** @type {Config} */ (config)) =>
    removeItem(text, ["emitters", emitters.findIndex((entry) => entry.name === name)]),
  );
  return { path: target.file };
}
