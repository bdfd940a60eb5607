// Checks of the gateway's content: the selected session, its project's providers, the providers that are
// connected, and the requested tool.

import { allowCommand } from "../config/consent.mjs";
import { connectedProviders } from "../lib/inspection.mjs";
import { tapCommand } from "../lib/tap-command.mjs";
import { WITHOUT_HOOKS } from "../views/status-view.mjs";
import { shortId } from "../views/wording.mjs";
import { finding } from "./findings.mjs";

/** @typedef {import("./facts.mjs").Facts} Facts */
/** @typedef {import("./checks.mjs").Check} Check */
/** @typedef {import("../link/control.mjs").InspectedProvider} Provider */
/** @typedef {import("../link/control.mjs").InspectedBinding} Binding */

/** Some models accept 128 in all, the CLI's own included. The gateway warns at this number, too. */
const MANY_TOOLS = 120;
/** For messages of other programs, in characters. */
const MAX_TEXT = 500;

/** @param {string} text */
const inQuotes = (text) => `"${text}"`;

/** @param {Facts} place */
const formatSession = ({ session }) => inQuotes(session?.label || session?.id || "");

/** @param {Facts} place */
function session({ inspection, session: meant }) {
  if (!meant) {
    return finding("NO_SESSION", "The gateway runs, but no session uses it.", {
      command: "copilot",
    });
  }
  if (meant.linked) return undefined;
  const others = (inspection?.sessions.length ?? 1) - 1;
  const problem = `Session ${inQuotes(meant.label)} has no extension process: its CLI has just ended, or its extensions are reloading, after which it comes back on its own. Other sessions: ${others}.`;
  return finding("NO_SESSION", problem);
}

/** @param {Facts} place */
function sync(place) {
  const { session: meant, inspection } = place;
  const leftOut = inspection?.providers.some(({ bindings }) =>
    bindings.some(({ session: id, refused }) => id === meant?.id && refused.length > 0),
  );
  // If the tools that the CLI named are left out, all others are in force.
  if (meant?.syncFailure && !leftOut) {
    const problem = `The CLI has not accepted the tools of session ${formatSession(place)}: ${meant.syncFailure.slice(0, MAX_TEXT)}`;
    return finding("TOOL_REFUSED", problem);
  }
  if (!meant || meant.settled) return undefined;
  const problem = `Session ${formatSession(place)} does not have the last change of its tools yet. A reload waits until the session is idle.`;
  const command = tapCommand(["doctor"], place.env);
  return finding("NOT_READY", problem, { severity: "warning", command });
}

/** @param {Facts} place */
function hooks(place) {
  const { session: meant } = place;
  if (!meant?.hooksWanted || meant.hooks === "in-force") return undefined;
  const problem = `Rules and context of providers do not work in session ${formatSession(place)}, tools do: ${WITHOUT_HOOKS[meant.hooks]}.`;
  return finding("HOOKS_UNAVAILABLE", problem);
}

/** @param {Facts} place */
function count(place) {
  const { session: meant } = place;
  if (!meant || meant.tools < MANY_TOOLS) return undefined;
  const problem = `Session ${formatSession(place)} has ${meant.tools} tools of providers; some models accept at most 128 in all, including those of the CLI.`;
  return finding("TOO_MANY_TOOLS", problem);
}

/** Whether a provider offers the requested tool. @param {Facts} place */
const isOffered = (place) => place.tool !== undefined && owners(place).length > 0;

/** @param {Facts} place */
function project(place) {
  const { project: config, env, tool } = place;
  if (!config) return undefined;
  const offered = isOffered(place);
  const severity = offered ? "warning" : "error";
  const {
    file,
    problems: [mistake],
    allowed,
    providers,
  } = config;
  if (mistake !== undefined) {
    const problem = `tap starts no provider of this project, because its config has a mistake: ${mistake}`;
    return finding("CONFIG_INVALID", problem, { severity });
  }
  if (providers.length === 0) return undefined;
  if (!allowed) {
    const names = providers.map(({ name }) => name).join(", ");
    const problem = `${file} names providers (${names}) that are not started: you have not allowed its content.`;
    return finding("CONFIG_NOT_ALLOWED", problem, {
      severity: tool !== undefined ? severity : "warning",
      command: allowCommand(file, env),
    });
  }
  return place.linked ? findEndedProvider(providers, severity) : undefined;
}

/**
 * @param {NonNullable<Facts["project"]>["providers"]} providers
 * @param {import("./findings.mjs").Severity} severity
 */
function findEndedProvider(providers, severity) {
  const ended = providers.find(({ note }) => /^(given up: |restart \d+ in )/.test(note));
  if (!ended) return undefined;
  const [, why] = /^given up: (.*)/.exec(ended.note) ?? [];
  const symptom =
    why === undefined ? `keeps ending (${ended.note})` : `is not started again: ${why}`;
  const problem = `Provider ${inQuotes(ended.name)} of this project ${symptom}. ${ended.file} has its output.`;
  return finding("PROVIDER_CRASHES", problem, { severity });
}

