// What the documentation says of getting the SDKs, done in an empty folder: with npm, with TypeScript,
// and with Python.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { root } from "../../../tools/commands.mjs";
import { npm, pythonForSdk } from "../../../tools/setup.mjs";
import { startTap } from "../../../js/develop/testing.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const execute = promisify(execFile);
const addon = path.join(root, "build", "Release", "tap.node");

/** A home with tap in the CLI's extensions, and an empty folder. @param {import("node:test").TestContext} t */
function newcomer(t) {
  const home = temporaryFolder(t);
  mkdirSync(path.join(home, ".copilot", "extensions"), { recursive: true });
  symlinkSync(root, path.join(home, ".copilot", "extensions", "tap"));
  const folder = path.join(home, "project");
  mkdirSync(folder);
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  return { folder, env: { ...env, HOME: home } };
}

/** The block of a page that follows this heading. @param {string} file @param {string} language */
const firstBlock = (file, language) =>
  new RegExp(`^\`\`\`${language} run tap\n([^]*?)^\`\`\`$`, "m").exec(
    readFileSync(path.join(root, file), "utf8"),
  )[1];

/** @param {import("node:test").TestContext} t @param {any} at */
async function installed(t, at = newcomer(t)) {
  const { command, args } = npm();
  const tap = path.join(at.env.HOME, ".copilot", "extensions", "tap");
  await execute(command, [...args, "install", tap], { cwd: at.folder, env: at.env });
  return at;
}

/** Serves the README's provider, and calls its tool. @param {import("node:test").TestContext} t @param {object} at */
async function rollsADie(t, { folder, env }, command, file) {
  const kit = await startTap();
  t.after(() => kit.stop());
  const controller = new AbortController();
  const { signal } = controller;
  const run = execute(command, [file], { cwd: folder, env: { ...env, ...kit.env }, signal });
  run.catch(() => {}); // it is ended by the signal
  await Promise.race([kit.tool("roll_die"), run]);
  assert.match(await kit.call("roll_die"), /^[1-6]$/);
  controller.abort();
}

test("npm install of the extension's folder brings the SDK, and compiles nothing", async (t) => {
  const before = statSync(addon).mtimeMs;
  const at = await installed(t);
  assert.equal(statSync(addon).mtimeMs, before);
  writeFileSync(path.join(at.folder, "die.mjs"), firstBlock("README.md", "js"));
  await rollsADie(t, at, process.execPath, "die.mjs");
});

test("PYTHONPATH brings the Python SDK", async (t) => {
  const at = newcomer(t);
  const [, value] = /export PYTHONPATH=~(\S+)/.exec(
    readFileSync(path.join(root, "docs/sdk-python.md"), "utf8"),
  );
  const env = { ...at.env, PYTHONPATH: at.env.HOME + value, PYTHONDONTWRITEBYTECODE: "1" };
  writeFileSync(path.join(at.folder, "die.py"), firstBlock("README.md", "python"));
  await rollsADie(t, { ...at, env }, await pythonForSdk(), "die.py");
});

const TYPED = `
import { provider, TapError, ToolError, type Receipt } from "copilot-tap/provider";
import { startTap } from "copilot-tap/testing";
import { z } from "zod";

const kit = await startTap();
const tap = provider("typed", { ...kit.where, session: "latest", concurrency: 2 });
const parameters = z.object({ city: z.string(), days: z.number().default(3) });
tap.tool("forecast", { description: "", parameters }, ({ city, days }, { signal, progress }) => {
  const text: string = city;
  const count: number = days;
  // @ts-expect-error a number
  const wrong: string = days;
  progress(text + wrong);
  if (signal.aborted) throw new ToolError("CANCELLED", "", { retryable: true });
  return count;
});
tap.tool("plain", { description: "", parameters: { type: "object" } }, (args) => args.anything);
// @ts-expect-error the description is for the model
tap.tool("mute", {}, () => 1);
// @ts-expect-error no such level
await tap.push("a", "b", { level: "shout" });
const receipt: Receipt | undefined = await tap.push("a", { b: 1 }, { level: "inject" });
tap.on("user.message", ({ content }) => content.trim());
// @ts-expect-error no such event
tap.on("user.mesage", () => {});
tap.gate({ tool: "shell" }, async ({ args }) => args.command === "ls" || "no").remove();
tap.on("error", (error) => error instanceof TapError && error.advice);
await kit.call("forecast", { city: "Bern" });
console.log(receipt?.outcome);
`;

test("TypeScript knows the types of what users write", async (t) => {
  const at = await installed(t);
  for (const name of ["zod", "@types"]) {
    const link = path.join(at.folder, "node_modules", name);
    symlinkSync(path.join(root, "node_modules", name), link);
  }
  writeFileSync(path.join(at.folder, "typed.mts"), TYPED);
  const tsc = path.join(root, "node_modules", "typescript", "bin", "tsc");
  const strict = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext"];
  const options = [...strict, "--skipLibCheck", "--types", "node"];
  const run = execute(process.execPath, [tsc, ...options, "typed.mts"], { cwd: at.folder });
  await assert.doesNotReject(run.catch((error) => Promise.reject(new Error(error.stdout))));
});
