// A feature that a test has made, installed next to a gateway in this process, and its effects.

import { inProcess } from "../../js/gateway-host/in-process.mjs";
import { Installation } from "../../js/feature-host/installation.mjs";
import { preflight } from "../../js/feature-host/preflight.mjs";
import { provider } from "../../sdk/node/provider.mjs";
import { TestGateway } from "./harness.mjs";

/** @param {object} [fields] of a descriptor */
export const descriptorOf = (fields) =>
  /** @type {import("../../js/feature-host/descriptor.mjs").Descriptor} */ ({
    id: "builtin:tried",
    displayName: "Tried",
    version: "1",
    runtime: "builtin",
    ...fields,
  });

/** @param {string} capability @param {boolean} [required] */
export const wanted = (capability, required = true) => ({ capability, required, reason: "a test" });

/**
 * @param {import("node:test").TestContext} t @param {object} fields of its descriptor
 * @param {import("../../js/feature-host/installation.mjs").Install} install
 * @param {object} [options] ports in place of the usual ones
 */
export async function installed(t, fields, install, options = {}) {
  const gateway = new TestGateway(t);
  const own = provider("tap-tried", { session: "all", transport: inProcess(gateway.addon) });
  own.on("error", () => {});
  const said = {
    events: /** @type {any[]} */ ([]),
    model: /** @type {any[]} */ ([]),
    prompts: /** @type {any[]} */ ([]),
  };
  const [checked] = preflight([{ descriptor: descriptorOf(fields), origin: "a test" }], {});
  const installation = new Installation(checked, {
    provider: own,
    sinks: {
      emit: async (...event) => void said.events.push(event),
      model: async (...text) => void said.model.push(text),
      prompt: async (...text) => void said.prompts.push(text),
    },
    implementations: {},
    ...options,
  });
  await installation.start(() => install);
  await own.connect();
  t.after(() => own.close());
  const session = await gateway.session("attached", { joined: false });
  return { gateway, session, installation, own, said, report: () => installation.report() };
}
