// copilot-tap plan list, where the plans are more than an answer of the tool has.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { addon } from "../../../js/lib/addon.mjs";
import { plansFilePath } from "../../../js/feature-host/feature-folder.mjs";
import { tapJson } from "../../support/cli-process.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { setUp } from "./plan-rig.mjs";
import { PATIENCE_MS } from "../../support/wait.mjs";

const COUNT = 220;

/** Plans that a former gateway has left, in no order. @param {string} home */
async function leavePlans(home) {
  fs.mkdirSync(path.join(home, "tap"), { recursive: true, mode: 0o700 });
  const plans = new addon.Plans({ file: plansFilePath(home) });
  plans.open();
  const ids = Array.from({ length: COUNT }, (_, n) => `p${String(n).padStart(8, "a")}`);
  for (const n of ids.keys()) {
    const at = (n * 7) % COUNT;
    const about = { name: `plan ${at}`, status: "succeeded", total: 1, createdAt: 1000 + at };
    await plans.describe(ids[at], true, 5000 + n, JSON.stringify(about));
  }
  plans.close();
  return ids;
}

test("all plans are listed, the last made first", { timeout: PATIENCE_MS }, async (t) => {
  const home = temporaryFolder(t);
  const ids = await leavePlans(home);
  const { at } = await setUp(t, { home });
  const { value } = await tapJson(["plan", "list"], at);
  assert.deepEqual(
    value.plans.map((/** @type {any} */ { planId }) => planId),
    ids.toReversed(),
  );
});
