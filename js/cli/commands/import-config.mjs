// `import-config`: a tap.config.json of copilot-tap-extension becomes one of tap.

import { importConfig } from "../../config/edit.mjs";
import { errorMessage } from "../../lib/values.mjs";
import { visible } from "../../lib/visible.mjs";
import { Output } from "../../views/output.mjs";
import { loadConfig, locateConfig, PATH_ARGUMENT } from "../config-file.mjs";
import { Failure } from "../exit.mjs";

/** @param {import("../options.mjs").CommandOptions & {path: string}} given */
function run(given) {
  const output = new Output(given);
  loadConfig(given.path);
  const { folder, name } = locateConfig(given.path);
  let imported;
  try {
    imported = importConfig(folder, name);
  } catch (error) {
    throw new Failure(visible(errorMessage(error)), {
      advice: "nothing was changed: correct the file, and repeat the command",
      code: "INVALID_CONFIG",
    });
  }
  const { path, changed } = imported;
  output.result({ path, changed }, () =>
    output.print(
      changed.length > 0
        ? `${path}: converted ${visible(changed.join(", "))}. copilot-tap allow starts them`
        : `${path} has only fields of tap: nothing was changed`,
    ),
  );
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "import-config [path]",
  describe: "convert a config of copilot-tap-extension",
  about:
    "Renames the fields of emitters and streams in a tap.config.json of copilot-tap-extension to those of tap, in " +
    "place. Comments stay. If tap could not read the result, the file stays as it is.",
  positionals: { path: PATH_ARGUMENT },
  examples: [["$0 import-config ~/shop", "once, before copilot-tap allow ~/shop"]],
  handler: run,
};
