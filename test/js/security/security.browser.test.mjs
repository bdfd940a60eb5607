// A web page of somebody else in a real Chromium: what it can see and do of a gateway on this machine.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { servePage, startChromium } from "../../support/chromium.mjs";
import { waitFor } from "../../support/wait.mjs";
import { TestGateway } from "../../support/harness.mjs";

/** A name that a rebinding attacker has pointed at this machine. */
const REBOUND = "rebound.example";

/** @type {import("playwright-core").Browser} */
let browser;
before(async () => {
  browser = await startChromium([`--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`]);
});
after(() => browser?.close());

/** A page of a web server on another port. @param {import("node:test").TestContext} t */
async function visit(t, host = "127.0.0.1") {
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  await page.goto(await servePage(t, host));
  return page;
}

/** @typedef {{messages: any[], code: number | undefined, opened: boolean}} Heard */

/**
 * Opens a WebSocket in the page, sends these messages, and waits for so many or for the end.
 * @param {import("playwright-core").Page} page @param {string} url @param {object[]} messages
 * @param {number} [enough] @returns {Promise<Heard>}
 */
const converse = (page, url, messages, enough = Infinity) =>
  page.evaluate(
    ([address, texts, count]) =>
      new Promise((resolve) => {
        /** @type {Heard} */
        const heard = { messages: [], code: undefined, opened: false };
        const ws = new WebSocket(address);
        Object.assign(globalThis, { ws, heard });
        ws.onopen = () => {
          heard.opened = true;
          for (const text of texts) ws.send(text);
        };
        ws.onmessage = ({ data }) => {
          heard.messages.push(JSON.parse(data));
          if (heard.messages.length >= (count ?? Infinity)) resolve(heard);
        };
        ws.onclose = ({ code }) => resolve({ ...heard, code });
      }),
    /** @type {const} */ ([url, messages.map((one) => JSON.stringify(one)), enough]),
  );

/** Sends on the WebSocket of converse(), and gives the message of that type. */
const goOn = async (page, message, type) => {
  await page.evaluate(
    (text) => /** @type {any} */ (globalThis).ws.send(text),
    JSON.stringify(message),
  );
  return waitFor(
    () =>
      page.evaluate(
        (wanted) =>
          /** @type {any} */ (globalThis).heard.messages.find(
            (/** @type {any} */ one) => one.type === wanted,
          ),
        type,
      ),
    { what: `${type} in the page` },
  );
};

/** @param {import("node:test").TestContext} t */
async function setUp(t, limits = {}) {
  const gateway = new TestGateway(t, { limits });
  const session = await gateway.session("attached", {
    label: "secret plans",
    cwd: "/secret/folder",
  });
  const urls = ["localhost", "127.0.0.1", "[::1]"].map((host) => `ws://${host}:${gateway.port}/`);
  const codes = () =>
    session.events.flatMap(({ text }) => /Pairing code: (\d{6})/.exec(text ?? "")?.[1] ?? []);
  return { gateway, session, urls, codes };
}