// ---- providers ---------------------------------------------------------------------------------------

/** Connected providers, without the gateway's own. @param {Facts} place @returns {Provider[]} */
const listConnected = ({ inspection }) => (inspection ? connectedProviders(inspection) : []);

/** Whether it is bound to the selected session. @param {Facts} place @param {Provider} provider */
const isHere = ({ session: meant }, { bindings }) =>
  bindings.some(({ session: id }) => id === meant?.id);

/** @param {Facts} place */
const formatProviders = (place) =>
  listConnected(place)
    .map((provider) => provider.name + (isHere(place, provider) ? "" : " (in a different session)"))
    .slice(0, 5)
    .join(", ");

/** @param {Provider} provider */
export const formatProvider = ({ name, connection }) =>
  name ? inQuotes(name) : `connection ${connection}`;

/** The last refusal while a provider connected or updated its tools. @param {Facts} place @param {string} [name] */
const lastRefusal = ({ refusals }, name) =>
  refusals.findLast(
    ({ what, provider }) =>
      ["hello", "auth", "tools.update"].includes(what) && (name === undefined || provider === name),
  );

/** @param {NonNullable<ReturnType<typeof lastRefusal>>} refused */
function providerRefused({ at, what, provider, code, message }) {
  const who = provider ? inQuotes(provider) : "a provider";
  const problem = `The gateway has refused the ${what} of ${who}, at ${new Date(at).toISOString()}: ${code}, ${message}`;
  return finding("PROVIDER_REFUSED", problem);
}

/**
 * Why a connection offers no tools.
 * @param {Facts} place @param {import("./findings.mjs").Severity} severity
 */
function findIdleProvider(place, severity) {
  const unbound = listConnected(place).find(({ bindings }) => bindings.length === 0);
  if (!unbound) return undefined;
  const refused = unbound.trust === "none" ? undefined : lastRefusal(place, unbound.name);
  if (refused) return providerRefused(refused);
  const problem =
    unbound.trust === "none"
      ? `A program is connected (connection ${unbound.connection}) that has not sent auth with a valid token, nor paired with a code.`
      : `Provider ${formatProvider(unbound)} is connected but not bound to a session, because it has not sent hello with its tools.`;
  return finding("PROVIDER_REFUSED", problem, { severity });
}

/** @param {Facts} place */
function providers(place) {
  const there = listConnected(place);
  if (there.length === 0) return finding("NO_PROVIDER", "No provider is connected.");
  for (const provider of there) {
    const [first] = provider.bindings.filter(({ session: id }) => id === place.session?.id);
    if (first?.refused.length) return toolRefused(provider, first.refused[0]);
  }
  return findIdleProvider(place, "warning");
}

/** @param {Provider} provider @param {string} name */
function toolRefused(provider, name) {
  const problem = `The CLI does not accept the tool ${inQuotes(name)} of provider ${formatProvider(provider)}: the CLI or a different extension has a tool of that name.`;
  return finding("TOOL_REFUSED", problem);
}

// ---- the requested tool ------------------------------------------------------------------------------

/** @param {Binding} binding @param {string | undefined} tool */
const offers = ({ tools }, tool) => tools.some(({ name }) => name === tool);

/** @param {Facts} place @returns {{provider: Provider, binding: Binding}[]} in whatever session */
const owners = (place) =>
  (place.inspection?.providers ?? []).flatMap((provider) =>
    provider.bindings
      .filter((binding) => offers(binding, place.tool))
      .map((binding) => ({ provider, binding })),
  );

/** @param {Facts} place */
const ownerHere = (place) =>
  owners(place).find(({ binding }) => binding.session === place.session?.id);

/** The refusal of a provider because of the tool's name. @param {Facts} place */
const conflict = ({ refusals, tool }) =>
  refusals.findLast(
    ({ code, message }) => code === "TOOL_CONFLICT" && message.startsWith(`"${tool}" `),
  );

/** @param {Facts} place */
function toolName({ tool: name = "" }) {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return undefined;
  const problem = `${inQuotes(name.slice(0, 80))} cannot be the name of a tool: it has 1 to 64 letters, digits, _ and -.`;
  return finding("TOOL_NOT_DECLARED", problem);
}

/** @param {Facts} place */
function tool(place) {
  const { tool: asked = "" } = place;
  const here = ownerHere(place);
  if (here?.binding.refused.includes(asked)) return toolRefused(here.provider, asked);
  const isElsewhere = !here && isOffered(place);
  const turnedAway = conflict(place);
  if (turnedAway && !isElsewhere && turnedAway.provider !== here?.provider.name) {
    const { provider, message } = turnedAway;
    const problem = `Provider ${inQuotes(provider)} was refused: ${message.split(";")[0]}.`;
    return finding("TOOL_REFUSED", problem, { severity: here ? "warning" : "error" });
  }
  return findClosedGroup(place) ?? (here ? undefined : explainAbsence(place));
}

