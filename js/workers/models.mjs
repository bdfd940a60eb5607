// The models that the CLI of the workers can name: its account's when signed in, else those that it was built with.

import { modelsFrom } from "../base/models.mjs";

/** @param {import("./sdk.mjs").Client} client @returns {Promise<import("../base/models.mjs").Models>} */
export async function askModels(client) {
  const account = await client.listModels().catch(() => undefined);
  const online = modelsFrom("account", account);
  if (online) return online;
  const catalog = await client.rpc.models?.getBuiltInCatalog?.().catch(() => undefined);
  return modelsFrom("catalog", catalog?.models) ?? { source: "none", models: [] };
}
