// copilot-tap/provider against a real gateway host: what is declared, called, cancelled, refused.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { provider, TapError, ToolError } from "../../../sdk/node/provider.mjs";
import { deferred, waitFor } from "../../support/wait.mjs";
import { place } from "./sdk-place.mjs";

const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

describe("tools", () => {
  test("are declared, called with arguments, and give texts, JSON and images", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("weather");
    tap.tool("forecast", { description: "Tomorrow", parameters: city }, (args, call) => {
      assert.equal(call.session, "test");
      assert.equal(call.tool, "forecast");
      assert.ok(call.callId);
      return `rain in ${args.city}`;
    });
    tap.tool("raw", { description: "JSON" }, async () => ({ degrees: 12 }));
    tap.tool("nothing", { description: "Nothing" }, () => {});
    const entries = { at: new Date(0), list: new Set([1]), bytes: new Uint8Array([2]) };
    tap.tool("map", { description: "JSON" }, () => new Map(Object.entries(entries)));
    const pixel = "data:image/png;base64,iVBORw0KGgo=";
    tap.tool("picture", { description: "A picture" }, () => ({ image: pixel }));
    await tap.connect();
    assert.deepEqual([...tap.sessions], ["test"]);
    const tool = await kit.tool("forecast");
    assert.equal(tool.description, "Tomorrow");
    assert.deepEqual(tool.parameters, city);
    assert.equal(await kit.call("forecast", { city: "Bern" }), "rain in Bern");
    assert.equal(await kit.call("raw"), '{"degrees":12}');
    assert.equal(await kit.call("nothing"), "");
    const plain = { at: "1970-01-01T00:00:00.000Z", list: [1], bytes: [2] };
    assert.deepEqual(JSON.parse(await kit.call("map")), plain);
    assert.equal((await kit.call("picture")).mimeType, "image/png");
  });

  test("are called only with arguments that fit their schema", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("weather");
    const seen = [];
    tap.tool("forecast", { description: "", parameters: city }, (args) => void seen.push(args));
    await tap.connect();
    await kit.tool("forecast");
    const wrong = { code: "INVALID_ARGUMENTS", message: /"city" to be text, not 7/ };
    await assert.rejects(kit.call("forecast", { city: 7 }), wrong);
    await assert.rejects(kit.call("forecast"), { code: "INVALID_ARGUMENTS", message: /"city"/ });
    assert.deepEqual(seen, []);
  });

  test("take a schema of zod: defaults and transforms are applied", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("weather");
    const parameters = z.object({
      city: z
        .string()
        .describe("Which one")
        .transform((name) => name.toUpperCase()),
      days: z.number().int().max(7).default(3),
    });
    tap.tool("forecast", { description: "", parameters }, (args) => `${args.city} ${args.days}`);
    await tap.connect();
    const tool = await kit.tool("forecast");
    assert.equal(tool.parameters.properties.city.description, "Which one");
    assert.deepEqual(tool.parameters.required, ["city"]);
    assert.equal(await kit.call("forecast", { city: "Bern" }), "BERN 3");
    await assert.rejects(kit.call("forecast", { city: "Bern", days: 9 }), /refuses "days": /);
  });

  test("a schema of a library that gives no JSON Schema is refused at once", () => {
    const parameters = { "~standard": { version: 1, vendor: "old", validate: () => ({}) } };
    const declare = () => provider("x").tool("y", { description: "", parameters }, () => 1);
    assert.throws(declare, /library old gives no JSON Schema.*zod: 4\.2/);
  });

  test("fail with the code and text that they throw", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("weather");
    tap.tool("typed", { description: "" }, () => {
      throw new ToolError("NOT_FOUND", "there is no Atlantis", { retryable: true });
    });
    tap.tool("plain", { description: "" }, () => Promise.reject(new Error("no luck")));
    tap.tool("cyclic", { description: "" }, () => {
      const loop = {};
      return Object.assign(loop, { loop });
    });
    tap.tool("huge", { description: "" }, () => "x".repeat(6_000_000));
    await tap.connect();
    await kit.tool("huge");
    await assert.rejects(kit.call("typed"), { code: "NOT_FOUND", message: /no Atlantis/ });
    await assert.rejects(kit.call("plain"), { code: "INTERNAL", message: /no luck/ });
    await assert.rejects(kit.call("cyclic"), { code: "INTERNAL", message: /circular/ });
    const tooLarge = { code: "PAYLOAD_TOO_LARGE", message: /6000002 bytes/ };
    await assert.rejects(kit.call("huge"), tooLarge);
  });

  test("a result in a file is as large as it likes", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("weather");
    const text = "x".repeat(6_000_000);
    tap.tool("log", { description: "" }, () =>
      tap.file("../log.txt", text, { mimeType: "text/plain" }),
    );
    await tap.connect();
    await kit.tool("log");
    assert.equal(await kit.call("log"), text);
  });

  test("files of calls that run at once are apart, and go with their ttl or close()", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("weather");
    const texts = ["a".repeat(1_000_000), "b".repeat(2_000_000)];
    const both = deferred();
    let written = 0;
    tap.tool("log", { description: "" }, async ({ which }) => {
      const result = await tap.file("../log.txt", texts[which], { mimeType: "text/plain" });
      if (++written === 2) both.resolve();
      await both.promise;
      return result;
    });
    await tap.connect();
    await kit.tool("log");
    const results = await Promise.all([0, 1].map((which) => kit.call("log", { which })));
    assert.deepEqual(results, texts);
    const left = () =>
      readdirSync(tap.persistDir).filter((name) => name.endsWith("log.txt")).length;
    assert.equal(left(), 2);
    await tap.file("brief-log.txt", "x", { mimeType: "text/plain", ttl: 2 });
    assert.equal(left(), 3);
    await waitFor(() => left() === 2);
    await tap.close();
    assert.equal(left(), 0);
  });

  test("show progress, as far as it is not too fast, and none after the end", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("renderer");
    let late;
    tap.tool("render", { description: "" }, (_args, { progress }) => {
      late = progress;
      for (let page = 1; page <= 500; ++page) progress(`page ${page}`);
      return "done";
    });
    await tap.connect();
    await kit.tool("render");
    assert.equal(await kit.call("render"), "done");
    await kit.session.shows("page 1");
    late("too late");
    assert.equal(await kit.call("render"), "done", "the connection has not suffered");
    assert.ok(!kit.events.some(({ text }) => text.includes("too late")));
  });

  test("abort when they are cancelled, and when they take too long", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("slow");
    const reasons = [];
    let started = deferred();
    const wait = (_args, { signal }) =>
      new Promise((resolve) => {
        started.resolve();
        signal.addEventListener("abort", () => resolve(reasons.push(signal.reason.code)));
      });
    tap.tool("wait", { description: "" }, wait);
    tap.tool("brief", { description: "", timeout: 50 }, wait);
    await tap.connect();
    await kit.tool("wait");
    await assert.rejects(kit.call("brief"), { code: "TIMEOUT" });
    await waitFor(() => reasons.length === 1);
    started = deferred();
    const controller = new AbortController();
    const call = kit.call("wait", {}, { signal: controller.signal });
    await started.promise;
    controller.abort();
    await assert.rejects(call, { code: "CANCELLED" });
    await waitFor(() => reasons.length === 2, { what: () => reasons.join() });
    assert.deepEqual(reasons, ["TIMEOUT", "CANCELLED"]);
  });

  test("come, change and go while it is connected", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("sheet");
    tap.tool("open", { description: "first" }, () => 1);
    await tap.connect();
    await kit.tool("open");
    const both = [
      tap.tool("sum", { description: "" }, () => 42),
      tap.tool("open", { description: "second" }, () => 2),
    ];
    await Promise.all(both);
    await kit.tool("sum");
    await waitFor(() => kit.session.tools.get("open").description === "second");
    assert.equal(await kit.call("open"), "2");
    await tap.removeTool("sum");
    await kit.toolGone("sum");
    assert.equal(await kit.call("open"), "2");
  });

  test("a change that is refused leaves the former tools in force", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("sheet");
    tap.tool("open", { description: "" }, () => "opened");
    await tap.connect();
    await kit.tool("open");
    const refused = tap.tool("tap_status", { description: "" }, () => 1);
    await assert.rejects(refused, { name: "TapError", code: "TOOL_CONFLICT", message: /Rename/ });
    await tap.tool("close", { description: "" }, () => "closed");
    await kit.tool("close");
    assert.equal(await kit.call("open"), "opened");
  });

  test("a refusal that nobody waits for is an error event, one that is awaited is not", async (t) => {
    const { make } = await place(t);
    const tap = make("sheet");
    const errors = [];
    tap.on("error", (error) => errors.push(error));
    await tap.connect();
    await assert.rejects(
      tap.tool("tap_status", { description: "" }, () => 1),
      TapError,
    );
    await assert.rejects(tap.deny({ args: "(" }, "no").inForce, TapError);
    assert.deepEqual(errors, []);
    tap.tool("tap_status", { description: "" }, () => 1);
    await waitFor(() => errors.length === 1);
    assert.equal(errors[0].code, "TOOL_CONFLICT");
    tap.deny({ args: "(" }, "no");
    await waitFor(() => errors.length === 2);
    assert.equal(errors[1].replyTo, "hooks.update");
  });

  test("as many as may run at once do, the others stand in line", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("narrow", { concurrency: { max: 1, scope: "tool" } });
    let running = 0;
    let most = 0;
    tap.tool("work", { description: "" }, async () => {
      most = Math.max(most, ++running);
      await sleep(5);
      running -= 1;
    });
    await tap.connect();
    await kit.tool("work");
    await Promise.all(Array.from({ length: 5 }, () => kit.call("work")));
    assert.equal(most, 1);
  });

  test("a cancelled one has its place until it has ended", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("narrow", { concurrency: 1 });
    const steps = [];
    let begun = deferred();
    tap.tool("work", { description: "" }, async ({ name }, { signal }) => {
      steps.push(`${name} begins`);
      begun.resolve();
      if (name === "first") await new Promise((done) => signal.addEventListener("abort", done));
      await sleep(50);
      steps.push(`${name} ends`);
    });
    await tap.connect();
    await kit.tool("work");
    const controller = new AbortController();
    const first = kit.call("work", { name: "first" }, { signal: controller.signal });
    const cancelled = assert.rejects(first, { code: "CANCELLED" });
    await begun.promise;
    begun = deferred();
    const second = kit.call("work", { name: "second" });
    controller.abort();
    await Promise.all([cancelled, second]);
    assert.deepEqual(steps, ["first begins", "first ends", "second begins", "second ends"]);
  });

  test("names of providers, arguments and results may be in any script", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("気象 ☔ «Wetter»");
    tap.tool("say", { description: "Grüße 👋🏽" }, ({ text }) => `⟨${text}⟩`);
    await tap.connect();
    assert.equal((await kit.tool("say")).description, "Grüße 👋🏽");
    assert.equal(await kit.call("say", { text: "Ζürich 😀 \u0000" }), "⟨Ζürich 😀 \u0000⟩");
    await kit.session.shows('"気象 ☔ «Wetter»" is here: say');
  });
});

