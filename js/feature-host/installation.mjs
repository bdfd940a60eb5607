// One feature that is installed: its context, what it has registered, its tasks, and its report. The context is all
// that a feature gets from its host. Nothing of it works any more after stop().

import { errorMessage } from "../lib/values.mjs";
import { redact } from "../lib/redact.mjs";
import { Diagnostics, createReport } from "./report.mjs";
import { boundResult } from "./results.mjs";
import { createServices } from "./service-access.mjs";
import { createSinks } from "./sinks.mjs";
import { Tasks } from "./tasks.mjs";

/** @typedef {import("./preflight.mjs").PreflightResult} PreflightResult */
/** @typedef {import("../../sdk/node/types.js").Provider} Provider */
/** @typedef {import("../../sdk/node/types.js").Match} Match */
/**
 * @typedef {(typed: {args: string, session: {id: string, cwd: string}, left?: AbortSignal}) => string | Promise<string>} RunCommand
 *   `left`: who has asked is gone
 * @typedef {(...typed: Parameters<RunCommand>) => unknown} CommandHandler a text for people; or an object for a program, which
 *   gets the whole of its JSON
 *
 * @typedef {object} Context what install() gets
 * @property {string} id
 * @property {readonly string[]} grants
 * @property {number} hangs hosts of features in a row, before this one, that were ended because they did not answer
 * @property {{register: (name: string, handler: (args: any, call: any) => unknown, now?: {description?: string, parameters?: object}) => boolean}} tools `false`:
 *   the tool was left out, as the report says
 * @property {HookRegistrar} hooks
 * @property {{register: (name: string, run?: CommandHandler) => boolean}} commands
 * @property {import("./sinks.mjs").Sinks["notify"]} notify
 * @property {import("./sinks.mjs").Sinks["prompts"]} prompts
 * @property {import("./sinks.mjs").Sinks["events"]} events
 * @property {import("./sinks.mjs").Sinks["diagnostics"]} diagnostics
 * @property {import("./service-access.mjs").Services} services
 *
 * @typedef {object} HookRegistrar each `name` is one of the descriptor
 * @property {(name: string) => boolean} has false: the hook waits for a condition that is not met
 * @property {(name: string, match: Match, reason: string) => void} deny
 * @property {(name: string, match: Match, judge: (check: any) => any, options?: {failOpen?: boolean}) => void} gate
 * @property {(name: string, match: Match, content: string) => void} note
 * @property {(name: string, text: string) => void} context
 *
 * @typedef {{tasks?: Record<string, import("./tasks.mjs").Task>, stop?: () => unknown}} Installed what install() may return
 * @typedef {(context: Context) => Installed | void | Promise<Installed | void>} Install
 *
 * @typedef {object} Ports where the context leads
 * @property {Pick<Provider, "tool" | "removeTool" | "deny" | "gate" | "note" | "context">} provider
 * @property {import("./sinks.mjs").Port} sinks
 * @property {import("./service-access.mjs").Implementations} implementations
 * @property {number} [hangs]
 * @property {import("./results.mjs").Overflow} [overflow]
 * @property {(thrown: unknown) => unknown} [failure] what a call fails with where its tool has thrown that
 * @property {<T>(work: () => T) => T} [enter] around each entrance into the feature's code
 * @property {(text: string) => void} [onDiagnostic]
 * @property {() => Promise<unknown>} [endProcesses] that its services have started
 * @property {number} [installMs]
 */

export const INSTALL_MS = 5000;

/** @param {Promise<unknown>} work @param {number} ms @returns {Promise<"late" | "done">} */
async function raceTimeout(work, ms) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
  const first = await Promise.race([work.then(() => "done"), late.then(() => "late")]);
  clearTimeout(timer);
  return /** @type {"late" | "done"} */ (first);
}

export class Installation {
  diagnostics;
  #checked;
  #ports;
  #enter;
  #tasks;
  #context;
  /** Why nothing of it works any more. */
  #closed = "";
  /** Why its services do not: its tasks may use them until they have ended. */
  #ended = "";
  /** @type {{what: string, reason: string}[]} */
  #skipped;
  #tools = /** @type {Map<string, () => unknown>} */ (new Map());
  #hooks = /** @type {Map<string, (() => unknown)[]>} */ (new Map());
  /** @type {Map<string, RunCommand>} */
  #commands = new Map();
  /** @type {Installed} */
  #installed = {};

