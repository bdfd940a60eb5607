// One node that runs: its worktree, its programs and agents, and what it tells the engine.

import { errorMessage } from "../../lib/values.mjs";
import { redactLine, redactLines } from "../../lib/redact.mjs";
import { formatNames, shortenText, visible } from "../../lib/visible.mjs";
import { provideTools, toShellUse } from "./node-tools.mjs";
import { RetryLater, formatLastLines, toStartError, PhaseFailed } from "./errors.mjs";
import { formatPhaseResult, eventText } from "./views.mjs";
import * as phases from "./phases.mjs";
import { formatSandboxProblem, mergeFields, resolvePolicy } from "./sandbox-policy.mjs";

/** @typedef {import("./plan-context.mjs").PlanContext} PlanContext */
/** @typedef {import("../../process/sandbox.mjs").Policy} Policy */

/** @type {Record<string, (run: NodeRun) => Promise<object>>} */
const PHASES = {
  "merge-fi": phases.prepareBase,
  prechecks: phases.runPrechecks,
  work: phases.runWork,
  commit: phases.commitWork,
  postchecks: phases.runPostchecks,
  "merge-ri": phases.landNode,
};
const SHELLS = /** @type {Record<string, string[]>} */ ({
  bash: ["bash", "-c"],
  sh: ["sh", "-c"],
  pwsh: ["pwsh", "-NoProfile", "-Command"],
  cmd: ["cmd.exe", "/d", "/s", "/c"],
});
const MAX_CONTEXT = 16_000;
const MAX_DIFF = 6000;
/** Of an attempt, as many as are recorded as they come; of more the end of the phase records the last ones. */
const MAX_REFUSALS = 20;
const MAX_TARGET = 200;
const MAX_TOUCHED = 20;
/** Why a service that is a request to the gateway is unavailable. */
const GATEWAY_GONE = new Set(["DISCONNECTED", "NO_GATEWAY", "TIMEOUT"]);
const RETRY_MS = 1000;

/** The effect `run` of native/plan/view.h. @typedef {Record<string, any>} RunEffect */

export class NodeRun {
  #controller = new AbortController();
  #steps;
  #hasBegun = false;
  #isSandboxed = false;
  #hasUnrecordedRefusals = false;
  #logWrites = Promise.resolve();
  /** Of the phase, for programs. */
  traceparent = "";

  /**
   * @param {object} parts
   * @param {PlanContext} parts.plan @param {RunEffect} parts.effect
   * @param {import("../../feature-host/service-access.mjs").Services} parts.services
   * @param {import("./notifications.mjs").Spans} parts.spans
   * @param {(input: object) => Promise<string>} parts.tell the engine
   * @param {(args: {tool: string, args: object}) => Promise<void>} parts.requirePermission
   * @param {() => Promise<string | undefined>} parts.findSession in whose name tools are called; "": any that has them
   * @param {(workers: any, cli: {cli: string, sdk: string}) => void} parts.onAgent one has ended; its server is still there
   * @param {(node: string, line: string) => void} parts.onLine what it printed last
   */
  constructor(parts) {
    const { plan, effect, services, spans, tell, onAgent, onLine } = parts;
    const { requirePermission, findSession } = parts;
    this.plan = plan;
    this.effect = effect;
    this.node = effect.node;
    this.git = plan.git;
    this.repository = plan.repository;
    this.services = services;
    this.spans = spans;
    this.submit = tell;
    this.requirePermission = requirePermission;
    this.findSession = findSession;
    this.onAgent = onAgent;
    this.onLine = onLine;
    this.signal = this.#controller.signal;
    this.#steps = Object.assign({}, ...effect.current.steps);
  }

  get attempt() {
    return this.effect.current.attempt;
  }

