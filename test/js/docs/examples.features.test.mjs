// The examples of one feature each, in both languages, against a real gateway host: the feature does what
// the example says of it.

import assert from "node:assert/strict";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { REPO_ROOT } from "../../support/cli.mjs";
import { Gateway, Session } from "../../support/gateway-host.mjs";
import { waitFor } from "../../support/wait.mjs";
import { begin, example, EXAMPLES, languages } from "./examples-rig.mjs";

example("streams", "its filter drops, shows and injects lines of the log", async (place) => {
  const { session } = await begin(place, { LOG_EVERY_MS: "5" });
  await session.shows("tap: shop/log: WARN the disk is 91 % full");
  await waitFor(() => session.injected.length > 0, { what: "an inject" });
  assert.match(session.injected[0], /"shop", stream "log"[^]*ERROR POST \/order/);
  assert.ok(!session.timeline.some((line) => line.includes("GET")));
  const log = (await session.call("shop_log")).split("\n");
  // The latest first, and nothing of what the filter has dropped.
  assert.equal(log.length, 3, log.join("\n"));
  assert.match(log[0], /^\d{4}-\S+Z ERROR POST/);
  assert.match(log[2], /GET \/cart 200 in 12 ms$/);
});

example("all-sessions", "keeps each session's own, also of one that comes later", async (place) => {
  const { gateway, start } = place;
  const one = await Session.register(gateway, "one");
  const two = await Session.register(gateway, "two");
  const note = async (session, args) => JSON.parse(await session.call("note", args));
  await gateway.token();
  const program = start();
  for (const session of [one, two]) await gateway.tools(session, "note");
  assert.deepEqual(await note(one, { text: "milk" }), ["milk"]);
  assert.deepEqual(await note(two), []);
  const three = await Session.register(gateway, "three");
  await gateway.tools(three, "note");
  assert.deepEqual(await note(three, { text: "bread" }), ["bread"]);

  one.end();
  await program.says(/1 notes are gone, \d+ ms were left/);
  assert.deepEqual(await note(three, { text: "eggs" }), ["bread", "eggs"]);
  one.close();
  // The session did not wait for its deadline: one of that name is new, and begins empty.
  const again = await Session.register(gateway, "one");
  await gateway.tools(again, "note");
  assert.deepEqual(await note(again), []);
});

example("instances", "two of them share a tool, and target picks one", async (place) => {
  const { gateway, start } = place;
  const { session } = await begin(place, {}, "left");
  await gateway.tools(session, "open_file", "list_editor_instances");
  assert.ok(session.tools.get("open_file").parameters.properties.target);
  start({}, "right");
  const listed = async () => JSON.parse(await session.call("list_editor_instances"));
  await waitFor(async () => (await listed()).length === 2, { what: "two instances" });
  const [right, left] = await listed();
  assert.equal(right.metadata.title, "the right window");
  assert.equal(left.target, "left");
  assert.equal(await session.call("open_file", { target: "left" }), "left.txt");
  assert.equal(await session.call("open_file"), "left.txt", "it was the last to be called");
  assert.equal(await session.call("open_file", { target: "right" }), "right.txt");
  assert.equal((await session.call("open_file", { target: "top" })).code, "NOT_FOUND");

  const twin = start({}, "right");
  assert.equal(await twin.exited, 1);
  assert.match(twin.output, /DUPLICATE_INSTANCE/);
});

example("long-job", "says how far it is, and stops when it is cancelled", async (place) => {
  const { session, program } = await begin(place, { STEP_MS: "20" });
  await place.gateway.tools(session, "render");
  assert.equal(await session.call("render", { pages: 3 }), "3 pages are rendered");
  assert.deepEqual(
    session.timeline.filter((line) => line.includes("page ")),
    // Of one second the newest, and the last before the result.
    [1, 3].map((page) => `tap: renderer render: page ${page} of 3`),
  );
  const endless = session.start("render", { pages: 1_000_000 });
  await session.shows("page 1 of 1000000");
  session.cancel(endless.id);
  assert.equal((await endless.result).code, "CANCELLED");
  await program.says("stopped: ");
  const shown = session.timeline.length;
  assert.equal(await session.call("render", { pages: 1 }), "1 pages are rendered");
  assert.equal(session.timeline.length, shown + 1, "the endless one goes on");
});

example("tools-update", "has two more tools while the sheet is open", async (place) => {
  const { gateway } = place;
  const { session } = await begin(place);
  await gateway.tools(session, "open_sheet");
  assert.equal(await session.call("open_sheet"), "the sheet is open");
  await gateway.tools(session, "open_sheet", "sum_sheet", "close_sheet");
  assert.equal(await session.call("sum_sheet"), "42");
  assert.equal(await session.call("close_sheet"), "the sheet is closed");
  await gateway.tools(session, "open_sheet");
});

