// The measurements, their subjects, and the targets that tap must reach in the same run.

/**
 * @typedef {"p50" | "p99" | "perSecond" | "cpuPer100k" | "loopPerCall" | "storePerCall" | "mbPerSecond" | "cpuPerMb" | "ms" | "syncs" | "bytes" | "privateBytes" | "instructions" | "linkBytes" | "mbPerCpuSecond" | "linesPerSecond" | "us" | "entriesPerSecond"} Metric
 * @typedef {object} Case
 * @property {string} name
 * @property {string[]} of names of rivals
 * @property {"one" | "two"} [cores] all processes on a core, or the provider on a second; without it as the kernel
 *   likes
 * @property {{calls: number, inFlight: number, providers?: number, bytes?: number}} load
 */

/** The cost of each part of the records: the same gateway without it. */
const without = ["tap detached, no spans", "tap detached, no records"];
const gateways = ["tap embedded", "tap detached", "js embedded", "js detached"];
const MB = 1048576;

/** A single call at a time. @type {{name: string, cores: "one" | "two"}[]} */
export const latencies = [
  { name: "latency, one core", cores: "one" },
  { name: "latency, two cores", cores: "two" },
];

/** Ping-pong in C++, by the provider program's word for it. @type {Record<string, string>} */
export const floors = { floor: "floor", "floor, relayed": "relayed-floor" };

/**
 * Cases that share a set of providers run round by round with it.
 * @type {{connections: number, tools: number, cases: Case[]}[]}
 */
export const phases = [
  {
    connections: 1,
    tools: 10,
    cases: [
      ...latencies.map(({ name, cores }) => ({
        name,
        of: [...gateways, ...without, "ws echo", "tcp from node", "nothing"],
        cores,
        load: { calls: 3000, inFlight: 1 },
      })),
      {
        name: "64 in flight",
        of: [...gateways, ...without, "ws echo", "nothing"],
        load: { calls: 40_000, inFlight: 64 },
      },
      { name: "1 MB", of: gateways, load: { calls: 100, inFlight: 4, bytes: MB } },
      { name: "4.5 MB", of: gateways, load: { calls: 30, inFlight: 4, bytes: 4.5 * MB } },
    ],
  },
  {
    connections: 16,
    tools: 1,
    cases: [
      {
        name: "16 providers",
        of: gateways,
        load: { calls: 20_000, inFlight: 16, providers: 16 },
      },
    ],
  },
  {
    connections: 50,
    tools: 1,
    cases: [
      {
        name: "50 providers",
        of: gateways,
        load: { calls: 20_000, inFlight: 50, providers: 50 },
      },
    ],
  },
];

/**
 * `factor` is the most that value / than may be, or with `atLeast` the least; without `than` the value
 * itself is held against it.
 * @typedef {[string, string, Metric]} Place case, rival, metric
 * @type {{title: string, value: Place, than?: Place, factor: number, atLeast?: boolean}[]}
 */
