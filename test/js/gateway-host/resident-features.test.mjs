// The features of the gateway host's own process.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { ResidentFeatures } from "../../../js/gateway-host/resident-features.mjs";
import { descriptorOf } from "../../support/feature-rig.mjs";
import { TestGateway } from "../../support/harness.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

test("a text that is too long for a result is in a file under the session's folder", async (t) => {
  const home = temporaryFolder(t);
  const gateway = new TestGateway(t);
  const tools = [{ name: "long", description: "says much" }];
  const feature = {
    descriptor: descriptorOf({ host: "gateway", tools }),
    install: (/** @type {any} */ context) =>
      context.tools.register("long", () => "x".repeat(100_000)),
  };
  const features = new ResidentFeatures(gateway.addon, () => {}, {}, [feature], home);
  features.start();
  t.after(() => features.stop());
  const session = await gateway.session("attached", { joined: false });
  const state = path.join(home, "session-state", session.id);
  fs.mkdirSync(state, { recursive: true });
  const text = await session.call("long");
  const [, file] = / the whole text is in (.*)\)$/.exec(text) ?? assert.fail(text.slice(-200));
  assert.equal(path.dirname(file), path.join(state, "tap"));
  assert.equal(fs.readFileSync(file, "utf8"), "x".repeat(100_000));
});
