// A transport of sdk/node's Provider to a gateway in the same process: the messages of docs/protocol.md,
// handed over without a connection. The gateway trusts such a provider with everything. It asks for no
// `auth`, and binds one that is bound to "all" to each new session before that session's first tools.

/**
 * The carrier of the messages: the addon's Gateway, or an EmbeddedGateway.
 * @typedef {Pick<import("../lib/addon.js").Gateway, "openProvider" | "sendProvider">} ProviderGateway
 */

const GOODBYE = JSON.stringify({ type: "goodbye" });

/**
 * @param {ProviderGateway} gateway
 * @param {{feature?: boolean}} [options] `feature`: what it puts before the model is recorded first, or left out
 * @returns {import("../../sdk/node/types.js").Transport} whose open() throws where the gateway is closed
 */
export function inProcess(gateway, { feature = false } = {}) {
  return {
    open({ onMessage, onClosed }) {
      let open = true;
      let closing = false;
      const id = gateway.openProvider({
        onMessage,
        feature,
        onClosed(reason) {
          open = false;
          onClosed({ reason, again: closing ? "soon" : "never" });
        },
      });
      const send = (/** @type {string} */ text) => {
        if (open) gateway.sendProvider(id, text);
      };
      const close = () => {
        closing = true;
        send(GOODBYE);
      };
      return { send, close };
    },
  };
}