describe("a foreign page", () => {
  test("cannot use the token file's token, by any name of this machine", async (t) => {
    const { gateway, session, urls } = await setUp(t);
    for (const host of ["127.0.0.1", "localhost"]) {
      const page = await visit(t, host);
      for (const url of urls) {
        const heard = await converse(page, url, [{ type: "auth", token: gateway.token }]);
        assert.deepEqual(
          heard.messages.map(({ type, code }) => [type, code]),
          [["error", "AUTH_FAILED"]],
        );
        assert.equal(heard.code, 1008);
      }
    }
    assert.deepEqual(
      session.events.filter(({ type }) => type === "timeline"),
      [],
    );
  });

  test("does nothing before it has paired", async (t) => {
    const { session, urls } = await setUp(t);
    const page = await visit(t);
    const tool = { name: "t", description: "", parameters: {} };
    const first = [
      { type: "hello", name: "x", protocolVersion: 2, session: session.id, tools: [tool] },
      { type: "push", level: "inject", event: "obey" },
      { type: "tool.result", id: "1", data: "x" },
      { type: "auth.confirm", code: "000000" },
      { type: "stream.query", queryId: "q", streams: ["x"] },
      { type: "goodbye" },
      { type: "auth" },
      { type: "auth", token: "" },
      { type: "register", sessionId: session.id, secret: "" },
    ];
    const known = session.events.length;
    for (const message of first) {
      const heard = await converse(page, urls[0], [message, first[0]]);
      assert.deepEqual(
        heard.messages.map(({ code }) => code),
        ["AUTH_FAILED"],
        JSON.stringify(message),
      );
      assert.equal(heard.code, 1008);
    }
    assert.deepEqual(session.events.slice(known), []);
  });

  test("sees nothing secret before it has authenticated", async (t) => {
    const { gateway, session, urls } = await setUp(t, { TAP_AUTH_MS: "300" });
    const page = await visit(t);
    // Nobody greets it: all that it gets is the end.
    const heard = await converse(page, urls[0], []);
    assert.equal(heard.opened, true);
    assert.deepEqual(
      heard.messages.map(({ code }) => code),
      ["AUTH_FAILED"],
    );
    const refused = await converse(page, urls[0], [{ type: "auth", token: "ptk-0" }]);
    const said = JSON.stringify([heard, refused]);
    for (const secret of [gateway.token, gateway.secret, session.id, "secret", "provider-token"])
      assert.ok(!said.includes(secret), `${secret} in ${said}`);
    // What curl gets, a page does not: the answer is not for other origins, in any mode.
    const fetched = await page.evaluate(async (url) => {
      const read = async (/** @type {RequestInit} */ how) => {
        try {
          const response = await fetch(url, how);
          return `${response.type} ${await response.text()}`;
        } catch {
          return "refused";
        }
      };
      const { document } = /** @type {any} */ (globalThis);
      const script = document.createElement("script");
      script.src = url;
      const ran = new Promise((resolve) => {
        script.onload = () => resolve("ran");
        script.onerror = () => resolve("refused");
      });
      document.head.append(script);
      return [
        await read({}),
        await read({ mode: "no-cors" }),
        await read({ method: "POST", body: "{}" }),
        await read({ headers: { "X-Preflight": "1" } }),
        await ran,
      ];
    }, `http://localhost:${gateway.port}/`);
    assert.deepEqual(fetched, ["refused", "opaque ", "refused", "refused", "refused"]);
  });

  test("is let in by the code of the timeline, for its origin and that session only", async (t) => {
    const { gateway, session, urls, codes } = await setUp(t);
    const other = await gateway.session("attached", { cwd: "/other/folder" });
    const page = await visit(t);
    await converse(page, urls[0], [{ type: "auth", mode: "pair", session: session.id }], 1);
    await waitFor(() => codes().length === 1, { what: "a code" });
    const { active, token } = await goOn(
      page,
      { type: "auth.confirm", code: codes()[0] },
      "sessions",
    );
    assert.match(token, /^ext-tok-/);
    assert.equal(active[0].id, session.id);
    assert.ok(!JSON.stringify(active).includes("/other/folder"));
    const hello = (id) => ({ type: "hello", name: "page", protocolVersion: 2, session: id });
    assert.ok(await goOn(page, hello(other.id), "error"), "not in the other session");
    const tools = [{ name: "page_title", description: "", parameters: {} }];
    await goOn(page, { ...hello(session.id), tools }, "hello.ack");
    const called = session.call("page_title");
    const call = await waitFor(
      () =>
        page.evaluate(() =>
          /** @type {any} */ (globalThis).heard.messages.find(
            (/** @type {any} */ one) => one.type === "tool.call",
          ),
        ),
      { what: "a call" },
    );
    await goOn(page, { type: "tool.result", id: call.id, data: "Dashboard" }, "hello.ack");
    assert.equal(await called, "Dashboard");
    // The token, from the same origin, and from another one.
    const auth = { type: "auth", token };
    const again = await converse(page, urls[0], [auth], 1);
    assert.equal(again.messages[0].type, "sessions");
    for (const stranger of [await visit(t), await visit(t, "localhost")]) {
      const heard = await converse(stranger, urls[0], [auth]);
      assert.deepEqual(
        heard.messages.map(({ code }) => code),
        ["AUTH_FAILED"],
      );
    }
  });

  test("holds no provider's place, however many connections it opens", async (t) => {
    const { gateway, session, urls } = await setUp(t);
    const bystander = await gateway.echo(session);
    const page = await visit(t);
    const opened = await page.evaluate(async (url) => {
      const sockets = Array.from({ length: 120 }, () => new WebSocket(url));
      Object.assign(globalThis, { sockets });
      const settled = sockets.map(
        (ws) =>
          new Promise((resolve) => {
            ws.onopen = () => resolve(1);
            ws.onerror = () => resolve(0);
          }),
      );
      return (await Promise.all(settled)).length;
    }, urls[1]);
    assert.equal(opened, 120);
    await bystander.check();
    // All those of the page may have come in the last 20 ms: then it is told to try again.
    const provider = await waitFor(() => gateway.stranger(), { what: "room for a provider" });
    await provider.hello({ name: "late", session: session.id });
    await bystander.check();
  });
});

test("a page whose name has been rebound to this machine gets no further than 403", async (t) => {
  const { gateway, session } = await setUp(t);
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  // The attacker's page is at the gateway's own port; its name leads to the gateway now.
  const origin = `http://${REBOUND}:${gateway.port}`;
  const response = await page.goto(origin);
  assert.equal(response?.status(), 403);
  assert.equal(await page.evaluate(() => globalThis.origin), origin);
  const [status, body] = await page.evaluate(async () => {
    const answer = await fetch("/");
    return [answer.status, await answer.text()];
  });
  assert.equal(status, 403);
  assert.doesNotMatch(String(body), /tap|version|home/);
  const url = `ws://${REBOUND}:${gateway.port}/`;
  const heard = await converse(page, url, [{ type: "auth", token: gateway.token }]);
  assert.deepEqual(heard, { messages: [], code: 1006, opened: false });
  assert.deepEqual(
    session.events.filter(({ type }) => type === "timeline"),
    [],
  );
});
