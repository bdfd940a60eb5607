// Where node-gyp is, and the headers of the Node that runs this.

import fs from "node:fs";
import path from "node:path";

const nodeFolder = path.resolve(path.dirname(fs.realpathSync(process.execPath)), "..");

/**
 * npm brings node-gyp along and says where; a global one serves outside of npm.
 * @returns {{command: string, args: string[]}}
 */
export function nodeGyp() {
  const bundled = process.env.npm_config_node_gyp;
  if (bundled && fs.existsSync(bundled)) return { command: process.execPath, args: [bundled] };
  const withNode = path.join(
    nodeFolder,
    "lib/node_modules/npm/node_modules/node-gyp/bin/node-gyp.js",
  );
  if (fs.existsSync(withNode)) return { command: process.execPath, args: [withNode] };
  return { command: process.platform === "win32" ? "node-gyp.cmd" : "node-gyp", args: [] };
}

/** What is there need not be downloaded. @returns {string | undefined} */
export function headerFolder() {
  const header = path.join(nodeFolder, "include", "node", "node_api.h");
  return fs.existsSync(header) ? nodeFolder : undefined;
}
