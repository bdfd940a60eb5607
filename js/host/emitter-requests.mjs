// The requests of the link about emitters of configs: the feature that runs them asks what configs name and what the
// user allows, and saves one for the model. Nothing here gives consent.

import path from "node:path";
import { messageOf } from "../base/errors.mjs";
import { only, RequestError } from "./requests.mjs";

/** @typedef {import("./requests.mjs").RequestOrigin} RequestOrigin */
/** @typedef {import("../projects/edit-config.mjs").Where} Where */

const MOST_ENTRY = 64 * 1024;

/** @param {unknown} name */
function nameOf(name) {
  if (typeof name === "string" && name !== "") return name;
  throw new RangeError('expected the name of an emitter as "name"');
}

/** @param {unknown} entry */
function entryOf(entry) {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
    throw new RangeError('expected an emitter as "entry", as a config has it');
  }
  if (JSON.stringify(entry).length > MOST_ENTRY) {
    throw new RangeError(`expected an emitter of at most ${MOST_ENTRY / 1024} KB`);
  }
  const record = /** @type {Record<string, unknown>} */ (entry);
  nameOf(record.name);
  return record;
}

/** @param {unknown} folder */
const isFolder = (folder) =>
  typeof folder === "string" && path.isAbsolute(folder) && !folder.includes("\0");

/**
 * @param {import("./requests.mjs").HostRequests} requests
 * @param {object} parts
 * @param {import("../base/paths.mjs").GatewayFiles} parts.files
 * @param {(session: unknown) => string | undefined} parts.folderOf where a session began
 * @param {NodeJS.ProcessEnv} parts.env of this process
 */
export function serveEmitterRequests(requests, { files, folderOf, env }) {
  /** @param {string} method @param {(params: any, folder: string) => Promise<unknown>} work */
  const serve = (method, work) =>
    requests.register(method, async (params, /** @type {RequestOrigin} */ from) => {
      only(from, "feature");
      // What runs without a session has a folder alone. Reading its config changes nothing.
      const isRead = method === "emitters.configured" && params.session === undefined;
      const folder = isRead && isFolder(params.folder) ? params.folder : folderOf(params.session);
      if (folder === undefined) throw new RequestError("INVALID", "there is no such session");
      try {
        return await work(params, folder);
      } catch (error) {
        throw new RequestError("INVALID", messageOf(error));
      }
    });
  const where = (/** @type {unknown} */ file, /** @type {string} */ folder) => {
    if (file === "user") return /** @type {Where} */ ({ file, files });
    if (file === "project") return /** @type {Where} */ ({ file, folder });
    throw new RangeError('expected "project" or "user" as "file"');
  };
  serve("emitters.configured", async ({ stamp }, folder) => {
    const { configStamp, configuredEmitters } = await import("../projects/configured-emitters.mjs");
    if (stamp !== undefined && stamp === configStamp(files, folder)) return { stamp, same: true };
    return configuredEmitters(files, folder);
  });
  serve("emitters.save", async ({ file, entry, list = "emitters" }, folder) => {
    if (list !== "emitters" && list !== "streams") {
      throw new RangeError('expected "emitters" or "streams" as "list"');
    }
    const { saveEmitter } = await import("../projects/edit-config.mjs");
    const { allowCommand } = await import("../projects/consent.mjs");
    const saved = saveEmitter(where(file, folder), entryOf(entry), list);
    return { ...saved, ...(file === "project" && { allow: allowCommand(saved.path, env) }) };
  });
  serve("emitters.remove", async ({ file, name }, folder) => {
    const { removeEmitter } = await import("../projects/edit-config.mjs");
    return removeEmitter(where(file, folder), nameOf(name));
  });
}
