// Places for the doctor to look at: a home with tap installed and a CLI on PATH, a gateway in it whose
// files the test has in its hands, and the real host. A test breaks one thing of them.

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { hostEnvironment } from "../../../js/lib/node.mjs";
import { gatewayFiles, programFolder, version as installed } from "../../../js/lib/paths.mjs";
import { startTap } from "../../../js/develop/testing.mjs";
import { findFreePort } from "../../support/cli.mjs";
import { declareTools, TestProvider } from "../../support/provider.mjs";
import { waitFor } from "../../support/wait.mjs";
import { tap, tapJson } from "../../support/cli-process.mjs";
import { TestGateway, temporaryFolder } from "../../support/harness.mjs";

export { TESTED_CLIS } from "../../../js/doctor/checks-installation.mjs";

/** @typedef {import("node:test").TestContext} TestContext */
/** @typedef {import("../../../js/doctor/findings.mjs").Finding} Finding */

/** A program on PATH. @param {string} folder @param {string} name @param {string} script for sh */
export function fakeProgram(folder, name, script) {
  fs.mkdirSync(folder, { recursive: true });
  const file = path.join(folder, name);
  fs.writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

/** The machine's own bubblewrap, for a PATH without the usual folders. @param {string} folder */
export function linkBwrap(folder) {
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  const found = folders.map((one) => path.join(one, "bwrap")).find((file) => fs.existsSync(file));
  if (found) fs.symlinkSync(found, path.join(folder, "bwrap"));
}

export class Place {
  /** What became of it all: nothing outlives its test. */
  workspace = "";
  /** @type {Record<string, string | undefined>} */
  env = {};

  /** @param {TestContext} t @param {{home?: string, port?: number}} [where] */
  static async create(t, { home, port } = {}) {
    const place = new Place();
    const folder = fs.realpathSync(temporaryFolder(t));
    place.home = home ?? path.join(folder, "home");
    place.workspace = path.join(folder, "work");
    place.bin = path.join(folder, "bin");
    fs.mkdirSync(place.workspace);
    fakeProgram(place.bin, "copilot", 'echo "GitHub Copilot CLI 1.0.102."');
    const clean = Object.entries(hostEnvironment(process.env)).filter(
      ([name]) => !/^(TAP_|COPILOT_)/.test(name),
    );
    place.env = {
      ...Object.fromEntries(clean),
      PATH: `${place.bin}${path.delimiter}${process.env.PATH}`,
      COPILOT_HOME: place.home,
      TAP_GATEWAY_PORT: String(port ?? (await findFreePort())),
    };
    place.#furnish();
    return place;
  }

  /** As after an install and a first session. */
  #furnish() {
    const { folder, logs } = this.files;
    fs.mkdirSync(folder, { recursive: true });
    fs.mkdirSync(logs, { recursive: true });
    fs.symlinkSync(path.join(programFolder, "extension.mjs"), path.join(folder, "extension.mjs"));
    fs.writeFileSync(this.settings, JSON.stringify({ experimental: true }));
    fs.writeFileSync(path.join(logs, "extension.log"), "");
  }

  get files() {
    return gatewayFiles(this.env);
  }

  get settings() {
    return path.join(this.home, "settings.json");
  }

  /** @param {string[]} [words] @param {object} [extra] variables */
  async diagnose(words = [], extra = {}) {
    const { code, value } = await tapJson(["doctor", ...words], this, extra);
    /** @type {Finding[]} */
    const findings = value.checks.flatMap(({ finding }) => finding ?? []);
    const failed = value.checks.find(({ status }) => status === "failed");
    const first = failed?.finding;
    const warnings = findings.filter(({ severity }) => severity === "warning");
    return {
      ...{
        exit: code,
        first,
        failed: failed?.id,
        code: first?.code,
        text: JSON.stringify(value),
        value,
      },
      ...{ warnings, warned: warnings.map((warning) => warning.code) },
    };
  }

  /** What people read. @param {string[]} [words] @param {object} [extra] */
  read(words = [], extra = {}) {
    return tap(["doctor", ...words], this, extra);
  }

  /** Does what a finding says, in the user's shell. @param {string | undefined} command */
  async do(command) {
    const run = promisify(execFile);
    await run("bash", ["-e", "-c", String(command)], {
      cwd: this.workspace,
      env: /** @type {any} */ (this.env),
    });
  }
}

/**
 * A gateway in this process, and a session: the files are the test's, and stay as it makes them.
 * @param {TestContext} t
 * @param {{limits?: Record<string, string>, session?: object | null, version?: string}} [options] version: of the gateway
 */
export async function staged(t, { limits, session: fields = {}, version = installed } = {}) {
  const token = `ptk-${randomUUID()}`;
  const gateway = new TestGateway(t, { limits, token, version });
  const place = await Place.create(t, { port: gateway.port });
  const { files } = place;
  const answer = { program: "tap", version, home: files.homeHash };
  gateway.addon.setPlainAnswer(JSON.stringify(answer));
  const link = gateway.listenLink();
  const { secret } = gateway;
  const descriptor = { pid: process.pid, port: gateway.port, link, secret, version };
  const write = (/** @type {string} */ file, /** @type {string} */ text) =>
    fs.writeFileSync(file, text, { mode: 0o600 });
  const describe = (/** @type {object} */ changes = {}) =>
    write(files.descriptor, JSON.stringify({ ...descriptor, ...changes }));
  describe();
  write(files.token, token);
  const session = fields && (await gateway.session("linked", { cwd: place.workspace, ...fields }));
  return Object.assign(place, { gateway, session, token, describe });
}

/**
 * The real host, a pretend session, and a provider that lends it roll_die.
 * @param {TestContext} t @param {Record<string, string>} [env] of the host
 */
export async function running(t, env = {}) {
  const kit = await startTap({ env });
  t.after(() => kit.stop());
  const place = await Place.create(t, { home: kit.home, port: kit.port });
  const { files } = place;
  await waitFor(() => fs.existsSync(files.token), { what: "a token file" });
  const provider = await TestProvider.connect({ port: kit.port });
  t.after(() => provider.terminate());
  await provider.auth({ tokenFile: files.token });
  const tools = { roll_die: { handler: () => 4 } };
  provider.handle(tools);
  await provider.hello({ name: "die", session: "test", tools: declareTools(tools) });
  await kit.tool("roll_die");
  const pid = JSON.parse(fs.readFileSync(files.descriptor, "utf8")).pid;
  return Object.assign(place, { kit, provider, pid });
}

/** What an installation without a session comes to, where nothing is broken. */
export const WELL = "NO_SESSION";

/** Another tap, whose own command is asked. @param {string} program @param {Place} at */
export async function diagnoseWith(program, at, extra = {}) {
  const args = [path.join(program, "js", "cli", "cli.mjs"), "doctor", "--json"];
  const out = await new Promise((resolve, reject) => {
    const env = /** @type {any} */ ({ ...at.env, ...extra });
    execFile(process.execPath, args, { cwd: at.workspace, env }, (error, stdout, stderr) =>
      stdout ? resolve(stdout) : reject(error ?? new Error(stderr)),
    );
  });
  const { checks } = JSON.parse(out);
  const findings = checks.flatMap(({ finding }) => finding ?? []);
  return { findings, codes: findings.map(({ code }) => code) };
}
