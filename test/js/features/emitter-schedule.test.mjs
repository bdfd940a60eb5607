// When emitters run, on a clock that only exists here.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cronProblem, nextCronTime } from "../../../js/config/emitter-values.mjs";
import { readEmitter } from "../../../js/config/emitter-spec.mjs";
import { nextRuns, Schedule } from "../../../js/features/emitters/schedule.mjs";

/** @typedef {import("../../../js/features/emitters/schedule.mjs").Decision} Decision */

const T0 = Date.UTC(2026, 5, 1, 12);
const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];

/** @param {object} given */
function specOf(given) {
  const read = readEmitter({ name: "e", ...given }, { origin: "tool", hand: "user" });
  assert.ok(read.ok, JSON.stringify(read));
  return read.spec;
}

/** @param {Decision[]} decisions in short: start first, skip overlap */
const words = (decisions) =>
  decisions.map((one) => [one.do, ...("why" in one ? [one.why] : [])].join(" "));

/** @param {object} given @param {number} [now] */
const scheduleOf = (given, now = T0) => new Schedule(specOf(given), now);

describe("every", () => {
  test("the first run begins at once, the next in step, whatever the runs take", () => {
    const schedule = scheduleOf({ command: "make", every: "10s" });
    assert.equal(schedule.wakeAt, T0);
    assert.deepEqual(schedule.tick(T0), [{ do: "start", run: 1, why: "first" }]);
    assert.deepEqual(schedule.endRun(T0 + 7000, true), []);
    assert.equal(schedule.wakeAt, T0 + 10_000);
    assert.deepEqual(schedule.tick(T0 + 9999), []);
    assert.deepEqual(words(schedule.tick(T0 + 10_004)), ["start due"]);
    assert.equal(schedule.due, T0 + 20_000);
  });

  test("a run that is due during another is skipped, queued, or ends it", () => {
    const run = (/** @type {string} */ overlap) => {
      const schedule = scheduleOf({ command: "make", every: "10s", overlap });
      const found = [schedule.tick(T0), schedule.tick(T0 + 10_000), schedule.tick(T0 + 20_000)];
      return [...found, schedule.endRun(T0 + 25_000, true), schedule.tick(T0 + 30_000)].flatMap(
        words,
      );
    };
    assert.deepEqual(run("skip"), ["start first", "skip overlap", "skip overlap", "start due"]);
    assert.deepEqual(run("queue"), ["start first", "queue", "skip overlap", "start due", "queue"]);
    assert.deepEqual(run("kill"), ["start first", "kill", "skip overlap", "start due", "kill"]);
  });

  test("what was missed in a sleep is not caught up, and runs once if asked", () => {
    for (const [missed, first] of [
      ["skip", "skip missed"],
      ["once", "start missed"],
    ]) {
      const schedule = scheduleOf({ command: "make", every: "5m", missed });
      schedule.tick(T0);
      schedule.endRun(T0 + 1, true);
      const later = T0 + 8 * HOUR + 2 * MINUTE;
      assert.deepEqual(words(schedule.tick(later)), [first]);
      schedule.endRun(later + 1, true);
      assert.deepEqual(schedule.tick(later + 1), []);
      assert.equal(schedule.due, T0 + 8 * HOUR + 5 * MINUTE);
    }
  });

  test("a run that is a little late is no missed one", () => {
    const schedule = scheduleOf({ command: "make", every: "1s" });
    schedule.tick(T0);
    schedule.endRun(T0 + 1, true);
    assert.deepEqual(words(schedule.tick(T0 + 30_500)), ["start due"]);
    schedule.endRun(T0 + 30_501, true);
    assert.equal(schedule.due, T0 + 31_000);
  });

  test("a clock that is set back delays a run by no more than its interval", () => {
    const schedule = scheduleOf({ command: "make", every: "5m" });
    schedule.tick(T0);
    schedule.endRun(T0 + 1000, true);
    const back = T0 - DAY;
    assert.deepEqual(schedule.tick(back), []);
    assert.ok(Number(schedule.due) <= back + 5 * MINUTE);
    assert.deepEqual(words(schedule.tick(Number(schedule.due))), ["start due"]);
  });

  test("after maxRuns there is none", () => {
    const schedule = scheduleOf({ command: "make", every: "10s", maxRuns: 2, overlap: "kill" });
    schedule.tick(T0);
    schedule.endRun(T0 + 1, true);
    assert.deepEqual(schedule.nextRuns(5), [T0 + 10_000]);
    schedule.tick(T0 + 10_000);
    assert.deepEqual(schedule.tick(T0 + 20_000), [], "the last one is not ended");
    assert.deepEqual(words(schedule.endRun(T0 + 21_000, true)), ["done maxRuns"]);
    assert.deepEqual(
      [schedule.isDone, schedule.wakeAt, schedule.nextRuns(5)],
      [true, undefined, []],
    );
    assert.deepEqual(schedule.tick(T0 + DAY), []);
  });
});

