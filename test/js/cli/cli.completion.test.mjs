// copilot-tap completion: what real shells offer by its scripts.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { NAMES } from "../../../js/cli/commands/index.mjs";
import { SCRIPTS } from "../../../js/cli/commands/completion.mjs";
import { allow } from "../../../js/config/consent.mjs";
import { CLI, place, served, tap, tapJson } from "../../support/cli-process.mjs";
import { waitFor } from "../../support/wait.mjs";

/**
 * The command under its name on PATH. @param {import("../../support/cli-process.mjs").Place & {bin?: string}} at
 */
function installed(at) {
  const bin = path.join(at.workspace, "bin");
  fs.mkdirSync(bin, { recursive: true });
  const script = `#!/bin/sh\nexec "${process.execPath}" "${CLI}" "$@"\n`;
  fs.writeFileSync(path.join(bin, "copilot-tap"), script, { mode: 0o755 });
  for (const [shell, text] of Object.entries(SCRIPTS)) {
    fs.writeFileSync(path.join(bin, `completion.${shell}`), text);
  }
  const env = { ...at.env, PATH: `${bin}${path.delimiter}${at.env.PATH}` };
  return { ...at, bin, env };
}

/** @param {string} shell @param {string[]} args @param {ReturnType<typeof installed>} at */
const run = (shell, args, { env, workspace }) =>
  execFileSync(shell, args, { encoding: "utf8", env: /** @type {any} */ (env), cwd: workspace })
    .split("\n")
    .filter(Boolean);

/** What bash offers for these words. @param {string[]} words @param {ReturnType<typeof installed>} at */
function inBash(words, at) {
  const script = `
    source "${at.bin}/completion.bash"
    COMP_WORDS=(copilot-tap ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}
    _copilot_tap
    printf '%s\n' "\${COMPREPLY[@]}"`;
  return run("bash", ["--norc", "-c", script], at);
}

describe("bash offers", () => {
  test("commands, options and choices", (t) => {
    const at = installed(place(t));
    assert.deepEqual(inBash(["rev"], at), ["revoke"]);
    assert.deepEqual(inBash([""], at), NAMES);
    assert.deepEqual(inBash(["help", "rev"], at), ["revoke"]);
    assert.deepEqual(inBash(["help", "plan", ""], at), []);
    assert.ok(inBash(["allow", "--"], at).includes("--yes"));
    assert.ok(!inBash(["doctor", "--"], at).includes("--columns"), "that is for programs");
    assert.deepEqual(inBash(["push", "x", "--level", "s"], at), ["surface"]);
    assert.deepEqual(inBash(["push", "x", "-l", "s"], at), ["surface"]);
    assert.deepEqual(inBash(["push", "x", "--level", "="], at), ["keep", "surface", "inject"]);
    assert.deepEqual(inBash(["push", "x", "--level", "=", "s"], at), ["surface"]);
    assert.deepEqual(inBash(["push", "x", "--level=s"], at), ["--level=surface"]);
    assert.deepEqual(inBash(["push", "x", "--nope=s"], at), []);
    assert.deepEqual(inBash(["new", ""], at), ["node", "python"]);
    assert.deepEqual(inBash(["completion", "f"], at), ["fish"]);
  });

  test("nothing, and no dash, where there is no gateway to ask", (t) => {
    const at = installed(place(t));
    at.env.TAP_GATEWAY_PORT = "1";
    for (const words of [
      ["call", ""],
      ["unpair", ""],
      ["trace", "--provider", ""],
      ["nope", ""],
    ]) {
      assert.deepEqual(inBash(words, at), [], words.join(" "));
    }
  });

  test("tools, sessions and providers of the gateway that runs", async (t) => {
    const { kit, at: there } = await served(t);
    await kit.addSession("0d6f7c1e-6a3b-4f6e");
    await kit.addSession("it's shop; $(touch pwned)"); // which is its label, too
    const at = installed(there);
    await waitFor(() => inBash(["tools", ""], at).includes("forecast"));
    assert.deepEqual(inBash(["call", "fore"], at), ["forecast"]);
    assert.ok(inBash(["call", ""], at).every((word) => !word.startsWith("-")));
    assert.deepEqual(inBash(["doctor", "wa"], at), ["wait"]);
    assert.deepEqual(inBash(["trace", "--provider", ""], at), ["weather"]);
    assert.ok(inBash(["push", "x", "--session", "0d"], at).includes("0d6f7c1e"));
    // As bash takes it in a line.
    const labels = inBash(["push", "x", "--session", "it"], at);
    assert.ok(labels.includes(String.raw`it\'s\ shop\;\ \$\(touch\ pwned\)`), labels.join("\n"));
    assert.ok(!fs.existsSync(path.join(at.workspace, "pwned")));
    assert.deepEqual(inBash(["--home", kit.home, "call", "fore"], at), ["forecast"]);
  });

  test("for revoke the configs that are allowed", (t) => {
    const made = place(t);
    const entry = { kind: "external-process", name: "ci", digest: "0".repeat(64) };
    allow(made.store, "/code/my shop/tap.config.json", /** @type {any} */ ([entry]));
    assert.deepEqual(inBash(["revoke", ""], installed(made)), [String.raw`/code/my\ shop`]);
  });
});

