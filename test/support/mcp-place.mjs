// A gateway host with MCP servers in the user's config, for the time of a test.

import fs from "node:fs";
import path from "node:path";
import { userConfigFile } from "../../js/config/file.mjs";
import { openControl } from "../../js/link/control.mjs";
import { REPO_ROOT } from "./cli.mjs";
import { temporaryFolder } from "./temporary.mjs";
import { Host } from "./test-host.mjs";
import { waitFor } from "./wait.mjs";

const fixture = (/** @type {string} */ name) =>
  path.join(REPO_ROOT, "test", "support", "fixtures", name);

/** Made with the official SDK. */
export const OFFICIAL = {
  command: process.execPath,
  args: [fixture("mcp-official-server.mjs")],
};
export const CARELESS = { command: process.execPath, args: [fixture("mcp-server.mjs")] };

/** @param {import("./harness.mjs").TestSession} session @returns {string[]} names of all tools that it has */
export function offeredTools(session) {
  const tools = new Map();
  for (const { type, set = [], drop = [] } of session.events) {
    if (type !== "tools") continue;
    for (const provider of drop) tools.delete(provider);
    for (const { provider, definitions } of set)
      tools.set(
        provider,
        definitions.map((/** @type {any} */ { name }) => name),
      );
  }
  return [...tools.values()].flat();
}

export class McpPlace {
  /** @param {Host} host @param {string} notes */
  constructor(host, notes) {
    this.host = host;
    this.notesFile = notes;
  }

  /**
   * @param {import("node:test").TestContext} t @param {Record<string, any>} mcpServers
   * @param {object} [more] of the config
   */
  static async create(t, mcpServers, more = {}) {
    const home = temporaryFolder(t);
    const notes = path.join(home, "notes");
    const place = new McpPlace(/** @type {any} */ (undefined), notes);
    McpPlace.write(home, mcpServers, more);
    place.host = await Host.elected(t, { COPILOT_HOME: home });
    return place;
  }

  /** @param {string} home @param {Record<string, any>} mcpServers @param {object} [more] */
  static write(home, mcpServers, more = {}) {
    const file = userConfigFile({ home });
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const entries = Object.entries(mcpServers).map(([name, entry]) => [
      name,
      entry.command === undefined
        ? entry
        : { ...entry, env: { MCP_NOTES: path.join(home, "notes"), ...entry.env } },
    ]);
    const config = { ...more, mcpServers: Object.fromEntries(entries) };
    fs.writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  }

  /** What servers have noted. */
  get notes() {
    return fs.existsSync(this.notesFile) ? fs.readFileSync(this.notesFile, "utf8") : "";
  }

  /** @param {import("node:test").TestContext} t */
  session(t) {
    return this.host.session(t);
  }

  /** @param {string} method @param {object} [params] @returns {Promise<any>} */
  async request(method, params = {}) {
    const control = await openControl(this.host.files);
    try {
      return await control.request(method, params);
    } finally {
      control.close();
    }
  }

  /** @returns {Promise<any[]>} */
  async list() {
    return (await this.request("mcp.list")).servers;
  }

  /** @param {import("./harness.mjs").TestSession} session @param {string} name */
  waitForTool(session, name) {
    return waitFor(() => offeredTools(session).includes(name), {
      what: () => `${name} among ${offeredTools(session)}\n${this.host.log}`,
    });
  }

  /** @param {(server: any) => unknown} fits @returns {Promise<any>} the server that does */
  waitForServer(fits) {
    return waitFor(async () => (await this.list()).find(fits), {
      what: () => `a state of a server\n${this.host.log}`,
    });
  }
}
