// The services of features in this process: their own folder and programs here, all else by a request to the gateway
// host.

import { ownFolder } from "./folder.mjs";
import { Programs } from "./programs.mjs";

/**
 * @param {string} id of the feature @param {string} home <COPILOT_HOME>
 * @param {import("./gateway-requests.mjs").GatewayRequests} requests
 */
export function servicesOf(id, home, requests) {
  const files = ownFolder(home, id);
  const programs = new Programs();
  const ask =
    (/** @type {string} */ method) =>
    (params = {}) =>
      requests.request(method, params);
  /** @type {import("../registry/services.mjs").Implementations} */
  const implementations = {
    files: { read: files.read, list: files.list, write: files.write, remove: files.remove },
    process: { run: (program) => programs.run(program) },
    records: {
      query: ask("records.query"),
      stats: ask("records.stats"),
      append: ask("records.append"),
      commit: ask("records.commit"),
    },
    sessions: { list: async () => (await requests.request("gateway.inspect")).sessions },
    providers: { inspect: ask("gateway.inspect") },
    features: { report: async () => (await requests.request("features.report", {})).features },
  };
  return { implementations, files, programs };
}