describe("cron", () => {
  test("runs at its times only, in its zone, over a change of the clocks", () => {
    const given = { command: "make", cron: "30 2 * * *", timezone: "Europe/Berlin" };
    const march = Date.UTC(2026, 2, 27, 12);
    const times = nextRuns(specOf(given), march, 3).map((at) => new Date(at).toISOString());
    // There is no 02:30 on 29 March: it runs when the clock shows 03:00.
    assert.deepEqual(times, [
      "2026-03-28T01:30:00.000Z",
      "2026-03-29T01:00:00.000Z",
      "2026-03-30T00:30:00.000Z",
    ]);
    const october = nextRuns(specOf(given), Date.UTC(2026, 9, 24, 12), 2);
    assert.deepEqual(
      october.map((at) => new Date(at).toISOString()),
      ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"],
      "02:30 comes twice, and it runs once",
    );
    const schedule = scheduleOf(given, march);
    assert.deepEqual(schedule.tick(march), []);
    assert.equal(schedule.due, Date.UTC(2026, 2, 28, 1, 30));
    assert.ok(Number(schedule.wakeAt) <= march + 30_000, "a sleep is noticed");
  });

  test("follows the computer into another time zone, and misses no run on the way", (t) => {
    const before = process.env.TZ;
    t.after(() => {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    });
    process.env.TZ = "Etc/UTC";
    const start = Date.UTC(2026, 5, 1, 6);
    const schedule = scheduleOf({ command: "x", cron: "0 9 * * *" }, start);
    assert.equal(schedule.due, Date.UTC(2026, 5, 1, 9));
    process.env.TZ = "America/New_York"; // UTC-4 in June
    assert.deepEqual(schedule.tick(start + 30_000), []);
    assert.equal(schedule.due, Date.UTC(2026, 5, 1, 13));
    process.env.TZ = "Etc/UTC"; // by when the run is due
    const [run] = schedule.tick(Date.UTC(2026, 5, 1, 13));
    assert.equal(run.do, "start");
    assert.equal(schedule.due, Date.UTC(2026, 5, 2, 9));
  });

  test("a time in a sleep is missed", () => {
    const given = { command: "make", cron: "0 9 * * *", timezone: "UTC" };
    const schedule = scheduleOf(given);
    const nine = Date.UTC(2026, 5, 2, 9);
    assert.deepEqual(words(schedule.tick(nine + 2 * HOUR)), ["skip missed"]);
    assert.equal(schedule.due, nine + DAY);
    const once = scheduleOf({ ...given, missed: "once" });
    assert.deepEqual(words(once.tick(nine + 2 * HOUR)), ["start missed"]);
  });

  test("a small step back of the clock does not make a minute come twice", () => {
    const schedule = scheduleOf({ command: "make", cron: "0 9 * * *", timezone: "UTC" });
    const nine = Date.UTC(2026, 5, 2, 9);
    assert.deepEqual(words(schedule.tick(nine)), ["start due"]);
    schedule.endRun(nine + 1, true);
    assert.deepEqual(schedule.tick(nine - 100), []);
    assert.equal(schedule.due, nine + DAY);
  });

  test("a pattern that is wrong or never due is refused when it is read", () => {
    // A search without an end would never come back.
    for (const [cron, why] of /** @type {[string, RegExp][]} */ ([
      ["0 0 30 2 *", /never due/],
      ["0 0 31 4,6,9,11 *", /never due/],
      ["60 * * * *", /minute/],
      ["* * * * 9", /dayOfWeek/],
      ["*/0 * * * *", /stepping/],
      ["x x x x x", /./],
    ])) {
      const read = readEmitter({ name: "e", command: "make", cron }, { origin: "tool" });
      assert.ok(!read.ok && read.problems[0].field === "cron", cron);
      assert.match(read.problems[0].text, why);
    }
    assert.equal(cronProblem("0 0 29 2 *", "UTC"), "");
    assert.equal(nextCronTime("0 0 29 2 *", "UTC", Date.UTC(2097, 0, 1)), Date.UTC(2104, 1, 29));
  });
});

