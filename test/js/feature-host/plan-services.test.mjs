// What the feature host carries out for plans, and its end.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PlanServices } from "../../../js/feature-host/plan-services.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

test("workers that are asked for while it ends are not made: nobody would close them", async (t) => {
  const work = new PlanServices(temporaryFolder(t), process.env);
  const asked = work.workers(async () => {
    await work.end();
    return {};
  });
  await assert.rejects(asked, /the feature has ended/);
});
