// Changes the user's own config: one value, with the comments, the order and the rest as they were.

import fs from "node:fs";
import path from "node:path";
import jsonc from "jsonc-parser";
import { makePrivateFolder, writePrivate } from "../base/host-files.mjs";
import { userConfigFile } from "./config-file.mjs";
import { loadUserConfig } from "./config.mjs";

const FORMAT = { formattingOptions: { insertSpaces: true, tabSize: 2, eol: "\n" } };

/**
 * @param {{home: string}} files of gatewayFiles() @param {string} id of a feature @param {boolean} on
 * @returns {{file: string, features: Record<string, boolean>}} what the config says now
 * @throws where the config has mistakes, or is not the user's alone
 */
export function setFeature(files, id, on) {
  const file = userConfigFile(files);
  const former = loadUserConfig(file);
  if (former && !former.result.ok) throw new Error(former.result.problems[0].text);
  const text = former ? fs.readFileSync(file, "utf8") : "{}\n";
  const edits = jsonc.modify(text, ["features", id], on, FORMAT);
  makePrivateFolder(path.dirname(file));
  writePrivate(file, jsonc.applyEdits(text, edits));
  const now = loadUserConfig(file);
  return { file, features: now?.result.ok ? now.result.features : { [id]: on } };
}
