// What the user is asked before an emitter of the model runs.

import { inLine, quoted, shortened, visible } from "../../base/visible.mjs";
import { variableLines } from "../../base/work-consent.mjs";
import { scheduleText } from "./schedule-text.mjs";

const MOST_WORK = 1200;
const MOST_FOLDER = 100;

/**
 * Prompts and addresses are asked for only where they are to stay in a config.
 * @param {import("../../base/emitter-spec.mjs").EmitterSpec} spec
 * @returns {{text: string, whole: object} | undefined} undefined: nothing is to be asked
 */
export function questionOf({ name, command, argv, prompt, url, cwd = "", env, ...spec }) {
  const isKept = spec.scope === "persistent";
  const line = command ?? argv?.map((word) => quoted(word)).join(" ");
  const work = line ?? (isKept ? (prompt ?? url) : undefined);
  if (work === undefined) return undefined;
  const when = scheduleText(/** @type {any} */ ({ ...spec, command, argv, prompt, url }));
  const config = spec.file === "user" ? "your own config, for all folders" : "the project's config";
  const kept = isKept ? `, and to save it in ${config}` : "";
  const lines = [
    `The model asks tap to run in the background, as ${inLine(name)} (${when})${kept}:`,
    `  ${shortened(visible(work), MOST_WORK)}`,
    ...(cwd === "" ? [] : [`  in the folder ${shortened(visible(cwd), MOST_FOLDER)}`]),
    ...variableLines(env),
  ];
  return { text: lines.join("\n"), whole: { argv, work, cwd, env } };
}
