// npm run chaos -- [--minutes N] [--seed S]: a real host with many providers and sessions, which are
// killed, stopped, made deaf and cut off by a schedule that the seed decides. Every call is in a
// ledger, and at the end nothing may be left: no call, no process, no descriptor, no file.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { Ledger, TIMEOUT_MS } from "./chaos/ledger.mjs";
import { Member, SessionMember, signalTo } from "./chaos/members.mjs";
import { makeSchedule } from "./chaos/schedule.mjs";
import { HostWatch } from "./chaos/watch.mjs";
import { CommandFailed, say } from "./commands.mjs";
import { setUp } from "./setup.mjs";
import { freePort } from "./support/cli.mjs";
import { describeProcess, killAll, processesOf } from "./support/processes.mjs";
import { waitFor } from "./support/wait.mjs";

const SESSIONS = 4;
const PROVIDERS = 8;
/** A stopped host is killed by its sessions after 6 s. */
const HANG_MS = 9000;
const REPORT_MS = 10_000;
const HOST_MEMORY_MB = 400;

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {string} home @param {number} port */
function environment(home, port) {
  const { PATH, HOME, LANG, TMPDIR } = process.env;
  const timers = { TAP_GRACE_MS: "1500", TAP_LINGER_MS: "1000", TAP_SHUTDOWN_MS: "1000" };
  const env = { PATH, HOME, LANG, TMPDIR, ...timers, COPILOT_HOME: home };
  return { ...env, TAP_GATEWAY_PORT: String(port) };
}

/** Bytes of a client that does not go on. */
const FRAGMENTS = [
  "",
  "GET / HTTP/1.1\r\nHost: local",
  "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n\x81\xfe",
  "\x00\x00\x00\x00",
];

class Chaos {
  ledger = new Ledger();
  /** @type {Record<string, number>} */
  done = {};

  constructor() {
    this.home = mkdtempSync(path.join(os.tmpdir(), "tap-ch-"));
  }

  async start() {
    this.port = await freePort();
    const env = environment(this.home, this.port);
    this.sessions = Array.from(
      { length: SESSIONS },
      (_, i) => new SessionMember(`s${i}`, env, this.ledger),
    );
    this.providers = Array.from(
      { length: PROVIDERS },
      (_, i) => new Member("provider.mjs", `p${i}`, env),
    );
    this.watch = new HostWatch(this.home);
    await this.whole("at the start");
  }

  /** Everybody is there and sees everybody. @param {string} when */
  async whole(when) {
    const wanted = this.providers.map(({ name }) => `do_${name}`);
    const complete = () =>
      this.sessions.every(({ up, tools }) => up && wanted.every((tool) => tools.includes(tool)));
    const what = () =>
      `${when}: ${JSON.stringify(this.sessions.map(({ name, up, tools }) => ({ name, up, tools })))}`;
    await waitFor(complete, { timeoutMs: 40_000, what });
  }

  /** @param {import("./chaos/schedule.mjs").Step} step */
  perform(step) {
    const { session, provider, mode, ms, count } = step;
    const by = this.sessions[session];
    const of = this.providers[provider];
    const { host } = this.watch;
    /** @type {Record<string, () => unknown>} */
    const kinds = {
      call: () => by.call(of.name, mode, TIMEOUT_MS),
      burst: () => {
        for (let i = 0; i < count; ++i) by.call(of.name, "echo", TIMEOUT_MS);
      },
      cancel: () => by.tell({ do: "cancel", id: this.ledger.anyOpen(by) }),
      killProvider: () => of.kill(),
      stopProvider: () => of.stop(ms),
      deafProvider: () => of.tell({ do: "deaf", ms }),
      killSession: () => by.kill(),
      stopSession: () => by.stop(ms),
      halfOpen: () => this.halfOpen(FRAGMENTS[count % FRAGMENTS.length], ms),
      rawStorm: () => {
        for (let i = 0; i < count; ++i) this.halfOpen(FRAGMENTS[i % FRAGMENTS.length], ms / 10);
      },
      reconnectStorm: () => this.providers.forEach((one) => one.tell({ do: "reconnect" })),
      stopHost: () => host && this.stopHost(host, ms),
      hangHost: () => host && this.stopHost(host, HANG_MS),
      killHost: () => host && signalTo(host, "SIGKILL"),
    };
    kinds[step.kind]();
    this.done[step.kind] = (this.done[step.kind] ?? 0) + 1;
  }

  /** @param {number} pid @param {number} ms */
  stopHost(pid, ms) {
    signalTo(pid, "SIGSTOP");
    setTimeout(() => this.watch.isOurs(pid) && signalTo(pid, "SIGCONT"), ms);
  }

