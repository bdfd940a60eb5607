// What the command asks a running gateway about paired providers: one message on a link of its
// own, and one answer (docs/session-link.md, "paired.list").

import { addon } from "../base/addon.mjs";
import { readDescriptor } from "../base/host-files.mjs";
import { noGateway } from "./failure.mjs";

/** @typedef {{name: string, origin: string, sessionId: string, label: string}} PairedProvider */

const ANSWER_MS = 3000;

/**
 * @param {import("../base/paths.mjs").GatewayFiles} files
 * @param {{type: "paired.list"} | {type: "paired.revoke", name: string}} question
 * @returns {Promise<PairedProvider[]>} all of them, or those that are revoked now
 * @throws where no gateway answers
 */
export async function askPaired(files, question) {
  const descriptor = readDescriptor(files.descriptor);
  if (!descriptor) throw noGateway("no gateway runs, so no provider is paired");
  /** @type {import("../base/addon.js").SessionPort | undefined} */
  let port;
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  try {
    return await new Promise((resolve, reject) => {
      const give = (/** @type {string} */ why) =>
        reject(new Error(`the gateway does not answer: ${why}`));
      timer = setTimeout(() => give("it took too long"), ANSWER_MS);
      port = new addon.SessionPort({
        onConnected: () => port?.send(JSON.stringify({ ...question, secret: descriptor.secret })),
        onEvent: (json) => {
          const event = JSON.parse(json);
          if (event.type === "paired") resolve(event.providers);
          else if (event.type === "refused") reject(new Error(event.message));
        },
        onClosed: give,
      });
      port.connect(descriptor.link);
    });
  } finally {
    clearTimeout(timer);
    port?.close("it has its answer");
  }
}
