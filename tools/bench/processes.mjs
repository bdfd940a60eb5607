// The processes of a run: a process for each rival, and a provider program for each measurement.

import { fork, spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const subject = fileURLToPath(new URL("subject.mjs", import.meta.url));

/** The process of a rival. */
export class Subject {
  #count = 0;
  /** @type {Map<number, {resolve: (value: any) => void, reject: (error: Error) => void}>} */
  #waiting = new Map();

  /** @param {string} name @param {Record<string, string>} [env] besides that of this process */
  static async start(name, env) {
    const started = new Subject(name, env);
    Object.assign(started, await started.#reply(0));
    return started;
  }

  /** @param {string} name @param {Record<string, string>} [env] */
  constructor(name, env = {}) {
    this.name = name;
    /** Where its provider connects. */
    this.port = 0;
    this.token = "";
    /** Where its gateway runs: in its caller's process or in its own. */
    this.gatewayPid = 0;
    /** @type {"tools" | "websocket" | "tcp"} */
    this.speaks = "tools";
    this.child = fork(subject, [name], { env: { ...process.env, ...env } });
    this.child.on("message", (/** @type {any} */ { id, value, error }) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) waiting?.reject(new Error(`${name}: ${error}`));
      else waiting?.resolve(value);
    });
    this.child.once("exit", (code, signal) => {
      for (const { reject } of this.#waiting.values()) {
        reject(new Error(`${name} ended with ${code ?? signal}`));
      }
    });
  }

  /** @param {number} id @returns {Promise<any>} */
  #reply(id) {
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  get pids() {
    return [...new Set([Number(this.child.pid), this.gatewayPid])];
  }

  /** @param {string} request @param {object} [options] */
  ask(request, options = {}) {
    const id = ++this.#count;
    this.child.send({ id, request, options });
    return this.#reply(id);
  }

  async close() {
    await this.ask("close");
    this.child.disconnect();
    setTimeout(() => this.child.kill(), 1000).unref();
  }
}

/** The provider program. */
export class Provider {
  /**
   * Resolves when all connections are up.
   * @param {string} program @param {Subject} to
   * @param {{connections?: number, tools?: number, rules?: number}} options
   */
  static async start(program, to, { connections = 1, tools = 1, rules = 0 }) {
    const args = [to.speaks, to.port, connections, tools, rules, to.token].map(String);
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    const line = await new Promise((resolve, reject) => {
      createInterface(child.stdout).once("line", resolve);
      child.once("exit", (code) => reject(new Error(`${path.basename(program)}: ${code}`)));
    });
    return new Provider(child, JSON.parse(line));
  }

  /** @param {import("node:child_process").ChildProcess} child @param {{ms: number}} up */
  constructor(child, up) {
    this.child = child;
    /** From the first connection to the last hello.ack. */
    this.ms = up.ms;
  }

  get pids() {
    return [Number(this.child.pid)];
  }

  stop() {
    this.child.stdin?.end();
  }
}

/** Runs a program that prints a line of JSON. @param {string} program @param {string[]} args */
export function readJsonOutput(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    child.stdout.on("data", (piece) => (text += piece));
    child.once("close", (code) =>
      code === 0 ? resolve(JSON.parse(text)) : reject(new Error(text)),
    );
  });
}
