// Goals with evidence: what has to be shown before the agent may say that it is done. The code of the tools is loaded
// with their first call.

import {
  about,
  integer,
  list,
  object,
  required,
  shown,
  text,
  toParameters,
} from "../../config/schema.mjs";
import { traceRecords } from "../../lib/telemetry.mjs";

const createText = (/** @type {number} */ maxLength) => shown({ maxLength }, text());
const createWords = (/** @type {number} */ maxLength) => shown({ minLength: 1, maxLength }, text());
const GOAL = { goal: about("Its id. Default: all open goals.", createText(64)) };
const EVIDENCE = {
  file: createWords(1024),
  sha256: shown({ pattern: "^[0-9a-fA-F]{64}$" }, text()),
  stream: createWords(256),
  command: createWords(1024),
  exitCode: integer(0),
  match: createWords(1024),
};
const COMMAND = {
  command: required(createWords(1024)),
  exitCode: required(integer(0)),
  output: required(createText(65_536)),
};

/** @type {import("../../feature-host/descriptor.mjs").Descriptor} */
export const descriptor = {
  id: "builtin:goals",
  displayName: "Goals",
  version: "1",
  runtime: "builtin",
  host: "feature-host",
  capabilities: [
    { capability: "records:read", required: true, reason: "finds goals and evidence in records" },
    { capability: "records:write", required: true, reason: "records goals, evidence and claims" },
    {
      capability: "session:read",
      required: true,
      reason: "knows the folder of a goal's session, and how its commands end",
    },
    {
      capability: "fs:read:workspace",
      required: true,
      reason: "checks the files that a goal names, and the commit that is checked out",
    },
    {
      capability: "prompt",
      required: false,
      reason: "has the model name the evidence of a goal that the user has set",
    },
  ],
  tools: [
    {
      name: "tap_set_goal",
      group: "goals",
      requires: ["records:read", "records:write", "fs:read:workspace", "session:read"],
      description:
        "Sets a goal with the evidence that it needs before it can be closed. Evidence is one of " +
        "{file, match?, sha256?}, {stream, match}, {command, exitCode, match?}; match is a regular expression.",
      parameters: toParameters({
        statement: required(createWords(2000)),
        evidence: required(
          shown({ minItems: 1, maxItems: 20 }, list(object("evidence", EVIDENCE))),
        ),
        prohibited: about(
          "Texts that must not be claimed, such as: should work.",
          shown({ maxItems: 20 }, list(createWords(200))),
        ),
      }),
    },
    {
      name: "tap_goal_status",
      group: "goals",
      requires: ["records:read", "fs:read:workspace", "session:read"],
      description: "The goals of this session and what each still lacks.",
      parameters: toParameters(GOAL),
    },
    {
      name: "tap_close_goal",
      group: "goals",
      requires: ["records:read", "records:write", "fs:read:workspace", "session:read"],
      description: "Closes a goal if all of its evidence is there.",
      parameters: toParameters({
        goal: about("Its id. Not needed for the only open goal.", GOAL.goal),
        summary: about(
          "What was done. Prohibited claims in it keep the goal open.",
          createText(2000),
        ),
      }),
    },
    {
      name: "tap_verify_goal_output",
      group: "goals",
      requires: ["records:read", "records:write", "fs:read:workspace", "session:read"],
      description:
        "Checks the evidence of goals. It runs no command: run them in the shell, and tap sees how they end. " +
        "What you pass here of commands is kept as a comment.",
      parameters: toParameters({
        ...GOAL,
        commands: shown({ maxItems: 20 }, list(object("a command", COMMAND))),
      }),
    },
    {
      name: "tap_audit_claims",
      group: "goals",
      requires: ["records:read", "records:write", "session:read"],
      description:
        "Holds claims about what was done against tap's records: each is supported, contradicted or " +
        "unsupported. Put the names of tools and whole commands in backquotes.",
      parameters: toParameters({
        claims: required(shown({ minItems: 1, maxItems: 50 }, list(createWords(500)))),
      }),
    },
  ],
  hooks: [
    { name: "push", point: "onPreToolUse", when: "push-gated" },
    { name: "task-complete", point: "onPreToolUse", when: "task-complete-gated" },
  ],
  commands: [
    {
      name: "tap-goal",
      description: "Set a goal: /tap-goal <statement>. Without a statement: the goals there are",
    },
  ],
};

/** Each tool, and the module and function that serve it. */
const TOOLS = /** @type {const} */ ({
  tap_set_goal: "setGoal",
  tap_goal_status: "goalStatus",
  tap_close_goal: "closeGoal",
  tap_verify_goal_output: "verifyGoals",
  tap_audit_claims: "auditClaims",
});

const PUSH = "\\bgit\\b.*\\bpush\\b";
/** What each hook stops while evidence is missing. */
const GATED_TOOLS = {
  push: [
    { tool: "bash", args: PUSH },
    { tool: "powershell", args: PUSH },
  ],
  "task-complete": [{ tool: "task_complete" }],
};

/** @param {import("../../feature-host/installation.mjs").Context} context */
export async function install(context) {
  const { services, diagnostics } = context;
  /** @type {Promise<import("./commands.mjs").CommandWatch> | undefined} */
  let loaded;
  const watch = () =>
    (loaded ??= import("./commands.mjs").then(
      ({ CommandWatch }) => new CommandWatch(services, (problem) => diagnostics.add(problem)),
    ));
  /** @template T @param {string} session @param {() => Promise<T>} work that may set or end goals @returns {Promise<T>} */
  const watching = async (session, work) => {
    const commands = await watch();
    await commands.settle(session);
    try {
      return await work();
    } finally {
      await commands.update(session);
    }
  };
  for (const [name, serve] of Object.entries(TOOLS)) {
    context.tools.register(name, async (args, { session, traceparent }) => {
      const tools = await import("./tools.mjs");
      const traced = { ...context, services: traceRecords(services, traceparent) };
      return watching(
        session,
        async () => /** @type {unknown} */ (tools[serve](traced, session, args)),
      );
    });
  }
  for (const [name, uses] of Object.entries(GATED_TOOLS)) {
    if (!context.hooks.has(name)) continue;
    for (const use of uses) {
      context.hooks.gate(name, use, async ({ session }) => {
        const { checkOpenGoals } = await import("./tools.mjs");
        await (await watch()).settle(session);
        return checkOpenGoals(context, session);
      });
    }
  }
  context.commands.register("tap-goal", async (typed) => {
    const { runGoalCommand } = await import("./slash-command.mjs");
    return watching(typed.session.id, async () => runGoalCommand(context, typed));
  });
  /** Goals that a former process has left open. @param {string} session */
  const resume = async (session) => void (await watch()).update(session);
  await services.sessions.watch({
    onStarted: resume,
    onEnded: (/** @type {string} */ session) => loaded?.then((commands) => commands.end(session)),
  });
  const sessions = await services.sessions.list().catch(() => []); // the next need finds the goals
  for (const { id } of sessions) void resume(id);
  return { stop: async () => (await loaded)?.stop() };
}
