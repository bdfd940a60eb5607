// copilot-tap pair and unpair, with a real host and a page that the user has let in.

import assert from "node:assert/strict";
import fs from "node:fs";
import { describe, test } from "node:test";
import { TestProvider } from "../../support/provider.mjs";
import { place, placeOf, tap, tapJson, tapProcess } from "../../support/cli-process.mjs";
import { Host } from "../../support/test-host.mjs";
import { staged } from "../doctor/doctor-place.mjs";

describe("copilot-tap pair and unpair", () => {
  /** A host, and a web page that the user has let in. */
  async function paired(t) {
    const host = await Host.elected(t);
    const session = await host.session(t, { label: "shop (main)" });
    const page = await TestProvider.connect({ port: host.files.port, origin: "https://a.example" });
    t.after(() => page.terminate());
    page.send({ type: "auth", mode: "pair", name: "browser" });
    const { text } = await session.waitFor("timeline", (event) => /Pairing code/.test(event.text));
    page.send({ type: "auth.confirm", code: /code: (\d{6})/.exec(text)?.[1] });
    const { token } = await page.waitFor("sessions");
    return { page, token, host, at: placeOf(host) };
  }

  // shows: P-PAIR-8
  test("lists what the user has let in, without its token", async (t) => {
    const { at, token } = await paired(t);
    const { code, out } = await tap(["pair"], at);
    assert.equal(code, 0);
    assert.equal(out, "paired providers:\n  browser (https://a.example), in session shop (main)\n");
    assert.ok(!out.includes(token));
  });

  // shows: P-PAIR-8
  test("unpair voids the token and ends the connection", async (t) => {
    const { at, page, token, host } = await paired(t);
    const { code, out } = await tapProcess(["unpair", "browser"], at);
    assert.equal(code, 0);
    assert.equal(out, "browser (https://a.example), in session shop (main): its token is void\n");
    assert.equal((await page.waitFor("error")).code, "AUTH_FAILED");
    assert.equal((await page.waitForClose()).code, 1008);
    const origin = "https://a.example";
    const back = await TestProvider.connect({ port: host.files.port, origin });
    t.after(() => back.terminate());
    await assert.rejects(back.auth(token), /AUTH_FAILED/);
    assert.equal((await tap(["pair"], at)).out, "paired providers: none\n");
  });

  test("with --json tells the same as JSON", async (t) => {
    const { at } = await paired(t);
    const [browser, ...others] = (await tapJson(["pair"], at)).value;
    assert.deepEqual(others, []);
    assert.equal(browser.name, "browser");
    assert.equal(browser.origin, "https://a.example");
    const nobody = await tapJson(["unpair", "nobody"], at);
    assert.equal(nobody.code, 1);
    assert.equal(nobody.value.error.code, "NOT_FOUND");
    const { code, value } = await tapJson(["unpair", "browser"], at);
    assert.equal(code, 0);
    assert.deepEqual(value, [browser]);
    assert.deepEqual((await tapJson(["pair"], at)).value, []);
  });

  test("unpair of a name that nobody has says so", async (t) => {
    const { at, page } = await paired(t);
    const { code, err } = await tap(["unpair", "rowser"], at);
    assert.equal(code, 1);
    assert.match(err, /unknown provider "rowser"\nknown providers:\n {2}browser/);
    assert.equal(page.closed, undefined);
  });

  test("without a gateway says so", async (t) => {
    for (const args of [["pair"], ["unpair", "browser"]]) {
      const { code, err } = await tap(args, place(t), { TAP_GATEWAY_PORT: "1" });
      assert.equal(code, 3);
      assert.match(err, /no gateway runs.*\none starts with the next session/);
    }
  });

  test("with a gateway that is gone, or a secret that is not its own, says so", async (t) => {
    const at = await staged(t);
    at.describe({ secret: "guess" });
    const refused = await tap(["pair"], at);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /the link's secret is wrong/);
    const { link } = JSON.parse(fs.readFileSync(at.files.descriptor, "utf8"));
    at.describe({ link: `${link}-no` });
    const gone = await tap(["pair"], at);
    assert.equal(gone.code, 1);
    assert.match(gone.err, /a gateway runs, but cannot be asked: .*no such file/);
    fs.rmSync(at.files.descriptor);
    const { err } = await tap(["pair"], at);
    assert.match(
      err,
      /cannot be asked: .*\.gateway-\d+\.json does not exist.*\ncopilot-tap doctor looks/,
    );
  });
});