example("events", "counts prompts and the time of tools", async (place) => {
  const { session, program } = await begin(place);
  await waitFor(() => session.wanted.length === 3, { what: "a subscription" });
  for (const content of ["fix it", "thank you"]) session.report("user.message", { content });
  const complete = (tool, durationMs, more = {}) =>
    session.report("tool.execution_complete", {
      ...{ tool, args: {}, result: { type: "success" }, durationMs },
      ...more,
    });
  complete("bash", 30);
  complete("greet", 500, { provider: "hello" });
  complete("bash", 12);
  session.report("assistant.message", { content: "done" });
  await program.says("assistant: done");
  assert.equal(await session.call("statistics"), "2 prompts\nhello/greet: 500 ms\nbash: 42 ms");
});

/** Runs an example over a connection that can be cut. @param {Place} place */
async function withDetour({ gateway, start }, body) {
  const detour = await gateway.detour();
  try {
    await body(detour, () => start({ TAP_GATEWAY_PORT: String(detour.port) }));
  } finally {
    detour.close();
  }
}

// shows: P-HOST-10
example("pairing", "asks for the code once, comes back by its token, and pairs again", (place) =>
  withDetour(place, async (detour, start) => {
    const { gateway } = place;
    const session = await Session.register(gateway, "session");
    const program = start();
    const codeIn = async (where) => {
      const line = await where.shows(/outsider[^]*\d{6}$/);
      return /\d{6}$/.exec(line)[0];
    };
    await program.says("six digits");
    program.type(await codeIn(session));
    await gateway.tools(session, "where_am_i");
    assert.equal(await session.call("where_am_i"), "outside");
    detour.cut();
    const twice = () => program.output.split("bound to session").length === 3;
    await waitFor(twice, { what: () => program.output });
    assert.equal(session.timeline.filter((line) => /\d{6}/.test(line)).length, 1);

    await gateway.host.stop("SIGKILL");
    await gateway.startHost();
    const next = await Session.register(gateway, "next");
    await program.says(/AUTH_FAILED[^]*six digits/);
    program.type(await codeIn(next));
    await gateway.tools(next, "where_am_i");
  }),
);

example("gate", "lets a push pass while CI is green, and says why else", async (place) => {
  const ci = path.join(place.gateway.home, "ci");
  const { session, program } = await begin(place, { CI_FILE: ci });
  await waitFor(() => session.hooks?.wanted, { what: "hooks" });
  const shell = (command) => session.check("bash", { command });
  assert.match((await shell("git push")).deny, /^tap provider "ci-gate": .*cannot be read/);
  writeFileSync(ci, "red\n");
  assert.match((await shell("git push")).deny, /CI is red/);
  writeFileSync(ci, "running\n");
  assert.match((await shell("git push")).context, /CI is running/);
  writeFileSync(ci, "green\n");
  assert.deepEqual(await shell("git push"), {});
  await program.says(/shell \{"command": ?"git push"\}: allow/);

  const asked = program.output;
  assert.deepEqual(await shell("git push --dry-run"), {});
  assert.match((await shell("git push --force")).deny, /Force-pushes are not allowed/);
  assert.match((await session.check("edit", { path: "db/001.sql" })).context, /migration/);
  assert.deepEqual(await session.check("edit", { path: "db/001.md" }), {});
  assert.equal(program.output, asked, "none of these was a question for the program");

  await program.stop("SIGKILL");
  await waitFor(() => session.timeline.some((line) => /rules stay in force/.test(line)));
  assert.match((await shell("git push")).deny, /its connection was lost/);
});

example("context", "speaks with prompts, and changes the system message", async (place) => {
  const { session } = await begin(place);
  await waitFor(() => session.hooks?.sections.length === 2, { what: "edits of sections" });
  const edit = (name) => session.hooks.sections.find(({ section }) => section === name);
  assert.match(edit("custom_instructions").append, /^This repository uses pnpm/);
  assert.ok(edit("code_change_rules").callback);
  const first = await session.prompt();
  assert.match(first, /The deployment helper is there\.[^]*Deployments go to staging now\./);
  assert.equal(await session.build("code_change_rules", "Old."), "Old.\nBe quick and bold.");

  const chosen = await session.call("choose_environment", { name: "production" });
  assert.equal(chosen, "Deployments go to production now.");
  const second = await session.prompt();
  assert.match(second, /to production now\.$/);
  assert.doesNotMatch(second, /helper/, "once");
  assert.match(
    await session.build("code_change_rules", "Old."),
    /^Old\.\nEvery change needs a test/,
  );
});

