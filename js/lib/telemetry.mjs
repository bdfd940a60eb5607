// The variables of OpenTelemetry that concern the export of spans. The gateway host inherits them from the session that
// starts it, and passes them to its feature host only: headers hold secrets.

const NAMES =
  /^OTEL_(?:EXPORTER_OTLP_(?:TRACES_)?(?:ENDPOINT|HEADERS|TIMEOUT|PROTOCOL|COMPRESSION|CERTIFICATE|CLIENT_KEY|CLIENT_CERTIFICATE)|SERVICE_NAME|RESOURCE_ATTRIBUTES|SDK_DISABLED|TRACES_EXPORTER)$/;
/** Of a single value, in characters. */
export const MAX_VARIABLE = 8192;

/**
 * The variables that are set. A value that is too long is cut to one character too many.
 * @param {NodeJS.ProcessEnv} env @returns {Record<string, string>}
 */
export const telemetryVariables = (env) =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value && NAMES.test(name) ? [[name, value.slice(0, MAX_VARIABLE + 1)]] : [],
    ),
  );

/** Whether they ask for an export of spans by OTLP. @param {Record<string, string>} variables */
export function isExportRequested(variables) {
  const endpoint =
    variables.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || variables.OTEL_EXPORTER_OTLP_ENDPOINT;
  const disabled = variables.OTEL_SDK_DISABLED?.trim().toLowerCase() === "true";
  const exporters = variables.OTEL_TRACES_EXPORTER?.split(",").map((name) => name.trim());
  return Boolean(endpoint) && !disabled && (exporters?.includes("otlp") ?? true);
}

// Records that a tool's call appends belong to the trace of the call.

/** @typedef {Record<string, Record<string, (...args: any[]) => Promise<any>>>} Services of a feature */

/**
 * @param {Services} services
 * @param {string} [traceparent] of the call, checked by the gateway
 * @returns {Services} the same, but appended and committed records have the call's trace
 */
export function traceRecords(services, traceparent) {
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
