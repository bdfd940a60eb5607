// copilot-tap trace and replay: a real gateway, a real provider, and the recording between them.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { programFolder } from "../../../js/lib/paths.mjs";
import { startTap } from "../../../js/develop/testing.mjs";
import { provider } from "../../../sdk/node/provider.mjs";
import { findFreePort } from "../../support/cli.mjs";
import { isAlive } from "../../support/processes.mjs";
import { waitFor } from "../../support/wait.mjs";
import { InTerminal, place, Running, tap, tapJson } from "../../support/cli-process.mjs";

const SDK = path.join(programFolder, "sdk", "node", "provider.mjs");

/** @param {number} price @param {string} [extra] */
const shopProgram = (price, extra = "") => `
import { provider } from ${JSON.stringify(SDK)};
const tap = provider("shop");
tap.tool("price", { description: "The price." }, ({ item }) => {
  if (item === "nothing") throw new Error("no such item");
  return { item, price: ${price} };
});
${extra}
await tap.connect();
`;

/** A gateway with a session and a shop. @param {import("node:test").TestContext} t */
async function withShop(t) {
  const kit = await startTap();
  t.after(() => kit.stop());
  const shop = provider("shop", kit.where);
  shop.tool("price", { description: "The price." }, ({ item }) => {
    if (item === "nothing") throw new Error("no such item");
    return { item, price: 5 };
  });
  await shop.connect();
  t.after(() => shop.close());
  await kit.tool("price");
  return { kit, at: { env: { ...process.env, ...kit.env }, workspace: kit.home } };
}

/** Two calls, of which one fails, in a file. @param {import("node:test").TestContext} t */
async function recorded(t) {
  const { kit, at } = await withShop(t);
  const file = path.join(kit.home, "shop.jsonl");
  const tracing = new Running(["trace", file], at);
  await tracing.says(/Ctrl-C ends it/);
  await kit.call("price", { item: "tea" });
  await kit.call("price", { item: "nothing" }).catch(() => {});
  await waitFor(() => fs.readFileSync(file, "utf8").split("tool.result").length === 3, {
    what: "both answers in the file",
  });
  tracing.process.kill("SIGINT");
  const { code, out } = await tracing.end();
  assert.equal(code, 0);
  assert.match(out, /Recorded \d+ events \(2 calls\) to /);
  return { kit, at, file };
}

