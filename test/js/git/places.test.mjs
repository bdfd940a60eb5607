// Folders that a plan names for its agents.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { resolveFolders } from "../../../js/git/places.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

test("an agent may get folders inside and beside the checkout, never the checkout or what it lies in", async (t) => {
  const outer = fs.realpathSync(temporaryFolder(t));
  const root = path.join(outer, "repo");
  for (const name of ["repo/fixtures", "beside"]) {
    fs.mkdirSync(path.join(outer, name), { recursive: true });
  }
  fs.symlinkSync(root, path.join(outer, "beside", "way-in"));
  assert.deepEqual(await resolveFolders(root, ["fixtures", "../beside"]), [
    path.join(root, "fixtures"),
    path.join(outer, "beside"),
  ]);
  for (const folder of [".", "..", "/", "../beside/way-in", root]) {
    await assert.rejects(resolveFolders(root, [folder]), { code: "OUTSIDE" }, folder);
  }
  await assert.rejects(resolveFolders(root, ["gone"]), { code: "INVALID" });
});