example("file-result", "answers with a file, one call after the other", async (place) => {
  const { session } = await begin(place, { WORK_MS: "300" });
  await place.gateway.tools(session, "export_table");
  const rows = 400_000; // more than a message may hold
  const [table, numbers] = [await session.call("export_table", { rows }), rows - 1];
  assert.ok(table.startsWith("number,square\n0,0\n1,1\n2,4\n"), table.slice(0, 200));
  assert.ok(table.endsWith(`\n${numbers},${numbers ** 2}\n`), table.slice(-200));

  const ended = [];
  const begun = performance.now();
  const small = async (name) => {
    await session.call("export_table", { rows: 1 });
    ended.push({ name, ms: performance.now() - begun });
  };
  await Promise.all(["one", "two", "three"].map(small));
  assert.deepEqual(
    ended.map(({ name }) => name),
    ["one", "two", "three"],
  );
  // Timers may fire a little early.
  ended.forEach(({ ms }, at) => assert.ok(ms > (at + 1) * 290, JSON.stringify(ended)));

  const stopped = session.start("export_table", { rows: 1 });
  const next = session.call("export_table", { rows: 1 });
  session.cancel(stopped.id);
  assert.equal((await stopped.result).code, "CANCELLED");
  assert.equal(await next, "number,square\n0,0\n");
});

describe("examples/project", () => {
  const folder = path.join(REPO_ROOT, "examples", "project");
  /** @type {Gateway} */
  let gateway;
  before(async () => (gateway = await Gateway.create()));
  after(() => gateway?.dispose());

  test("its provider runs once it is allowed, and ends when that is taken back", async () => {
    const session = await Session.register(gateway, "session", folder);
    await session.shows(/glossary: node tools\/glossary\.mjs/);
    const tap = (...args) =>
      gateway.start(process.execPath, [path.join(REPO_ROOT, "js", "cli", "cli.mjs"), ...args]);
    assert.equal(await tap("allow", folder, "--yes").exited, 0, gateway.report());
    await gateway.tools(session, "glossary");
    assert.match(await session.call("glossary", { word: "order" }), /^A basket that is paid for/);
    assert.equal((await session.call("glossary", { word: "cart" })).code, "NOT_FOUND");

    assert.equal(await tap("revoke", folder).exited, 0, gateway.report());
    await gateway.tools(session);
    const log = path.join(gateway.home, "logs", "tap", "providers", "glossary.log");
    assert.match(readFileSync(log, "utf8"), /serving session$/m);
  });
});

describe("examples/sdk/hello", () => {
  for (const [ending, { command, env }] of Object.entries(languages)) {
    test(`${ending}: serves its tool, is the same after its connection was cut, and comes back to a new gateway`, async (t) => {
      const gateway = await Gateway.create();
      t.after(() => gateway.dispose());
      const detour = await gateway.detour();
      t.after(() => detour.close());
      const program = gateway.start(command, [path.join(EXAMPLES, "sdk", `hello.${ending}`)], {
        ...env,
        PYTHONUNBUFFERED: "1",
        TAP_GATEWAY_PORT: String(detour.port),
      });
      await program.says(/waiting for a session/);
      const session = await Session.register(gateway, "first");
      await gateway.tools(session, "greet");
      assert.equal(await session.call("greet", { name: "Ada" }), "Hello, Ada!");
      assert.equal((await session.call("greet", {})).code, "INVALID_ARGUMENTS");

      const bound = () => program.output.split("bound to first").length - 1;
      assert.equal(bound(), 1, program.output);
      detour.cut();
      await waitFor(() => bound() === 2, { what: () => program.output });
      assert.equal(await session.call("greet", { name: "Eve" }), "Hello, Eve!");
      assert.deepEqual(session.timeline, ["tap: hello is here: greet"]);

      await gateway.host.stop("SIGKILL");
      await gateway.startHost();
      const second = await Session.register(gateway, "second");
      await gateway.tools(second, "greet");
      assert.equal(await second.call("greet", { name: "Alan" }), "Hello, Alan!");
    });
  }
});

test("every example is run by a test", () => {
  const here = path.join(REPO_ROOT, "test", "js", "docs");
  const tests = readdirSync(here)
    .filter((file) => file.startsWith("examples."))
    .map((file) => readFileSync(path.join(here, file), "utf8"))
    .join("");
  const files = ["", "sdk"].flatMap((folder) => readdirSync(path.join(EXAMPLES, folder)));
  const untested = files.filter(
    (file) =>
      file !== "sdk" &&
      file !== "recipes" && // with tests of their own
      !tests.includes(`"${file}"`) &&
      !tests.includes(`example("${path.parse(file).name}"`),
  );
  assert.deepEqual(untested, []);
});
