// Checks of what has to be there before a session can begin: the home, the variables, Node.js, tap, the
// CLI. Where an extension speaks for a session just now, what that proves is not asked about.

import fs from "node:fs";
import path from "node:path";
import { isNodeNewEnough, MIN_NODE } from "../lib/node-version.mjs";
import { tapCommand } from "../lib/tap-command.mjs";
import { programFolder, version as ours } from "../lib/paths.mjs";
import { RELEASES } from "../lib/release-use.mjs";
import { isNewer } from "../lib/versions.mjs";
import { quoteWord } from "../lib/visible.mjs";
import { finding } from "./findings.mjs";

/** @typedef {import("./facts.mjs").Facts} Facts */
/** @typedef {import("./checks.mjs").Check} Check */

/** The first CLI that had extensions, and those that tap is tested with (docs/compatibility.md). */
const FIRST_CLI = "1.0.3";
export const TESTED_CLIS = { from: "1.0.48", to: "1.0.102" };
/** Of what others say, in characters. */
const MAX_TEXT = 500;

/** @param {Facts} place */
function home({ env, home: { state, home: folder, folder: unwritable } }) {
  if (state === "missing") {
    return finding("HOME_MISSING", {
      problem: `There is no folder ${folder}: the Copilot CLI has never run with it.`,
      fix: "Install tap, which creates the folder; or name another home with --home or COPILOT_HOME.",
      command: tapCommand(["install"], env),
    });
  }
  if (state === "no-folder") {
    return finding("HOME_NOT_FOLDER", {
      problem: `${folder} is not a folder.`,
      fix: "Set COPILOT_HOME to a folder, or move that file away.",
    });
  }
  if (!unwritable) return undefined;
  return finding("HOME_UNWRITABLE", {
    problem: `Nothing can be written in ${unwritable.folder} (${unwritable.error}), where the gateway writes its token and its address.`,
    fix: "Make the folder writable for your user, or free space on the disk.",
  });
}

/** @param {Facts} place */
function logs({ home: { logs: unwritable } }) {
  if (!unwritable) return undefined;
  return finding("LOGS_UNWRITABLE", {
    problem: `Nothing can be written in ${unwritable.folder} (${unwritable.error}): tap works, without logs.`,
    fix: "Make the folder writable for your user, or free space on the disk.",
  });
}

/** @param {Facts} place */
function portNumber({ portTrouble }) {
  if (portTrouble === "") return undefined;
  return finding("PORT_INVALID", {
    problem: `${portTrouble}.`,
    fix: "Set it to a port, or unset it to use 9400. Do the same in the terminal of the CLI.",
    command: "unset TAP_GATEWAY_PORT",
  });
}

/** @param {Facts} place */
function limits({ ignored }) {
  if (ignored.length === 0) return undefined;
  const [{ wrong, value, unit }] = ignored;
  return finding("LIMIT_IGNORED", {
    problem: `${wrong}: ${value} ${unit} is in force.`,
    fix: `Set it to a number of ${unit}, or unset it; docs/limits.md has them all.`,
    command: `unset ${ignored.map((limit) => limit.env).join(" ")}`,
  });
}

/**
 * Where a session is linked a gateway runs, on a Node.js and with an addon that may be others than would
 * be found from here: then they keep no tool away.
 * @param {Facts} place
 */
const unproven = ({ linked }) => (linked ? /** @type {const} */ ("warning") : undefined);

/** @param {Facts} place */
function node(place) {
  const { file, passedOver, version } = place.node;
  const severity = unproven(place);
  const another = `Install Node.js ${MIN_NODE} or later, or set TAP_NODE to one, where you start copilot.`;
  if (file === undefined) {
    return finding("NODE_NOT_FOUND", {
      severity,
      problem: "There is no node on PATH, and TAP_NODE names none: no gateway can start.",
      fix: another,
    });
  }
  if (version === undefined) {
    return finding("NODE_FAILS", {
      severity,
      problem: `${file}, which would run the gateway, does not say its version.`,
      fix: another,
    });
  }
  if (!isNodeNewEnough(version)) {
    return finding("NODE_TOO_OLD", {
      severity,
      problem: `${file}, which would run the gateway, is Node.js ${version}; it needs ${MIN_NODE} or later.`,
      fix: another,
    });
  }
  if (passedOver === undefined) return undefined;
  return finding("TAP_NODE_UNUSABLE", {
    problem: `${passedOver}. The gateway runs on ${file} instead.`,
    fix: "Set TAP_NODE to the path of a Node.js, or unset it.",
    command: "unset TAP_NODE",
  });
}

/** Copies that a session of any kind loads. @param {Facts} place */
const listUserCopies = ({ extension }) => extension.copies.filter(({ project }) => !project);