describe("zsh", () => {
  test("takes the script, and offers what there is", async (t) => {
    const { at: there } = await served(t);
    const at = installed(there);
    run("zsh", ["-n", path.join(at.bin, "completion.zsh")], at);
    /** What is handed to zsh. @param {string[]} words */
    const offered = (words) =>
      run(
        "zsh",
        [
          "-f",
          "-c",
          `compdef() { :; }
           compadd() { while [[ $1 != -a ]]; do shift; done; print -rl -- \${(P)2}; }
           _files() { print FILES; }
           source "${at.bin}/completion.zsh"
           words=(copilot-tap ${words.map((word) => `'${word}'`).join(" ")}); CURRENT=\${#words}
           _copilot_tap`,
        ],
        at,
      );
    assert.deepEqual(offered(["rev"]), ["revoke"]);
    assert.deepEqual(offered(["call", "fo"]), ["forecast"]);
    assert.deepEqual(offered(["allow", ""]), ["FILES"]);
    assert.deepEqual(offered(["push", "--level=k"]), ["--level=keep"]);
  });
});

describe("fish", () => {
  test("takes the script, and offers what there is", async (t) => {
    const { at: there } = await served(t);
    const at = installed(there);
    at.env.HOME = at.workspace;
    const file = path.join(at.bin, "completion.fish");
    run("fish", ["--no-execute", file], at);
    /** @param {string} line */
    const offered = (line) =>
      run("fish", ["--no-config", "-c", `source ${file}; complete -C '${line}'`], at);
    assert.deepEqual(offered("copilot-tap rev"), ["revoke\twithdraw that permission"]);
    assert.deepEqual(offered("copilot-tap call fo"), ["forecast\tThe weather."]);
    const all = offered("copilot-tap call ").map((line) => line.split("\t")[0]);
    assert.deepEqual(all.sort(), ["forecast", "tap_status", "tap_tools", "wait"]);
  });
});

describe("copilot-tap completion", () => {
  test("prints the script of the shell that is named, or of SHELL", async (t) => {
    const at = place(t);
    for (const [shell, script] of Object.entries(SCRIPTS)) {
      assert.equal((await tap(["completion", shell], at)).out, script);
      assert.equal((await tap(["completion"], at, { SHELL: `/usr/bin/${shell}` })).out, script);
      const { value } = await tapJson(["completion", shell], at);
      assert.deepEqual(value, { shell, script });
    }
    assert.equal((await tap(["completion"], at, { SHELL: "/bin/tcsh" })).out, SCRIPTS.bash);
  });
});
