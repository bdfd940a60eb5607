// A headless Chromium of the system, and pages for it to show.

import http from "node:http";
import { chromium } from "playwright-core";
import { findChromium } from "../../tools/setup.mjs";

/** @typedef {import("node:test").TestContext} TestContext */

/** Without requests to the network at its start; and without a sandbox, which root cannot have. */
const QUIET = [
  "--disable-gpu",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

/** @param {string[]} [more] */
export async function startChromium(more = []) {
  const executablePath = findChromium();
  if (!executablePath) throw new Error("there is no Chromium: npm test -- js installs it");
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => /^(PATH|HOME|LANG|TMPDIR)$/.test(name)),
  );
  return chromium.launch({
    executablePath,
    env,
    chromiumSandbox: false,
    args: [...QUIET, ...more],
  });
}

const EMPTY_PAGE = "<!doctype html><title>a page</title>";

/** A web server with a single page. @param {TestContext} t @returns {Promise<string>} its origin */
export async function servePage(t, host = "127.0.0.1", html = EMPTY_PAGE) {
  const server = http.createServer((_request, response) => {
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.end(html);
  });
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return `http://${host}:${port}`;
}
