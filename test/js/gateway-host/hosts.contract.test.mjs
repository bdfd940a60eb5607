// What tests rely on of a gateway host, of the real one in its own process and of the one in the process
// of a test (test/support/local-host.mjs): both have to pass the same tests.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { FEATURES } from "../../../js/features/list.mjs";
import { provider } from "../../../sdk/node/provider.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";
import { homeFolder, setUp } from "../features/emitters-rig.mjs";
import { makeRepository, plansRig } from "../features/plans-rig.mjs";

const QUICK = { TAP_LINGER_MS: "100", TAP_SHUTDOWN_MS: "100", TAP_GRACE_MS: "100" };

/** @type {[string, typeof Host | typeof LocalHost, {processes?: boolean}][]} */
const kinds = [
  ["a host in its own process", Host, { processes: true }],
  ["a host in the test's process", LocalHost, {}],
];

for (const [name, Kind, given] of kinds) {
  describe(name, { concurrency: 1 }, () => {
    test("has a descriptor, a token for its first session, and lists that session", async (t) => {
      const host = await Kind.elected(t);
      assert.equal(host.token, undefined);
      const { id } = await host.withToken(t);
      const control = await openControl(host.files);
      t.after(() => control.close());
      const { sessions } = await control.inspect();
      assert.deepEqual(
        sessions.map((/** @type {any} */ one) => one.id),
        [id],
      );
      assert.equal(fs.statSync(host.files.token).mode & 0o777, 0o600);
    });

    test("serves a provider's call, and reports the failure of another", async (t) => {
      const host = await Kind.elected(t);
      const session = await host.withToken(t);
      const { TAP_GATEWAY_PORT: port = "" } = host.env;
      const own = provider("weather", { port: Number(port), token: host.token, reconnect: false });
      own.tool("forecast", { description: "Tomorrow" }, ({ city }) => {
        if (!city) throw new Error("no city");
        return `rain in ${city}`;
      });
      own.on("error", () => {});
      await own.connect();
      t.after(() => own.close());
      await session.waitFor("tools", (event) => JSON.stringify(event).includes('"forecast"'));
      assert.equal(await session.call("forecast", { city: "Bern" }), "rain in Bern");
      const failed = /** @type {any} */ (await session.call("forecast", {}));
      assert.equal(failed.code, "INTERNAL");
    });

    test("runs its features: each is enabled, has no trouble, and a tool of one is called", async (t) => {
      const { call, control } = await setUp(t, {}, homeFolder(t), Kind);
      assert.deepEqual((await call("tap_list_emitters")).emitters, []);
      const { host: featureHost, features } = await control.request("features.report", {});
      assert.equal(featureHost.state, "running");
      assert.deepEqual(
        features.map((/** @type {any} */ one) => one.id).sort(),
        FEATURES.map(({ descriptor }) => descriptor.id).sort(),
      );
      for (const { id, enabled, diagnostics } of features)
        assert.deepEqual([enabled, diagnostics], [true, []], id);
    });

    test("runs a plan whose result lands, and leaves no worktree", async (t) => {
      const { repo } = makeRepository(t);
      const { create, ended, git } = await plansRig(t, { repo, ...given });
      const nodes = [
        { id: "one", work: "echo one > one.txt" },
        { id: "two", work: "test -f one.txt", dependencies: ["one"], expectsNoChanges: true },
      ];
      const planId = await create({ nodes, targetBranch: "feature/x" });
      assert.equal((await ended(planId)).status, "succeeded");
      assert.equal(git("show", "feature/x:one.txt"), "one");
      await waitFor(() => fs.readdirSync(path.join(repo, ".worktrees")).length === 0);
    });

    test("ends some time after its last session, with its descriptor and token", async (t) => {
      const host = await Kind.elected(t, QUICK);
      const session = await host.withToken(t);
      await session.close();
      await host.exit();
      assert.equal(fs.existsSync(host.files.descriptor), false);
      assert.equal(fs.existsSync(host.files.token), false);
    });
  });
}
