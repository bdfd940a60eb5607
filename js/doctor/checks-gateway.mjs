// Checks of the gateway: its port, the files by which it is found, whether it answers, and whether it accepts
// a provider.

import path from "node:path";
import { tapCommand } from "../lib/tap-command.mjs";
import { connectedProviders } from "../lib/inspection.mjs";
import { isNodeNewEnough, MIN_NODE } from "../lib/node-version.mjs";
import { version as ours } from "../lib/paths.mjs";
import { quoteWord } from "../lib/visible.mjs";
import { finding } from "./findings.mjs";

/** @typedef {import("./facts.mjs").Facts} Facts */
/** @typedef {import("./checks.mjs").Check} Check */

/**
 * The command to end a process. Pid 1 is the system's or a container's, so there is no command for it.
 * @param {number | undefined} pid @param {string} [how] an option of kill
 */
const killCommand = (pid, how = "") =>
  pid === undefined || pid === 1 ? undefined : `kill ${how}${pid}`;

/** @param {Facts} place */
function findAbsence({ descriptor, others: [other], files, start }) {
  if (other) {
    const problem = `The gateway of this home, pid ${other.pid}, has port ${other.port}; this terminal uses ${files.port}.`;
    return finding("GATEWAY_OTHER_PORT", problem, {
      command: `export TAP_GATEWAY_PORT=${other.port}`,
    });
  }
  const before = start.everLinked
    ? " An earlier gateway has ended: a gateway ends 30 s after the last session."
    : "";
  const problem =
    descriptor.state === "good" && !descriptor.alive
      ? `The gateway, pid ${descriptor.pid}, has crashed or was killed, and no session has restarted it. ${files.logs} has its logs; the end of host-stderr.log has the reason.`
      : `No gateway runs on port ${files.port}: no session of the CLI uses tap.${before}`;
  return finding("NO_SESSION", problem, { command: "copilot" });
}

/** @param {Facts} place */
function port(place) {
  const {
    port: { asked, holder, free },
    env,
    files,
    descriptor,
  } = place;
  const who = holder ? `${holder.name} (pid ${holder.pid})` : "a program that this user cannot see";
  switch (asked) {
    case "nobody":
      return findAbsence(place);
    case "foreign":
    case "silent": {
      if (asked === "silent" && isGateway(descriptor, holder)) {
        const problem = `The gateway, pid ${holder?.pid}, has port ${files.port} and does not answer.`;
        return finding("GATEWAY_UNRESPONSIVE", problem, {
          command: killCommand(holder?.pid, "-9 "),
        });
      }
      const problem = `Port ${files.port} is taken by ${who}, which ${asked === "silent" ? "does not answer" : "is not tap"}.`;
      // Suggest a free port first: only the user can decide whether to stop that program.
      const command = free === undefined ? undefined : `export TAP_GATEWAY_PORT=${free}`;
      return finding("PORT_FOREIGN", problem, { command });
    }
    case "other-home": {
      const problem = `Port ${files.port} is taken by the gateway of a different COPILOT_HOME or user, ${who}; this one is ${files.home}.`;
      return finding("PORT_OTHER_HOME", problem);
    }
    case "busy": {
      const problem = `The gateway on port ${files.port} accepts no connection now: it has too many, or a newer gateway is replacing it. It may belong to a different COPILOT_HOME.`;
      return finding("GATEWAY_BUSY", problem, { command: tapCommand(["doctor"], env) });
    }
    case "ours":
      return undefined;
  }
}

/** @param {Facts["descriptor"]} descriptor @param {Facts["port"]["holder"]} holder */
const isGateway = (descriptor, holder) =>
  descriptor.state === "good" && descriptor.alive && holder?.pid === descriptor.pid;

/** @param {Facts} place */
function descriptor({ descriptor: found, files, port: { holder } }) {
  const file = files.descriptor;
  const who = holder ? ` (${holder.name}, pid ${holder.pid})` : "";
  const stop = { command: killCommand(holder?.pid) };
  switch (found.state) {
    case "missing": {
      const problem = `Port ${files.port} answers as tap${who}, but there is no ${file}, with which sessions find the gateway.`;
      return finding("GATEWAY_UNRESPONSIVE", problem, stop);
    }
    case "unsafe": {
      const problem = `${file} is not a regular file of yours that only you can write, so tap does not trust it.`;
      return finding("FILE_UNSAFE", problem, { command: `chmod 600 ${quoteWord(file)}` });
    }
    case "unsafe-link": {
      const problem = `The folder of the sessions' socket ${found.link} is open to others, so it is not used.`;
      const command = `chmod 700 ${quoteWord(path.dirname(found.link))}`;
      return finding("FILE_UNSAFE", problem, { command });
    }
    case "unreadable":
      return finding("GATEWAY_UNRESPONSIVE", `${file} does not have the expected content.`, stop);
    case "good": {
      if (found.alive && (!holder || holder.pid === found.pid)) return undefined;
      const problem = `${file} names pid ${found.pid}, but port ${files.port} belongs to a different process${who}.`;
      return finding("GATEWAY_UNRESPONSIVE", problem, stop);
    }
  }
}