  /** @param {PreflightResult} checked @param {Ports} ports */
  constructor(checked, ports) {
    this.#checked = checked;
    this.#ports = ports;
    this.#skipped = [...checked.skipped];
    this.#enter = ports.enter ?? ((work) => work());
    this.diagnostics = new Diagnostics({ onAdded: ports.onDiagnostic });
    for (const problem of checked.problems) this.diagnostics.add(problem);
    const { granted } = checked.decision;
    const shared = {
      granted,
      closed: () => this.#closed,
      onDenied: (/** @type {string} */ capability) =>
        this.diagnostics.add(`it asked for ${capability}, which was not granted`),
    };
    const sinks = createSinks({
      ...shared,
      channels: checked.descriptor.channels ?? [],
      port: ports.sinks,
      diagnostics: this.diagnostics,
    });
    this.#tasks = new Tasks(sinks, this.#enter, (text) => this.diagnostics.add(text));
    /** @type {Context} */
    this.#context = Object.freeze({
      id: checked.descriptor.id,
      grants: granted,
      hangs: ports.hangs ?? 0,
      tools: Object.freeze({ register: this.#registerTool.bind(this) }),
      hooks: this.#hookRegistrar(),
      commands: Object.freeze({ register: this.#registerCommand.bind(this) }),
      ...sinks,
      services: createServices({
        ...shared,
        closed: () => this.#ended,
        implementations: ports.implementations,
      }),
    });
  }

  get id() {
    return this.#checked.descriptor.id;
  }

  get enabled() {
    return this.#checked.decision.enabled;
  }

  // ---- registrars ----------------------------------------------------------------------------------

  /**
   * Only what the descriptor lists can be registered.
   * @param {"tools" | "commands"} list @param {string} name @returns {boolean} false: the preflight left it out
   */
  #admit(list, name) {
    if (this.#closed) throw new Error(this.#closed);
    const what = list.slice(0, -1);
    if (this.#checked.descriptor[list]?.some((one) => one.name === name)) return true;
    if (this.#checked.skipped.some((one) => one.what === `${what} ${name}`)) return false;
    this.diagnostics.add(`it tried to register the ${what} ${name}, which its descriptor lacks`);
    throw new Error(`the descriptor of ${this.id} has no ${what} of this name: ${name}`);
  }

  /**
   * @param {string} name @param {(args: any, call: any) => unknown} handler
   * @param {{description?: string, parameters?: object}} [now] in place of the descriptor's; with it a tool is registered again
   */
  #registerTool(name, handler, now) {
    if (!this.#admit("tools", name)) return false;
    if (this.#tools.has(name) && !now) {
      this.diagnostics.add(`it tried to register the tool ${name} twice`);
      throw new Error(`the tool ${name} is registered already`);
    }
    const tool = this.#checked.descriptor.tools?.find((one) => one.name === name);
    const { requires: _requires, name: _name, ...options } = /** @type {any} */ (tool);
    const { provider, overflow, failure = (thrown) => thrown } = this.#ports;
    const run = async (/** @type {any} */ args, /** @type {any} */ call) => {
      try {
        const result = await this.#enter(() => handler(args, call));
        return await boundResult(result, { session: call.session, tool: name }, overflow);
      } catch (error) {
        throw failure(error);
      }
    };
    const described = { ...options, ...now };
    provider.tool(name, described, run).catch(() => {}); // the provider reports it
    this.#tools.set(name, () => provider.removeTool(name));
    return true;
  }

  /** @param {string} name @param {CommandHandler} [run] absent: the gateway itself runs it */
  #registerCommand(name, run) {
    if (!this.#admit("commands", name)) return false;
    this.#commands.set(name, async (typed) => {
      if (!run) return `tap: the gateway runs /${name} itself`;
      const said = await this.#enter(async () => run(typed));
      if (typeof said === "object") return JSON.stringify(redact(said));
      const about = { session: typed.session.id, tool: name };
      return String(await boundResult(String(said), about, this.#ports.overflow));
    });
    return true;
  }

  /** @param {string} name @param {string} point @param {() => {remove: () => unknown}} declare */
  #registerHook(name, point, declare) {
    if (this.#closed) throw new Error(this.#closed);
    const listed = this.#checked.descriptor.hooks?.find((one) => one.name === name);
    if (listed?.point !== point) {
      this.diagnostics.add(
        `it tried to register a hook ${name} (${point}) that its descriptor lacks`,
      );
      throw new Error(`the descriptor of ${this.id} has no hook ${name} with the point ${point}`);
    }
    const rule = declare();
    this.#hooks.set(name, [...(this.#hooks.get(name) ?? []), () => rule.remove()]);
  }

  /** @returns {HookRegistrar} */
  #hookRegistrar() {
    const { provider } = this.#ports;
    const before = "onPreToolUse";
    /** A refusal of the user or the gateway is the provider's to report. @param {any} rule */
    const quiet = (rule) => {
      rule.inForce?.catch(() => {});
      return rule;
    };
    const { hooks = [] } = this.#checked.descriptor;
    return Object.freeze({
      has: (name) => hooks.some((one) => one.name === name),
      deny: (name, match, reason) =>
        this.#registerHook(name, before, () => quiet(provider.deny(match, reason))),
      gate: (name, match, judge, options) => {
        const check = (/** @type {any} */ use) => this.#enter(() => judge(use));
        this.#registerHook(name, before, () => quiet(provider.gate(match, check, options)));
      },
      note: (name, match, content) =>
        this.#registerHook(name, before, () => quiet(provider.note(match, content))),
      context: (name, text) =>
        this.#registerHook(name, "onUserPromptSubmitted", () => {
          provider.context(text).catch(() => {});
          return { remove: () => provider.context("") };
        }),
    });
  }

  // ---- coming and going ----------------------------------------------------------------------------

  /**
   * Never rejects: the report says what came of it.
   * @param {() => Install | Promise<Install>} load where it returns a function, that is called at once
   */
  async start(load) {
    const { decision, descriptor } = this.#checked;
    if (!decision.enabled || decision.obstacle) {
      this.#closed = "the feature is not installed";
      return;
    }
    /** @type {any} */
    let installed;
    const work = (async () => {
      const loaded = load();
      const install = typeof loaded === "function" ? loaded : await loaded;
      installed = (await this.#enter(() => install(this.#context))) ?? undefined;
    })();
    work.catch(() => {}); // also after the time is up
    const most = this.#ports.installMs ?? INSTALL_MS;
    try {
      if ((await raceTimeout(work, most)) === "late") {
        return await this.#fail(`install did not return within ${most / 1000} s`);
      }
      if (this.#closed) return;
      this.#installed = installed ?? {};
      this.#note("tool", descriptor.tools, this.#tools);
      this.#note("hook", descriptor.hooks, this.#hooks);
      this.#note("command", descriptor.commands, this.#commands);
      this.#startTasks();
    } catch (error) {
      await this.#fail(`install failed: ${errorMessage(error)}`);
    }
  }

  /** @param {string} what @param {{name: string}[] | undefined} listed @param {Map<string, unknown>} registered */
  #note(what, listed = [], registered) {
    for (const { name } of listed) {
      if (registered.has(name)) continue;
      this.#skipped.push({ what: `${what} ${name}`, reason: "install did not register it" });
    }
  }

  #startTasks() {
    const { tasks = {} } = this.#installed;
    for (const { name, schedule } of this.#checked.descriptor.tasks ?? []) {
      if (Object.hasOwn(tasks, name)) this.#tasks.start(name, tasks[name], schedule);
      else this.#skipped.push({ what: `task ${name}`, reason: "install did not return it" });
    }
  }

  /** @param {string} why */
  async #fail(why) {
    this.diagnostics.add(why);
    this.#skipped.push({ what: "the feature", reason: why });
    await this.stop(why);
  }

