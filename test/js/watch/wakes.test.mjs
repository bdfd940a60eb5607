// When a watcher wakes the model: each transition in each situation, and hours of work with a simulated clock.

import assert from "node:assert/strict";
import { test } from "node:test";
import { WatchState } from "../../../js/watch/state.mjs";
import { formatReport, formatShown } from "../../../js/watch/text.mjs";
import { Hour, Wakes } from "../../../js/watch/wakes.mjs";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const LIMITS = {
  ...{ hold: 2 * SECOND, gap: 30 * SECOND, maxGap: 10 * MINUTE },
  ...{ perHour: 12, attempts: 3 },
};

/** A watcher and its session on a clock of their own. */
class Simulation {
  now = 0;
  /** @type {"idle" | "busy" | "away"} */
  activity = "idle";
  /** @type {"user" | "model"} */
  cause = "user";
  /** @type {number | undefined} */
  editedAt;
  /** @type {{at: number, way: string, text: string, shown: string, state: string}[]} */
  sent = [];
  state = new WatchState({ folder: "/p", now: 0 });
  wakes;

  constructor(limits = LIMITS, session = new Hour(30)) {
    this.wakes = new Wakes(limits, session);
    this.close("green");
    this.state.markTold();
  }

  turns = () => this.sent.filter(({ way }) => way === "wake");

  decide() {
    const { pending: report, state, changedAt: at } = this.state;
    if (!report) return undefined;
    const startsTurn = state !== "green";
    const change = { at, cause: this.cause, state, startsTurn, editedAt: this.editedAt };
    return { report, change, verdict: this.wakes.decide(change, this.now, this.activity) };
  }

  /** All that is due until then. @param {number} to */
  advance(to) {
    for (;;) {
      const due = this.decide();
      const { verdict } = due ?? {};
      const at = verdict && ("at" in verdict ? verdict.at : verdict.until);
      if (!due || at === undefined || at > to) break;
      this.now = Math.max(this.now, at);
      if (verdict && "at" in verdict) this.#send(due, verdict.way);
    }
    this.now = to;
  }

  /** @param {any} due @param {"wake" | "turn"} way */
  #send({ report, change }, way) {
    const flaps = this.wakes.flaps(this.now);
    const how = { name: "build", command: "tsc", folder: "/p", now: this.now, flaps };
    const [text, shown] = [formatReport(report, how), formatShown(report, how)];
    this.sent.push({ at: this.now, way, text, shown, state: this.state.state });
    this.wakes.send(this.now, way, change);
    this.state.markTold();
    this.cause = "user";
    this.onSent?.(way);
  }

  /** @type {((way: string) => void) | undefined} */
  onSent;

  edit() {
    this.cause = "model";
    this.editedAt = this.now;
  }

  /** @param {string} verdict @param {string} [file] that is wrong */
  close(verdict, file = "a.ts") {
    const failures = verdict === "red" ? [{ file, what: "bad", lines: [], lineNumber: 1 }] : [];
    const before = this.state.state;
    const cycle = /** @type {any} */ ({
      ...{ verdict, failures, closedBy: "line", isGuess: false, from: this.now, to: this.now },
      ...{ run: 1, firstLine: 1, lastLine: 9, leftOut: 0, warnings: 0, isRecognized: true },
      ran: [],
    });
    if (!this.state.close(cycle, verdict === "unknown")) return;
    const { state } = this.state;
    this.wakes.change(this.now, this.cause, state, state !== before && before !== "unknown");
  }
}

/** @type {Record<string, (simulation: Simulation) => void>} */
const TRANSITIONS = {
  "green to red": (one) => one.close("red"),
  "red to other failures": (one) => {
    one.close("red");
    one.state.markTold();
    one.close("red", "b.ts");
  },
  "red to the same": (one) => {
    one.close("red");
    one.state.markTold();
    one.close("red");
  },
  "red to green": (one) => {
    one.close("red");
    one.state.markTold();
    one.close("green");
  },
  "green to no tests": (one) => one.close("none"),
  "green to ended": (one) => one.close("unknown"),
};