export const targets = [
  ...latencies.flatMap(({ name, cores }) => [
    target(
      `p50 of a call on ${cores} core${cores === "two" ? "s" : ""}, embedded`,
      [name, "tap embedded", "p50"],
      [name, "floor", "p50"],
      1.35,
    ),
    target("the same", [name, "tap embedded", "p50"], [name, "js embedded", "p50"], 1),
    target("the same, detached", [name, "tap detached", "p50"], [name, "floor", "p50"], 2.2),
    target("p99 of the same", [name, "tap detached", "p99"], [name, "js detached", "p99"], 1),
  ]),
  target(
    "CPU per call, 64 in flight, embedded",
    ["64 in flight", "tap embedded", "cpuPer100k"],
    ["64 in flight", "js embedded", "cpuPer100k"],
    0.25,
  ),
  target(
    "the cost of records in a call on the loop's thread, in µs",
    ["records", "64 in flight", "loopPerCall"],
    undefined,
    3,
  ),
  target(
    "the cost of records on the store's thread, in µs",
    ["records", "64 in flight", "storePerCall"],
    undefined,
    5,
  ),
  target(
    "the loop's thread with spans",
    ["64 in flight", "tap detached", "loopPerCall"],
    ["64 in flight", "tap detached, no spans", "loopPerCall"],
    1.05,
  ),
  target(
    "p99 of a call with records, 64 in flight",
    ["64 in flight", "tap detached", "p99"],
    ["64 in flight", "tap detached, no records", "p99"],
    2,
  ),
  ...latencies.map(({ name, cores }) =>
    target(
      `the same, a single call in flight on ${cores} core${cores === "two" ? "s" : ""}`,
      [name, "tap detached", "p99"],
      [name, "tap detached, no records", "p99"],
      1.1,
    ),
  ),
  target(
    "calls per second, 64 in flight, detached",
    ["64 in flight", "tap detached", "perSecond"],
    ["64 in flight", "js detached", "perSecond"],
    3,
    true,
  ),
  target(
    "the same",
    ["64 in flight", "tap detached", "perSecond"],
    ["64 in flight", "js embedded", "perSecond"],
    2,
    true,
  ),
  ...["16 providers", "50 providers"].flatMap((name) => [
    target(
      `p99, ${name} at once, embedded`,
      [name, "tap embedded", "p99"],
      [name, "js embedded", "p99"],
      0.5,
    ),
    target(
      `p99, ${name} at once, detached`,
      [name, "tap detached", "p99"],
      [name, "js detached", "p99"],
      0.5,
    ),
  ]),
  ...["1 MB", "4.5 MB"].flatMap((name) => [
    target(
      `MB/s, results of ${name}, embedded`,
      [name, "tap embedded", "mbPerSecond"],
      [name, "js embedded", "mbPerSecond"],
      3,
      true,
    ),
    target(
      `MB/s, results of ${name}, detached`,
      [name, "tap detached", "mbPerSecond"],
      [name, "js detached", "mbPerSecond"],
      2,
      true,
    ),
    target(
      `CPU per MB, results of ${name}, embedded`,
      [name, "tap embedded", "cpuPerMb"],
      [name, "js embedded", "cpuPerMb"],
      0.35,
    ),
    target(
      `CPU per MB, results of ${name}, detached`,
      [name, "tap detached", "cpuPerMb"],
      [name, "js detached", "cpuPerMb"],
      0.35,
    ),
  ]),
  target(
    "50 connect at once, embedded",
    ["storm", "tap embedded", "ms"],
    ["storm", "js embedded", "ms"],
    0.5,
  ),
  target(
    "50 connect at once, detached",
    ["storm", "tap detached", "ms"],
    ["storm", "js detached", "ms"],
    0.5,
  ),
  target("synchronisations for these 50", ["storm", "tap detached", "syncs"], undefined, 1),
  target(
    "a tool use past 50 rules, embedded, in µs",
    ["50 rules", "tap embedded", "p50"],
    undefined,
    150,
  ),
  target(
    "a tool use past 50 rules, detached, in µs",
    ["50 rules", "tap detached", "p50"],
    undefined,
    150,
  ),
  target(
    "tap_tools where it has to start the feature host, in ms",
    ["tool groups", "the first", "ms"],
    undefined,
    300, // ready within 200 ms, and 100 for the group
  ),
  target(
    "tap_tools where it runs already, in ms",
    ["tool groups", "a further group", "ms"],
    undefined,
    100,
  ),
  target(
    "the feature host, in KB more than Node.js",
    ["tool groups", "the first", "privateBytes"],
    undefined,
    10 * MB,
  ),
  target(
    "hello until the tool is in the CLI's session, in ms",
    ["hello to tool", "tap in the CLI", "ms"],
    undefined,
    90, // the 20 ms of live-debounce-ms, and 70
  ),
  ...["a tool is added", "a provider leaves", "a provider comes"].map((name) =>
    target(
      `instructions where ${name}: 1,000 tools over 100`,
      [name, "1000 tools", "instructions"],
      [name, "100 tools", "instructions"],
      1.25,
    ),
  ),
  ...["lines, literals", "lines, typical", "lines, caseless", "lines, a build"].map((name) =>
    target(
      `${name}: MB per second of CPU time`,
      [name, "tap", "mbPerCpuSecond"],
      [name, "node readline", "mbPerCpuSecond"],
      5,
      true,
    ),
  ),
  target(
    "lines, an unknown command: MB per second of CPU time",
    ["lines, an unknown command", "watch", "mbPerCpuSecond"],
    ["lines, an unknown command", "emit start", "mbPerCpuSecond"],
    0.95,
    true,
  ),
  target("lines, literals", ["lines, literals", "tap", "mbPerCpuSecond"], undefined, 300, true),
  target(
    "the cost of an emitter with 50,000 lines/s in the p99 of a call, in µs",
    ["cost of lines", "a call during 50,000 lines/s", "p99"],
    undefined,
    1000,
  ),
  target(
    "p99, 64 providers, during an emitter with 100,000 lines/s",
    ["64 providers during 100,000 lines/s", "an emitter", "p99"],
    ["64 providers during 100,000 lines/s", "no lines", "p99"],
    1.1,
  ),
  ...["without rules", "with eleven rules"].map((which) =>
    target(
      `an idle emitter ${which}, in KB`,
      ["an idle emitter", which, "privateBytes"],
      undefined,
      20 * 1024,
    ),
  ),
  ...ofPlans(),
  target(
    "an idle host, in KB more than Node.js",
    ["memory", "tap detached", "bytes"],
    undefined,
    4 * MB,
  ),
  target(
    "the same, without pages of files",
    ["memory", "tap detached", "privateBytes"],
    undefined,
    4 * MB,
  ),
  target(
    "an idle provider with 10 tools, in KB",
    ["memory", "provider", "bytes"],
    undefined,
    12 * 1024,
  ),
];

