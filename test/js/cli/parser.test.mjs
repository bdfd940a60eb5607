// How a command line is read, and what is said of one that is wrong.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { load, loadAll, NAMES } from "../../../js/cli/commands/index.mjs";
import { GLOBAL_OPTIONS } from "../../../js/cli/options.mjs";
import { parse, splitCommand, unknownCommand } from "../../../js/cli/parser.mjs";
import { cpuMs } from "../../support/cost.mjs";

/** @param {string[]} args */
async function read(...args) {
  const { name = "", rest } = splitCommand(args);
  return parse(rest, await load(name));
}

/** @param {string[]} args */
async function refused(...args) {
  const error = await read(...args).then(
    () => assert.fail(`${args.join(" ")} was taken`),
    (thrown) => thrown,
  );
  assert.deepEqual([error.code, error.exit], ["USAGE", 2]);
  assert.match(error.advice, /^usage: copilot-tap \S+.*\ncopilot-tap \S+ --help shows more$/);
  return error.message;
}

test("every command describes its arguments, in their order, and has no option of all", async () => {
  for (const { command, positionals = {}, options = {} } of await loadAll()) {
    const places = [...command.matchAll(/[<[](\w+)/g)].map(([, name]) => name);
    assert.deepEqual(Object.keys(positionals), places, command);
    const taken = Object.keys({ ...positionals, ...GLOBAL_OPTIONS, rest: true });
    assert.deepEqual(
      Object.keys(options).filter((name) => taken.includes(name)),
      [],
      command,
    );
  }
});

describe("a command line", () => {
  test("has options before and after the command, and among its arguments", async () => {
    const wanted = { home: "/h", json: true, name: "tool", session: "s", full: true };
    for (const args of [
      ["--home", "/h", "--json", "tools", "tool", "--session", "s", "--full"],
      ["tools", "--session=s", "tool", "--full", "--json", "--home=/h"],
    ]) {
      const { help, version, rest, ...given } = await read(...args);
      assert.deepEqual(given, wanted);
      assert.deepEqual([help, version, rest], [false, false, []]);
    }
  });

  test("has short options by themselves, together, and with a value", async () => {
    for (const args of [["-f", "-n", "7"], ["-fn", "7"], ["-fn7"], ["-n7", "-f"], ["-fn=7"]]) {
      const { follow, last } = await read("calls", ...args);
      assert.deepEqual([follow, last], [true, "7"]);
    }
  });

  test("gives what is typed as it is typed, the last of several", async () => {
    const { text, level, name } = await read(
      ...["push", "0x10", "--name", "1", "--name", "__proto__", "-l", "keep"],
    );
    assert.deepEqual([text, level, name], ["0x10", "keep", "__proto__"]);
    assert.equal((await read("push", "--name=-x")).name, "-x");
    assert.equal((await read("push", "--name==x")).name, "=x");
    assert.equal((await read("call", "t", "-o=page.png")).output, "page.png");
    assert.equal((await read("push", "-")).text, "-");
  });

  test("has arguments and options of several values, and two values of one", async () => {
    const call = await read("call", "roll", "sides=6", "a=1", "b=2");
    assert.deepEqual([call.tool, call.args, call.more], ["roll", "sides=6", ["a=1", "b=2"]]);
    assert.deepEqual((await read("call", "roll")).more, []);
    const { inject, drop } = await read("emit", "test", "x", "--inject", "a", "--inject=b");
    assert.deepEqual([inject, drop], [["a", "b"], []]);
    for (const args of [
      ["--export", "chrome", "f.json", "shop"],
      ["--export=chrome", "f.json", "shop"],
      ["shop", "--export", "chrome", "f.json"],
    ]) {
      const given = await read("spans", ...args);
      assert.deepEqual([given.of, given.export], ["shop", ["chrome", "f.json"]]);
    }
    assert.deepEqual((await read("spans", "--export", "chrome")).export, ["chrome"]);
    const cut = await read("spans", "--export", "chrome", "-n", "3", "f.json");
    assert.deepEqual([cut.export, cut.of], [["chrome"], "f.json"]);
  });

  test("has defaults, and names of several words", async () => {
    const { action, target, fromStart, yes, format, tokens } = await read("plan", "--from-start");
    assert.deepEqual(
      [action, target, fromStart, yes, format, tokens],
      ["list", undefined, true, false, "json", undefined],
    );
  });

  test("ends at --, and what follows is another program's", async () => {
    const { rest, call, skip } = await read(
      ...["check", "--call", "a", "--call", "b", "--", "node", "--help", "--", "x"],
    );
    assert.deepEqual(rest, ["node", "--help", "--", "x"]);
    assert.deepEqual([call, skip], [["a", "b"], []]);
    assert.deepEqual(splitCommand(["--", "status"]), { rest: ["--", "status"] });
  });

  test("that asks for help or the version may be wrong otherwise", async () => {
    assert.equal((await read("new", "--nonsense", "-h")).help, true);
    assert.equal((await read("new", "a", "b", "c", "--version")).version, true);
    assert.equal(parse(["--help"]).help, true);
  });
});

describe("wrong is", () => {
  for (const [args, words] of /** @type {[string[], string][]} */ ([
    [["push", "x", "-l", "loud"], '--level must be keep, surface or inject (got "loud")'],
    [["push", "x", "--level=loud"], '--level must be keep, surface or inject (got "loud")'],
    [["new", "cobol", "x"], 'language must be node or python (got "cobol")'],
    [["completion", "tcsh"], 'shell must be bash, zsh or fish (got "tcsh")'],
    [["status", "--foo"], "unknown option --foo"],
    [["revoke", "-y"], "unknown option -y"],
    [["push", "- an item"], "unknown option - an item"],
    [["status", "-x=5"], "unknown option -x=5"],
    [["calls", "-xf=5"], "unknown option -xf=5"],
    [["calls", "-f=true"], "-f takes no value: write -f, or leave it out"],
    [["calls", "-f=n5"], "-f takes no value: write -f, or leave it out"],
    [["status", "--foo=1", "--bar"], "unknown option --foo, --bar"],
    [["tools", "--sesion", "x"], "unknown option --sesion: did you mean --session?"],
    [["doctor", "--colum"], "unknown option --colum"],
    [["status", "--no-json"], "unknown option --no-json"],
    [["status", "--toString"], "unknown option --toString"],
    [["status", "--__proto__"], "unknown option --__proto__"],
    [["status", "x"], 'unexpected argument "x"'],
    [["allow", "a", "b", "c"], 'unexpected argument "b", "c"'],
    [["unpair", "a", "b"], 'unexpected argument "b"'],
    [["new"], "missing: language, name"],
    [["new", "node"], "missing: name"],
    [["unpair"], "missing: name"],
    [["allow", "--home"], "--home needs a value"],
    [["allow", "--home="], "--home needs a value"],
    [["allow", "--home", ""], "--home needs a value"],
    [
      ["allow", "--home", "--yes"],
      '--home needs a value; one that begins with - goes behind "=": --home=--yes',
    ],
    [["calls", "-n", "-5"], '-n needs a value; one that begins with - goes behind "=": -n=-5'],
    [["calls", "-fn"], "-n needs a value"],
    [["calls", "-n", "--", "5"], "-n needs a value"],
    [["status", "--json=yes"], "--json takes no value: write --json, or leave it out"],
    [["allow", "a", "--", "b"], 'nothing goes after -- here, such as "b"'],
    [["allow", "--\u001b[2J\u202e"], "unknown option --\\x1b[2J\\u{202e}"],
    [["allow", "a", "\u001b[2J"], 'unexpected argument "\\x1b[2J"'],
  ])) {
    test(`copilot-tap ${JSON.stringify(args.join(" "))}: ${words}`, async () => {
      assert.equal(await refused(...args), words);
    });
  }

  test("what is long is repeated in part", async () => {
    assert.ok((await refused("allow", "a", "b".repeat(100_000))).length < 100);
    assert.ok((await refused("status", `--${"b".repeat(100_000)}`)).length < 100);
    assert.ok((await refused("status", `-${"b".repeat(1000)}`)).length < 100);
  });

  test("of many words some are repeated, and too many are refused at once", async () => {
    const words = Array.from({ length: 19_000 }, (_, at) => `w${at}`);
    assert.equal(
      await refused("allow", "a", ...words),
      'unexpected argument "w0", "w1", "w2", "w3", "w4", and 18995 more',
    );
    assert.equal(
      await refused("allow", ...words.map((word) => `--${word}`)),
      "unknown option --w0, --w1, --w2, --w3, --w4, and 18995 more",
    );
    const before = cpuMs();
    const letters = "a".repeat(100_000);
    assert.equal(await refused("calls", `-${letters}`), `unknown option -${"a".repeat(63)}`);
    assert.equal(await refused("calls", `-${"f".repeat(65)}`), `unknown option -${"f".repeat(63)}`);
    const many = /** @type {string[]} */ (Array(900_000).fill("-h"));
    const calls = await load("calls");
    assert.throws(() => parse(many, calls), { message: "there are too many words", exit: 2 });
    const groups = /** @type {string[]} */ (Array(1000).fill("-aaaaaaaaaaaaaaaaaaaaaaaaa"));
    assert.equal(await refused("calls", ...groups), "there are too many words");
    assert.throws(() => splitCommand([`-${letters}`, "calls"]), {
      message: /^unknown option -aaa/,
    });
    assert.ok(cpuMs() - before < 30_000);
    assert.equal((await read("call", "t", `-o${letters}`)).output, letters);
    assert.equal((await read("calls", `-${"f".repeat(60)}n5`)).last, "5");
    const rest = Array(100_000).fill("x");
    assert.deepEqual((await read("check", "--", ...rest)).rest, rest);
  });

  test("a command that there is not: the one that was meant is named", () => {
    assert.equal(
      unknownCommand("alow", NAMES).message,
      'unknown command "alow": did you mean "allow"?',
    );
    assert.equal(unknownCommand("frobnicate", NAMES).message, 'unknown command "frobnicate"');
    assert.equal(unknownCommand("toString", NAMES).exit, 2);
  });

  test("an option of a command before it: its value would be the command", () => {
    for (const args of [
      ["--session", "push", "tools"],
      ["--json", "-l", "keep", "push", "x"],
    ]) {
      const [option] = args.filter((word) => !word.startsWith("--json"));
      assert.throws(() => splitCommand(args), {
        ...{ message: `${option} goes after the command`, exit: 2 },
        advice: "copilot-tap --help shows what there is",
      });
    }
  });

  test("an option without a command", () => {
    assert.throws(() => parse(["--frob"]), { message: "unknown option --frob", exit: 2 });
    assert.throws(() => parse(["--home"]), { message: "--home needs a value", exit: 2 });
    assert.deepEqual(splitCommand(["--home"]), { rest: ["--home"] });
    assert.throws(() => parse(["--", "x"]), { message: /^nothing goes after --/ });
  });
});
