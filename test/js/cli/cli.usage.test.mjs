// What every command has in common: help with an example, wrong usage, colours, JSON, completion.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import stringWidth from "string-width";
import { version } from "../../../js/lib/paths.mjs";
import { load, loadAll, NAMES } from "../../../js/cli/commands/index.mjs";
import { EXIT_CODES } from "../../../js/cli/exit.mjs";
import { GLOBAL_OPTIONS } from "../../../js/cli/options.mjs";
import { formatHelp } from "../../../js/cli/help.mjs";
import { parse, splitCommand } from "../../../js/cli/parser.mjs";
import { hasColours, Output, strong } from "../../../js/views/output.mjs";
import { table } from "../../../js/views/table.mjs";
import { duration, latency, perSecond } from "../../../js/views/wording.mjs";
import { root } from "../../../tools/commands.mjs";
import {
  CLI,
  InTerminal,
  place,
  served,
  tap,
  tapJson,
  tapProcess,
} from "../../support/cli-process.mjs";
import { checkSnapshot, SNAPSHOTS } from "../../support/snapshot.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const COMMANDS = await loadAll();
// eslint-disable-next-line no-control-regex -- this is what it is about
const ESCAPE = /[\u001b\u009b]/;
/** No gateway has this port. */
const NOBODY = { TAP_GATEWAY_PORT: "1" };

test("in a clone without packages it says how to get them", (t) => {
  const folder = fs.realpathSync(temporaryFolder(t));
  for (const part of ["js", "package.json"]) {
    fs.cpSync(path.join(root, part), path.join(folder, part), { recursive: true });
  }
  const run = spawnSync(process.execPath, ["js/cli/cli.mjs", "status"], {
    ...{ cwd: folder, encoding: "utf8" },
  });
  assert.equal(run.status, 1);
  assert.equal(
    run.stderr,
    `copilot-tap: the packages that it needs are not installed in ${folder}\nrun this there: npm install --omit=dev\n`,
  );
});

/** The modules that a command loads, by their places in the repository. @param {string[]} args */
async function listModules(t, args, at) {
  const folder = temporaryFolder(t);
  await tapProcess(args, at, { NODE_V8_COVERAGE: folder });
  const [file] = fs.readdirSync(folder);
  const { result } = JSON.parse(fs.readFileSync(path.join(folder, file), "utf8"));
  return result.flatMap(({ url }) =>
    url.startsWith("file:") ? [path.relative(root, fileURLToPath(url))] : [],
  );
}

test("a command loads no other one, and no help", async (t) => {
  const { at } = await served(t);
  for (const words of ["push x", "call forecast city=x", "emit", "status", "--version"]) {
    const args = words.split(" ");
    const modules = await listModules(t, args, at);
    const commands = modules.filter((file) => path.dirname(file) === "js/cli/commands");
    const own = NAMES.includes(args[0]) ? [`${args[0]}.mjs`] : [];
    assert.deepEqual(
      commands.map((file) => path.basename(file)).sort(),
      [...own, "index.mjs"].sort(),
    );
    const heavy =
      /^js\/(cli\/help|config\/load|lib\/node)\.mjs$|^node_modules\/(string-width|jsonc-parser)\//;
    assert.deepEqual(
      modules.filter((file) => heavy.test(file)),
      [],
      words,
    );
  }
});