describe("prompts", () => {
  test("the first run waits for a busy session, a later one for the next interval", () => {
    const schedule = scheduleOf({ prompt: "look", every: "5m" });
    assert.deepEqual(schedule.tick(T0), []);
    assert.equal(schedule.wakeAt, undefined);
    assert.deepEqual(words(schedule.setActivity(T0 + 10 * MINUTE, "idle")), ["start first"]);
    schedule.setActivity(T0 + 10 * MINUTE, "busy");
    schedule.setActivity(T0 + 11 * MINUTE, "idle");
    schedule.endRun(T0 + 11 * MINUTE, true);
    schedule.setActivity(T0 + 12 * MINUTE, "busy");
    assert.deepEqual(words(schedule.tick(Number(schedule.due))), ["skip busy"]);
    assert.deepEqual(schedule.setActivity(Number(schedule.due) - MINUTE, "idle"), []);
    assert.deepEqual(words(schedule.tick(Number(schedule.due))), ["start due"]);
  });

  test("a prompt without a time runs once, when the session is idle", () => {
    const schedule = scheduleOf({ prompt: "look" });
    assert.deepEqual(schedule.tick(T0), []);
    assert.deepEqual(words(schedule.setActivity(T0 + HOUR, "idle")), ["start first"]);
    assert.deepEqual(words(schedule.endRun(T0 + HOUR + 1, true)), ["done maxRuns"]);
  });

  test("an idle prompt runs when the session has had nothing to do for a while", () => {
    const schedule = scheduleOf({ prompt: "look", every: "idle", maxRuns: 2 });
    assert.deepEqual([schedule.tick(T0), schedule.wakeAt], [[], undefined]);
    schedule.setActivity(T0, "idle");
    schedule.setActivity(T0 + SECOND, "busy");
    assert.deepEqual(schedule.tick(T0 + 3 * SECOND), []);
    schedule.setActivity(T0 + 4 * SECOND, "idle");
    assert.deepEqual(words(schedule.tick(T0 + 6 * SECOND)), ["start idle"]);
    schedule.setActivity(T0 + 6 * SECOND, "busy");
    schedule.setActivity(T0 + 7 * SECOND, "idle");
    schedule.endRun(T0 + 7 * SECOND, true);
    assert.equal(schedule.due, T0 + 16 * SECOND, "ten seconds from start to start");
    assert.deepEqual(words(schedule.tick(T0 + 16 * SECOND)), ["start idle"]);
    assert.deepEqual(words(schedule.endRun(T0 + 17 * SECOND, true)), ["done maxRuns"]);
  });
});

