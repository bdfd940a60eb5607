// `copilot-tap plan restore`, `clean` and `import`.

import path from "node:path";
import { messageOf } from "../../base/errors.mjs";
import { inLine } from "../../base/visible.mjs";
import { faint } from "../../views/output.mjs";
import { bytes, counted } from "../../views/wording.mjs";
import { EXIT } from "../failure.mjs";
import { cliFor, referenceOf } from "./asking.mjs";
import { readExport } from "./plan-file.mjs";
import { requireYes } from "./yes.mjs";

/** @typedef {import("../commands/plan.mjs").Asked} Asked */

const KINDS = /** @type {Record<string, string>} */ ({
  unregistered: "git does not know it",
  forgotten: "no plan knows it",
  removed: "its removal was interrupted",
});

// ---- restore ---------------------------------------------------------------------------------------

/** @param {Asked} asked */
export async function restore({ given, target, output, ask }) {
  const { planId: plan, nodeId: node } = referenceOf(target, { node: "may" });
  const to = given.to === undefined ? undefined : path.resolve(given.to);
  const answer = await ask({ do: "restore", of: { plan, node, to } });
  output.result(answer, () => {
    for (const { planId, nodeId, branch, folder } of answer.restored) {
      const also = folder === undefined ? "" : `, and its files are in ${folder}`;
      output.say(`${planId}/${nodeId} is the branch ${branch} of ${answer.repo}${also}`);
    }
    const [{ branch }] = answer.restored;
    output.say(faint(`git worktree add ../${branch} ${branch} makes a checkout of it`));
  });
}

// ---- clean -----------------------------------------------------------------------------------------

/** @param {{bytes: number, complete: boolean}} use */
const sizeOf = ({ bytes: size, complete }) => `${complete ? "" : "more than "}${bytes(size)}`;

/** @param {Asked} asked */
export async function clean({ given, output, ask }) {
  const { repo, orphans } = await ask({ do: "orphans" });
  if (orphans.length === 0) {
    return output.result({ repo, cleaned: [] }, () =>
      output.say(`Each folder in ${repo}/.worktrees belongs to a plan: there is nothing to clean.`),
    );
  }
  if (output.json && !given.yes) {
    output.result({ repo, orphans, cleaned: [] });
    return EXIT.notDone;
  }
  for (const orphan of orphans) {
    if (output.json) continue;
    output.say(`${sizeOf(orphan).padStart(10)}  ${orphan.path}  `, faint(KINDS[orphan.kind] ?? ""));
  }
  const what = counted(orphans.length, "folder");
  await requireYes(output, given, `Keep a snapshot of ${what} and remove them?`);
  const cleaned = [];
  for (const { path: place, name } of orphans) {
    const removal = await ask({ do: "clean", folder: place }).catch((error) => ({
      ...{
        path: place,
        removed: false,
        code: error.code,
        message: `"${place}" stays: ${messageOf(error)}`,
      },
    }));
    cleaned.push({ name, ...removal });
    tellRemoval(output, cleaned.at(-1));
  }
  const stay = cleaned.filter(({ removed }) => !removed);
  output.result({ repo, cleaned }, () => {
    const left = stay.length > 0 ? `, ${stay.length} stay` : "";
    output.say(`${cleaned.length - stay.length} of ${orphans.length} removed${left}`);
  });
  return stay.length > 0 ? EXIT.notDone : EXIT.done;
}

/** @param {Asked["output"]} output @param {any} removal */
function tellRemoval(output, { path: place, removed, message, kept, omitted = [] }) {
  if (output.json) return;
  if (!removed) return output.say(message);
  const [, node] = /^refs\/tap\/kept\/orphans\/(.+)$/.exec(kept?.ref ?? "") ?? [];
  const back = node ? `; copilot-tap plan restore orphans/${node} brings it back` : "";
  output.say(`removed: ${place}${back}`);
  if (omitted.length > 0) output.say(`  too large to be kept: ${omitted.join(", ")}`);
}

// ---- import ----------------------------------------------------------------------------------------

/** @param {Asked} asked */
export async function imported({ target, output, ask }) {
  const exported = readExport(target);
  const cli = await cliFor(exported.source ?? {});
  const answer = await ask({ do: "import", exported, ...cli });
  const { planId, name, status, total, repo, notes } = answer;
  output.result(answer, () => {
    for (const note of notes) output.say(`note: ${note}`);
    const nodes = counted(total, "node");
    output.say(`plan ${planId} (${inLine(name)}, ${nodes}) is here: ${status}, in ${repo}`);
    if (status === "paused") output.say(`copilot-tap plan resume ${planId} goes on with it`);
  });
}
