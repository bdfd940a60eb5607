// Every command, in the order in which --help shows them. A new one is a file here and a line below.

import allow from "./allow.mjs";
import call from "./call.mjs";
import completion from "./completion.mjs";
import dev from "./dev.mjs";
import doctor from "./doctor.mjs";
import install from "./install.mjs";
import limits from "./limits.mjs";
import logs from "./logs.mjs";
import create from "./new.mjs";
import pair from "./pair.mjs";
import push from "./push.mjs";
import replay from "./replay.mjs";
import revoke from "./revoke.mjs";
import status from "./status.mjs";
import tools from "./tools.mjs";
import trace from "./trace.mjs";
import uninstall from "./uninstall.mjs";
import unpair from "./unpair.mjs";
import update from "./update.mjs";

/** @type {import("../given.mjs").Command[]} */
export const COMMANDS = [
  install,
  update,
  uninstall,
  status,
  doctor,
  tools,
  call,
  push,
  logs,
  limits,
  trace,
  replay,
  allow,
  revoke,
  pair,
  unpair,
  dev,
  create,
  completion,
];
