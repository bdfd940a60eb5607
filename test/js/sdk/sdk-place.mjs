// A gateway with a pretend session, and providers of the Node SDK, for the time of one test.

import { startTap } from "../../../js/develop/testing.mjs";
import { provider } from "../../../sdk/node/provider.mjs";

/** @typedef {import("node:test").TestContext} TestContext */

/** @param {TestContext} t */
export async function place(t) {
  const kit = await startTap();
  t.after(() => kit.stop());
  const make = (name, more = {}) => {
    const tap = provider(name, { ...kit.where, ...more });
    t.after(() => tap.close());
    return tap;
  };
  return { kit, make };
}