/** @type {Record<string, (simulation: Simulation) => void>} */
const SITUATIONS = {
  idle: () => {},
  busy: (one) => (one.activity = "busy"),
  away: (one) => (one.activity = "away"),
  paused: (one) => (one.wakes.attempts = 3),
  "over budget": (one) => {
    for (let index = 0; index < 12; index += 1) {
      one.wakes.send(one.now, "wake", { at: 0, cause: "user", state: "red", startsTurn: true });
    }
  },
  quiet: (one) => one.wakes.quiet(Infinity),
};

const EXPECTED = {
  "green to red": ["wake", "turn", "away", "attempts", "hour", "quiet"],
  "red to other failures": ["wake", "turn", "away", "attempts", "hour", "quiet"],
  "red to the same": Array.from({ length: 6 }, () => "nothing"),
  "red to green": ["carried", "turn", "away", "carried", "carried", "quiet"],
  "green to no tests": ["wake", "turn", "away", "attempts", "hour", "quiet"],
  "green to ended": ["wake", "turn", "away", "attempts", "hour", "quiet"],
};

for (const [transition, outcomes] of Object.entries(EXPECTED)) {
  test(`${transition}, in each situation`, () => {
    const found = Object.values(SITUATIONS).map((prepare) => {
      const simulation = new Simulation();
      prepare(simulation);
      TRANSITIONS[transition](simulation);
      const { verdict } = simulation.decide() ?? {};
      if (!verdict) return "nothing";
      return "way" in verdict ? verdict.way : verdict.obstacle;
    });
    assert.deepEqual(found, outcomes);
  });
}

test("an editor: 30 breaks and repairs by the user are at most 12 turns, and no text is stale", () => {
  const simulation = new Simulation();
  for (let index = 0; index < 30; index += 1) {
    simulation.advance(index * 2 * MINUTE);
    simulation.close("red", `f${index}.ts`);
    simulation.advance(index * 2 * MINUTE + 50 * SECOND);
    simulation.close("green");
  }
  simulation.advance(HOUR);
  const turns = simulation.turns();
  assert.ok(turns.length > 2 && turns.length <= 12, `${turns.length} turns`);
  for (const { at, text } of turns) {
    assert.ok(text.includes(`f${Math.floor(at / (2 * MINUTE))}.ts`), text);
  }
});

test("autosave: 180 breaks of 1.5 s are at most one turn", () => {
  const simulation = new Simulation();
  for (let index = 0; index < 180; index += 1) {
    simulation.advance(index * 20 * SECOND);
    simulation.close("red");
    simulation.advance(index * 20 * SECOND + 1500);
    simulation.close("green");
  }
  simulation.advance(2 * HOUR);
  assert.ok(simulation.turns().length <= 1, JSON.stringify(simulation.turns()));
});

test("a model that cannot repair the build: 90 red builds after edits are 3 turns", () => {
  const simulation = new Simulation();
  simulation.activity = "busy"; // in a turn of the user's
  simulation.edit();
  simulation.close("red");
  simulation.activity = "idle";
  for (let index = 1; index < 90; index += 1) {
    simulation.advance(index * MINUTE);
    simulation.activity = "busy";
    simulation.edit();
    simulation.close("red", `f${index}.ts`);
    simulation.activity = "idle";
  }
  simulation.advance(3 * HOUR);
  assert.equal(simulation.turns().length, 3);
  assert.equal(simulation.wakes.isPaused, true);
  simulation.wakes.reset(); // the user has spoken
  simulation.advance(3 * HOUR + MINUTE);
  assert.equal(simulation.turns().length, 4);
});

test("in one long turn of the model's, its own red builds end after 3 attempts, too", () => {
  const simulation = new Simulation();
  simulation.activity = "busy";
  for (let index = 0; index < 20; index += 1) {
    simulation.advance(index * MINUTE);
    simulation.edit();
    simulation.close("red", `f${index}.ts`);
  }
  simulation.advance(HOUR);
  assert.equal(simulation.sent.length, 3);
  const [{ at, way }] = simulation.sent;
  assert.deepEqual([at, way], [10 * SECOND, "turn"], "10 s after its last edit");
});

