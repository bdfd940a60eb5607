// Checks of the requirements of a session: the home, the variables, Node.js, tap, the CLI. A linked session proves
// some of them, which are then not checked.

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

/** The first CLI with extensions, and the versions that tap is tested with (docs/compatibility.md). */
const FIRST_CLI = "1.0.3";
export const TESTED_CLIS = { from: "1.0.48", to: "1.0.102" };
const INSTALL_CLI = "npm install -g @github/copilot";
/** For messages of other programs, in characters. */
const MAX_TEXT = 500;

/** @param {Facts} place */
function home({ env, home: { state, home: folder, folder: unwritable } }) {
  if (state === "missing") {
    const problem = `There is no folder ${folder}: the Copilot CLI has never run with it.`;
    return finding("HOME_MISSING", problem, { command: tapCommand(["install"], env) });
  }
  if (state === "no-folder") return finding("HOME_UNWRITABLE", `${folder} is not a folder.`);
  if (!unwritable) return undefined;
  const problem = `${unwritable.folder} is not writable (${unwritable.error}); the gateway writes its token and its address there.`;
  return finding("HOME_UNWRITABLE", problem);
}

/** @param {Facts} place */
function logs({ home: { logs: unwritable } }) {
  if (!unwritable) return undefined;
  const problem = `${unwritable.folder} is not writable (${unwritable.error}): tap works, without logs.`;
  return finding("HOME_UNWRITABLE", problem, { severity: "warning" });
}

/** @param {Facts} place */
const portNumber = ({ portTrouble }) =>
  portTrouble === ""
    ? undefined
    : finding("VARIABLE_INVALID", `${portTrouble}.`, { command: "unset TAP_GATEWAY_PORT" });

/** @param {Facts} place */
function limits({ ignored }) {
  if (ignored.length === 0) return undefined;
  const [{ wrong, value, unit }] = ignored;
  const command = `unset ${ignored.map((limit) => limit.env).join(" ")}`;
  const problem = `${wrong}: ${value} ${unit} is in force.`;
  return finding("VARIABLE_INVALID", problem, { severity: "warning", command });
}

/**
 * A linked session has a running gateway, perhaps with a Node.js and an addon that cannot be found from here.
 * Then problems with those found here are only warnings.
 * @param {Facts} place
 */
const unproven = ({ linked }) => (linked ? /** @type {const} */ ("warning") : undefined);

/** @param {Facts} place */
function node(place) {
  const { file, passedOver, version } = place.node;
  const trouble =
    file === undefined
      ? "There is no node on PATH, and TAP_NODE is not set: no gateway can start."
      : version === undefined
        ? `${file}, which would run the gateway, does not print its version.`
        : isNodeNewEnough(version)
          ? undefined
          : `${file}, which would run the gateway, is Node.js ${version}; it needs ${MIN_NODE} or later.`;
  if (trouble !== undefined) {
    return finding("NODE_NOT_FOUND", trouble, { severity: unproven(place) });
  }
  if (passedOver === undefined) return undefined;
  const problem = `${passedOver}. The gateway runs on ${file} instead.`;
  return finding("VARIABLE_INVALID", problem, { severity: "warning", command: "unset TAP_NODE" });
}

/** @param {Facts} place */
function extension({ env, linked, extension: { usual, copies, state, target } }) {
  const command = linkCommand(env, usual, copies[0]?.program);
  if (copies.length > 0) {
    if (linked || copies.some(({ project }) => !project)) return undefined;
    const problem = `tap is installed for this project only, in ${copies[0].folder}, which copilot -p does not load.`;
    return finding("EXTENSION_MISSING", problem, { severity: "warning", command });
  }
  if (linked) {
    const problem = `tap is no longer installed in ${usual}. The open session still runs it; the next session will not have it.`;
    const again = tapCommand(["install"], env);
    return finding("EXTENSION_MISSING", problem, { severity: "warning", command: again });
  }
  if (state === "dangling") {
    return finding("EXTENSION_MISSING", `${usual} is a link to ${target}, which does not exist.`, {
      command: `rm ${quoteWord(usual)} && ${command}`,
    });
  }
  if (state === "incomplete") {
    const away = `mv ${quoteWord(usual)} ${quoteWord(`${usual}.old`)}`;
    return finding(
      "EXTENSION_MISSING",
      `${usual} has no extension.mjs of tap, so the CLI cannot start it.`,
      { command: `${away} && ${command}` },
    );
  }
  const problem = `tap is not installed in this home: there is no ${usual}.`;
  return finding("EXTENSION_MISSING", problem, { command });
}

/** @param {NodeJS.ProcessEnv} env @param {string} usual @param {string} [program] */
const linkCommand = (env, usual, program = programFolder) =>
  fs.existsSync(path.join(program, ".git"))
    ? `mkdir -p ${quoteWord(path.dirname(usual))} && ln -s ${quoteWord(program)} ${quoteWord(usual)}`
    : tapCommand(["install"], env);

/** Whether `copilot-tap install` wrote it. @param {string} program */
const isRelease = (program) => path.basename(path.dirname(program)) === RELEASES;

