// A gateway in this process with the surroundings that a test needs: sessions, attached or over the link,
// and providers that answer.

import { randomBytes, randomUUID } from "node:crypto";
import path from "node:path";
import { addon } from "../../js/lib/addon.mjs";
import { LinkConnection } from "../../js/link/client.mjs";
import { declareTools, TestProvider } from "./provider.mjs";
import { waitFor } from "./wait.mjs";
import { temporaryFolder } from "./temporary.mjs";

export { temporaryFolder };

/** @typedef {import("node:test").TestContext} TestContext */

/** Sets environment variables while `make` runs: limits are read when a gateway is made. */
export function withEnvironment(variables, make) {
  const before = Object.keys(variables).map((name) => [name, process.env[name]]);
  Object.assign(process.env, variables);
  try {
    return make();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

/** A session's first message. */
export const registration = (fields = {}) => ({
  type: "register",
  linkVersion: addon.linkVersion,
  version: "1.2.3",
  secret: "",
  sessionId: "a session",
  label: "a test",
  cwd: "/",
  cliPid: 0,
  mode: "live",
  joined: true,
  have: {},
  ...fields,
});

/** A host's answer that has no methods. */
const NO_METHODS = JSON.stringify({ error: { code: "UNKNOWN_METHOD", message: "no such method" } });

export class TestGateway {
  token = `ptk-${randomBytes(8).toString("hex")}`;
  secret = randomBytes(8).toString("hex");
  /** @type {string[]} */
  log = [];

  /**
   * @param {TestContext} t
   * @param {{limits?: Record<string, string>, listen?: boolean, token?: string, persistRoot?: string, version?: string,
   *   onSessionOpened?: (id: string, cwd: string) => void,
   *   onRequest?: import("../../js/lib/addon.js").GatewayOptions["onRequest"],
   *   onRequestDropped?: (number: number) => void}} [options]
   */
  constructor(t, options = {}) {
    const { limits = {}, listen = true, token, persistRoot, version = "1.2.3" } = options;
    this.test = t;
    if (token) this.token = token;
    this.addon = withEnvironment(
      limits,
      () =>
        new addon.Gateway({
          version,
          token: this.token,
          linkSecret: this.secret,
          pid: process.pid,
          persistRoot,
          onLog: (level, text) => this.log.push(`${level} ${text}`),
          onSessionOpened: options.onSessionOpened,
          onRequest:
            options.onRequest ?? ((number) => this.addon.answerRequest(number, NO_METHODS)),
          onRequestDropped: options.onRequestDropped,
        }),
    );
    t.after(() => this.addon.close());
    this.addon.setPlainAnswer('{"program":"tap"}');
    this.port = listen ? this.addon.listen(0) : 0;
  }

  /** Sessions can connect to what this returns. */
  listenLink() {
    this.link = path.join(temporaryFolder(this.test), "link");
    this.addon.listenLink(this.link);
    return this.link;
  }

  /** A registered session. @param {"attached" | "linked"} [way] */
  async session(way = "attached", fields = {}) {
    const session = new TestSession();
    this.test.after(() => session.close());
    if (way === "attached") session.attach(this.addon);
    else await session.connect(this.link ?? this.listenLink());
    session.register({ secret: this.secret, ...fields });
    await session.waitFor("welcome");
    return session;
  }

  /** An authenticated provider. @param {object} [options] of TestProvider.connect */
  async stranger(options = {}) {
    const provider = await TestProvider.connect({ port: this.port, ...options });
    this.test.after(() => provider.terminate());
    await provider.auth(this.token);
    return provider;
  }

  /**
   * A bound provider that serves these handlers.
   * @param {TestSession} session @param {string} name
   * @param {Record<string, (args: any, call: any) => unknown>} handlers
   * @param {object} [options] of TestProvider.connect
   */
  async provider(session, name, handlers, options = {}) {
    const provider = await this.stranger(options);
    const tools = Object.fromEntries(
      Object.entries(handlers).map(([tool, handler]) => [tool, { handler }]),
    );
    provider.handle(tools);
    await provider.hello({ name, session: session.id, tools: declareTools(tools) });
    return provider;
  }

  /** A provider whose only tool, `echo_<name>`, repeats its arguments. */
  async echo(session, name = "bystander") {
    const tool = `echo_${name}`;
    const provider = await this.provider(session, name, { [tool]: (args) => args.say });
    let count = 0;
    /** Fails unless a call is answered. */
    const check = async () => {
      const say = `${name} ${++count}`;
      const answer = await session.call(tool, { say });
      if (answer !== say) throw new Error(`${name} answered ${JSON.stringify(answer)}`);
    };
    return { provider, tool, check };
  }
}

export class TestSession {
  id = `session-${randomUUID()}`;
  /** @type {any[]} */
  events = [];
  /** @type {{reason: string, silent: boolean} | undefined} */
  closed;
  /** Whether it confirms each synchronisation, at once. */
  confirms = true;
  /** The answer of its user to the agent's questions; undefined: no answer. @type {object | undefined} */
  consent = { answer: "none", asked: false };

  constructor() {
    this.link = new LinkConnection({
      onEvent: (event) => this.#receive(event),
      onClosed: (reason, silent) => {
        this.closed = { reason, silent };
      },
    });
  }

  #receive(event) {
    this.events.push(event);
    if (event.type === "tools" && this.confirms)
      this.send({ type: "synced", revision: event.revision });
    if (event.request === "consent" && this.consent) {
      const { requestId } = event;
      this.send({ type: "session.result", requestId, result: this.consent });
    }
  }

  attach(gateway) {
    void this.link.connect(gateway);
  }

  /** @param {string} link */
  async connect(link) {
    await this.link.connect(link);
  }

  register(fields = {}) {
    this.send(registration({ sessionId: this.id, ...fields }));
  }

  /** @param {object} message */
  send(message) {
    this.link.send(message);
  }

  /** @param {string} tool @param {object} [args] @param {number} [timeoutMs] */
  start(tool, args = {}, timeoutMs) {
    return this.link.startCall(tool, args, timeoutMs);
  }

  /** @param {string} tool @param {object} [args] @param {number} [timeoutMs] */
  call(tool, args = {}, timeoutMs) {
    return this.start(tool, args, timeoutMs).result;
  }

  /** @param {string} type @param {(event: any) => unknown} [fits] */
  waitFor(type, fits = () => true) {
    return waitFor(() => this.events.find((event) => event.type === type && fits(event)), {
      intervalMs: 2,
      what: () => `${type} among ${JSON.stringify(this.events).slice(0, 2000)}`,
    });
  }

  /** @returns {Promise<{reason: string, silent: boolean}>} */
  waitForClose() {
    return waitFor(() => this.closed, { intervalMs: 2, what: "the end of the session's link" });
  }

  close() {
    this.link.close();
  }
}