test("in a running turn, changes of others and green come at most once in 20 s", () => {
  const simulation = new Simulation();
  simulation.activity = "busy";
  simulation.close("red");
  simulation.advance(3 * SECOND);
  simulation.close("red", "b.ts");
  simulation.advance(10 * SECOND);
  simulation.close("green");
  simulation.advance(HOUR);
  assert.deepEqual(
    simulation.sent.map(({ at, way, state }) => [at, way, state]),
    [
      [2 * SECOND, "turn", "red"],
      [22 * SECOND, "turn", "green"],
    ],
  );
});

test("the turn ends before a red of the model's was read: it is due at once", () => {
  const simulation = new Simulation();
  simulation.activity = "busy";
  simulation.edit();
  simulation.close("red");
  simulation.advance(4 * SECOND);
  simulation.activity = "idle";
  simulation.advance(4 * SECOND);
  assert.deepEqual(
    simulation.sent.map(({ at, way }) => [at, way]),
    [[0 + 4 * SECOND, "wake"]],
  );
});

test("flapping: a change each 2 s for 5 min is one text, and one more once it is calm", () => {
  const simulation = new Simulation();
  for (let index = 0; index < 151; index += 1) {
    simulation.advance(SECOND + index * 2 * SECOND - (index % 2));
    simulation.close(index % 2 === 0 ? "red" : "green", index === 150 ? "b.ts" : "a.ts");
  }
  simulation.advance(HOUR);
  const turns = simulation.turns();
  assert.equal(turns.length, 2, JSON.stringify(turns));
  assert.match(turns[0].text, /flaps: 5 changes in 8 s/);
  assert.equal(turns[0].shown, "build flaps: 5 changes in 8 s, last red (/tap-quiet build)");
  assert.equal(turns[1].at, 331 * SECOND, "30 s after the last change");
});

test("overnight: one digest with the present state, the last six changes, and how many there were", () => {
  const simulation = new Simulation();
  simulation.activity = "away";
  for (let index = 1; index <= 41; index += 1) {
    simulation.advance(index * 10 * MINUTE);
    simulation.close(index % 2 === 1 ? "red" : "green");
  }
  const { pending } = simulation.state;
  assert.ok(pending);
  assert.equal(simulation.sent.length, 0);
  const how = { name: "build", command: "tsc", folder: "/p", now: simulation.now, awaySince: 1 };
  const [first, digest] = formatReport(pending, how).split("\n");
  assert.match(first, /^Watcher build \(tsc\) is RED since /);
  assert.match(digest, /^While you were away \(.*\), 41 changes: 35 before these, then /);
  assert.equal(digest.split(/red |green /).length - 1, 6);
  assert.equal(digest.split("(over)").length - 1, 5);
});

test("the turns of all watchers of a session have a budget of their own, and those for the model's changes none", () => {
  const hour = new Hour(2);
  const three = [0, 1, 2].map(() => new Simulation(LIMITS, hour));
  for (const one of three) {
    one.close("red");
    one.advance(10 * SECOND);
  }
  assert.deepEqual(
    three.map((one) => one.turns().length),
    [1, 1, 0],
  );
  three[2].cause = "model";
  three[2].advance(11 * SECOND);
  assert.equal(three[2].turns().length, 1);
});

test("a gap doubles while turns follow each other closely, up to 10 min, and calm ends that", () => {
  const simulation = new Simulation({ ...LIMITS, perHour: 1000 }, new Hour(1000));
  for (let index = 0; index < 3000; index += 1) {
    simulation.advance(index * 10 * SECOND);
    simulation.close("red", `f${index}.ts`);
  }
  const times = simulation.turns().map(({ at }) => at);
  const gaps = times.slice(1).map((at, index) => Math.round((at - times[index]) / SECOND));
  assert.deepEqual(gaps.slice(0, 6), [30, 60, 120, 240, 480, 600]);
  assert.equal(Math.max(...gaps), 600);
});
