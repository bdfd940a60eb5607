// Folders that a plan names for its agents.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { resolveFolders } from "../../../js/git/repository.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

test("an agent may get folders inside and beside the checkout, never the checkout or what it lies in", async (t) => {
  const outer = fs.realpathSync(temporaryFolder(t));
  const root = path.join(outer, "repo");
  for (const name of ["repo/fixtures", "beside"]) {
    fs.mkdirSync(path.join(outer, name), { recursive: true });
  }
  fs.symlinkSync(root, path.join(outer, "beside", "way-in"));
  const resolve = (/** @type {string[]} */ folders) =>
    resolveFolders(root, folders, path.join(outer, "home"));
  assert.deepEqual(await resolve(["fixtures", "../beside"]), [
    path.join(root, "fixtures"),
    path.join(outer, "beside"),
  ]);
  for (const folder of [".", "..", "/", "../beside/way-in", root]) {
    await assert.rejects(resolve([folder]), { code: "OUTSIDE" }, folder);
  }
  fs.symlinkSync("nowhere", path.join(root, "dangling"));
  for (const folder of ["gone", "dangling", "../beside/gone/deep"]) {
    const missing = { code: "NO_FOLDER", message: /is not there\. Create it/ };
    await assert.rejects(resolve([folder]), missing, folder);
  }
});

test("an agent gets no folder with git's own files or the CLI's, nor what these lie in", async (t) => {
  const outer = fs.realpathSync(temporaryFolder(t));
  const home = path.join(outer, "user", "home");
  for (const name of ["repo/.git/hooks", "user/home/tap", "other/.git"]) {
    fs.mkdirSync(path.join(outer, name), { recursive: true });
  }
  fs.symlinkSync(path.join(outer, "user", "home", "tap"), path.join(outer, "by-link"));
  const root = path.join(outer, "repo");
  for (const [folder, why] of [
    ...[".git", ".git/hooks", "../other/.git"].map((one) => [one, /git's own/]),
    ...["../user", "../user/home", "../user/home/tap", "../by-link"].map((one) => [one, /CLI/]),
  ]) {
    const refused = resolveFolders(root, [String(folder)], home);
    await assert.rejects(refused, { code: "OUTSIDE", message: why }, String(folder));
  }
});
