// Checks of the gateway: its port, the files by which it is found, whether it answers, and whether it lets
// a provider in.

import { tapCommand } from "../lib/tap-command.mjs";
import { connectedProviders } from "../lib/inspection.mjs";
import { isNodeNewEnough, MIN_NODE } from "../lib/node-version.mjs";
import { version as ours } from "../lib/paths.mjs";
import { quoteWord } from "../lib/visible.mjs";
import { finding } from "./findings.mjs";

/** @typedef {import("./facts.mjs").Facts} Facts */
/** @typedef {import("./checks.mjs").Check} Check */

const START =
  "Start copilot, and say that you trust the folder. If the CLI is already open, type /clear in it.";

/**
 * Ends a process; 1 is the system's own or a container's, and nobody is told to end that.
 * @param {number | undefined} pid @param {string} [how] as kill takes it
 */
const killCommand = (pid, how = "") =>
  pid === undefined || pid === 1 ? undefined : `kill ${how}${pid}`;

/** @param {Facts} place */
function findAbsence({ descriptor, others: [other], files, start }) {
  if (other) {
    return finding("GATEWAY_OTHER_PORT", {
      problem: `The gateway of this home, pid ${other.pid}, has port ${other.port}; this terminal uses ${files.port}.`,
      fix: "Use the same port in this terminal and in those of the CLI and of your provider.",
      command: `export TAP_GATEWAY_PORT=${other.port}`,
    });
  }
  if (descriptor.state === "good" && !descriptor.alive) {
    return finding("GATEWAY_DIED", {
      problem: `The gateway, pid ${descriptor.pid}, has crashed or was killed, and no session has started another one.`,
      fix: `${START} ${files.logs} has its logs; the end of host-stderr.log says why.`,
      command: "copilot",
    });
  }
  const before = start.everLinked
    ? " One was there before: it ends 30 s after the last session."
    : "";
  return finding("GATEWAY_NOT_RUNNING", {
    problem: `No gateway runs on port ${files.port}: no session of the CLI uses tap.${before}`,
    fix: START,
    command: "copilot",
  });
}

/**
 * For a port that another program holds. Only its user can decide whether that program may be stopped.
 * @param {Facts} place
 */
function anotherPort({ port: { holder, free } }) {
  return {
    fix: `Give tap another port: set TAP_GATEWAY_PORT in the terminal of the CLI and in those of your providers, and restart the CLI. Or stop ${holder ? `${holder.name} yourself, if you do not need it` : "that program"}.`,
    command: free === undefined ? undefined : `export TAP_GATEWAY_PORT=${free}`,
  };
}

/** @param {Facts} place */
function port(place) {
  const {
    port: { asked, holder },
    env,
    files,
    descriptor,
  } = place;
  const who = holder ? `${holder.name} (pid ${holder.pid})` : "a program that this user cannot see";
  switch (asked) {
    case "nobody":
      return findAbsence(place);
    case "foreign":
      return finding("PORT_FOREIGN", {
        problem: `Port ${files.port} is taken by ${who}, which is not tap.`,
        ...anotherPort(place),
      });
    case "other-home":
      return finding("PORT_OTHER_HOME", {
        problem: `Port ${files.port} is taken by the gateway of another COPILOT_HOME or user, ${who}; this one is ${files.home}.`,
        fix: "Name that home with --home, or set another TAP_GATEWAY_PORT for one of the two and restart its CLI.",
      });
    case "silent":
      if (descriptor.state === "good" && descriptor.alive && holder?.pid === descriptor.pid) {
        return finding("GATEWAY_HUNG", {
          problem: `The gateway, pid ${descriptor.pid}, has port ${files.port} and does not answer.`,
          fix: "End it; the sessions then start another one.",
          command: killCommand(descriptor.pid, "-9 "),
        });
      }
      return finding("PORT_SILENT", {
        problem: `Port ${files.port} is taken by ${who}, which does not answer.`,
        ...anotherPort(place),
      });
    case "busy":
      return finding("GATEWAY_BUSY", {
        problem: `The gateway on port ${files.port} accepts no connection now: it has too many, or a newer gateway is replacing it.`,
        fix: "Wait a second and run the doctor again. If this does not change, end providers that you do not need; if it is the gateway of another COPILOT_HOME, set TAP_GATEWAY_PORT to another port for one of them.",
        command: tapCommand(["doctor"], env),
      });
    case "ours":
      return undefined;
  }
}

/** @param {Facts} place */
function descriptor({ descriptor: found, files, port: { holder } }) {
  const file = files.descriptor;
  const who = holder ? ` (${holder.name}, pid ${holder.pid})` : "";
  const end = "Stop what has the port: a session then starts a gateway that can be found.";
  const stop = killCommand(holder?.pid);
  switch (found.state) {
    case "missing":
      return finding("DESCRIPTOR_MISSING", {
        problem: `Port ${files.port} answers as tap${who}, but there is no ${file}, with which sessions find the gateway.`,
        fix: end,
        command: stop,
      });
    case "unsafe":
      return finding("DESCRIPTOR_UNSAFE", {
        problem: `${file} is not a regular file of yours that only you can write, so tap does not trust it.`,
        fix: "Make it accessible to your user only.",
        command: `chmod 600 ${quoteWord(file)}`,
      });
    case "unsafe-link":
      return finding("LINK_UNSAFE", {
        problem: `The folder of the sessions' socket ${found.link} is open to others, so it is not used.`,
        fix: "Make the folder accessible to your user only.",
        command: `chmod 700 ${quoteWord(found.link.replace(/[\\/][^\\/]*$/, ""))}`,
      });
    case "unreadable":
      return finding("DESCRIPTOR_UNREADABLE", {
        problem: `${file} does not have the expected content.`,
        fix: end,
        command: stop,
      });
    case "good":
      if (found.alive && (!holder || holder.pid === found.pid)) return undefined;
      return finding("DESCRIPTOR_STALE", {
        problem: `${file} names pid ${found.pid}, but port ${files.port} is that of another process${who}.`,
        fix: end,
        command: stop,
      });
  }
}