  #attemptId() {
    return { planId: this.plan.id, nodeId: this.node.id, attempt: this.attempt };
  }

  stop() {
    this.#controller.abort();
  }

  /** Carries out the phase of the effect, and tells how it ended. */
  async runPhase() {
    const { phase } = this.effect;
    const of = { node: this.node.id, attempt: this.attempt, phase };
    const span = await this.spans.startPhase(this.plan, of);
    this.traceparent = span.traceparent;
    try {
      if (this.effect.first) await this.#begin();
      if (phase !== "merge-ri") await this.#prepareSandbox();
      const detail = await PHASES[phase](this);
      this.log(formatPhaseResult(detail));
      await this.#logWrites;
      const outcome = "conflict" in detail ? "skipped" : "succeeded";
      void span.end(outcome);
      await this.#end(outcome, detail);
    } catch (error) {
      void span.end("failed");
      await this.#endWithError(error);
    }
  }

  async #begin() {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    await this.submit({ input: "began", ...this.#attemptId() });
  }

  /** @param {string} outcome @param {object} detail @param {number} [until] */
  async #end(outcome, detail, until = 0) {
    if (this.#hasUnrecordedRefusals) await this.recordStep({ refusals: this.fact("refusals") });
    if (this.signal.aborted) return;
    const { phase } = this.effect;
    await this.submit({
      input: "phase-ended",
      ...this.#attemptId(),
      phase,
      outcome,
      detail,
      until,
    });
  }

  /** @param {any} error */
  async #endWithError(error) {
    await this.#logWrites;
    if (this.signal.aborted) return;
    if (error instanceof RetryLater) return this.#end(error.outcome, error.detail, error.until);
    const { code = "FAILED", detail = {} } = error;
    const message = redactLine(errorMessage(error)).slice(0, 2000);
    // The gateway has gone, and this process with it, or it will be replaced.
    if (GATEWAY_GONE.has(error.cause?.code)) {
      const until = Date.now() + RETRY_MS;
      return this.#end("interrupted", { ...detail, error: { code, message } }, until);
    }
    if (!detail.log) this.log(message);
    await this.#logWrites;
    await this.#end("failed", { ...detail, error: { code, message } });
  }

  /** A line of the phase's log, where no program writes it. @param {string} text hostile; "": none */
  log(text) {
    if (text === "") return;
    const line = { plan: this.plan.id, name: this.logName(this.effect.phase), text: `${text}\n` };
    // A full disk says so where something depends on it.
    const write = () => this.services.plans.writeLog(line).catch(() => {});
    this.#logWrites = this.#logWrites.then(write);
  }

  /** A fact that must not be lost. @param {object} detail @param {{sync?: boolean}} [how] */
  async recordStep(detail, { sync = false } = {}) {
    Object.assign(this.#steps, detail);
    await this.submit({ input: "step", ...this.#attemptId(), detail, sync });
  }

  /**
   * What a program or an agent tried and may not do: the attempt has the number, and the last ones.
   * @param {import("../../agents/job.mjs").Refusal} refusal
   */
  recordRefusal({ kind, target, call }) {
    const { attempt, effect } = this;
    const before = this.fact("refusals");
    const isOwn = before?.attempt === attempt && Array.isArray(before.last);
    const { count, last } = isOwn ? before : { count: 0, last: [] };
    const shown = shortenText(redactLine(target), MAX_TARGET);
    const one = { at: Date.now(), phase: effect.phase, kind, target: shown, ...(call && { call }) };
    const refusals = { attempt, count: count + 1, last: [...last, one].slice(-MAX_REFUSALS) };
    Object.assign(this.#steps, { refusals });
    this.#hasUnrecordedRefusals = count >= MAX_REFUSALS;
    // A full disk says so where something depends on it.
    if (!this.#hasUnrecordedRefusals) this.recordStep({ refusals }).catch(() => {});
  }

  /** What a step has told last. @param {string} name @returns {any} */
  fact(name) {
    return this.#steps[name];
  }

  /** Of an earlier phase. @param {string} phase @returns {any} */
  phaseDetail(phase) {
    return this.effect.current.phases.find((/** @type {any} */ one) => one.phase === phase)?.detail;
  }

  // ---- the worktree --------------------------------------------------------------------------------

  /** Where the node has begun. */
  base() {
    const { worktree } = this.#steps; // a file from which it was imported may have none
    return worktree?.commit ?? this.phaseDetail("merge-fi")?.baseCommit ?? this.node.commit;
  }

  /** What the node has made, in this attempt or in one that it goes on from; before: with what it has begun. */
  commit() {
    const made = this.phaseDetail("commit")?.commit ?? this.phaseDetail("merge-fi")?.commit;
    if (made) return made;
    return (
      (this.effect.current.attempt > 1 && this.#steps.worktree && this.node.commit) || this.base()
    );
  }

  get worktree() {
    const { worktree } = this.#steps;
    if (!worktree?.path)
      throw new PhaseFailed(
        "NO_WORKTREE",
        "The node has no worktree any more. Retry it from the start.",
      );
    return { ...worktree, plan: this.plan.id, node: this.node.id, attempt: this.attempt };
  }

  /** @param {string} commit with which the node begins */
  async makeWorktree(commit) {
    const nonce = this.#steps.worktree?.nonce ?? this.plan.facts.nonce;
    const { plan, signal } = this;
    const of = { plan: plan.id, node: this.node.id, attempt: this.attempt, nonce };
    const place = await plan.worktrees.worktreePath(of);
    if (!this.#steps.worktree) await this.recordStep({ worktree: { nonce, commit, place } });
    const { isPrivate } = this;
    const made = await plan.pool.acquire({ ...of, commit, isPrivate, signal });
    const { path, admin } = made;
    await this.recordStep({ worktree: { nonce, commit, path, admin } });
    return made;
  }

  /**
   * A checkout of exactly one commit, beside the worktree: no node commits what is left in it.
   * @template T @param {string} commit @param {(checkout: import("../../git/worktrees.mjs").Worktree) => Promise<T>} use
   */
  async withCheckout(commit, use) {
    const { plan, signal } = this;
    const nonce = this.#steps.worktree?.nonce ?? plan.facts.nonce;
    const of = { plan: plan.id, node: this.node.id, attempt: this.attempt, nonce, commit };
    const { isPrivate } = this;
    const checkout = await plan.pool.acquire({ ...of, isForChecks: true, isPrivate, signal });
    try {
      return await use(checkout);
    } finally {
      const { removed, pooled, message } = await plan.pool.release(checkout);
      if (!removed && !pooled) this.log(`tap: ${message}`);
    }
  }

  /** What it leaves is no work of the node. @param {string} command @param {any} worktree */
  async runSetup(command, worktree) {
    await this.runProgram({ type: "shell", command }, worktree);
    await this.git.checkWorktreeLink(this.repository, worktree);
  }

  /** Whether its programs have an object store of their own. */
  get isPrivate() {
    return this.#isSandboxed;
  }

  /** @throws {PhaseFailed} NO_SANDBOX, SANDBOX_BROKEN: this machine has none, and the plan may not run without one */
  async #prepareSandbox() {
    const { head, facts } = this.plan;
    this.#isSandboxed = false;
    if (mergeFields(head, this.node).sandbox === "off") return;
    const found = await this.services.plans.probeSandbox();
    this.#isSandboxed = found.state === "ok";
    if (this.#isSandboxed) return;
    const { fallback = "ask" } = (await this.services.settings.plans()).sandbox ?? {};
    if (fallback === "none" || (fallback === "ask" && facts.unsandboxed)) return;
    throw new PhaseFailed(found.code, formatSandboxProblem(found));
  }

  /**
   * What a program in a worktree may do. The attempt records it.
   * @param {{path: string, admin: string}} worktree @param {string} [start] where programs start
   * @returns {Promise<Policy | undefined>} undefined: it has no sandbox
   */
  async createPolicy(worktree, start) {
    const { repository } = this;
    const policy = await this.#resolvePolicy(worktree);
    const sandbox = this.#isSandboxed ? "on" : "off";
    const { writable, readable, caches, hosts } = policy;
    const recorded = { sandbox, writable, readable, caches, hosts };
    if (JSON.stringify(recorded) !== JSON.stringify(this.fact("policy")))
      await this.recordStep({ policy: recorded });
    if (!this.#isSandboxed) return undefined;
    return { ...policy, start, readable: [...readable, ...(await repository.settingsFiles())] };
  }

  /** @param {{path: string, admin: string}} worktree */
  #resolvePolicy(worktree) {
    const { plan, git, repository, node, effect } = this;
    const own = git.hasStore(worktree.admin) ? git.storeFolder(worktree.admin) : undefined;
    return resolvePolicy({
      ...{ git, repository, head: plan.head, node, phase: effect.phase, worktree },
      ...{ beside: plan.facts.beside === true, own },
    });
  }

  // ---- programs ------------------------------------------------------------------------------------

  /** With what tells a program which node it works for. @param {Record<string, string>} [env] */
  environment(env = {}) {
    const own = { TAP_PLAN_ID: this.plan.id, TAP_NODE_ID: this.node.id };
    return { ...this.plan.environment(), ...env, ...own, TAP_ATTEMPT: String(this.attempt) };
  }

  /** @param {Record<string, any>} work @returns {string} for people */
  formatWork(work) {
    if (work.type === "process") return [work.executable, ...(work.args ?? [])].join(" ");
    return work.command ?? work.instructions ?? work.tool;
  }

  /** @param {string} phase */
  logName(phase) {
    return `${this.node.id}-${this.attempt}-${phase}`;
  }

  /**
   * Where programs of the node start. A link would lead to where no commit of the node has been.
   * @param {{path: string}} worktree @returns {Promise<string>} @throws {PhaseFailed} NO_FOLDER, NOT_ALLOWED
   */
  async findFolder({ path: root }) {
    const { cwd } = this.node;
    if (!cwd) return root;
    const [{ named, real, why }] = await this.git.inspectFolders(root, [cwd]);
    if (real === named) return named;
    const fault = why ?? `leads by a link to "${visible(String(real))}"`;
    const advice = `Let a node that this one depends on make the folder, or replace this node: copilot-tap plan add ${this.plan.id} FILE --replaces ${this.node.id}`;
    throw new PhaseFailed(
      real === undefined ? "NO_FOLDER" : "NOT_ALLOWED",
      `cwd: in the worktree "${visible(cwd)}" ${fault}. ${advice}`,
    );
  }

  /**
   * @param {Record<string, any>} work @param {{path: string, admin: string}} worktree
   * @param {string} [cwd] below it, and there
   */
  async runProgram(work, worktree, cwd = worktree.path) {
    const { phase, timeoutMs } = this.effect;
    const line = this.formatWork(work);
    await this.requirePermission(toShellUse(line, { ...this.plan.head.env, ...work.env }));
    const [command, ...before] =
      work.type === "process" ? [work.executable] : SHELLS[work.shell ?? this.plan.shell];
    const args = work.type === "process" ? (work.args ?? []) : [...before, work.command];
    const log = { plan: this.plan.id, name: this.logName(phase) };
    const ended = await this.services.plans
      .run({
        ...{ command, args, cwd, env: this.environment(work.env) },
        sandbox: await this.createPolicy(worktree, cwd),
        ...{ ...log, timeoutMs, signal: this.signal, traceparent: this.traceparent },
        onRefused: (/** @type {string} */ host) =>
          this.recordRefusal({ kind: "host", target: host }),
      })
      .catch((error) => {
        throw toStartError(command, error);
      });
    if (ended.code === 0 && ended.why === "") return { exitCode: 0, log: log.name };
    const { text } = await this.services.plans.readLog({ ...log, most: 16_384 });
    const lastLines = formatLastLines(text);
    const detail = { exitCode: ended.code, signal: ended.signal, log: log.name, lastLines };
    throw new PhaseFailed(
      ended.why === "timeout" ? "TIMEOUT" : "EXIT",
      this.#formatEnd(line, ended, timeoutMs),
      detail,
    );
  }

  /** @param {string} line @param {any} ended @param {number} timeoutMs */
  #formatEnd(line, { code, signal, why }, timeoutMs) {
    const what = `\`${redactLine(line).slice(0, 200)}\``;
    if (why === "timeout")
      return `${what} was ended after ${timeoutMs / 1000} s. A longer \`timeout\` gives it more.`;
    if (why === "log")
      return `${what} wrote more than the 64 MB that its log takes. Let it write less, or to a file.`;
    return signal ? `${what} was ended by ${signal}` : `${what} ended with exit code ${code}`;
  }

  // ---- agents --------------------------------------------------------------------------------------

  /** What failed before, and what is in the worktree, for an agent that goes on. Hostile text. */
  async #formatFailure() {
    const { before } = this.effect;
    const failed = before?.phases.find((/** @type {any} */ { status }) => status === "failed");
    if (!failed) return "";
    const { error, lastLines = "" } = failed.detail ?? {};
    const { text } = await this.git
      .diffWorktree(this.repository, this.worktree, { mostBytes: MAX_DIFF })
      .catch(() => ({ text: "" }));
    return [
      `Phase ${failed.phase} failed: ${error?.message}`,
      lastLines,
      text && `What you have changed so far:\n${redactLines(text)}`,
    ]
      .filter(Boolean)
      .join("\n")
      .slice(0, MAX_CONTEXT);
  }

  /**
   * Who checks has a session of its own, each time.
   * @param {Record<string, any>} work @param {{path: string, admin: string}} worktree
   */
  async runAgent(work, worktree) {
    const cwd = worktree.path;
    await this.findFolder(worktree);
    const policy = await this.createPolicy(worktree);
    const workers = await this.services.workers.use();
    const cli = await this.plan.cli();
    const isCheck = this.effect.phase === "postchecks";
    const resume = !isCheck && Boolean(this.#steps.sessionId);
    const sessionId = resume ? this.#steps.sessionId : crypto.randomUUID();
    const step = isCheck ? { checkSessionId: sessionId } : { sessionId };
    if (!resume) await this.recordStep(step, { sync: true });
    const context = resume ? await this.#formatFailure() : "";
    const tools = await provideTools(this, work.tools ?? []);
    const before = await this.plan.readCheckout();
    const result = await workers.run(
      cli,
      {
        ...{ sessionId, cwd, name: this.node.name },
        ...{
          instructions: this.#formatInstructions(work, context !== ""),
          resume,
          signal: this.signal,
        },
        ...(context && { context }),
        ...(work.model && { model: work.model }),
        ...(policy ? { policy } : await this.#listReach(worktree)),
        ...(work.maxTurns && { maxTurns: work.maxTurns }),
        ...(tools.length > 0 && { tools }),
        timeout: this.effect.timeoutMs,
        keepSession: true,
        mayUse: (/** @type {string} */ tool, /** @type {unknown} */ args) =>
          this.requirePermission({ tool, args: /** @type {object} */ (args) }).then(
            () => "",
            (error) => errorMessage(error),
          ),
      },
      (/** @type {import("../../agents/job.mjs").WorkerEvent} */ event) => {
        this.log(eventText(event));
        if (event.kind === "refused") this.recordRefusal(event.refusal);
        this.onLine(this.node.id, event.text);
      },
    );
    this.onAgent(workers, cli);
    // The CLI keeps no session that never had a turn: the next attempt begins one.
    if (!isCheck && !resume && result.turns === 0) await this.recordStep({ sessionId: "" });
    return this.#checkAgentResult(result, await this.plan.listChangedFiles(before));
  }

  /** Of an agent without a sandbox. @param {{path: string, admin: string}} worktree */
  async #listReach(worktree) {
    const { writable, hosts } = await this.#resolvePolicy(worktree);
    return { allowedFolders: writable, allowedUrls: hosts === "*" ? ["*"] : hosts };
  }

  /** With what was said when it was retried. @param {Record<string, any>} work @param {boolean} again it has failed a check */
  #formatInstructions({ instructions }, again) {
    const { instructions: now = "" } = this.effect.before?.request ?? {};
    const { cwd } = this.node;
    const place = cwd ? `\n\nWork in the folder ${visible(cwd)} of your worktree.` : "";
    const task = again
      ? `Your work on this task failed a check. Mend it. The task was:\n${instructions}`
      : instructions;
    return `${task}${place}${now === "" ? "" : `\n\nHeed this, too:\n${now}`}`;
  }

  /** @param {string[]} touched files of the user's checkout @returns {string} */
  #noteTouched(touched) {
    if (touched.length === 0) return "";
    const names = formatNames(touched, MAX_TOUCHED);
    const note = `files of your checkout changed meanwhile: ${names}`;
    this.log(`tap: ${note}`);
    return note;
  }

  /** @param {any} result @param {string[]} touched files of the user's checkout that changed meanwhile */
  #checkAgentResult(result, touched) {
    const { status, error, usage, turns, summary, sessionId, retryAfter } = result;
    const models = Object.entries(usage?.models ?? {}).map(([model, tokens]) => ({
      model,
      .../** @type {object} */ (tokens),
    }));
    const note = this.#noteTouched(touched);
    const detail = {
      ...{ sessionId, turns, summary: redactLine(summary ?? "").slice(0, MAX_CONTEXT / 4) },
      usage: { ...usage, models },
      ...(note && { note }),
    };
    if (status === "succeeded") return detail;
    if (status === "rateLimited") {
      const until = Date.now() + (retryAfter ?? 60) * 1000;
      throw new RetryLater("interrupted", "the model's limit is reached", until, {
        ...detail,
        error,
      });
    }
    if (status === "interrupted")
      throw new RetryLater("interrupted", error.message, 0, { ...detail, error });
    throw new PhaseFailed(error?.code ?? "FAILED", error?.message ?? "the agent did not succeed", {
      ...detail,
      lastLines: formatLastLines(summary ?? ""),
    });
  }
}