describe("help", () => {
  test("lists every command, its exit codes and the options of all", async (t) => {
    for (const args of [["--help"], ["-h"], ["help"], ["--json", "help"], ["help", "help"]]) {
      const { code, out } = await tap(args, place(t));
      assert.equal(code, 0);
      checkSnapshot("help/copilot-tap", out.replace(version, "<version>"));
      for (const { command } of COMMANDS) assert.ok(out.includes(`\n  ${command} `), out);
      for (const [number, meaning] of EXIT_CODES) {
        assert.match(out, new RegExp(`^ +${number} +${meaning.replace(/[()]/g, "\\$&")}$`, "m"));
      }
      for (const option of ["--home", "--json", "--help", "--version"]) {
        assert.ok(out.includes(option));
      }
    }
  });

  for (const command of COMMANDS) {
    for (const [example] of command.examples) {
      test(`has an example that is right: ${example}`, async () => {
        const [words] = / \$0 (.*)$/.exec(` ${example}`)?.slice(1) ?? [];
        // The words up to a sign of the shell, without their quotes.
        const [own] = /^(?:'[^']*'|"[^"]*"|[^'"<>|;&])*/.exec(words) ?? [""];
        const args = [...own.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
          word.replace(/^(['"])(.*)\1$/, "$2"),
        );
        const { name = "", rest } = splitCommand(args);
        assert.equal(await load(name), command);
        const { help, version: asked } = parse(rest, command);
        assert.deepEqual([help, asked], [false, false]);
      });
    }

    const name = command.command.split(" ")[0];
    test(`of ${name} is as it was accepted`, async (t) => {
      const { code, out, err } = await tap([name, "--help"], place(t));
      assert.deepEqual([code, err], [0, ""]);
      checkSnapshot(`help/${name}`, out);
    });

    test(`of ${name} has examples that can be copied, and fits a terminal`, () => {
      for (const columns of [undefined, 60, 80, 200]) {
        const lines = formatHelp(command, columns).split("\n");
        assert.match(lines[0], new RegExp(`^copilot-tap ${name}\\b`));
        const shown = lines.map((line) => line.replace(/ {2}# .*$/, "").trim());
        assert.ok(command.examples.length > 0);
        for (const [example] of command.examples) {
          const whole = example.replaceAll("$0", "copilot-tap");
          assert.ok(shown.includes(whole), whole);
          assert.match(whole, new RegExp(`\\bcopilot-tap ${name}\\b`));
        }
        const widest = Math.max(...lines.map((line) => stringWidth(line)));
        assert.ok(widest <= Math.max(80, Math.min(columns ?? 80, 100)), lines.join("\n"));
      }
    });
  }

  for (const name of ["plan", "completion"]) {
    test(`of ${name} is that in a terminal, too`, async (t) => {
      const command = COMMANDS[NAMES.indexOf(name)];
      const { out } = await tap([name, "--help"], place(t));
      assert.equal(out, formatHelp(command));
      const terminal = new InTerminal(t, ["help", name], place(t));
      assert.equal(await terminal.end(), 0);
      assert.equal(terminal.text.trimEnd(), out.trimEnd());
      const narrow = new InTerminal(t, [name, "-h"], place(t), { cols: 60 });
      assert.equal(await narrow.end(), 0);
      assert.ok(narrow.text.includes(`\n${formatHelp(command, 60).split("\n")[2]}\n`), narrow.text);
    });
  }

  test("--version", async (t) => {
    assert.deepEqual(await tapProcess(["--version"], place(t)), {
      code: 0,
      out: `${version}\n`,
      err: "",
    });
  });

  test("names the options that take a value", () => {
    for (const command of COMMANDS) {
      const text = formatHelp(command);
      for (const [name, option] of Object.entries({ ...command.options, ...GLOBAL_OPTIONS })) {
        const letter = option.short ? `-${option.short}, ` : "    ";
        const value = option.type === "boolean" ? "" : "=…";
        const line = new RegExp(
          `^ {2}${letter}--${name}${value} +${option.hidden ? "" : "\\S"}`,
          "m",
        );
        assert.equal(line.test(text), !option.hidden, `${command.command} --${name}`);
      }
    }
  });

  test("was accepted of the commands that there are, and of no others", () => {
    const accepted = fs.readdirSync(path.join(SNAPSHOTS, "help"));
    assert.deepEqual(
      accepted.sort(),
      ["copilot-tap", ...NAMES].map((name) => `${name}.txt`).sort(),
    );
  });

  test("is English, whatever the user's language", async (t) => {
    const german = { LANG: "de_DE.UTF-8", LC_ALL: "de" };
    const { out } = await tapProcess(["allow", "--help"], place(t), german);
    checkSnapshot("help/allow", out);
  });
});

describe("wrong usage", () => {
  const wrong = [["alow"], ["allow", "a", "--", "b"], ["allow", "package.json"]];
  for (const args of wrong) {
    test(`copilot-tap ${args.join(" ")}`, async (t) => {
      const { code, out, err } = await tap(args, place(t));
      assert.equal(code, 2, err);
      assert.equal(out, "");
      assert.match(err, /^copilot-tap: .+\n(usage: |copilot-tap --help shows|name that file)/);
      assert.doesNotMatch(err, /\bat .*\.m?js/, "no stack trace");
      const asked = await tapJson(args.includes("--") ? ["--json", ...args] : args, place(t));
      assert.equal(asked.code, 2);
    });
  }

  test("a misspelt command is answered with the one that was meant", async (t) => {
    const { err } = await tap(["alow"], place(t));
    assert.match(err, /unknown command "alow": did you mean "allow"\?/);
  });

  test("names are shown, not obeyed", async (t) => {
    const { err } = await tap(["allow", "--\u001b[2J\u202e"], place(t));
    assert.match(err, /\\x1b\[2J\\u\{202e\}/);
    assert.doesNotMatch(err, ESCAPE);
  });

  test("with --json is JSON", async (t) => {
    const { code, value } = await tapJson(["unpair"], place(t));
    assert.equal(code, 2);
    assert.equal(value.error.code, "USAGE");
    assert.match(value.error.advice, /^usage: copilot-tap unpair <name>/);
  });
});

describe("colours", () => {
  const failing = ["unpair", "nobody"];

  test("are for terminals", async (t) => {
    const terminal = new InTerminal(t, failing, place(t), { extra: NOBODY });
    assert.equal(await terminal.end(), 3);
    assert.match(terminal.raw, ESCAPE);
    assert.match(terminal.text, /^copilot-tap: no gateway runs/);
    const { err, out } = await tap(failing, place(t), NOBODY);
    assert.doesNotMatch(out + err, ESCAPE);
    assert.match(err, /^copilot-tap: no gateway runs/);
  });

  for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }]) {
    test(`are not for a terminal with ${JSON.stringify(env)}`, async (t) => {
      const extra = { ...NOBODY, ...env };
      for (const args of [failing, ["status"], ["--help"]]) {
        const terminal = new InTerminal(t, args, place(t), { extra });
        await terminal.end();
        assert.doesNotMatch(terminal.raw, ESCAPE, args.join(" "));
      }
    });
  }

  test("an empty NO_COLOR says nothing", () => {
    assert.equal(hasColours({ isTTY: true }, { NO_COLOR: "" }), true);
    assert.equal(hasColours({ isTTY: true }, { NO_COLOR: "0" }), false);
    assert.equal(hasColours({}, {}), false);
  });
});

describe("in a terminal", () => {
  const commands = [
    ["pair"],
    ["push", "hello"],
    ["tools"],
    ["tools", "wait"],
    ["call", "forecast", '{"city":"Bern"}'],
    ["limits"],
    ["completion", "bash"],
  ];
  for (const args of commands) {
    test(`${args.join(" ")} says what it says elsewhere, without colours if they are not wanted`, async (t) => {
      const { at } = await served(t);
      const extra = { NO_COLOR: "1" };
      const [terminal, plain] = [{}, extra].map(
        (more) => new InTerminal(t, args, at, { cols: 160, rows: 100, extra: more }),
      );
      assert.equal(await terminal.end(), 0);
      assert.equal(await plain.end(), 0);
      const { out } = await tap(args, at);
      assert.equal(terminal.text, out.trimEnd());
      assert.equal(plain.text, out.trimEnd());
      assert.doesNotMatch(plain.raw, ESCAPE);
    });
  }

  test("new and dev work there, too", async (t) => {
    const at = place(t);
    const made = new InTerminal(t, ["new", "node", "weather"], at);
    assert.equal(await made.end(), 0);
    assert.match(made.text, /npm test/);
    const dev = new InTerminal(t, ["dev"], at);
    await dev.shows("help lists the commands");
    dev.type("quit\r");
    assert.equal(await dev.end(), 0);
  });
});

describe("output", () => {
  /** What is printed to a terminal. */
  function printed(given, print) {
    let text = "";
    const out = /** @type {any} */ ({ isTTY: true, columns: 80, write: (more) => (text += more) });
    print(new Output(given, { out, err: out, env: {} }));
    return text;
  }
  const EVIL = "a\nb\u001b[2J\u009b1m\u202e\u{e0041}\ud800";

  test("shows what a terminal would obey, within colours too", () => {
    const text = printed({}, (output) => output.print(EVIL, strong(EVIL)));
    const tame = "a\\x0ab\\x1b[2J\\u{9b}1m\\u{202e}\\u{e0041}\\u{d800}";
    assert.equal(text, `${tame}\u001b[1m${tame}\u001b[22m\n`);
  });

  test("as JSON is harmless, and the same value", () => {
    const text = printed({ json: true }, (output) => output.result({ [EVIL]: EVIL }));
    assert.match(text, /^[\n\x20-\x7e]*$/);
    assert.deepEqual(JSON.parse(text), { [EVIL]: EVIL });
  });

  test("of a table is cut where the terminal ends, by what it takes there", () => {
    const lines = printed({}, (output) =>
      table(
        output,
        [
          { title: "name", flexible: true },
          { title: "n", right: true },
        ],
        [
          ["日本".repeat(30), "1"],
          ["e\u0301".repeat(10), "22"],
        ],
      ),
    ).split("\n");
    const widths = lines.slice(1, 3).map((line) => stringWidth(line));
    assert.deepEqual(widths, [80, 80]);
    assert.match(lines[1], /^(日本)+日?… +1$/);
    assert.match(lines[2], /^(e\u0301){10} +22$/);
  });

  test("of numbers and times is short", () => {
    const durations = [0, 999, 1000, 61_000, 3_600_000, 90_000_000, -5].map(duration);
    assert.deepEqual(durations, ["0 s", "0 s", "1 s", "1 min 1 s", "1 h", "1 d 1 h", "0 s"]);
    assert.deepEqual([1, 9999, 12_340].map(latency), ["1 ms", "9999 ms", "12.3 s"]);
    assert.deepEqual([0, 0.25, 12.6].map(perSecond), ["0.0", "0.3", "13"]);
  });

  test("that nobody reads any more ends the command in peace", () => {
    const script = `"${process.execPath}" "${CLI}" --help | true; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = spawnSync("bash", ["-c", script], { encoding: "utf8" });
    assert.deepEqual([stdout, stderr], ["0\n", ""]);
  });
});

describe("without a command", () => {
  test("it says what runs, and which commands are used most", async (t) => {
    const nobody = await tapProcess([], place(t), NOBODY);
    assert.equal(nobody.code, 0);
    assert.equal(nobody.err, "");
    assert.match(nobody.out, new RegExp(`^tap ${version}, no gateway runs \\(port 1\\)\n\n`));
    for (const name of ["status", "doctor", "tools", "call", "--help"]) {
      assert.match(nobody.out, new RegExp(`^ {2}copilot-tap ${name} `, "m"));
    }
    assert.ok(nobody.out.split("\n").every((line) => line.length <= 80));
    const { at, kit } = await served(t);
    const { out } = await tap([], at);
    const [head] = out.split("\n");
    assert.equal(
      head,
      `tap ${version}, the gateway runs on port ${kit.port}: 1 session, 1 provider, 2 tools`,
    );
    const { value } = await tapJson([], at);
    assert.deepEqual(value, {
      ...{ version, port: kit.port, running: true, sessions: 1, providers: 1, tools: 2 },
    });
  });
});