/** A tool of tap itself, in a group that is not open in this session. @param {Facts} place */
function findClosedGroup(place) {
  const { parts, session: meant, tool: asked = "" } = place;
  const group = parts?.groups?.find(({ tools }) => tools.includes(asked));
  if (!group || meant?.groups.some(({ name, on }) => name === group.name && on)) return undefined;
  const problem = `${inQuotes(asked)} is in the tool group ${inQuotes(group.name)}, which is not open in session ${formatSession(place)}: the model does not see it. Type /tap-tools ${group.name} in that session.`;
  return finding("TOOL_GROUP_CLOSED", problem);
}

/** @param {Facts} place */
function explainAbsence(place) {
  const elsewhere = owners(place)[0];
  if (elsewhere) {
    const { session: id } = elsewhere.binding;
    const label = place.inspection?.sessions.find((each) => each.id === id)?.label ?? id;
    // Sessions of the same folder may have the same label.
    const [its, meant] =
      label === place.session?.label
        ? [id, place.session.id].map((each) => ` (${shortId(each)})`)
        : ["", ""];
    const { name } = elsewhere.provider;
    const problem = `Provider ${formatProvider(elsewhere.provider)} has bound ${inQuotes(place.tool ?? "")} to session ${inQuotes(label)}${its}, not to ${formatSession(place)}${meant}.`;
    const command = tapCommand(["use", name, "--session", place.session?.id ?? ""], place.env);
    return finding("TOOL_ELSEWHERE", problem, { command });
  }
  const undecided = findIdleProvider(place, "error");
  if (undecided) return undecided;
  const there = listConnected(place);
  if (there.length === 0) return noProvider(place);
  const offered = there.flatMap(({ name, bindings }) =>
    bindings.flatMap(
      ({ tools }) => `${name} (${tools.map((each) => each.name).join(", ") || "no tools"})`,
    ),
  );
  const names = [...new Set(offered)].slice(0, 10).join("; ");
  const problem = `No provider offers ${inQuotes(place.tool ?? "")}. Connected are ${names}.`;
  return finding("TOOL_NOT_DECLARED", problem);
}

/** @param {Facts} place */
function noProvider(place) {
  const refused = lastRefusal(place);
  if (refused) return providerRefused(refused);
  const problem = `No provider is connected, so ${inQuotes(place.tool ?? "")} is not available.`;
  return finding("NO_PROVIDER", problem, { severity: "error" });
}

/** @type {Check} */
export const SESSION_CHECK = {
  id: "session",
  title: "session",
  run: session,
  seen: (at) => at.session?.label ?? "",
};

/** @type {Check[]} */
export const TOOL_CHECKS = [
  { id: "tool-name", title: "tool's name", run: toolName, only: "tool" },
  { id: "sync", title: "last synchronisation", run: sync },
  { id: "hooks", title: "hooks", run: hooks },
  {
    id: "count",
    title: "number of tools",
    run: count,
    seen: (at) => String(at.session?.tools ?? ""),
  },
  {
    id: "project",
    title: "providers of the project",
    run: project,
    seen: (at) => at.project?.file ?? "",
  },
  {
    id: "providers",
    title: "providers",
    run: providers,
    only: "all",
    seen: formatProviders,
  },
  {
    id: "tool",
    title: "tool",
    run: tool,
    only: "tool",
    seen: (at) => `${at.tool}, of provider ${ownerHere(at)?.provider.name}`,
  },
];

// Finds a provider that keeps the model waiting: it has not answered a call.

const LONG_WAIT_MS = 5000;

/** @param {Facts} place */
function waiting({ inspection }) {
  const late = (inspection?.providers ?? [])
    .filter(({ waitedMs }) => waitedMs >= LONG_WAIT_MS)
    .sort((a, b) => (b.noPongMs ?? 0) - (a.noPongMs ?? 0) || b.waitedMs - a.waitedMs)[0];
  if (!late) return undefined;
  const seconds = Math.floor(late.waitedMs / 1000);
  const name = formatProvider(late);
  if (late.noPongMs !== undefined) {
    const problem = `Provider ${name} has not answered a call for ${seconds} s, nor a ping: its process is stopped or hangs.`;
    return finding("PROVIDER_HANGS", problem);
  }
  const problem = `Provider ${name} has not answered a call for ${seconds} s. No answer to a ping is overdue.`;
  return finding("PROVIDER_SLOW", problem);
}

/** @type {import("./checks.mjs").Check} */
export const WAITING_CHECK = { id: "waiting", title: "providers answer", run: waiting };
