// npm audit of the packages that users install and of all packages: the known weaknesses. A
// registry that does not answer npm audit is no failure, but the verdict mentions it.

import { attempt, CommandFailed, root, printLine } from "./commands.mjs";
import { npm } from "./setup.mjs";

/** @typedef {{ok: boolean, text: string}} Verdict */

/** @param {string} output of npm audit --json, among npm's warnings @returns {Verdict} */
export function judgeAudit(output) {
  const [json] = /^\{[^]*^\}/m.exec(output) ?? [];
  if (!json) return { ok: true, text: `not possible: npm printed ${output.trim().slice(0, 200)}` };
  const report = JSON.parse(json);
  if (!report.vulnerabilities) {
    const why = report.error?.summary || report.message || "the registry gave no report";
    return { ok: true, text: `not possible: ${why}` };
  }
  const found = Object.values(report.vulnerabilities);
  if (found.length === 0) return { ok: true, text: "no known weakness" };
  const named = found.map(({ name, severity, range }) => `${name} ${range} (${severity})`);
  return { ok: false, text: named.join(", ") };
}

/** @throws {CommandFailed} */
export async function audit() {
  const { command, args } = npm();
  let known = false;
  for (const part of [["--omit=dev"], []]) {
    const { output } = await attempt(
      command,
      [...args, "audit", "--json", "--fetch-retries=0", "--fetch-timeout=15000", ...part],
      { cwd: root, quiet: true },
    );
    const { ok, text } = judgeAudit(output);
    printLine(`   npm audit ${part.join(" ")}: ${text}`.replace(" :", ":"));
    known ||= !ok;
  }
  if (known) throw new CommandFailed("packages with known weaknesses: npm audit fix");
}