/** @param {Facts} place */
function answer({ descriptor: found, inspection, trouble, files, port: { holder } }) {
  // The process that holds the port, since the pid in the descriptor may be reused.
  const stop = { command: killCommand(holder?.pid) };
  if (found.state === "good" && !found.linked) {
    const problem = `The sessions' socket ${found.link} has been removed, so no session can reach the gateway.`;
    return finding("GATEWAY_UNRESPONSIVE", problem, stop);
  }
  if (inspection) return undefined;
  const problem = `The gateway has its port, but does not report its state: ${trouble}. ${files.logs}/host.log has details.`;
  return finding("GATEWAY_UNRESPONSIVE", problem, stop);
}

/** @param {Facts} place */
function version({ inspection, extension: { copies } }) {
  const installed = copies.find(({ project }) => !project)?.version ?? ours;
  if (!inspection || inspection.version === installed) return undefined;
  const problem = `The gateway is tap ${inspection.version}, installed is ${installed}.`;
  return finding("GATEWAY_OTHER_VERSION", problem);
}

/** The gateway's own Node.js, which may differ from that of this shell. @param {Facts} place */
function gatewayNode({ inspection }) {
  const running = inspection?.node;
  if (!running || isNodeNewEnough(running)) return undefined;
  const problem = `The gateway, pid ${inspection.pid}, runs on Node.js ${running}; it needs ${MIN_NODE} or later.`;
  const command = killCommand(inspection.pid);
  return finding("NODE_NOT_FOUND", problem, { severity: "warning", command });
}

/** @param {Facts} place */
function draining({ inspection, env }) {
  if (!inspection?.draining) return undefined;
  const problem = "A newer gateway is replacing this one, which accepts no more calls.";
  return finding("NOT_READY", problem, { command: tapCommand(["doctor"], env) });
}

// ---- access of providers ----------------------------------------------------------------------------

/** @param {Facts} place */
function token({ token: { state, mode }, files, env, descriptor: found }) {
  const file = files.token;
  const again = { command: `${state === "no-file" ? "rm -rf" : "rm"} ${quoteWord(file)}` };
  switch (state) {
    case "missing": {
      const problem = `There is no ${file}, from which providers read their token, although a session is open. If it is still missing after a few seconds, ${files.logs}/host.log has the reason.`;
      return finding("NOT_READY", problem, { command: tapCommand(["doctor"], env) });
    }
    case "link":
    case "no-file": {
      const kind = state === "link" ? "a symbolic link" : "not a regular file";
      const problem = `${file} is ${kind}; the gateway writes a regular file.`;
      return finding("TOKEN_WRONG", problem, again);
    }
    case "empty":
      return finding("TOKEN_WRONG", `${file} is empty.`, again);
    case "open": {
      const pid = found.state === "good" ? found.pid : undefined;
      const problem = `${file} has mode ${mode}: others on this machine can read the token with which providers connect. If someone has read it, end the gateway (${killCommand(pid) ?? "its pid"}): the next gateway has a new token.`;
      const command = `chmod 600 ${quoteWord(file)}`;
      return finding("FILE_UNSAFE", problem, { severity: "warning", command });
    }
  }
}

/** @param {Facts} place */
function admission({ auth, givenAuth, files, inspection }) {
  if (auth && !auth.accepted) {
    if (auth.code === "AUTH_FAILED") {
      const problem = `The gateway does not accept the token in ${files.token}: ${auth.message}`;
      return finding("TOKEN_WRONG", problem, { command: `rm ${quoteWord(files.token)}` });
    }
    const most = inspection?.limits.find(({ env }) => env === "TAP_MAX_CONNECTIONS")?.value;
    const open = inspection && connectedProviders(inspection).length;
    const problem = `A provider cannot connect: ${auth.message}. ${open} of ${most} connections are in use.`;
    return finding("GATEWAY_BUSY", problem);
  }
  if (!givenAuth || givenAuth.accepted) return undefined;
  const problem = `TAP_PROVIDER_TOKEN is set here and overrides the token file, but the gateway does not accept it: ${givenAuth.message}`;
  return finding("VARIABLE_INVALID", problem, { command: "unset TAP_PROVIDER_TOKEN" });
}

/** @type {Check[]} */
export const GATEWAY_CHECKS = [
  {
    id: "port",
    title: "port is the gateway's",
    run: port,
    seen: ({ port: { holder } }) => (holder ? `pid ${holder.pid}` : ""),
  },
  { id: "descriptor", title: "descriptor", run: descriptor },
  { id: "answer", title: "gateway answers", run: answer },
  {
    id: "version",
    title: "gateway's version",
    run: version,
    seen: (at) => at.inspection?.version ?? "",
  },
  {
    id: "gateway-node",
    title: "gateway's Node.js",
    run: gatewayNode,
    seen: (at) => at.inspection?.node ?? "",
  },
  { id: "draining", title: "gateway takes calls", run: draining },
];

/** @type {Check[]} */
export const ACCESS_CHECKS = [
  { id: "token", title: "token file", run: token, seen: ({ files }) => files.token },
  { id: "admission", title: "provider access", run: admission },
];
