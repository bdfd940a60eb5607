// A plan outlives the session that made it, and so do that session's deny rules and gates: they are in the plan's
// journal. A gate is asked where its provider is there again, in a session of the folder.

import { sleep } from "../../lib/timers.mjs";
import { PlanError } from "./errors.mjs";

/** For so long a gate waits for its provider. */
export const GATE_WAIT_MS = 600_000;
const LOOK_MS = 1000;

/** @param {string | undefined} by @param {string} reason */
export const createDenied = (by, reason) =>
  new PlanError("DENIED", `denied${by ? ` by ${by}` : ""}: ${reason}`);

/**
 * @param {{guards?: object[], repo: string}} facts of the plan @param {{tool: string, args: object}} use
 * @param {{permissions: {covering: (use: object) => Promise<import("../../feature-host/guards.mjs").Guard[]>,
 *   check: (use: object) => Promise<{allowed: boolean, reason?: string, by?: string}>}}} services
 * @param {{signal?: AbortSignal, waitMs?: number}} [options]
 * @throws {PlanError} DENIED
 */
export async function requireGuards(facts, use, services, options = {}) {
  const { guards = [], repo: folder } = facts;
  const { signal, waitMs = GATE_WAIT_MS } = options;
  if (guards.length === 0) return;
  for (let left = waitMs; ; left -= LOOK_MS) {
    signal?.throwIfAborted();
    const covering = await services.permissions.covering({ guards, folder, ...use });
    const deny = covering.find(({ action }) => action === "deny");
    if (deny) throw createDenied(deny.provider, deny.reason ?? `a rule for ${use.tool}`);
    const absent = covering.find(({ session }) => session === undefined);
    if (!absent) {
      for (const session of new Set(covering.map((one) => one.session))) {
        const { allowed, reason, by } = await services.permissions.check({ session, ...use });
        if (!allowed) throw createDenied(by, reason ?? `a rule for ${use.tool}`);
      }
      return;
    }
    if (left <= 0) {
      const why = "its gate cannot be asked: the session that made the plan has ended";
      throw createDenied(absent.provider, `${why}. Start the provider in a session, then retry`);
    }
    await sleep(LOOK_MS);
  }
}