/** @param {Facts} place */
function extension(place) {
  const {
    env,
    linked,
    extension: { usual, copies, state, target },
  } = place;
  if (linked) return copies.length === 0 ? extensionRemoved(env, usual) : undefined;
  if (copies.length === 0) return extensionMissing(env, usual, state, target);
  if (listUserCopies(place).length > 0) return undefined;
  return finding("EXTENSION_PROJECT_ONLY", {
    problem: `tap is installed for this project only, in ${copies[0].folder}, which copilot -p does not load.`,
    fix: `For every session, put it at ${usual}.`,
    command: linkCommand(env, usual, copies[0].program),
  });
}

/** @param {NodeJS.ProcessEnv} env @param {string} usual */
const extensionRemoved = (env, usual) =>
  finding("EXTENSION_REMOVED", {
    problem: `tap is no longer installed in ${usual}. The open session still runs it; the next one will not have it.`,
    fix: "If that is not what you want, install it again.",
    command: tapCommand(["install"], env),
  });

/** @param {NodeJS.ProcessEnv} env @param {string} usual @param {string} state @param {string | undefined} target */
function extensionMissing(env, usual, state, target) {
  if (state === "dangling") {
    return finding("EXTENSION_DANGLING", {
      problem: `${usual} is a link to ${target}, which does not exist.`,
      fix: "Make it a link to the folder of tap.",
      command: `rm ${quoteWord(usual)} && ${linkCommand(env, usual)}`,
    });
  }
  if (state === "incomplete") {
    return finding("EXTENSION_INCOMPLETE", {
      problem: `${usual} has no extension.mjs of tap, so the CLI has nothing to start.`,
      fix: "Move that folder away, and install tap.",
      command: `mv ${quoteWord(usual)} ${quoteWord(`${usual}.old`)} && ${linkCommand(env, usual)}`,
    });
  }
  return finding("EXTENSION_MISSING", {
    problem: `tap is not installed in this home: there is no ${usual}.`,
    fix: "Install it. For a clone, a link there is enough.",
    command: linkCommand(env, usual),
  });
}

/** @param {NodeJS.ProcessEnv} env @param {string} usual @param {string} [program] */
const linkCommand = (env, usual, program = programFolder) =>
  fs.existsSync(path.join(program, ".git"))
    ? `mkdir -p ${quoteWord(path.dirname(usual))} && ln -s ${quoteWord(program)} ${quoteWord(usual)}`
    : tapCommand(["install"], env);

/** Put there by `copilot-tap install`. @param {string} program */
const isRelease = (program) => path.basename(path.dirname(program)) === RELEASES;

/** A folder of a tap whose name an update leaves as it is. @param {import("./installation-facts.mjs").Copy} copy */
const getStableFolder = ({ folder, program }) =>
  isRelease(program) ? path.join(folder, "current") : program;

/** @param {Facts} place */
function addon(place) {
  const {
    addon: trouble,
    node: { file, version },
  } = place;
  if (!trouble) return undefined;
  const where = `${file ?? process.execPath}, Node.js ${version ?? process.versions.node}, ${process.platform}-${process.arch}`;
  return finding(trouble.missing ? "ADDON_MISSING" : "ADDON_BROKEN", {
    severity: trouble.late ? "warning" : unproven(place), // a disk may be slow
    problem: `tap's native addon does not load in ${where}: ${trouble.why}`,
    ...(isRelease(trouble.program)
      ? { fix: "Install tap again on this machine, as docs/installing.md says." }
      : {
          fix: "Build it for this machine.",
          command: `cd ${quoteWord(trouble.program)} && npm install --omit=dev`,
        }),
  });
}

/** @param {Facts} place */
function copies(place) {
  const programs = [...new Set(place.extension.copies.map(({ program }) => program))];
  if (programs.length > 1) {
    const all = place.extension.copies.map(({ folder, version }) => `${folder} (${version})`);
    return finding("EXTENSION_TWICE", {
      problem: `tap is installed more than once: ${all.join(", ")}. The CLI may start any one of them and refuse the others.`,
      fix: "Remove all but one.",
    });
  }
  const other = place.extension.copies.find(({ version }) => version !== ours);
  if (!other) return undefined;
  return finding("EXTENSION_OTHER_VERSION", {
    problem: `The tap in ${other.folder} is ${other.version}, but this command belongs to ${ours}.`,
    fix: "Use the command of the installed tap.",
    command: `node ${quoteWord(path.join(getStableFolder(other), "js", "cli", "cli.mjs"))} doctor`,
  });
}

/** Whether a CLI has started tap in this home, now or before. @param {Facts} place */
const hasStarted = ({ start, port: { asked }, others }) =>
  start.everLinked || asked === "ours" || others.length > 0;

