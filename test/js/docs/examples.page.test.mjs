// The web page of docs/how-to/pair-a-web-page.md in a real Chromium, beside a gateway with a pretend session.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { REPO_ROOT } from "../../support/cli.mjs";
import { servePage, startChromium } from "../../support/chromium.mjs";
import { Gateway, Session } from "../../support/gateway-host.mjs";
import { waitFor } from "../../support/wait.mjs";

const html = readFileSync(path.join(REPO_ROOT, "examples", "web-page.html"), "utf8");

test("the page is let in by the code, is used, and comes back after a reload", async (t) => {
  const gateway = await Gateway.create();
  t.after(() => gateway.dispose());
  const session = await Session.register(gateway, "session");
  t.after(() => session.close());
  const browser = await startChromium();
  t.after(() => browser.close());
  const page = await browser.newPage();
  /** @type {string[]} */
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  await page.goto(`${await servePage(t, "localhost", html)}/?port=${gateway.port}`);

  const state = (/** @type {string} */ text) => page.getByText(text).waitFor();
  const code = async () => {
    const line = await waitFor(() => session.timeline.findLast((text) => /\d{6}/.test(text)));
    return /\d{6}/.exec(line)?.[0] ?? "";
  };
  await page.getByRole("button").click();
  await page.getByPlaceholder("code of 6 digits").fill(await code());
  await page.keyboard.press("Enter");
  await state("Copilot can use this page.");
  await gateway.tools(session, "page_read", "page_write");
  const text = "<b>hello</b>";
  assert.equal(await session.call("page_write", { text }), text);
  assert.equal(await page.locator("#note").innerText(), text, "it is text, not markup");

  await page.reload();
  await state("Copilot can use this page.");
  assert.equal(await session.call("page_read"), "Nothing is written here yet.");

  session.end();
  await state("AUTH_FAILED");
  assert.equal(await page.getByRole("button").isVisible(), true, "it can pair again");
  assert.deepEqual(problems, []);
});
