// What a call of a feature's tool fails with where the gateway's host could not be asked.

import { ServiceError } from "../registry/services.mjs";
import { ToolError } from "../../sdk/node/errors.mjs";

/** Of GatewayRequests: they say nothing about the feature. */
const PASSING = ["DISCONNECTED", "TIMEOUT"];

/** @param {unknown} thrown by a tool @returns {unknown} what the call fails with */
export function failureOf(thrown) {
  if (!(thrown instanceof ServiceError)) return thrown;
  const { code } = /** @type {{code?: string}} */ (thrown.cause ?? {});
  if (code === undefined || !PASSING.includes(code)) return thrown;
  return new ToolError(code, thrown.message, { retryable: true });
}
