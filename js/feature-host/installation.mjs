// An installed feature: its context, its registrations, its tasks, and its report. The context is the only access of
// a feature to its host. It stops working with stop().

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
 * @typedef {(typed: {args: string, session: {id: string, cwd: string}, left?: AbortSignal}) => string |
 *   Promise<string>} RunCommand `left`: the client has left
 * @typedef {(...typed: Parameters<RunCommand>) => unknown} CommandHandler a text for people; or an object for a
 *   program, which gets the whole of its JSON
 *
 * @typedef {object} Context the argument of install()
 * @property {string} id
 * @property {readonly string[]} grants
 * @property {number} hangs number of previous feature hosts in a row that were ended because they did not answer
 * @property {{register: (name: string, handler: (args: any, call: any) => unknown, now?: {description?: string,
 *   parameters?: object}) => boolean}} tools `false`: the tool was left out, see the report
 * @property {HookRegistrar} hooks
 * @property {{register: (name: string, run?: CommandHandler) => boolean}} commands
 * @property {import("./sinks.mjs").Sinks["notify"]} notify
 * @property {import("./sinks.mjs").Sinks["prompts"]} prompts
 * @property {import("./sinks.mjs").Sinks["events"]} events
 * @property {import("./sinks.mjs").Sinks["diagnostics"]} diagnostics
 * @property {import("./service-access.mjs").Services} services
 *
 * @typedef {object} HookRegistrar each `name` has to be in the descriptor
 * @property {(name: string) => boolean} has false: the hook waits for a condition that is not met
 * @property {(name: string, match: Match, reason: string) => void} deny
 * @property {(name: string, match: Match, judge: (check: any) => any, options?: {failOpen?: boolean}) => void} gate
 * @property {(name: string, match: Match, content: string) => void} note
 * @property {(name: string, text: string) => void} context
 *
 * @typedef {{tasks?: Record<string, import("./tasks.mjs").Task>, stop?: () => unknown}} Installed the result of
 *   install()
 * @typedef {(context: Context) => Installed | void | Promise<Installed | void>} Install
 *
 * @typedef {object} Ports the targets of the context
 * @property {Pick<Provider, "tool" | "removeTool" | "deny" | "gate" | "note" | "context">} provider
 * @property {import("./sinks.mjs").Port} sinks
 * @property {import("./service-access.mjs").Implementations} implementations
 * @property {number} [hangs]
 * @property {import("./results.mjs").Overflow} [overflow]
 * @property {(thrown: unknown) => unknown} [failure] the failure of a call whose tool has thrown this
 * @property {<T>(work: () => T) => T} [enter] around each entrance into the feature's code
 * @property {(text: string) => void} [onDiagnostic]
 * @property {() => Promise<unknown>} [endProcesses] ends processes that its services have started
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
  /** Why the feature has stopped. */
  #closed = "";
  /** Why its services have stopped, which is later, since its tasks may use them until they have ended. */
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
   * Allows only names in the descriptor.
   * @param {"tools" | "commands"} list @param {string} name @returns {boolean} false: the preflight skipped it
   */
  #admit(list, name) {
    if (this.#closed) throw new Error(this.#closed);
    const kind = list.slice(0, -1);
    if (this.#checked.descriptor[list]?.some((entry) => entry.name === name)) return true;
    if (this.#checked.skipped.some((entry) => entry.what === `${kind} ${name}`)) return false;
    this.diagnostics.add(`it tried to register the ${kind} ${name}, which its descriptor lacks`);
    throw new Error(`the descriptor of ${this.id} has no ${kind} of this name: ${name}`);
  }

  /**
   * @param {string} name @param {(args: any, call: any) => unknown} handler
   * @param {{description?: string, parameters?: object}} [now] instead of the descriptor's; registers the tool again
   */
  #registerTool(name, handler, now) {
    if (!this.#admit("tools", name)) return false;
    if (this.#tools.has(name) && !now) {
      this.diagnostics.add(`it tried to register the tool ${name} twice`);
      throw new Error(`the tool ${name} is registered already`);
    }
    const tool = this.#checked.descriptor.tools?.find((candidate) => candidate.name === name);
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
      const answer = await this.#enter(async () => run(typed));
      if (typeof answer === "object") return JSON.stringify(redact(answer));
      const about = { session: typed.session.id, tool: name };
      return String(await boundResult(String(answer), about, this.#ports.overflow));
    });
    return true;
  }

  /** @param {string} name @param {string} point @param {() => {remove: () => unknown}} declare */
  #registerHook(name, point, declare) {
    if (this.#closed) throw new Error(this.#closed);
    const listed = this.#checked.descriptor.hooks?.find((hook) => hook.name === name);
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
    /** The provider reports a refusal of the user or the gateway. @param {any} rule */
    const quiet = (rule) => {
      rule.inForce?.catch(() => {});
      return rule;
    };
    const { hooks = [] } = this.#checked.descriptor;
    return Object.freeze({
      has: (name) => hooks.some((hook) => hook.name === name),
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

  // ---- start and stop ------------------------------------------------------------------------------

  /**
   * Never rejects: the report has the result.
   * @param {() => Install | Promise<Install>} load if it returns a function, that is called at once
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
    work.catch(() => {}); // also after the timeout
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

  /** @param {string} kind @param {{name: string}[] | undefined} listed @param {Map<string, unknown>} registered */
  #note(kind, listed = [], registered) {
    for (const { name } of listed) {
      if (registered.has(name)) continue;
      this.#skipped.push({ what: `${kind} ${name}`, reason: "install did not register it" });
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

  /** Finds a slash command. @param {string} name @returns {RunCommand | undefined} */
  command(name) {
    return this.#commands.get(name);
  }

  /**
   * Removes all of its registrations, and ends its tasks.
   * @param {string} reason @returns {Promise<void>} when all of its code has ended, or after a few seconds
   */
  async stop(reason) {
    if (this.#closed) return;
    this.#closed = reason;
    for (const remove of [...this.#tools.values(), ...[...this.#hooks.values()].flat()]) {
      void Promise.resolve(remove()).catch(() => {});
    }
    for (const registered of [this.#tools, this.#hooks, this.#commands]) registered.clear();
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
