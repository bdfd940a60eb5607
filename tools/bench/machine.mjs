// The machine of the measurements.

import { execFileSync } from "node:child_process";
import os from "node:os";
import process from "node:process";
import { root } from "../commands.mjs";

export const loadAverage = () => os.loadavg().map((value) => Number(value.toFixed(2)));

export function machine() {
  const compiler = execFileSync("c++", ["--version"], { encoding: "utf8" }).split("\n")[0];
  const describe = ["describe", "--always", "--dirty", "--exclude=*"];
  const commit = execFileSync("git", describe, {
    cwd: root,
    encoding: "utf8",
  }).trim();
  return {
    date: new Date().toISOString().slice(0, 10),
    commit,
    cpu: os.cpus()[0].model.trim(),
    cores: os.cpus().length,
    kernel: `${os.type()} ${os.release().split(".").slice(0, 2).join(".")}`,
    node: process.version,
    compiler,
    loadBefore: loadAverage(),
  };
}