function ofPlans() {
  const [steps, trees] = ["a step of a plan", "100 nodes in worktrees"];
  return [
    target(
      "10,000 nodes and 30,000 edges as JSON to a plan, in ms",
      ["reading a plan", "tap", "ms"],
      undefined,
      25,
    ),
    target(
      "a step in a plan of 10,000 nodes, in µs",
      [steps, "tap, 10,000 nodes", "us"],
      undefined,
      5,
    ),
    target(
      "journal in groups of 8",
      ["journal of plans", "groups of 8", "entriesPerSecond"],
      undefined,
      20_000,
      true,
    ),
    target(
      "a node is ready until its program runs, in ms",
      ["ready to started", "tap, plan run", "ms"],
      undefined,
      5,
    ),
    target(trees, [trees, "tap, plan run", "ms"], [trees, "shell script", "ms"], 1.25),
    target("the same", [trees, "tap, plan run", "ms"], [trees, "shell script", "ms"], 0.5),
    target(
      "memory of a plan of 10,000 nodes, in KB",
      ["memory of a plan", "at its end", "bytes"],
      undefined,
      20 * MB,
    ),
  ];
}

/**
 * @param {string} title @param {Place} value @param {Place | undefined} than @param {number} factor
 * @param {boolean} [atLeast]
 */
function target(title, value, than, factor, atLeast = false) {
  return { title, value, than, factor, atLeast };
}

/** How a metric is shown. @type {Record<Metric, {unit: string, scale: number, digits: number}>} */
export const metrics = {
  p50: { unit: "µs", scale: 1, digits: 1 },
  p99: { unit: "µs", scale: 1, digits: 1 },
  perSecond: { unit: "calls/s", scale: 1, digits: 0 },
  cpuPer100k: { unit: "CPU s per 100k calls", scale: 1, digits: 2 },
  loopPerCall: { unit: "µs of the loop's thread", scale: 1, digits: 2 },
  storePerCall: { unit: "µs of the store's thread", scale: 1, digits: 2 },
  mbPerSecond: { unit: "MB/s", scale: 1, digits: 0 },
  cpuPerMb: { unit: "CPU ms per MB", scale: 1, digits: 2 },
  ms: { unit: "ms", scale: 1, digits: 1 },
  syncs: { unit: "synchronisations", scale: 1, digits: 0 },
  bytes: { unit: "KB", scale: 1 / 1024, digits: 1 },
  privateBytes: { unit: "KB", scale: 1 / 1024, digits: 1 },
  instructions: { unit: "thousands a session", scale: 1 / 1000, digits: 1 },
  mbPerCpuSecond: { unit: "MB per CPU s", scale: 1, digits: 0 },
  linesPerSecond: { unit: "lines/s", scale: 1, digits: 0 },
  us: { unit: "µs", scale: 1, digits: 2 },
  entriesPerSecond: { unit: "entries/s", scale: 1, digits: 0 },
  linkBytes: { unit: "KB a session", scale: 1 / 1024, digits: 2 },
};
