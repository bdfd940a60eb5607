// An example in every form that it has (Node.js and Python), each beside a gateway of its own.

import { existsSync } from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { pythonForSdk } from "../../../tools/setup.mjs";
import { REPO_ROOT } from "../../support/cli.mjs";
import { Gateway, Session } from "../../support/gateway-host.mjs";

const inPython = {
  command: (await pythonForSdk()) ?? "python3",
  env: { PYTHONPATH: path.join(REPO_ROOT, "sdk", "python"), PYTHONDONTWRITEBYTECODE: "1" },
};
export const languages = { mjs: { command: process.execPath, env: {} }, py: inPython };
export const EXAMPLES = path.join(REPO_ROOT, "examples");

/** @typedef {{gateway: Gateway, start: (env?: object, ...args: string[]) => any}} Place */

/**
 * The same test for an example in both languages, with the SDK or without, each with a gateway of its own.
 * @param {string} name @param {string} what @param {(place: Place) => Promise<void>} body
 */
export function example(name, what, body) {
  for (const [ending, { command, env: own }] of Object.entries(languages)) {
    for (const file of [`${name}.${ending}`, `sdk/${name}.${ending}`]) {
      if (!existsSync(path.join(EXAMPLES, file))) continue;
      describe(`examples/${file}`, () => {
        /** @type {Gateway} */
        let gateway;
        before(async () => (gateway = await Gateway.create()));
        after(() => gateway?.dispose());
        const start = (env = {}, ...args) =>
          gateway.start(command, [path.join(EXAMPLES, file), ...args], { ...own, ...env });
        test(what, () => body({ gateway, start }));
      });
    }
  }
}

/** A session, and the example once it may read the token. @param {Place} place */
export async function begin({ gateway, start }, env = {}, ...args) {
  const session = await Session.register(gateway, "session");
  await gateway.token();
  return { session, program: start(env, ...args) };
}
