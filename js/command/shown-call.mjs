// A call of the gateway's log as people see it: without the secrets in its arguments.

import { redact } from "../base/redact.mjs";
import { parseCut } from "./cut-json.mjs";

/**
 * `args`: without secrets; not `whole`, of longer ones the beginning.
 * @typedef {Omit<import("../base/control.mjs").LoggedCall, "args" | "argsCut"> & {label: string, args: any, whole: boolean}} ShownCall
 */

/** @param {string} text @returns {any} */
function whole(text) {
  try {
    return JSON.parse(text);
  } catch {
    return parseCut(text);
  }
}

/** @param {import("../base/control.mjs").LoggedCall} call @param {Map<string, string>} labels @returns {ShownCall} */
export function shownCall({ args, argsCut, message, ...call }, labels) {
  return {
    ...call,
    label: labels.get(call.session) ?? "",
    args: redact(argsCut ? parseCut(args) : whole(args || "{}")),
    whole: !argsCut,
    ...(message !== undefined && { message: redact(message) }),
  };
}
