// A gateway host, a feature host and a session for emitters.

import fs from "node:fs";
import path from "node:path";
import { openControl } from "../../../js/link/control.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";

export const USER_HOME = { toolGroups: ["emitters"] };

/** @param {import("node:test").TestContext} t @param {string} [home] */
export function homeFolder(t, home = temporaryFolder(t)) {
  fs.mkdirSync(path.join(home, "tap"), { recursive: true, mode: 0o700 });
  const file = path.join(home, "tap", "config.json");
  fs.writeFileSync(file, JSON.stringify(USER_HOME), { mode: 0o600 });
  return home;
}

/**
 * @param {import("node:test").TestContext} t @param {object} [fields] of the session @param {string} [home]
 * @param {{elected: (t: any, env: Record<string, string>) => Promise<any>}} [of] what the hosts are of
 * @param {Record<string, string>} [env] of the hosts
 */
export async function setUp(t, fields = {}, home = homeFolder(t), of = LocalHost, env = {}) {
  const host = await of.elected(t, { COPILOT_HOME: home, ...env });
  const cwd = fs.realpathSync(temporaryFolder(t));
  const join = (/** @type {object} */ more = {}) => host.session(t, { cwd, cliPid: 4711, ...more });
  const session = await join(fields);
  const control = await openControl(host.files);
  t.after(() => control.close());
  return { host, home, cwd, session, join, control, ...helpersOf(host, session, control) };
}

/** With hosts that are processes, as users have them. @param {import("node:test").TestContext} t @param {object} [fields] @param {string} [home] */
export const setUpProcesses = (t, fields, home) => setUp(t, fields, home, Host);

/** @param {Host | LocalHost} host @param {any} session @param {any} control */
export function helpersOf(host, session, control) {
  const call = async (/** @type {string} */ name, /** @type {object} */ args = {}) => {
    const outcome = await waitFor(
      async () => {
        const result = await session.call(name, args);
        return result?.code !== "DISCONNECTED" && { result };
      },
      { what: () => `${name}\n${host.log}` },
    );
    const { result } = outcome;
    return typeof result === "string" ? JSON.parse(result) : result;
  };
  const shown = () =>
    session.events.filter(({ type }) => type === "timeline").map(({ text }) => text);
  const injected = () =>
    session.events.filter(({ type }) => type === "inject").map(({ prompt }) => prompt);
  const becomes = (/** @type {string} */ state) =>
    session.send({ type: "activity", activity: state });
  const records = async (/** @type {string} */ collection) =>
    (await control.request("records.query", { collection, limit: 100 })).records;
  const hostPid = () =>
    waitFor(async () => (await control.request("features.report", {})).host.pid);
  /** For a test that fails: all that there is to read. */
  const told = async () => {
    const state = await session.call("tap_list_emitters");
    return [JSON.stringify(session.events), JSON.stringify(state), host.log].join("\n");
  };
  return { call, shown, injected, becomes, records, hostPid, told };
}

export const until = (/** @type {() => any} */ look, /** @type {any} */ what) =>
  waitFor(look, { what });

/**
 * What a feature host that is killed leaves of an emitter, once that fits.
 * @param {string} home @param {string} name @param {(saved: any) => unknown} fits
 */
export function untilSaved(home, name, fits) {
  const file = path.join(home, "tap", "features", "builtin%3Aemitters", "emitters");
  const all = () => (fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")).value : []);
  const isThere = () => all().some((/** @type {any} */ one) => one.spec.name === name && fits(one));
  return until(isThere, () => JSON.stringify(all()));
}

/** @param {string} cwd @param {object[]} emitters */
export const writeConfig = (cwd, emitters) =>
  fs.writeFileSync(path.join(cwd, "tap.config.json"), JSON.stringify({ emitters }, null, 2));
