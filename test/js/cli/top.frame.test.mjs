// copilot-tap top: its screen as lines of one size, and what keys do.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import stringWidth from "string-width";
import { PLACES } from "../../../js/views/top/panels.mjs";
import { gatewayOf, NOW, providerOf, record, seenOf, sessionOf, User } from "./top-rig.mjs";

const manyCalls = (count) =>
  Array.from({ length: count }, (_, sequence) => ({
    ...{
      sequence,
      at: NOW,
      ms: 1,
      session: "0d6f7c1e-6a3b",
      provider: "ci",
      tool: `tool-${sequence}`,
    },
    ...{ by: "model", args: {}, whole: true, label: "shop" },
  }));

describe("the screen of copilot-tap top", () => {
  test("says what runs, where one is, and the keys", () => {
    const { lines } = new User(seenOf());
    assert.equal(lines.length, 23);
    assert.match(
      lines[0],
      /^tap 0\.1\.0 {2}port 9400 {2}up 1 min {2}1 session, 1 provider, 0 calls running/,
    );
    assert.match(lines[1], /^\[overview\] sessions {2}providers /);
    assert.match(lines[22], /^q quit {2}tab panel .* \? help +09:00:00$/);
  });

  test("before the first look, and without a gateway, says so", () => {
    assert.match(new User(undefined).text, /^tap looks for a gateway\n/);
    const trouble = { message: "no gateway runs", advice: "one starts with the next session" };
    const { text } = new User(seenOf({ gateway: undefined, trouble }));
    assert.match(text, /^no gateway runs: one starts with the next session\n/);
    assert.match(text, /It retries every second\./);
    const later = new User(seenOf({ trouble })).text;
    assert.match(later, /^no gateway runs: /);
    assert.match(later, /shop \(main\)/, "what was last seen stays");
  });

  test("has the lines and columns of its terminal in every place, whatever others have named", () => {
    const hostile = "\u001b[2J\u009b31m\u202e漢字かな👩‍👩‍👧‍👦e\u0301\n\t".repeat(40);
    const event = { stream: hostile, event: hostile, outcome: hostile, level: "inject" };
    const seen = seenOf({
      gateway: gatewayOf({
        sessions: [sessionOf({ label: hostile, syncFailure: hostile })],
        providers: [providerOf({ name: hostile, origin: hostile })],
        failures: [{ at: NOW, provider: hostile, tool: hostile, code: hostile, message: hostile }],
      }),
      calls: [
        { ...manyCalls(1)[0], tool: hostile, args: { hostile }, code: hostile, message: hostile },
      ],
      records: {
        push: [record("push", event), record("push", { ...event, outcome: "injected" })],
        goal: [record("goal", { goal: hostile, event: "set", statement: hostile })],
        emitter_run: [record("emitter_run", { emitter: hostile, outcome: hostile })],
      },
    });
    for (const size of [
      { columns: 80, rows: 23 },
      { columns: 120, rows: 39 },
      { columns: 31, rows: 9 },
    ]) {
      for (const place of PLACES) {
        const user = new User(seen, size).goTo(place);
        for (const look of [user.frame, user.press("enter").frame, user.press("?").frame]) {
          assert.equal(look.lines.length, size.rows);
        }
        for (const each of [user.press("q"), user]) {
          for (const line of each.lines) {
            assert.ok(stringWidth(line) <= size.columns, `${place}: ${line}`);
            // eslint-disable-next-line no-control-regex
            assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f\u202e]/);
          }
        }
      }
    }
  });

  test("in a terminal that is too small says how large it must be", () => {
    const { lines } = new User(seenOf(), { columns: 20, rows: 3 });
    assert.equal(lines.length, 3);
    assert.match(lines[0], /^The terminal is too/);
  });

  test("the overview gives each panel a row before it gives any more", () => {
    const seen = seenOf({ calls: manyCalls(50) });
    const { text, lines } = new User(seen);
    assert.match(text, /^> Sessions /m);
    assert.match(text, /^ {2}Providers /m);
    assert.match(text, /^ {2}Calls \(\d+ of 50\)/m);
    assert.doesNotMatch(text, /Goals|Emitters/);
    assert.equal(lines.length, 23);
    const more = new User(seen, { columns: 120, rows: 39 }).text;
    assert.ok(more.split("tool-").length > text.split("tool-").length);
  });
});