  /** A slash command. @param {string} name @returns {RunCommand | undefined} */
  command(name) {
    return this.#commands.get(name);
  }

  /**
   * Takes back all that it has registered, and ends its tasks.
   * @param {string} reason @returns {Promise<void>} once nothing of it runs; at most a few seconds
   */
  async stop(reason) {
    if (this.#closed) return;
    this.#closed = reason;
    for (const remove of [...this.#tools.values(), ...[...this.#hooks.values()].flat()]) {
      void Promise.resolve(remove()).catch(() => {});
    }
    for (const one of [this.#tools, this.#hooks, this.#commands]) one.clear();
    await this.#tasks.stop(reason);
    this.#ended = reason;
    try {
      const { stop } = this.#installed;
      if (stop) await raceTimeout(Promise.resolve(this.#enter(stop)), INSTALL_MS);
    } catch (error) {
      this.diagnostics.add(`its stop failed: ${errorMessage(error)}`);
    }
    await this.#ports.endProcesses?.();
  }

  /** @returns {import("./report.mjs").Report} */
  report() {
    const { descriptor, decision } = this.#checked;
    const { granted, denied, enabled } = decision;
    const running = this.#closed === "";
    return createReport({
      id: descriptor.id,
      enabled,
      runtime: descriptor.runtime,
      granted: enabled ? [...granted] : [],
      denied,
      tools: [...this.#tools.keys()],
      hooks: [...this.#hooks.keys()],
      commands: [...this.#commands.keys()],
      channels: running ? descriptor.channels : [],
      tasks: running ? this.#tasks.names : [],
      skipped: this.#skipped,
      diagnostics: this.diagnostics.list(),
    });
  }
}