  /** A connection that says this and then nothing. @param {string} bytes @param {number} ms */
  halfOpen(bytes, ms) {
    const socket = net.connect({ port: this.port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => {});
    socket.on("data", () => {});
    socket.write(Buffer.from(bytes, "latin1"));
    setTimeout(() => socket.destroy(), ms);
  }

  /** @param {import("./chaos/schedule.mjs").Step[]} steps */
  async run(steps) {
    const startedAt = performance.now();
    let reportAt = REPORT_MS;
    for (const step of steps) {
      const now = performance.now() - startedAt;
      if (step.at > now) await pause(step.at - now);
      this.perform(step);
      if (step.at < reportAt) continue;
      reportAt += REPORT_MS;
      const { calls, answered, failed, lost } = this.ledger.counts;
      say(
        `   ${Math.round(step.at / 1000)} s: ${calls} calls, ${answered} answered, ${failed} failed, ` +
          `${lost} lost with their session; the host has ${Math.round(this.watch.memoryMb)} MB`,
      );
    }
  }

  /** All is quiet: everything works again, and every call has its outcome. */
  async settle() {
    await pause(2600); // what was stopped goes on
    await waitFor(() => this.ledger.openCalls.length === 0, {
      timeoutMs: 20_000,
      what: () =>
        `an outcome of ${JSON.stringify(this.ledger.openCalls.map(({ id, mode }) => ({ id, mode })).slice(0, 5))}`,
    });
    await this.whole("after it all");
    const before = this.ledger.counts.answered;
    for (const session of this.sessions) {
      for (const { name } of this.providers) session.call(name, "echo", TIMEOUT_MS);
    }
    await waitFor(() => this.ledger.counts.answered === before + SESSIONS * PROVIDERS, {
      what: () => `all answers once it is quiet: ${this.ledger.counts.answered - before}`,
    });
  }

  /** Everybody leaves; the host goes by itself. @returns {Promise<string[]>} what is wrong */
  async end() {
    const descriptors = await this.watch.descriptorsWithin(SESSIONS + PROVIDERS);
    await Promise.all(this.sessions.map((session) => session.end()));
    await Promise.all(this.providers.map((provider) => provider.end()));
    const left = async () => (await processesOf(this.home)).map(describeProcess);
    const gone = waitFor(async () => (await left()).length === 0, { timeoutMs: 20_000 });
    const processes = await gone.then(() => [], left);
    const files = readdirSync(path.join(this.home, "extensions", "tap"), { recursive: true })
      .map(String)
      .filter((file) => file !== ".run");
    const { calls, answered } = this.ledger.counts;
    return [
      ...this.ledger.problems,
      ...(answered * 2 < calls ? [`only ${answered} of ${calls} calls were answered`] : []),
      ...descriptors,
      ...processes.map((one) => `a process is left: ${one}`),
      ...files.map((file) => `a file is left: ${file}`),
      ...(this.watch.mostMb > HOST_MEMORY_MB ? [`the host took ${this.watch.mostMb} MB`] : []),
    ];
  }

  async dispose() {
    this.watch?.close();
    await killAll(this.home);
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }

  report() {
    const { counts, codes, slowestMs, latestMs } = this.ledger;
    say(`   done to them: ${JSON.stringify(this.done)}`);
    say(`   calls: ${JSON.stringify(counts)}, failures: ${JSON.stringify(codes)}`);
    say(`   the slowest took ${Math.round(slowestMs)} ms`);
    say(`   a session's process did not run for up to ${Math.round(latestMs)} ms`);
    say(`   hosts: ${this.watch.hosts.size}, at most ${Math.round(this.watch.mostMb)} MB`);
  }
}

/** @param {number} seed @param {number} minutes */
export async function chaos(seed, minutes) {
  const options = { seed, durationMs: minutes * 60_000, sessions: SESSIONS, providers: PROVIDERS };
  const steps = makeSchedule(options);
  say(`   seed ${seed}: ${steps.length} steps in ${minutes} min`);
  const run = new Chaos();
  try {
    await run.start();
    await run.run(steps);
    await run.settle();
    const problems = await run.end();
    run.report();
    for (const problem of problems.slice(0, 50)) say(`   ${problem}`);
    const detail = `seed ${seed}, ${run.ledger.counts.calls} calls, ${problems.length} problems`;
    return { ok: problems.length === 0, detail };
  } catch (error) {
    run.report();
    say(`   ${error instanceof Error ? error.message : error}`);
    for (const problem of run.ledger.problems.slice(0, 50)) say(`   ${problem}`);
    return { ok: false, detail: `seed ${seed}` };
  } finally {
    await run.dispose();
  }
}

/** @param {string} name @param {number} otherwise */
function option(name, otherwise) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    await setUp({ for: "chaos" });
    const { ok, detail } = await chaos(option("seed", Date.now() % 100_000), option("minutes", 1));
    say(`${ok ? "PASSED" : "FAILED"}: ${detail}`);
    process.exitCode = ok ? 0 : 1;
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    say(error.message);
    process.exitCode = 1;
  }
}