describe("a prompt that the session does not take", () => {
  test("is no run, and comes again at its next time", () => {
    const schedule = scheduleOf({ prompt: "look", every: "10s", maxRuns: 1 });
    schedule.setActivity(T0, "idle");
    assert.equal(schedule.runs, 1);
    assert.deepEqual(schedule.rejectRun(T0 + 10), []);
    assert.equal(schedule.runs, 0);
    assert.deepEqual(schedule.tick(T0 + 10_000), [{ do: "start", run: 1, why: "due" }]);
    assert.deepEqual(words(schedule.endRun(T0 + 10_500, true)), ["done maxRuns"]);
  });

  test("is tried again while it is the only one, less and less often", () => {
    const schedule = scheduleOf({ prompt: "look" });
    assert.deepEqual(words(schedule.setActivity(T0, "idle")), ["start first"]);
    schedule.rejectRun(T0);
    assert.deepEqual(words(schedule.tick(T0 + 500)), ["start first"]);
    schedule.rejectRun(T0 + 500);
    assert.deepEqual(schedule.tick(T0 + 1400), []);
    assert.deepEqual(words(schedule.tick(T0 + 1500)), ["start first"]);
    assert.deepEqual(words(schedule.endRun(T0 + 2000, true)), ["done maxRuns"]);
  });

  test("waits until the session is idle again, and has ended where it was stopped", () => {
    const schedule = scheduleOf({ prompt: "look", every: "idle" });
    schedule.setActivity(T0, "idle");
    assert.deepEqual(words(schedule.tick(T0 + 2000)), ["start idle"]);
    schedule.rejectRun(T0 + 2000);
    assert.deepEqual(words(schedule.tick(T0 + 12_000)), ["start idle"]);
    schedule.stop();
    assert.deepEqual(schedule.rejectRun(T0 + 12_000), []);
    assert.equal(schedule.wakeAt, undefined);
  });
});

describe("commands without a time", () => {
  test("a continuous command is restarted by its policy, with longer and longer waits", () => {
    const schedule = scheduleOf({ command: "serve", restart: "on-failure" });
    let now = T0;
    const waits = [];
    for (let i = 0; i < 9; i += 1) {
      assert.equal(words(schedule.tick(now))[0].slice(0, 5), "start");
      schedule.endRun(now + 10, false);
      waits.push(Number(schedule.due) - now - 10);
      now = Number(schedule.due);
    }
    assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    schedule.tick(now);
    schedule.endRun(now + MINUTE, false);
    assert.equal(Number(schedule.due) - now - MINUTE, 500, "a good run resets the wait");
    now = Number(schedule.due);
    schedule.tick(now);
    assert.deepEqual(words(schedule.endRun(now + 1, true)), ["done ended"]);
  });

  test("a thousand runs that end at once take hours", () => {
    const schedule = scheduleOf({ command: "serve", restart: "always" });
    let now = T0;
    for (let i = 0; i < 1000; i += 1) {
      assert.equal(words(schedule.tick(now))[0].slice(0, 5), "start");
      schedule.endRun(now, false);
      now = Number(schedule.due);
    }
    assert.ok(now - T0 > 8 * HOUR && now - T0 < 9 * HOUR, `${(now - T0) / HOUR} hours`);
  });

  test("without restart the end is the end, with always there is none", () => {
    const never = scheduleOf({ command: "serve" });
    never.tick(T0);
    assert.deepEqual(words(never.endRun(T0 + 1, false)), ["done ended"]);
    const always = scheduleOf({ command: "serve", restart: "always" });
    always.tick(T0);
    assert.deepEqual(always.endRun(T0 + 1, true), []);
    assert.equal(always.due, T0 + 501);
    assert.deepEqual(words(always.stop()), ["done stopped"]);
    assert.deepEqual(always.tick(T0 + HOUR), []);
  });

  test("one run is one", () => {
    const schedule = scheduleOf({ command: "make", maxRuns: 1 });
    assert.deepEqual(words(schedule.tick(T0)), ["start first"]);
    assert.deepEqual(words(schedule.endRun(T0 + 1, false)), ["done maxRuns"]);
  });

  test("changes that come together are one, and a stream of them does not delay the run", () => {
    const schedule = scheduleOf({ command: "make", onChange: ["src/**"] });
    schedule.tick(T0);
    schedule.endRun(T0 + 1, true);
    assert.equal(schedule.wakeAt, undefined);
    assert.deepEqual(schedule.recordChange(T0 + 1000), []);
    schedule.recordChange(T0 + 1100);
    assert.equal(schedule.due, T0 + 1400);
    assert.deepEqual(words(schedule.tick(T0 + 1400)), ["start changed"]);
    schedule.endRun(T0 + 1500, true);
    let began = 0;
    for (let at = T0 + 2000; began === 0 && at < T0 + MINUTE; at += 100) {
      if (schedule.recordChange(at).length > 0) began = at;
    }
    assert.ok(began > 0 && began <= T0 + 2000 + 5000);
  });

  test("what writes the files that it watches runs ever more seldom, until somebody else changes one", () => {
    const schedule = scheduleOf({ command: "make", onChange: ["src/**"] });
    schedule.tick(T0);
    let now = T0;
    const waits = [];
    for (let run = 0; run < 20; run += 1) {
      schedule.recordChange(now + 50);
      schedule.endRun(now + 100, true);
      schedule.recordChange(now + 150);
      const due = Number(schedule.due);
      waits.push(due - now - 150);
      now = due;
      assert.deepEqual(words(schedule.tick(now)), ["start changed"]);
    }
    assert.deepEqual(waits.slice(0, 6), [300, 300, 300, 300, 300, 300]);
    assert.deepEqual(waits.slice(6, 9), [600, 1200, 2400]);
    assert.equal(waits.at(-1), MINUTE - 100, "of the first change");
    schedule.endRun(now + 100, true);
    schedule.recordChange(now + 5000);
    assert.equal(schedule.due, now + 5300);
  });
});

