// The providers that a project's tap.config.json names: started with its sessions, after the user has allowed them.

/** @type {import("../../feature-host/descriptor.mjs").Descriptor} */
export const descriptor = {
  id: "builtin:projects",
  displayName: "Project providers",
  version: "1",
  runtime: "builtin",
  host: "gateway",
  capabilities: [
    { capability: "process", required: true, reason: "starts the programs that a config names" },
  ],
};

/** @param {import("../../feature-host/installation.mjs").Context} context */
export async function install({ services }) {
  /** @type {() => Promise<void>} */
  const stop = await services.projects.serve();
  return { stop };
}