describe("errors", () => {
  test("two providers of one name: the second is refused, and told what to do", async (t) => {
    const { make } = await place(t);
    await make("weather").connect();
    const second = make("weather");
    const refusal = { name: "TapError", code: "DUPLICATE_INSTANCE", message: /another name/ };
    await assert.rejects(second.connect(), refusal);
    await second.closed;
  });

  test("a tool of another provider's name, too", async (t) => {
    const { kit, make } = await place(t);
    const first = make("one");
    first.tool("same", { description: "" }, () => 1);
    await first.connect();
    const second = make("two");
    second.tool("same", { description: "" }, () => 2);
    await assert.rejects(second.connect(), { code: "TOOL_CONFLICT", message: /"same".*"one"/ });
    await kit.tool("same");
    assert.equal(await kit.call("same"), "1");
  });

  test("a token that was given and is wrong ends it", async (t) => {
    const { make } = await place(t);
    const tap = make("weather", { token: "ptk-wrong" });
    const refusal = { code: "AUTH_FAILED", message: /TAP_PROVIDER_TOKEN/ };
    await assert.rejects(tap.connect(), refusal);
  });

  test("what is asked for without a session is refused", async (t) => {
    const { make } = await place(t);
    const tap = make("weather");
    await assert.rejects(tap.push("x", "y"), { name: "TapError", code: "DISCONNECTED" });
    await assert.rejects(tap.file("a", "b", { mimeType: "text/plain" }), TapError);
    await tap.close();
    await assert.rejects(tap.push("x", "y"), { code: "DISCONNECTED", advice: /new provider/ });
  });
});