describe("copilot-tap trace", () => {
  test("records what providers say, for the user alone, without secrets", async (t) => {
    const { kit, at, file } = await recorded(t);
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
    const again = await tap(["trace", file], at);
    assert.equal(again.code, 1);
    assert.match(again.err, /is there already.*--force/s);

    const tracing = new Running(["trace", "--force", file], at);
    await tracing.says(/Ctrl-C ends it/);
    const other = provider("other", kit.where);
    await other.connect();
    await other.close();
    await waitFor(() => fs.readFileSync(file, "utf8").includes('"closed"'), { what: "its end" });
    tracing.process.kill("SIGTERM");
    assert.equal((await tracing.end()).code, 0);
    const text = fs.readFileSync(file, "utf8");
    const token = fs.readFileSync(path.join(kit.home, "extensions/tap/.provider-token"), "utf8");
    assert.ok(text.includes('"type":"auth"'));
    assert.ok(!text.includes(token.trim()) && !/tok-[0-9a-f]{8}/.test(text));
  });

  test("shows the messages as they are with --raw, of a provider by the beginning of its name", async (t) => {
    const { kit, at } = await withShop(t);
    const tracing = new Running(["trace", "--raw", "--provider", "sho"], at);
    await tracing.says(/^watching 1 provider; Ctrl-C ends it\n/);
    await kit.call("price", { item: "tea" });
    await tracing.says(/shop ← \{"type":"tool.call".*\n.*shop → \{"type":"tool.result"/);
    tracing.process.kill("SIGINT");
    assert.equal((await tracing.end()).code, 0);
  });

  test("shows it line by line in a terminal, and nothing of other providers where one is named", async (t) => {
    const { kit, at } = await withShop(t);
    const tracing = new InTerminal(t, ["trace", "--provider", "shop"], at);
    const others = new Running(["trace", "--provider", "nobody", "--json"], at);
    await waitFor(async () => {
      await kit.call("price", { item: "tea" });
      return /← call [^]*→ result \d+ ms/.test(tracing.text);
    });
    assert.match(tracing.text, /^watching 1 provider; Ctrl-C ends it$/m);
    assert.match(tracing.text, /shop ← call price \{"item":"tea"\}$/m);
    assert.match(tracing.text, /shop → result \d+ ms \{"item":"tea","price":5\}$/m);
    assert.ok(tracing.text.split("\n").every((line) => line.length <= 80));
    tracing.type("\x03");
    assert.equal(await tracing.end(), 0);
    others.process.kill("SIGINT");
    assert.equal((await others.end()).out, "");
  });

  test("ends when the gateway does, and says so", async (t) => {
    const { kit, at } = await withShop(t);
    const tracing = new Running(["trace", "--json"], at);
    await waitFor(async () => {
      await kit.call("price", { item: "tea" });
      return tracing.out.includes("tool.result");
    });
    for (const line of tracing.out.trim().split("\n")) JSON.parse(line);
    await kit.killGateway();
    const { code, err } = await tracing.end();
    assert.equal(code, 0);
    assert.match(err, /the gateway's link ended/);
  });

  test("without a gateway says that none runs", async (t) => {
    const { workspace, env } = place(t);
    const nowhere = { ...env, TAP_GATEWAY_PORT: String(await findFreePort()) };
    const { code, err } = await tap(["trace"], { workspace, env: nowhere });
    assert.equal(code, 3, err);
    assert.match(err, /no gateway runs/);
  });

  test("a file that cannot be written is named", async (t) => {
    const { at } = await withShop(t);
    const { code, err } = await tap(["trace", "/nowhere/at/all"], at);
    assert.equal(code, 1);
    assert.match(err, /\/nowhere\/at\/all cannot be written/);
  });
});

describe("copilot-tap replay", () => {
  test("ends what the provider's command has started", async (t) => {
    const { kit, at, file } = await recorded(t);
    const pids = path.join(kit.home, "pid");
    const note = `(await import("node:fs")).writeFileSync(${JSON.stringify(pids)}, String(process.pid));`;
    const shop = path.join(kit.home, "wrapped.mjs");
    fs.writeFileSync(shop, shopProgram(5, note));
    const command = ["sh", "-c", `node ${shop}; true`];
    const { code } = await tap(["replay", file, "--", ...command], at);
    assert.equal(code, 0);
    assert.ok(!(await isAlive(Number(fs.readFileSync(pids, "utf8")))), "it has ended");
  });

  /** @param {string} folder @param {number} price @param {string} [extra] */
  function program(folder, price, extra) {
    const file = path.join(folder, `shop-${price}.mjs`);
    fs.writeFileSync(file, shopProgram(price, extra));
    return file;
  }

  test("passes where the provider answers as it did", async (t) => {
    const { kit, at, file } = await recorded(t);
    const { code, out } = await tap(["replay", file, "--", "node", program(kit.home, 5)], at);
    assert.equal(code, 0, out);
    assert.match(out, /✓ price \{"item":"tea"\}: the same/);
    assert.match(out, /✓ price \{"item":"nothing"\}: failed with INTERNAL/);
    assert.match(out, /2 of 2 calls matched the recording/);
  });

  test("ends with its own words, not with those of the provider's end", async (t) => {
    const { kit, at, file } = await recorded(t);
    const ending = 'console.error("begins"); process.on("exit", () => console.error("cut off"));';
    const polite = `${ending} process.on("SIGTERM", () => process.exit());`;
    const command = ["replay", file, "--", "node", program(kit.home, 5, polite)];
    const { code, out, err } = await tap(command, at);
    assert.equal(code, 0, out);
    assert.match(err, /begins/);
    assert.doesNotMatch(err, /cut off/);
  });

  test("fails where it does not, unless only the shape is compared", async (t) => {
    const { kit, at, file } = await recorded(t);
    const changed = ["--", "node", program(kit.home, 7, 'console.log("hello");')];
    const { code, value } = await tapJson(["replay", file], at).catch(() => ({
      code: 2,
      value: {},
    }));
    assert.equal(code, 2, "a program is needed");
    assert.equal(value.error?.code, "USAGE");
    const failed = new Running(["replay", "--json", file, ...changed], at);
    const { code: exit, out, err } = await failed.end();
    assert.equal(exit, 1);
    assert.equal(JSON.parse(out).failed, 1);
    assert.match(err, /hello/, "what the provider prints is not in the way");
    const shape = await tap(["replay", file, "--compare", "shape", ...changed], at);
    assert.equal(shape.code, 0, shape.out);
  });

  test("says what is wrong with a file, and with a program", async (t) => {
    const { kit, at, file } = await recorded(t);
    const other = path.join(kit.home, "other.txt");
    fs.writeFileSync(other, "hello\n");
    const none = await tap(["replay", other, "--", "node"], at);
    assert.equal(none.code, 1);
    assert.match(none.err, /other\.txt:1 is not a line of a recording/);
    const nobody = await tap(["replay", file, "--provider", "x", "--", "node"], at);
    assert.match(nobody.err, /no answered call of the provider "x"/);
    const gone = await tap(["replay", file, "--", "/no/such/program"], at);
    assert.equal(gone.code, 1);
    assert.match(gone.err, /the provider does not start/);
  });
});
