// Pairing: programs without a token get one by a code that the user confirms. The gateway itself does the work, since
// codes must reach nobody but the user.

import { SLASH } from "../../lib/slash-commands.mjs";

const COMMANDS = [SLASH.pair, SLASH.use];

/** @type {import("../../feature-host/descriptor.mjs").Descriptor} */
export const descriptor = {
  id: "builtin:pairing",
  displayName: "Pairing",
  version: "1",
  runtime: "builtin",
  host: "gateway",
  commands: COMMANDS,
};

export const fixed =
  "the gateway itself pairs programs; copilot-tap unpair takes their access back";

/** @param {import("../../feature-host/installation.mjs").Context} context */
export function install({ commands }) {
  for (const { name } of COMMANDS) commands.register(name);
}
