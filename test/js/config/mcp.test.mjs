// Entries of mcpServers, and the secrets that they name.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { setMcpServer } from "../../../js/config/edit.mjs";
import { userConfigFile } from "../../../js/config/file.mjs";
import { parseConfig } from "../../../js/config/load.mjs";
import {
  listSecretNames,
  readSecrets,
  removeSecret,
  resolveSecrets,
  setSecret,
} from "../../../js/config/mcp.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** @param {any} mcpServers @param {"user" | "project"} [owner] @returns {any} */
const parse = (mcpServers, owner = "user") =>
  parseConfig(JSON.stringify({ mcpServers }, null, 2), "config.json", owner);

/** The place of the first mistake of an entry. @param {object} entry */
function mistake(entry) {
  const { problems = [] } = parse({ s: entry });
  return problems.map((/** @type {any} */ { text }) => /^\S+:\d+:\d+: /.test(text));
}

test("an entry has its defaults", () => {
  const [server] = parse({ ev: { command: "npx" } }).mcpServers;
  assert.deepEqual(server, {
    ...{ name: "ev", command: "npx", args: [], env: {}, headers: {}, tools: ["*"], prefix: "ev_" },
    ...{ restart: { policy: "on-failure" }, startTimeout: 60_000, timeout: 300_000 },
  });
  const given = { type: "http", url: "http://localhost:1/mcp", prefix: "", timeout: "2s" };
  const [http] = parse({ web: given }).mcpServers;
  assert.deepEqual([http.url, http.prefix, http.timeout], ["http://localhost:1/mcp", "", 2000]);
});

test("a mistake of an entry has its place", () => {
  const command = "x";
  const url = "https://example.com/mcp";
  const wrong = [
    ...[{}, { command, url }, { command, headers: {} }, { url, args: [] }, { type: "sse", url }],
    ...[{ type: "http", command }, { command, unknown: 1 }, { command: "/bin/copilot-tap" }],
    ...[{ url: "http://example.com" }, { url: "https://a:b@example.com" }, { url: "file:///x" }],
    ...[
      { command, prefix: "a b" },
      { command, timeout: "2h" },
      { command, tools: [1] },
    ],
    ...[
      { url, headers: { "Mcp-Session-Id": "1" } },
      { url, headers: { a: "b\nc" } },
    ],
    ...[
      { command, env: { A: `\${TOKEN}` } },
      { command, env: { A: `\${env:TOKEN}` } },
    ],
    ...[
      { command, args: [`\${secret:A}`] },
      { command, env: { "A B": "" } },
    ],
  ];
  for (const entry of wrong) assert.deepEqual(mistake(entry), [true], JSON.stringify(entry));
});

test("names of servers are short, and never begin with tap", () => {
  for (const name of ["tap", "Tapper", "a b", "", "x".repeat(33)])
    assert.equal(parse({ [name]: { command: "x" } }).ok, false, name);
  const many = Array.from({ length: 21 }, (_, at) => [`s${at}`, { command: "x" }]);
  assert.equal(parse(Object.fromEntries(many)).ok, false);
});

test("a project cannot name servers", () => {
  assert.equal(parse({ s: { command: "x" } }, "project").ok, false);
});

test("an entry is added, replaced and removed, and comments stay", (t) => {
  const files = { home: temporaryFolder(t) };
  const file = userConfigFile(files);
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  fs.writeFileSync(file, '{\n  // mine\n  "spans": false\n}\n', { mode: 0o600 });
  setMcpServer(files, "a", { command: "one" });
  const { servers } = setMcpServer(files, "a", { command: "two" });
  assert.deepEqual(
    servers.map(({ command }) => command),
    ["two"],
  );
  assert.throws(() => setMcpServer(files, "b", {}));
  assert.deepEqual(setMcpServer(files, "a").servers, []);
  assert.match(fs.readFileSync(file, "utf8"), /\/\/ mine\n {2}"spans": false/);
});

test("secrets are of this user alone, and take the place of their names", (t) => {
  const home = temporaryFolder(t);
  const file = path.join(home, "tap", "mcp", "secrets.json");
  const [config] = parse({
    s: { command: "x", env: { A: `Bearer \${secret:ONE}`, B: `\${secret:TWO}` } },
  }).mcpServers;
  assert.deepEqual(listSecretNames(config), ["ONE", "TWO"]);
  setSecret(home, "ONE", "hunter2");
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  assert.throws(() => resolveSecrets(config, readSecrets(home)), /TWO/);
  setSecret(home, "TWO", "hunter2-longer");
  const { env, mask } = resolveSecrets(config, readSecrets(home));
  assert.deepEqual(env, { A: "Bearer hunter2", B: "hunter2-longer" });
  assert.equal(mask("hunter2-longer hunter2"), `\${secret:TWO} \${secret:ONE}`);
  assert.equal(removeSecret(home, "TWO"), true);
  assert.equal(removeSecret(home, "TWO"), false);
  assert.throws(() => setSecret(home, "A-B", "x"), RangeError);
  assert.throws(() => setSecret(home, "A", ""), RangeError);
  fs.chmodSync(file, 0o644);
  assert.throws(() => readSecrets(home), /chmod 600/);
});