/** @param {Facts} place */
function cli(place) {
  const { file, version, asked, late, said } = place.cli;
  if (place.linked) return undefined;
  if (!file) {
    const started = hasStarted(place);
    return finding("CLI_NOT_FOUND", {
      severity: started ? "warning" : undefined,
      problem: `There is no copilot on PATH${started ? ", though one has started tap: perhaps by an alias" : ""}.`,
      fix: "Install GitHub Copilot CLI, or add its folder to PATH. The commands dev and check work without it.",
      command: "npm install -g @github/copilot",
    });
  }
  if (!asked) return undefined;
  if (late) {
    return finding("CLI_SILENT", {
      problem: `${file} --version did not answer in time; a first start takes longer.`,
      fix: "Run it yourself, then the doctor again.",
      command: `${quoteWord(file)} --version`,
    });
  }
  if (!version) {
    return finding("CLI_FAILS", {
      problem: `${file} --version fails: ${said.slice(0, MAX_TEXT)}`,
      fix: "Install GitHub Copilot CLI again.",
      command: "npm install -g @github/copilot",
    });
  }
  return checkCliVersion(file, version);
}

/** @param {string} file @param {string} version */
function checkCliVersion(file, version) {
  const fix = "Update it.";
  const command = "npm install -g @github/copilot";
  if (isNewer(FIRST_CLI, version)) {
    return finding("CLI_TOO_OLD", {
      problem: `${file} is ${version}, and has no extensions: these came with ${FIRST_CLI}.`,
      fix,
      command,
    });
  }
  if (!isNewer(TESTED_CLIS.from, version)) return undefined;
  return finding("CLI_UNTESTED", {
    problem: `${file} is ${version}; tap is tested with ${TESTED_CLIS.from} to ${TESTED_CLIS.to}.`,
    fix,
    command,
  });
}

/** @param {Facts} place */
function experimental({ linked, settings, start, extension: { copies: all } }) {
  if (linked) return undefined;
  const { file, state } = settings;
  if (state === "unreadable") {
    return finding("SETTINGS_UNREADABLE", {
      problem: `${file} is not JSON that the CLI can read, so the CLI ignores all of it, and extensions are off.`,
      fix: `Correct it, or move it away and start copilot --experimental once.`,
    });
  }
  if (settings.off) {
    return finding("EXTENSIONS_OFF", {
      problem: `${file} turns off all extensions ("extensions": {"mode": "disabled"}).`,
      fix: "Type /extensions in copilot and choose another mode, or remove that line from the file.",
    });
  }
  const ids = all.map(({ folder }) => `user:${path.basename(folder)}`);
  const off = settings.disabled?.find((id) => ids.includes(id));
  if (off !== undefined) {
    return finding("EXTENSION_DISABLED", {
      problem: `${file} disables the extension ${off}.`,
      fix: "Type /extensions in copilot and enable it, or remove it from that list.",
    });
  }
  return settings.experimental === true
    ? undefined
    : experimentalOff(file, settings.experimental, start);
}

/** @param {string} file @param {unknown} said @param {Facts["start"]} start */
function experimentalOff(file, said, start) {
  const fix =
    "Start the CLI once with --experimental; the CLI then saves the setting in that file.";
  const command = "copilot --experimental";
  if (said === undefined && (start.log || start.everLinked)) {
    return finding("EXPERIMENTAL_UNKNOWN", {
      problem: `${file} does not turn on experimental features, but tap was started before: whether your CLI is given --experimental cannot be told from here.`,
      fix,
      command,
    });
  }
  return finding("EXPERIMENTAL_OFF", {
    problem: `${file} does not turn on experimental features, without which the CLI loads no extensions.`,
    fix,
    command,
  });
}

/** @param {Facts} place */
function start({ linked, inspection, start: { log, trouble, everLinked } }) {
  if (linked) return undefined;
  if (trouble !== undefined) {
    return finding("EXTENSION_FAILED", {
      problem: `The CLI has started tap, which ended at once: ${trouble.slice(0, MAX_TEXT)}`,
      fix: `Follow the message; ${log} has the details. Then restart the CLI.`,
    });
  }
  if (log !== undefined || everLinked || inspection) return undefined; // somebody started that gateway
  return finding("EXTENSION_NEVER_STARTED", {
    problem: "According to the logs, the CLI has never started tap in this home.",
    fix: "Start copilot and say that you trust the folder; /extensions shows what it has loaded.",
    command: "copilot",
  });
}

/** @type {Check[]} */
export const INSTALLATION_CHECKS = [
  { id: "home", title: "home", run: home, seen: ({ files }) => files.home },
  { id: "logs", title: "log folder", run: logs, seen: ({ files }) => files.logs },
  { id: "port-number", title: "port", run: portNumber, seen: ({ files }) => String(files.port) },
  { id: "limits", title: "limits", run: limits },
  { id: "node", title: "Node.js", run: node, seen: (at) => `${at.node.version}, ${at.node.file}` },
  {
    id: "extension",
    title: "extension",
    run: extension,
    seen: ({
      extension: {
        copies: [first],
      },
    }) => (first ? `${first.version}, ${first.folder}` : ""),
  },
  { id: "addon", title: "native addon", run: addon },
  { id: "copies", title: "one tap only", run: copies },
  {
    id: "cli",
    title: "Copilot CLI",
    run: cli,
    seen: (at) => [at.cli.version, at.cli.file].filter(Boolean).join(", "),
  },
  { id: "experimental", title: "extensions are loaded", run: experimental },
  { id: "start", title: "extension starts", run: start },
];
