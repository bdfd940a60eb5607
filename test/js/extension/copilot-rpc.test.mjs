// Which methods of the CLI the extension can reach at all, read from its sources. The CLI itself asks nobody before an
// extension changes permissions, answers for the user or runs a command: so no source may name such a method.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { programFolder } from "../../../js/lib/paths.mjs";

/** The files that touch the SDK are in these rooms. */
const ROOMS = ["extension", "embedded"];

/** All that is reached, and nothing more. A new one has to be added here, on purpose. */
const REACHED = [
  "canvas.listOpen",
  "extensions.reload",
  "metadata.contextInfo",
  "metadata.isProcessing",
  "mode.get",
  "mode.set",
  "model.getCurrent",
  "model.list",
  "permissions.getMode",
  "permissions.pendingRequests",
  "plan.read",
  "plan.readSqlTodosWithDependencies",
  "quota.get",
  "schedule.list",
  "tasks.list",
  "tools.getBuiltinDescriptors",
  "ui.elicitation",
  "ui.handlePendingElicitation",
  "ui.handlePendingExitPlanMode",
  "ui.handlePendingUserInput",
  "usage.getMetrics",
];
/** What goes over the SDK's connection past its methods. */
const SENT = ["session.resume"];

/** What passes on the user's answer, and the file that may. */
const ANSWERS = /^ui\.handlePending(?:Elicitation|UserInput|ExitPlanMode)$/;
const ANSWERS_FILE = "extension/answers.mjs";

/** What may never be in the list, whoever edits it. */
const FORBIDDEN = [
  /^permissions\.(?!(?:getMode|pendingRequests)$)/,
  /^folderTrust\./,
  /^shell\./,
  /^tools\.(?!getBuiltinDescriptors$)/,
  /^commands\./,
  /^(?:sandbox|gitHubAuth|accounts|options|provider|plugins|mcp|connectors|agentRegistry|user)\./,
  /^(?!ui\.handlePending(?:Elicitation|UserInput|ExitPlanMode)$).*handlePending/,
  /setApproveAll|[aA]ddTrusted|modifyRules|startAgent|execute|ephemeralQuery|createFile/,
];

const sources = ROOMS.flatMap((room) => {
  const folder = path.join(programFolder, "js", room);
  return fs
    .readdirSync(folder)
    .filter((name) => name.endsWith(".mjs"))
    .map((name) => ({
      name: `${room}/${name}`,
      text: fs.readFileSync(path.join(folder, name), "utf8").replace(/^\s*(\/\/|\*|\/\*).*$/gm, ""),
    }));
});

/** What a text reaches: `rpc.area.method`, also with `?.`. @param {string} text */
const reachedBy = (text) =>
  [...text.matchAll(/\brpc\??\.(\w+)\??\.(\w+)/g)].map(([, area, method]) => `${area}.${method}`);

test("js/extension reaches just these methods of the CLI", () => {
  const reached = new Set(sources.flatMap(({ text }) => reachedBy(text)));
  assert.deepEqual([...reached].sort(), REACHED);
  const sent = new Set(
    sources.flatMap(({ text }) =>
      [...text.matchAll(/sendRequest\(\s*"([^"]+)"/g)].map(([, method]) => method),
    ),
  );
  assert.deepEqual([...sent], SENT);
});

test("none of them changes permissions or trust, answers for the user, or runs anything", () => {
  const wrong = [...REACHED, ...SENT].filter((method) =>
    FORBIDDEN.some((pattern) => pattern.test(method)),
  );
  assert.deepEqual(wrong, []);
  for (const method of [
    ...["permissions.setMode", "permissions.setApproveAll", "permissions.handlePendingRequest"],
    ...["folderTrust.addTrusted", "shell.exec", "tools.execute", "commands.execute"],
    ...["tools.handlePendingToolCall", "permissions.handlePendingPermissionRequest"],
    ...["ui.handlePendingSampling", "ui.handlePendingAutoModeSwitch", "tasks.startAgent"],
  ]) {
    assert.ok(
      FORBIDDEN.some((pattern) => pattern.test(method)),
      `${method} would be found`,
    );
  }
});

test("the user's answers are passed on by one file, with these values alone", () => {
  const answering = sources.filter(({ text }) => reachedBy(text).some((one) => ANSWERS.test(one)));
  assert.deepEqual(
    answering.map(({ name }) => name),
    [ANSWERS_FILE],
  );
  const [{ text }] = answering;
  const words = [...text.matchAll(/(?:action|selectedAction|approved): ("?\w+"?)/g)];
  assert.deepEqual(
    words.map(([, value]) => value),
    ['"accept"', '"decline"', "true", '"interactive"', "true", '"exit_only"', "false"],
  );
  assert.doesNotMatch(text, /autopilot|autoApproveEdits|deferImplementation|Permission/);
});

test("no method is reached by a name that is not in the source", () => {
  const hidden = sources.flatMap(({ name, text }) => {
    const ways = [
      /\brpc\s*(?:\?\.)?\[/, // rpc[name]
      /\brpc\??\.\w+\s*(?:\?\.)?\[/, // rpc.mode[name]
      /[=:(,]\s*(?:\w+\.)*rpc\s*[;,)\n]/, // another name for rpc
      /\brpc\??\.\w+\s*[;,)\n]/, // another name for rpc.mode
      /\.\.\.\s*(?:\w+\.)*rpc\b/,
      /\{\s*\w+\s*:?[^}]*\}\s*=\s*(?:\w+\.)*rpc\b/, // const { mode } = session.rpc
      /sendRequest\(\s*[^"\s]/,
      /\binternalRpc\b/,
    ];
    return ways.filter((way) => way.test(text)).map((way) => `${name}: ${way}`);
  });
  assert.deepEqual(hidden, []);
});
