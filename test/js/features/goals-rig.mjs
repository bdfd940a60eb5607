// The goals of a session, with a real store, a real workspace and providers whose calls are recorded.

import path from "node:path";
import { addon } from "../../../js/lib/addon.mjs";
import { followSession } from "../../../js/feature-host/feature-host.mjs";
import { inspectFiles, inspectTree } from "../../../js/feature-host/workspace.mjs";
import { descriptor, install } from "../../../js/features/goals/feature.mjs";
import { inProcess } from "../../../js/gateway-host/in-process.mjs";
import { provider } from "../../../sdk/node/provider.mjs";
import { installed } from "../../support/feature-rig.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** The hooks, as if their conditions were met. */
const GATED = descriptor.hooks?.map(({ when: _when, ...hook }) => hook);

/** @param {import("node:test").TestContext} t @param {{mode?: "all" | "notify", gated?: boolean}} [options] */
export async function goals(t, { mode = "all", gated = false } = {}) {
  const folder = temporaryFolder(t);
  const records = new addon.Records({ file: path.join(temporaryFolder(t), "records.sqlite") });
  t.after(() => records.close());
  const query = async (given) => JSON.parse(await records.query(JSON.stringify(given)));
  const write =
    (method) =>
    async ({ collection, body, ...rest }) =>
      records[method](collection, { ...rest, source: "builtin:goals", body: JSON.stringify(body) });
  const list = () => [{ id: rig.session.id, cwd: folder }];
  /** How often it was asked for what is checked out. */
  const looks = { trees: 0 };
  const tree = async (asked) => {
    looks.trees += 1;
    return inspectTree(async () => folder, asked, process.env);
  };
  const follow = async ({ session, onToolEnded }) => {
    const transport = inProcess(rig.gateway.addon);
    return followSession(provider("tap-goals-session", { session, transport }), onToolEnded);
  };
  const implementations = {
    records: { query, append: write("append"), commit: write("commit") },
    sessions: { list, watch: async () => {}, follow },
    workspace: { look: (asked) => inspectFiles(async () => folder, asked), tree },
  };
  const rig = await installed(t, { ...descriptor, hooks: gated ? GATED : [] }, install, {
    implementations,
  });
  if (mode === "notify") records.keepOnlyNotify(true);
  rig.gateway.addon.setRecords(records, mode);
  rig.gateway.addon.setGroups(rig.session.id, ["goals"]);
  const { session, installation } = rig;
  /** A call that is to succeed: what the model reads, parsed where it is JSON. */
  const call = async (name, args = {}) => {
    const outcome = await session.call(name, args);
    if (typeof outcome !== "string") throw new Error(outcome.text ?? JSON.stringify(outcome));
    return outcome.startsWith("{") ? JSON.parse(outcome) : outcome;
  };
  /** A call that is to fail: what the model reads. */
  const failing = async (name, args = {}) => {
    const outcome = await session.call(name, args);
    if (typeof outcome === "string") throw new Error(`it did not fail: ${outcome}`);
    return outcome.text;
  };
  /** @param {string} statement @param {object[]} evidence @param {string[]} [prohibited] @returns {Promise<string>} the id */
  const set = async (statement, evidence, prohibited) => {
    const args = { statement, evidence, ...(prohibited && { prohibited }) };
    return /g-[0-9a-f]{8}/.exec(await call("tap_set_goal", args))?.[0] ?? "";
  };
  const type = (args) =>
    installation.command("tap-goal")?.({ args, session: { id: session.id, cwd: folder } });
  return {
    ...rig,
    folder,
    looks,
    records,
    query,
    append: write("append"),
    call,
    failing,
    set,
    type,
  };
}

/** A provider with a tool that runs commands, as far as the record goes. @param {any} rig @param {(args: any) => unknown} run */
export const runner = ({ gateway, session }, run) =>
  gateway.provider(session, "shell", { run_command: run });
