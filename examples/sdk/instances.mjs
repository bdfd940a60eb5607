// A provider with several programs: start it twice, as `node instances.mjs left` and `node instances.mjs right`.
// The model sees each tool once, with a further parameter, `target`, and a tool `list_editor_instances`.

import { provider } from "copilot-tap/provider";

const instance = process.argv[2] ?? `window-${process.pid}`;
// The metadata is in the list of instances: it helps the model to choose.
const metadata = { title: `the ${instance} window`, started: new Date().toISOString() };

const tap = provider("editor", { instance, metadata });
// Each instance declares the same tools. Without a `target` the instance that was last active is called.
tap.tool(
  "open_file",
  { description: "Says which file is open in an editor window." },
  () => `${instance}.txt`,
);
await tap.connect();