test("a schedule goes on in another process", () => {
  const spec = specOf({ command: "make", every: "5m", maxRuns: 3 });
  const first = new Schedule(spec, T0);
  first.tick(T0);
  const second = new Schedule(spec, T0 + MINUTE, first.state);
  assert.deepEqual(second.tick(T0 + MINUTE), []);
  assert.deepEqual(second.nextRuns(5), [T0 + 5 * MINUTE, T0 + 10 * MINUTE]);
  const once = specOf({ command: "make", maxRuns: 1 });
  const begun = new Schedule(once, T0);
  begun.tick(T0);
  assert.deepEqual(words(new Schedule(once, T0 + 1, begun.state).tick(T0 + 1)), ["done maxRuns"]);
  const serve = specOf({ command: "serve" });
  const serving = new Schedule(serve, T0);
  serving.tick(T0);
  assert.deepEqual(words(new Schedule(serve, T0 + 1, serving.state).tick(T0 + 1)), [
    "start restart",
  ]);
});

// ---- any order of events, and a clock that jumps ----------------------------------------------------

/** @param {number} seed */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

const KINDS = [
  { command: "make", every: "10s", overlap: "skip" },
  { command: "make", every: "1s", overlap: "queue", missed: "once" },
  { command: "make", every: "1m", overlap: "kill", maxRuns: 20 },
  { command: "make", cron: "*/5 * * * *", timezone: "America/New_York", missed: "once" },
  { command: "make", cron: "30 2 * * *", timezone: "Europe/Berlin", overlap: "queue" },
  { command: "serve", restart: "always", maxRuns: 50 },
  { command: "serve", restart: "on-failure" },
  { command: "make", onChange: ["**"], overlap: "queue" },
  { prompt: "look", every: "10s" },
  { prompt: "look", every: "idle" },
  { prompt: "look" },
  { url: "https://x.test/", every: "30s" },
];

