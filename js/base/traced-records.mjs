// What a call of a tool records belongs to the trace of that call.

/** @typedef {Record<string, Record<string, (...args: any[]) => Promise<any>>>} Services of a feature */

/**
 * @param {Services} services
 * @param {string} [traceparent] of the call, from the gateway, which has checked it
 * @returns {Services} the same, but what is appended or committed has the trace of the call
 */
export function tracedRecords(services, traceparent) {
  const trace = traceparent?.split("-")[1];
  if (trace === undefined) return services;
  const { append, commit } = services.records;
  const records = {
    ...services.records,
    append: (/** @type {object} */ record) => append({ trace, ...record }),
    commit: (/** @type {object} */ record) => commit({ trace, ...record }),
  };
  return { ...services, records };
}
