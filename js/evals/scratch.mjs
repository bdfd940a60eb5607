// A place for a run: a workspace, a COPILOT_HOME and a port. dispose() removes all of it.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { findFreePort } from "../lib/free-port.mjs";
import { readDescriptor } from "../lib/host-files.mjs";
import { gatewayFiles, programFolder } from "../lib/paths.mjs";
import { endFound, findByEnvironment } from "../process/group.mjs";

/** Variables of a surrounding session of the CLI, and settings of other gateways. */
const EXCLUDED_VARIABLES =
  /^(TAP_(?!NODE$).*|COPILOT_HOME|COPILOT_ALLOW_ALL|COPILOT_AGENT_SESSION_ID|COPILOT_CLI.*|COPILOT_SDK_PATH|COPILOT_EXTENSION_PARENT_PID|SESSION_ID|EXTENSION_PATH)$/;
/** Longer than the queries of records take; then the gateway ends. */
const GRACE_MS = "15000";
const MAX_LOG = 2000;

export class Scratch {
  /** @type {string} */ folder;
  /** @type {string} */ home;
  /** @type {string} */ workspace;
  /** @type {NodeJS.ProcessEnv} */ env;
  /** A descriptor for the output of programs. @type {number} */ log;

  /** @param {NodeJS.ProcessEnv} env of the user @param {number} port */
  constructor(env, port) {
    // Short, since the path of the link's socket must fit 104 bytes.
    this.folder = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), "tap-eval-"));
    this.home = path.join(this.folder, "home");
    this.workspace = path.join(this.folder, "work");
    fs.mkdirSync(this.home);
    fs.mkdirSync(this.workspace);
    this.log = fs.openSync(path.join(this.folder, "log"), "a+", 0o600);
    const kept = Object.entries(env).filter(([name]) => !EXCLUDED_VARIABLES.test(name));
    this.env = {
      ...Object.fromEntries(kept),
      COPILOT_HOME: this.home,
      COPILOT_AUTO_UPDATE: "false",
      TAP_GATEWAY_PORT: String(port),
      TAP_GRACE_MS: GRACE_MS,
    };
  }

  /** @param {NodeJS.ProcessEnv} env */
  static async create(env) {
    return new Scratch(env, await findFreePort());
  }

  /** Links this tap into the home, where the CLI finds it. */
  installTap() {
    const folder = path.join(this.home, "extensions", "tap");
    fs.mkdirSync(folder, { recursive: true });
    const entry = pathToFileURL(path.join(programFolder, "extension.mjs")).href;
    fs.writeFileSync(path.join(folder, "extension.mjs"), `import ${JSON.stringify(entry)};\n`);
  }

  get files() {
    return gatewayFiles(this.env);
  }

  /** The end of the programs' output. */
  get logTail() {
    const size = fs.fstatSync(this.log).size;
    const buffer = Buffer.alloc(Math.min(size, MAX_LOG));
    fs.readSync(this.log, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString("utf8").trim();
  }

  /** The processes with this home. Detached processes can only be found by it. @returns {number[]} */
  #processes() {
    const gateway = readDescriptor(this.files.descriptor);
    if (process.platform !== "linux") return gateway ? [gateway.pid] : [];
    return findByEnvironment(`COPILOT_HOME=${this.home}`);
  }

  /** Ends the gateway and all other processes of the run. */
  endProcesses() {
    return endFound(() => this.#processes());
  }

  /** @returns {Promise<string>} the problem; empty if all was removed */
  async dispose() {
    await this.endProcesses();
    fs.closeSync(this.log);
    try {
      fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
      return "";
    } catch (error) {
      return `${this.folder} could not be removed: ${/** @type {Error} */ (error).message}`;
    }
  }
}
