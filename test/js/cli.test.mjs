// The tap command as a process of its own, and in a real terminal.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isAllowed } from "../../js/projects/consent.mjs";
import { gatewayFiles, version } from "../../js/base/paths.mjs";
import { loadProjectConfig } from "../../js/projects/project-config.mjs";
import { waitFor, withTimeout } from "../support/wait.mjs";
import { TestProvider } from "../support/provider.mjs";
import { temporaryFolder } from "./temporary.mjs";
import { Host } from "./test-host.mjs";

const CLI = fileURLToPath(new URL("../../js/command/cli.mjs", import.meta.url));
const GOOD = JSON.stringify({
  providers: [{ name: "ci", command: "node", args: ["ci.mjs", "a b"], env: { MODE: "x" } }],
});

/** @param {import("node:test").TestContext} t */
function place(t, content = GOOD) {
  const folder = fs.realpathSync(temporaryFolder(t));
  const workspace = path.join(folder, "work");
  const home = path.join(folder, "home");
  const config = path.join(workspace, "tap.config.json");
  fs.mkdirSync(workspace);
  fs.writeFileSync(config, content);
  /** @type {Record<string, string | undefined>} */
  const env = { ...process.env, COPILOT_HOME: home };
  delete env.TAP_GATEWAY_PORT;
  delete env.COPILOT_AGENT_SESSION_ID;
  const store = path.join(home, "extensions", "tap", "consent.json");
  const allowed = () => {
    const loaded = loadProjectConfig(workspace);
    return isAllowed(store, config, loaded?.digest ?? "");
  };
  return { workspace, home, config, env, store, allowed };
}

/** @returns {Promise<{code: number | null, out: string, err: string}>} */
function tap(args, { env, workspace }, extra = {}) {
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: workspace,
    env: { ...env, ...extra },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const parts = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => (parts.out += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (parts.err += text));
  const ended = new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, ...parts }));
  });
  return withTimeout(ended, 20_000, `tap ${args.join(" ")}`);
}