describe("keys in copilot-tap top", () => {
  test("tab and arrows go from place to place, around", () => {
    const user = new User(seenOf());
    const places = PLACES.map(() => user.press("tab").state.place);
    assert.deepEqual(places, [...PLACES.slice(1), PLACES[0]]);
    assert.equal(user.press("left").state.place, PLACES.at(-1));
    assert.equal(user.press("right").state.place, PLACES[0]);
    const back = { name: "tab", shift: true, sequence: "\u001b[Z" };
    assert.equal(new User(seenOf()).pressKey(back).state.place, PLACES.at(-1));
  });

  test("the marked row stays the same one while others come", () => {
    const user = new User(seenOf({ calls: manyCalls(5) })).goTo("calls");
    assert.match(user.text, /^> .* tool-4 /m);
    user.press("down");
    assert.match(user.text, /^> .* tool-3 /m);
    user.seen = seenOf({ calls: manyCalls(40) });
    assert.match(user.text, /^> .* tool-3 /m);
    assert.match(user.text, /37\/40 09:00:00$/);
    assert.match(user.press("home").text, /^> .* tool-39 /m);
    assert.match(user.press("end").text, /^> .* tool-0 /m);
    assert.match(user.press("pageup").text, /^> .* tool-\d\d /m);
    assert.match(user.press("pagedown", "up").text, /^> .* tool-1 /m);
  });

  test("enter opens the details of a row, and esc closes them", () => {
    const user = new User(seenOf({ calls: manyCalls(5) })).goTo("calls").press("down", "enter");
    assert.match(user.text, /^tool +tool-3$/m);
    assert.match(user.text, /^arguments +\{\}$/m);
    user.seen = seenOf();
    assert.match(user.text, /The row no longer exists: press esc/);
    assert.equal(user.press("escape").state.open, false);
    assert.equal(user.press("escape").state.place, PLACES[0]);
    assert.equal(user.press("enter").state.place, "sessions", "in the overview: the panel");
  });

  test("long details can be read to their end, and no further", () => {
    const args = { text: "word ".repeat(1000) };
    const calls = [{ ...manyCalls(1)[0], args }];
    const user = new User(seenOf({ calls })).goTo("calls").press("enter", "end");
    const { line } = user.state;
    assert.ok(line > 20);
    assert.match(user.text, /^outcome +ok$/m);
    assert.equal(user.press("down").state.line, line);
    assert.equal(user.press("up").state.line, line - 1);
    assert.equal(user.press("home").state.line, 0);
  });

  test("/ filters the rows of every place", () => {
    const user = new User(seenOf({ calls: manyCalls(40) }))
      .goTo("calls")
      .press("/", ..."TOOL-2", "9");
    assert.match(user.text, /\/TOOL-29_ {2}enter keeps/);
    assert.deepEqual(user.frame.keys, ["call 29"]);
    user.press("backspace");
    assert.equal(user.frame.keys.length, 11);
    user.press("return");
    assert.match(user.text, /\/TOOL-2 1\/11 09:00:00$/);
    assert.match(user.press("tab").text, /No span|"TOOL-2"/);
    user.press("escape");
    assert.equal(user.state.filter, "");
    user.press("/", "x", "escape");
    assert.deepEqual([user.state.filter, user.state.typing], ["", false]);
    user.press("/", ..."y".repeat(200));
    assert.equal(user.state.filter.length, 60);
    user.press("\u001b");
    assert.equal(user.state.filter.length, 60, "a control character is no text");
  });

  test("p pauses, ? helps, q and Ctrl-C quit", () => {
    const user = new User(seenOf());
    assert.match(user.press("p").text, /paused 09:00:00$/);
    assert.equal(user.press("p").state.paused, false);
    assert.match(user.press("?").text, /p +pauses: the screen stays as it is/);
    assert.equal(user.press("q").state.help, false);
    assert.equal(user.state.quit, false, "any key closes the help");
    assert.equal(user.press("q").state.quit, true);
    const ctrlC = { name: "c", ctrl: true, sequence: "\u0003" };
    assert.equal(new User(seenOf()).press("/").pressKey(ctrlC).state.quit, true);
    const before = new User(seenOf());
    assert.equal(before.press("z").state, new User(seenOf()).state, "other keys do nothing");
  });
});