/** A folder of a tap whose name does not change with updates. @param {import("./installation-facts.mjs").Copy} copy */
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
  return finding("ADDON_BROKEN", `tap's native addon does not load in ${where}: ${trouble.why}`, {
    severity: trouble.late ? "warning" : unproven(place), // a disk may be slow
    ...(isRelease(trouble.program)
      ? { fix: "Install tap again on this machine, as docs/installing.md says." }
      : { command: `cd ${quoteWord(trouble.program)} && npm install --omit=dev` }),
  });
}

/** @param {Facts} place */
function copies({ extension: { copies: all } }) {
  if (new Set(all.map(({ program }) => program)).size > 1) {
    const named = all.map(({ folder, version }) => `${folder} (${version})`).join(", ");
    const problem = `tap is installed more than once: ${named}. The CLI may start any of them and refuse the others.`;
    return finding("EXTENSION_TWICE", problem);
  }
  const other = all.find(({ version }) => version !== ours);
  if (!other) return undefined;
  return finding(
    "EXTENSION_OTHER_VERSION",
    `The tap in ${other.folder} is ${other.version}, but this command belongs to ${ours}.`,
    { command: `node ${quoteWord(path.join(getStableFolder(other), "js/cli/cli.mjs"))} doctor` },
  );
}

/** Whether a CLI has ever started tap in this home. @param {Facts} place */
const hasStarted = ({ start, port: { asked }, others }) =>
  start.everLinked || asked === "ours" || others.length > 0;

/** @param {Facts} place */
function cli(place) {
  const { file, version, asked, late, message } = place.cli;
  if (place.linked) return undefined;
  if (!file) {
    const started = hasStarted(place);
    const problem = `There is no copilot on PATH${started ? ", though a CLI has started tap: perhaps by an alias" : ""}. The commands dev and check work without it.`;
    const severity = started ? /** @type {const} */ ("warning") : undefined;
    return finding("CLI_NOT_FOUND", problem, { severity, command: INSTALL_CLI });
  }
  if (!asked) return undefined;
  if (late) {
    const problem = `${file} --version did not answer in time; a first start takes longer.`;
    return finding("CLI_SILENT", problem, { command: `${quoteWord(file)} --version` });
  }
  if (!version) {
    const problem = `${file} --version fails: ${message.slice(0, MAX_TEXT)}`;
    return finding("CLI_NOT_FOUND", problem, { command: INSTALL_CLI });
  }
  if (isNewer(FIRST_CLI, version)) {
    const problem = `${file} is ${version}, and has no extensions: these came with ${FIRST_CLI}.`;
    return finding("CLI_NOT_FOUND", problem, { command: INSTALL_CLI });
  }
  if (!isNewer(TESTED_CLIS.from, version)) return undefined;
  const problem = `${file} is ${version}; tap is tested with ${TESTED_CLIS.from} to ${TESTED_CLIS.to}.`;
  return finding("CLI_NOT_FOUND", problem, { severity: "warning", command: INSTALL_CLI });
}

/** @param {Facts} place */
function experimental({ linked, settings, start, extension: { copies: all } }) {
  if (linked) return undefined;
  const { file, state } = settings;
  const command = "copilot --experimental";
  if (state === "unreadable") {
    const problem = `${file} is not JSON that the CLI can read, so the CLI ignores all of it, and extensions are off.`;
    return finding("EXPERIMENTAL_OFF", problem, { command });
  }
  if (settings.off) {
    const problem = `${file} turns off all extensions ("extensions": {"mode": "disabled"}).`;
    return finding("EXTENSION_DISABLED", problem);
  }
  const ids = all.map(({ folder }) => `user:${path.basename(folder)}`);
  const off = settings.disabled?.find((id) => ids.includes(id));
  if (off !== undefined) {
    return finding("EXTENSION_DISABLED", `${file} disables the extension ${off}.`);
  }
  if (settings.experimental === true) return undefined;
  // The user may pass the option each time.
  const perhaps = settings.experimental === undefined && (start.log || start.everLinked);
  const effect = perhaps
    ? ", but tap was started before: this command cannot see whether you pass --experimental"
    : ", without which the CLI loads no extensions";
  const severity = perhaps ? /** @type {const} */ ("warning") : undefined;
  const problem = `${file} does not turn on experimental features${effect}.`;
  return finding("EXPERIMENTAL_OFF", problem, { severity, command });
}

/** @param {Facts} place */
function start({ linked, inspection, start: { log, trouble, everLinked } }) {
  if (linked) return undefined;
  if (trouble !== undefined) {
    const problem = `The CLI has started tap, which ended at once: ${trouble.slice(0, MAX_TEXT)} ${log} has the details.`;
    return finding("EXTENSION_FAILED", problem);
  }
  if (log !== undefined || everLinked || inspection) return undefined; // the CLI has started it
  return finding(
    "NO_SESSION",
    "According to the logs, the CLI has never started tap in this home.",
    {
      command: "copilot",
    },
  );
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
    seen: ({ extension: { copies: all } }) =>
      all.length > 0 ? `${all[0].version}, ${all[0].folder}` : "",
  },
  { id: "addon", title: "native addon", run: addon },
  { id: "copies", title: "tap is installed once", run: copies },
  {
    id: "cli",
    title: "Copilot CLI",
    run: cli,
    seen: (at) => [at.cli.version, at.cli.file].filter(Boolean).join(", "),
  },
  { id: "experimental", title: "extensions are loaded", run: experimental },
  { id: "start", title: "extension starts", run: start },
];