describe("tap allow", () => {
  test("shows what would run and, with --yes, allows it", async (t) => {
    const at = place(t);
    const { code, out } = await tap(["allow", "--yes"], at);
    assert.equal(code, 0);
    assert.ok(out.includes(`${at.config} would start`), out);
    assert.match(out, /ci \(restart: on-failure\)\n {4}MODE=x node ci\.mjs ['"]a b['"]\n/);
    assert.match(out, /Allowed, until the file changes/);
    assert.equal(at.allowed(), true);
    assert.match((await tap(["allow", at.config], at)).out, /allowed already/);
  });

  test("asks again once the file has changed", async (t) => {
    const at = place(t);
    await tap(["allow", "--yes"], at);
    fs.writeFileSync(at.config, `${GOOD}\n`);
    assert.equal(at.allowed(), false);
    assert.equal((await tap(["allow"], at)).code, 1);
  });

  test("without a terminal and without --yes allows nothing", async (t) => {
    const at = place(t);
    const { code, out, err } = await tap(["allow", "."], at);
    assert.equal(code, 1);
    assert.match(out, /would start/);
    assert.match(err, /no terminal: use --yes/);
    assert.equal(at.allowed(), false);
  });

  test("is not for the agent", async (t) => {
    const at = place(t);
    const { code, err } = await tap(["allow", "--yes"], at, { COPILOT_AGENT_SESSION_ID: "s" });
    assert.equal(code, 1);
    assert.match(err, /not the agent's/);
    assert.equal(at.allowed(), false);
  });

  test("of a file with mistakes names them and allows nothing", async (t) => {
    const at = place(t, '{\n  "providers" []\n}');
    const { code, err } = await tap(["allow", "--yes"], at);
    assert.equal(code, 1);
    assert.ok(err.includes(`${at.config}:2:15: expected a colon`), err);
    assert.equal(fs.existsSync(at.store), false);
  });

  test("without a file says so", async (t) => {
    const at = place(t);
    fs.rmSync(at.config);
    const { code, err } = await tap(["allow", "--yes"], at);
    assert.equal(code, 1);
    assert.ok(err.includes(`there is no ${at.config}`), err);
  });

  test("shows control characters instead of sending them", async (t) => {
    const at = place(t, GOOD.replace("a b", "\\u001b[2K\\rsafe\\u202e"));
    const { out } = await tap(["allow", "--yes"], at);
    assert.ok(out.includes("\\u{1b}[2K\\u{d}safe\\u{202e}"), out);
    for (const character of "\u001b\r\u202e") assert.equal(out.includes(character), false);
  });

  test("keeps consent in the home that is named", async (t) => {
    const at = place(t);
    const { code } = await tap(["allow", "--yes", "--home", at.home], at, {
      COPILOT_HOME: "/nowhere",
    });
    assert.equal(code, 0);
    assert.equal(at.allowed(), true);
  });
});

describe("tap revoke", () => {
  test("takes consent back, also once the file is gone", async (t) => {
    const at = place(t);
    await tap(["allow", "--yes"], at);
    const saved = fs.readFileSync(at.config);
    fs.rmSync(at.config);
    assert.match((await tap(["revoke"], at)).out, /not allowed any more/);
    fs.writeFileSync(at.config, saved);
    assert.equal(at.allowed(), false);
    const again = await tap(["revoke", at.workspace], at);
    assert.match(again.out, /was not allowed/);
    assert.equal(again.code, 0);
  });
});

describe("tap status", () => {
  /** Something on a port of its own that answers this. */
  async function answering(t, body) {
    const server = http.createServer((_request, response) => response.end(body));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
    t.after(() => server.close());
    return /** @type {import("node:net").AddressInfo} */ (server.address()).port;
  }

  test("names the gateway of this home, and what is allowed", async (t) => {
    const at = place(t);
    const { homeHash } = gatewayFiles({ COPILOT_HOME: at.home });
    const port = await answering(t, JSON.stringify({ program: "tap", version, home: homeHash }));
    const files = gatewayFiles({ COPILOT_HOME: at.home, TAP_GATEWAY_PORT: String(port) });
    fs.mkdirSync(files.folder, { recursive: true });
    const descriptor = {
      pid: 42,
      port,
      link: path.join(path.dirname(at.home), "link"),
      secret: "hidden",
      version: "9.9.9",
    };
    fs.writeFileSync(files.descriptor, JSON.stringify(descriptor));
    await tap(["allow", "--yes"], at);
    const { code, out } = await tap(["status"], at, { TAP_GATEWAY_PORT: String(port) });
    assert.equal(code, 0);
    assert.match(out, /a gateway runs \(version 9\.9\.9, pid 42\)/);
    assert.ok(out.includes(`  ${at.config} (since `), out);
    assert.doesNotMatch(out, /hidden/);
  });

  test("tells another home's gateway, another program and nobody apart", async (t) => {
    const at = place(t);
    const other = await answering(t, JSON.stringify({ program: "tap", version, home: "x" }));
    const foreign = await answering(t, "hello");
    const cases = /** @type {const} */ ([
      [other, /another COPILOT_HOME/],
      [foreign, /a program other than tap/],
      [1, /no gateway runs/],
    ]);
    for (const [port, message] of cases) {
      const { code, out } = await tap(["status"], at, { TAP_GATEWAY_PORT: String(port) });
      assert.equal(code, 1);
      assert.match(out, message);
    }
  });

  test("with a port that is none says so", async (t) => {
    const { code, err } = await tap(["status"], place(t), { TAP_GATEWAY_PORT: "x" });
    assert.equal(code, 1);
    assert.match(err, /which is not a port/);
  });
});

describe("tap paired and tap unpair", () => {
  /** A host, and a web page that the user has let in. */
  async function paired(t) {
    const host = await Host.elected(t);
    const session = await host.session(t, { label: "shop (main)" });
    const page = await TestProvider.connect({ port: host.files.port, origin: "https://a.example" });
    t.after(() => page.terminate());
    page.send({ type: "auth", mode: "pair", name: "browser" });
    const { text } = await session.waitFor("timeline", (event) => /Pairing code/.test(event.text));
    page.send({ type: "auth.confirm", code: /code: (\d{6})/.exec(text)?.[1] });
    const { token } = await page.waitFor("sessions");
    return { page, token, host, at: { env: host.env, workspace: host.files.home } };
  }

  test("lists what the user has let in, without its token", async (t) => {
    const { at, token } = await paired(t);
    const { code, out } = await tap(["paired"], at);
    assert.equal(code, 0);
    assert.equal(out, "paired providers:\n  browser (https://a.example), in session shop (main)\n");
    assert.ok(!out.includes(token));
  });

  test("unpair voids the token and ends the connection", async (t) => {
    const { at, page, token, host } = await paired(t);
    const { code, out } = await tap(["unpair", "browser"], at);
    assert.equal(code, 0);
    assert.equal(out, "browser (https://a.example), in session shop (main): its token is void\n");
    assert.equal((await page.waitFor("error")).code, "AUTH_FAILED");
    assert.equal((await page.waitForClose()).code, 1008);
    const origin = "https://a.example";
    const back = await TestProvider.connect({ port: host.files.port, origin });
    t.after(() => back.terminate());
    await assert.rejects(back.auth(token), /AUTH_FAILED/);
    assert.equal((await tap(["paired"], at)).out, "paired providers: none\n");
  });

  test("unpair of a name that nobody has says so", async (t) => {
    const { at, page } = await paired(t);
    const { code, err } = await tap(["unpair", "brows"], at);
    assert.equal(code, 1);
    assert.match(err, /no provider is paired by the name "brows"/);
    assert.equal(page.closed, undefined);
  });

  test("without a gateway says so", async (t) => {
    const { code, err } = await tap(["paired"], place(t));
    assert.equal(code, 1);
    assert.match(err, /no gateway runs/);
  });

  test("with a gateway that is gone, or a secret that is not its own, says so", async (t) => {
    const { at, host } = await paired(t);
    const { descriptor } = host.files;
    const good = fs.readFileSync(descriptor, "utf8");
    fs.writeFileSync(descriptor, JSON.stringify({ ...JSON.parse(good), secret: "guess" }));
    const refused = await tap(["paired"], at);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /the link's secret is wrong/);
    fs.writeFileSync(descriptor, JSON.stringify({ ...JSON.parse(good), link: `${descriptor}-no` }));
    const gone = await tap(["paired"], at);
    assert.equal(gone.code, 1);
    assert.match(gone.err, /does not answer: no such file/);
  });
});

describe("usage", () => {
  test("--help and --version", async (t) => {
    const at = place(t);
    const help = await tap(["--help"], at);
    assert.equal(help.code, 0);
    assert.match(help.out, /tap allow \[path\]/);
    assert.equal((await tap(["--version"], at)).out, `${version}\n`);
  });

  const wrong = [
    [],
    ["alow"],
    ["allow", "--force"],
    ["allow", "a", "b"],
    ["status", "x"],
    ["paired", "x"],
    ["unpair"],
    ["unpair", "a", "b"],
    ["revoke", "-y"],
    ["allow", "package.json"],
  ];
  for (const args of wrong) {
    test(`tap ${args.join(" ")} is wrong usage`, async (t) => {
      const { code, out, err } = await tap(args, place(t));
      assert.equal(code, 2, err);
      assert.equal(out, "");
      assert.match(err, /^tap: .+\ntap --help shows/);
    });
  }
});

describe("in a terminal", () => {
  /** Answers the question with these keys. */
  async function answered(t, keys) {
    const at = place(t);
    const pty = createRequire(import.meta.url)("node-pty").spawn(process.execPath, [CLI, "allow"], {
      cwd: at.workspace,
      env: at.env,
      cols: 200,
      rows: 40,
    });
    let screen = "";
    pty.onData((text) => (screen += text));
    const ended = new Promise((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)));
    await waitFor(() => screen.includes("Allow this? [y/N]"), {
      what: () => `the question in:\n${screen}`,
    });
    assert.ok(screen.includes("MODE=x node ci.mjs"), screen);
    assert.equal(at.allowed(), false);
    pty.write(keys);
    const code = await withTimeout(ended, 10_000, () => `the end, after:\n${screen}`);
    return { code, allowed: at.allowed(), screen };
  }

  for (const keys of ["y\r", "YES\r"]) {
    test(`${JSON.stringify(keys)} allows`, async (t) => {
      const { code, allowed } = await answered(t, keys);
      assert.deepEqual([code, allowed], [0, true]);
    });
  }

  for (const keys of ["\r", "n\r", "yes please\r", "\x04", "\x03"]) {
    test(`${JSON.stringify(keys)} does not`, async (t) => {
      const { code, allowed, screen } = await answered(t, keys);
      assert.deepEqual([code, allowed], [1, false]);
      assert.match(screen, /Not allowed/);
    });
  }
});