/** @param {Facts} place */
function answer({ descriptor: found, inspection, trouble, files, port: { holder } }) {
  // The process that holds the port, not the pid in the descriptor, which may mean another process here.
  const command = killCommand(holder?.pid);
  if (found.state === "good" && !found.linked) {
    return finding("LINK_MISSING", {
      problem: `The sessions' socket ${found.link} has been removed, so no session can reach the gateway.`,
      fix: "End the gateway: the sessions start another.",
      command,
    });
  }
  if (inspection) return undefined;
  return finding("GATEWAY_UNRESPONSIVE", {
    problem: `The gateway has its port, but does not report its state: ${trouble}`,
    fix: `Restart it; ${files.logs}/host.log says more.`,
    command,
  });
}

/** @param {Facts} place */
function version({ inspection, extension: { copies } }) {
  const installed = copies.find(({ project }) => !project)?.version ?? ours;
  if (!inspection || inspection.version === installed) return undefined;
  return finding("GATEWAY_OTHER_VERSION", {
    problem: `The gateway is tap ${inspection.version}, installed is ${installed}.`,
    fix: "Restart the CLI, or type /clear in each of its sessions.",
  });
}

/** Its own, which need not be that of the shell here. @param {Facts} place */
function gatewayNode({ inspection }) {
  const running = inspection?.node;
  if (!running || isNodeNewEnough(running)) return undefined;
  return finding("GATEWAY_NODE_TOO_OLD", {
    problem: `The gateway, pid ${inspection.pid}, runs on Node.js ${running}; it needs ${MIN_NODE} or later.`,
    fix: "Install a later Node.js, or set TAP_NODE to one, where you start copilot; then end the gateway, and the sessions start another.",
  });
}

/** @param {Facts} place */
function draining({ inspection, env }) {
  if (!inspection?.draining) return undefined;
  return finding("GATEWAY_DRAINING", {
    problem: "A newer gateway is replacing this one, which accepts no more calls.",
    fix: "Wait a few seconds, and run the doctor again.",
    command: tapCommand(["doctor"], env),
  });
}

// ---- what a provider needs ---------------------------------------------------------------------------

/** @param {Facts} place */
function token({ token: { state, mode }, files, env, descriptor: found }) {
  const file = files.token;
  const pid = found.state === "good" ? found.pid : undefined;
  const again = {
    fix: "Delete it; the gateway rewrites the file within seconds, if it can write there.",
    command: `${state === "no-file" ? "rm -rf" : "rm"} ${quoteWord(file)}`,
  };
  switch (state) {
    case "missing":
      return finding("TOKEN_MISSING", {
        problem: `There is no ${file}, from which providers read their token, although a session is open.`,
        fix: `Run the doctor again: the gateway writes it within seconds. If it cannot, ${files.logs}/host.log says why.`,
        command: tapCommand(["doctor"], env),
      });
    case "link":
    case "no-file":
      return finding("TOKEN_NOT_A_FILE", {
        problem: `${file} is ${state === "link" ? "a symbolic link" : "not a regular file"}; the gateway writes a regular file.`,
        ...again,
      });
    case "empty":
      return finding("TOKEN_EMPTY", { problem: `${file} is empty.`, ...again });
    case "open":
      return finding("TOKEN_OPEN", {
        problem: `${file} has mode ${mode}: others on this machine can read the token with which providers connect.`,
        fix: `Close it; end the gateway (${killCommand(pid) ?? "its pid"}) where somebody may have read it.`,
        command: `chmod 600 ${quoteWord(file)}`,
      });
  }
}

/** @param {Facts} place */
function admission({ auth, givenAuth, files, inspection }) {
  if (auth && !auth.accepted) {
    if (auth.code !== "AUTH_FAILED") return connectionRefused(auth, inspection);
    return finding("TOKEN_WRONG", {
      problem: `The gateway does not accept the token in ${files.token}: ${auth.message}`,
      fix: "Delete the file; the gateway rewrites it within seconds. Use one port for each COPILOT_HOME.",
      command: `rm ${quoteWord(files.token)}`,
    });
  }
  if (!givenAuth || givenAuth.accepted) return undefined;
  return finding("TOKEN_OVERRIDDEN", {
    problem: `TAP_PROVIDER_TOKEN is set here and overrides the token file, but the gateway does not accept it: ${givenAuth.message}`,
    fix: "Unset it in the terminal where you start your provider.",
    command: "unset TAP_PROVIDER_TOKEN",
  });
}

/** @param {{message: string}} auth @param {Facts["inspection"]} inspection */
function connectionRefused({ message }, inspection) {
  const most = inspection?.limits.find(({ env }) => env === "TAP_MAX_CONNECTIONS")?.value;
  const open = inspection && connectedProviders(inspection).length;
  return finding("CONNECTION_REFUSED", {
    problem: `A provider cannot connect: ${message}. ${open} of ${most} connections are in use.`,
    fix: "End providers that are not needed, or set TAP_MAX_CONNECTIONS higher and restart the CLI.",
  });
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
