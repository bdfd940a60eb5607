// How a test reaches a gateway host, whatever that runs in: its files, and sessions that join it.

import fs from "node:fs";
import path from "node:path";
import { readDescriptor } from "../../js/lib/host-files.mjs";
import { gatewayFiles } from "../../js/lib/paths.mjs";
import { TestSession } from "./harness.mjs";
import { waitFor } from "./wait.mjs";

export class HostAccess {
  /** @param {Record<string, string | undefined>} env of the host */
  constructor(env) {
    this.env = env;
    this.files = gatewayFiles(env);
  }

  get descriptor() {
    return readDescriptor(this.files.descriptor);
  }

  get log() {
    const file = path.join(this.files.logs, "host.log");
    return fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
  }

  get token() {
    return fs.existsSync(this.files.token) ? fs.readFileSync(this.files.token, "utf8") : undefined;
  }

  /** A registered session. @param {import("node:test").TestContext} t @param {object} [fields] of its registration */
  async session(t, fields = {}) {
    const session = new TestSession();
    t.after(() => session.close());
    await session.connect(this.descriptor?.link ?? "");
    session.register({ secret: this.descriptor?.secret, ...fields });
    await session.waitFor("welcome");
    return session;
  }

  /** With a session, and its token published. @param {import("node:test").TestContext} t */
  async withToken(t) {
    const session = await this.session(t);
    await waitFor(() => this.token, { what: "a token file" });
    return session;
  }
}
