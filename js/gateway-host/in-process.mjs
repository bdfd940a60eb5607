// A transport of sdk/node's Provider to a gateway in the same process: the messages of docs/protocol.md
// without a connection. The gateway fully trusts such a provider. It requires no
// `auth`, and binds a provider that is bound to "all" to each new session before that session's first tools.

/**
 * The carrier of the messages: the addon's Gateway, or an EmbeddedGateway.
 * @typedef {Pick<import("../lib/addon.js").Gateway, "openProvider" | "sendProvider">} ProviderGateway
 */

const GOODBYE = JSON.stringify({ type: "goodbye" });

/**
 * @param {ProviderGateway} gateway
 * @param {{feature?: boolean}} [options] `feature`: its texts for the model are recorded first, or dropped
 * @returns {import("../../sdk/node/types.js").Transport} its open() throws if the gateway is closed
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
