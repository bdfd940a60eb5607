// The SDK that the CLI brings along, as far as workers use it. It is loaded from the CLI's own folder: there is no
// package of it here.

import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

/**
 * @typedef {object} Session
 * @property {(handler: (event: any) => void) => () => void} on
 * @property {(message: {prompt: string}) => Promise<string>} send
 * @property {() => Promise<void>} abort
 * @property {() => Promise<void>} disconnect
 * @property {string} [workspacePath]
 * @property {any} rpc
 */
/**
 * @typedef {object} Client
 * @property {() => Promise<void>} start
 * @property {() => Promise<Error[]>} stop
 * @property {() => Promise<void>} forceStop
 * @property {() => Promise<unknown>} ping
 * @property {(config: object) => Promise<Session>} createSession
 * @property {(sessionId: string, config: object) => Promise<Session>} resumeSession
 * @property {(sessionId: string) => Promise<void>} deleteSession
 * @property {() => Promise<any[]>} listModels
 * @property {any} rpc
 */
/** @typedef {{CopilotClient: new (options: object) => Client, RuntimeConnection: {forStdio: (options: object) => object}}} Sdk */

/** @param {string} where its folder, or its index.js @returns {Promise<Sdk>} */
export async function loadSdk(where) {
  const file = where.endsWith(".js") ? where : path.join(where, "index.js");
  if (!fs.existsSync(file)) {
    throw new Error(
      `the CLI's SDK is not at ${file}. Was the CLI updated? Start the session again`,
    );
  }
  const sdk = await import(pathToFileURL(file).href);
  if (typeof sdk.CopilotClient !== "function" || !sdk.RuntimeConnection?.forStdio) {
    throw new Error(`${file} is not an SDK that workers can use`);
  }
  return sdk;
}
