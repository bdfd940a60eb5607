// The slash commands of tap, as the CLI lists them. Sessions register them with the CLI, the gateway's host runs
// them (js/gateway-host/slash-commands.mjs).

/** @typedef {{name: string, description: string}} SlashCommand without the slash; of a-z, 0-9 and - */

/** @satisfies {Record<string, SlashCommand>} */
export const SLASH = {
  status: {
    name: "tap",
    description: "What tap is doing: sessions, providers, rules, calls, recent failures",
  },
  pair: {
    name: "tap-pair",
    description: "The codes of those who ask to be paired with this session",
  },
  use: {
    name: "tap-use",
    description: "Bring a provider of a different session here: /tap-use <provider>",
  },
  doctor: {
    name: "tap-doctor",
    description: "Why a tool is missing: /tap-doctor, or with the tool's name",
  },
  tools: {
    name: "tap-tools",
    description: "Groups of tap's tools: /tap-tools lists them, /tap-tools <group> adds a group",
  },
  goal: {
    name: "tap-goal",
    description: "Set a goal: /tap-goal <statement>. Without a statement: the goals there are",
  },
  loop: {
    name: "tap-loop",
    description: "Run a prompt again and again: /tap-loop <interval or idle> <prompt>",
  },
  watch: {
    name: "tap-watch",
    description:
      "Watch a build or tests, and tell the agent when they are red: /tap-watch <command>",
  },
  quiet: {
    name: "tap-quiet",
    description: "No turns of watchers: /tap-quiet [name] [time], /tap-quiet off",
  },
  emit: {
    name: "tap-emit",
    description: "Emitters of this folder: /tap-emit, or stop, history or test, and a name",
  },
  monitor: {
    name: "tap-monitor",
    description: "Have the work reviewed: /tap-monitor [stream]. /tap-monitor list: open findings",
  },
  orchestrate: {
    name: "tap-orchestrate",
    description: "Have a task done by several agents: /tap-orchestrate <task>",
  },
  plan: {
    name: "tap-plan",
    description: "Plans of agents and commands: /tap-plan, /tap-plan show <id>",
  },
  features: {
    name: "tap-features",
    description: "The features of tap, what each has; /tap-features enable <id>, or disable <id>",
  },
};

/** In the order in which the CLI lists them. @type {SlashCommand[]} */
export const SLASH_COMMANDS = Object.values(SLASH);
