// The tests on the real CLI that a change has to pass: together they show each thing that no other part
// shows. The part `e2e-all` has all tests of test/e2e.

/** @type {Record<string, string[]>} titles by file of test/e2e, which may be shortened at the end */
export const E2E_CORE = {
  live: [
    "a provider that starts after the first model request is called in the same turn",
    "tools.update: a tool is added",
  ],
  reload: ["TAP_TOOL_SYNC=reload: a single reload"],
  hooks: ["a gate is asked before bash runs", "appended instructions, ambient and startup context"],
  "hooks-adapter": [
    "a gate denies from the next call of the same turn",
    "a sub-agent's calls are judged too",
  ],
  crash: [
    "kill -9 of the host: the call fails with a text",
    "kill -9 of the CLI leaves no process",
  ],
  sessions: ["two CLIs that start at once elect a single host"],
  interactive: [
    "/clear: a provider that leaves at shutdown.pending",
    "surface is a line in the timeline",
  ],
  commands: ["/tap shows sessions, providers and calls"],
  "project-provider": ["are asked about, allowed, started, called, and end with the session"],
  plans: ["the model makes a plan of four agents"],
  "plans-tools": ["without allow-all the user is asked for his yes to a plan"],
  emitters: ["a watcher reports in a later turn, over /clear and kill -9 of either host"],
  workers: ["git push is refused, and its other commands still run"],
  sandbox: ["no unwanted step succeeds, and the repository is byte for byte as before"],
  "session-control": ["asks its user in the terminal"],
  inbox: ["an agent's question is answered from a second terminal", "a permission is listed"],
  process: ["imported twice in one process"],
};