/** One emitter, its session and its clock: holds what must never happen. */
class World {
  #random;
  #given;
  #spec;
  #schedule;
  #now;
  #running = false;
  #busy = true;
  #atOnce = 0;
  runs = 0;

  /** @param {object} given @param {() => number} random */
  constructor(given, random) {
    this.#given = JSON.stringify(given);
    this.#random = random;
    this.#spec = specOf(given);
    this.#schedule = new Schedule(this.#spec, T0);
    this.#now = T0 + this.#pick(DAY);
  }

  /** @param {number} most */
  #pick(most) {
    return Math.floor(this.#random() * most);
  }

  /** @param {Decision[]} decisions */
  #take(decisions) {
    for (const one of decisions) {
      if (one.do !== "start") continue;
      const text = `${this.#given} ${JSON.stringify(one)}`;
      assert.ok(!this.#running, `two at once: ${text}`);
      assert.ok(this.#spec.kind !== "prompt" || !this.#busy, `a busy session: ${text}`);
      assert.equal(one.run, this.runs + 1, text);
      this.#running = true;
      this.runs += 1;
      this.#atOnce += 1;
      assert.ok(this.runs <= (this.#spec.maxRuns ?? Infinity), `too many: ${text}`);
      // At one moment: the run that is due, and one that waited for its end.
      assert.ok(this.#atOnce <= 2, `a burst: ${text}`);
    }
  }

  /** @param {number} by ms */
  #pass(by) {
    this.#now += by;
    if (by !== 0) this.#atOnce = 0;
  }

  #wait() {
    const wakeAt = this.#schedule.wakeAt ?? this.#now + SECOND;
    this.#pass(Math.max(0, Math.min(wakeAt - this.#now, HOUR)) + this.#pick(50));
  }

  #end() {
    if (!this.#running) return;
    this.#running = false;
    this.#take(this.#schedule.endRun(this.#now, this.#random() < 0.5));
  }

  #session() {
    this.#busy = this.#random() < 0.5;
    this.#take(this.#schedule.setActivity(this.#now, this.#busy ? "busy" : "idle"));
  }

  #crash() {
    if (this.#running || this.#random() > 0.1) return;
    this.#schedule = new Schedule(this.#spec, this.#now, this.#schedule.state);
    this.#take(this.#schedule.setActivity(this.#now, this.#busy ? "busy" : "idle"));
  }

  step() {
    const steps = [
      ...Array(8).fill(() => this.#wait()),
      ...Array(3).fill(() => this.#pass(this.#pick(20 * SECOND))),
      () => this.#pass(this.#pick(3 * DAY)),
      () => this.#pass(-this.#pick(2 * DAY)),
      () => this.#take(this.#schedule.recordChange(this.#now)),
      () => this.#session(),
      () => this.#crash(),
      ...Array(4).fill(() => this.#end()),
    ];
    steps[this.#pick(steps.length)]();
    this.#take(this.#schedule.tick(this.#now));
    this.#check();
  }

  #check() {
    const { wakeAt, due } = this.#schedule;
    assert.ok(wakeAt === undefined || due !== undefined);
    if (wakeAt !== undefined && this.#spec.every !== undefined) {
      assert.ok(Number(due) - this.#now <= this.#spec.every, `silent: ${this.#given}`);
    }
    if (this.#random() < 0.9) return;
    const next = this.#schedule.nextRuns(5);
    assert.ok(next.every((at, k) => k === 0 || at > next[k - 1]));
  }
}

test("whatever happens: one run at a time, no burst, never more than maxRuns", () => {
  const random = randomOf(11);
  let runs = 0;
  for (let round = 0; round < 10 * KINDS.length; round += 1) {
    const world = new World(KINDS[round % KINDS.length], random);
    for (let i = 0; i < 300; i += 1) world.step();
    runs += world.runs;
  }
  assert.ok(runs > 500, `${runs} runs`);
});
