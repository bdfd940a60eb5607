// `copilot-tap plan restore`, `clean` and `import`.

import path from "node:path";
import { errorMessage } from "../../lib/values.mjs";
import { inLine } from "../../lib/visible.mjs";
import { faint } from "../../views/output.mjs";
import { bytes, formatCount } from "../../views/wording.mjs";
import { EXIT } from "../exit.mjs";
import { askWithConsent, cliFor, parseReference } from "./client.mjs";
import { readExport } from "./plan-file.mjs";
import { requireConfirmation } from "../confirm.mjs";

/** @typedef {import("../commands/plan.mjs").ActionContext} ActionContext */

const KINDS = /** @type {Record<string, string>} */ ({
  unregistered: "git does not know it",
  forgotten: "no plan knows it",
  removed: "its removal was interrupted",
});

// ---- restore ---------------------------------------------------------------------------------------

/** @param {ActionContext} asked */
export async function restore({ given, target, output, ask }) {
  const { planId: plan, nodeId: node } = parseReference(target, { node: "may" });
  const to = given.to === undefined ? undefined : path.resolve(given.to);
  const answer = await ask({ do: "restore", of: { plan, node, to } });
  output.result(answer, () => {
    for (const { planId, nodeId, branch, folder } of answer.restored) {
      const also = folder === undefined ? "" : `, and its files are in ${folder}`;
      output.print(`${planId}/${nodeId} is the branch ${branch} of ${answer.repo}${also}`);
    }
    const [{ branch }] = answer.restored;
    output.print(faint(`git worktree add ../${branch} ${branch} makes a checkout of it`));
  });
}

// ---- clean -----------------------------------------------------------------------------------------

/** @param {{bytes: number, complete: boolean}} use */
const formatSize = ({ bytes: size, complete }) => `${complete ? "" : "more than "}${bytes(size)}`;

/** @param {ActionContext} asked */
export async function clean({ given, output, ask }) {
  const { repo, orphans } = await ask({ do: "orphans" });
  if (orphans.length === 0) {
    return output.result({ repo, cleaned: [] }, () =>
      output.print(
        `Each folder in ${repo}/.worktrees belongs to a plan: there is nothing to clean.`,
      ),
    );
  }
  if (output.json && !given.yes) {
    output.result({ repo, orphans, cleaned: [] });
    return EXIT.notDone;
  }
  for (const orphan of orphans) {
    if (output.json) continue;
    output.print(
      `${formatSize(orphan).padStart(10)}  ${orphan.path}  `,
      faint(KINDS[orphan.kind] ?? ""),
    );
  }
  const what = formatCount(orphans.length, "folder");
  await requireConfirmation(output, given, `Keep a snapshot of ${what} and remove them?`);
  const cleaned = [];
  for (const { path: place, name } of orphans) {
    const removal = await ask({ do: "clean", folder: place }).catch((error) => ({
      ...{
        path: place,
        removed: false,
        code: error.code,
        message: `"${place}" stays: ${errorMessage(error)}`,
      },
    }));
    cleaned.push({ name, ...removal });
    printRemoval(output, cleaned.at(-1));
  }
  const stay = cleaned.filter(({ removed }) => !removed);
  output.result({ repo, cleaned }, () => {
    const left = stay.length > 0 ? `, ${stay.length} stay` : "";
    output.print(`${cleaned.length - stay.length} of ${orphans.length} removed${left}`);
  });
  return stay.length > 0 ? EXIT.notDone : EXIT.done;
}

/** @param {ActionContext["output"]} output @param {any} removal */
function printRemoval(output, { path: place, removed, message, kept, omitted = [] }) {
  if (output.json) return;
  if (!removed) return output.print(message);
  const [, node] = /^refs\/tap\/kept\/orphans\/(.+)$/.exec(kept?.ref ?? "") ?? [];
  const back = node ? `; copilot-tap plan restore orphans/${node} brings it back` : "";
  output.print(`removed: ${place}${back}`);
  if (omitted.length > 0) output.print(`  too large to be kept: ${omitted.join(", ")}`);
}

// ---- import ----------------------------------------------------------------------------------------

/** @param {ActionContext} asked */
export async function importPlan({ given, target, output, ask }) {
  const exported = readExport(target);
  const cli = await cliFor(exported.source ?? {});
  const answer = await askWithConsent({ given, output, ask }, { do: "import", exported, ...cli });
  const { planId, name, status, total, repo, notes } = answer;
  output.result(answer, () => {
    for (const note of notes) output.print(`note: ${note}`);
    const nodes = formatCount(total, "node");
    output.print(`plan ${planId} (${inLine(name)}, ${nodes}) is here: ${status}, in ${repo}`);
    if (status === "paused") output.print(`copilot-tap plan resume ${planId} goes on with it`);
  });
}
