// Where spans go, by the variables of OpenTelemetry (https://opentelemetry.io/docs/specs/otel/protocol/exporter/). No
// I/O. A problem never quotes an endpoint or a header: either may hold a secret.

import { MAX_VARIABLE } from "../../lib/telemetry.mjs";
import { wrapInQuotes, shortenText } from "../../lib/visible.mjs";

/** @typedef {Record<string, string>} Variables */
/**
 * @typedef {object} Target
 * @property {string} url with the path
 * @property {string} shown its origin, for people
 * @property {Record<string, string>} headers
 * @property {number} timeoutMs @property {boolean} compress
 * @property {Record<string, string>} resource
 */

const ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 60_000;
const MAX_PAIRS = 64;
const MAX_QUOTED = 40;
const SERVICE = "copilot-tap";
const UNSUPPORTED = ["CERTIFICATE", "CLIENT_KEY", "CLIENT_CERTIFICATE"];
/** What a request itself decides. */
const RESERVED =
  /^(?:host|connection|content-(?:type|encoding|length)|transfer-encoding|expect|upgrade|keep-alive|te|trailer)$/;
/** As HTTP has them: RFC 9110, 5.1 and 5.5. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,128}$/;
const HEADER_VALUE = /^[\x20-\x7e\x80-\xff]*$/;

/** @param {string} value */
const quoteValue = (value) => wrapInQuotes(shortenText(value, MAX_QUOTED));

/** The variable of spans, else that of all signals; one that is empty counts as not set. */
class Settings {
  /** @type {string[]} */
  problems = [];
  #variables;

  /** @param {Variables} variables */
  constructor(variables) {
    this.#variables = variables;
  }

  /** @param {string} variable @returns {string} "" where it is not set, or cannot be used */
  value(variable) {
    const value = this.#variables[variable] ?? "";
    if (value.length <= MAX_VARIABLE) return value.trim();
    this.problems.push(`${variable} is longer than ${MAX_VARIABLE} characters; tap leaves it out.`);
    return "";
  }

  /** @param {string} name such as `TIMEOUT` @returns {{variable: string, value: string}} */
  setting(name) {
    const own = `OTEL_EXPORTER_OTLP_TRACES_${name}`;
    const variable = this.#variables[own]?.trim() ? own : `OTEL_EXPORTER_OTLP_${name}`;
    return { variable, value: this.value(variable) };
  }

  /** `a=b,c=d`, percent-encoded. @param {string} variable @returns {[string, string][]} */
  pairs(variable) {
    const parts = this.value(variable)
      .split(",")
      .filter((part) => part.trim() !== "");
    if (parts.length > MAX_PAIRS) {
      this.problems.push(`${variable} has more than ${MAX_PAIRS} pairs; tap leaves out the rest.`);
    }
    return parts.slice(0, MAX_PAIRS).flatMap((part, index) => {
      const [, name, value] = /^\s*([^=]*?)\s*=\s*(.*?)\s*$/s.exec(part) ?? [];
      try {
        if (name) return [[decodeURIComponent(name), decodeURIComponent(value)]];
      } catch {
        // not percent-encoded
      }
      this.problems.push(
        `Pair ${index + 1} of ${variable} is not name=value, percent-encoded; tap leaves it out.`,
      );
      return [];
    });
  }
}

/** @param {Settings} settings @returns {Record<string, string>} */
function readHeaders(settings) {
  /** @type {Map<string, string>} */
  const headers = new Map();
  for (const variable of ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"]) {
    for (const [name, value] of settings.pairs(variable)) {
      const key = name.toLowerCase();
      const good = HEADER_NAME.test(key) && !RESERVED.test(key) && HEADER_VALUE.test(value);
      if (good) headers.set(key, value);
      else {
        settings.problems.push(
          `${variable} has a header that cannot be sent (a wrong name, a control character, or one that tap sets); tap leaves it out.`,
        );
      }
    }
  }
  return Object.fromEntries(headers);
}

/** @param {Settings} settings @returns {Record<string, string>} */
function readResource(settings) {
  const given = Object.fromEntries(settings.pairs("OTEL_RESOURCE_ATTRIBUTES"));
  const service = settings.value("OTEL_SERVICE_NAME") || given["service.name"] || SERVICE;
  return { ...given, "service.name": service };
}

/** @param {Settings} settings */
function readTimeout(settings) {
  const { variable, value } = settings.setting("TIMEOUT");
  if (value === "") return TIMEOUT_MS;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) : 0;
  if (ms >= 1 && ms <= MAX_TIMEOUT_MS) return ms;
  settings.problems.push(
    `${variable}=${quoteValue(value)} is not a whole number from 1 to ${MAX_TIMEOUT_MS}; using the default, ${TIMEOUT_MS} ms.`,
  );
  return TIMEOUT_MS;
}

/** @param {Settings} settings */
function readCompression(settings) {
  const { variable, value } = settings.setting("COMPRESSION");
  if (!["", "none", "gzip"].includes(value)) {
    settings.problems.push(
      `${variable}=${quoteValue(value)} is neither gzip nor none; tap does not compress.`,
    );
  }
  return value === "gzip";
}

/** @param {Settings} settings @returns {URL | undefined} undefined: nothing can be sent, as a problem says */
function readUrl(settings) {
  const { variable, value } = settings.setting("ENDPOINT");
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const problem = !/^https?:$/.test(url?.protocol ?? "")
    ? "is not an http or https URL"
    : url?.username || url?.password
      ? "has a user name or a password, which belong in OTEL_EXPORTER_OTLP_HEADERS"
      : "";
  if (problem) {
    settings.problems.push(
      `${variable} ${problem}; no span is exported. Set it to a URL such as http://localhost:4318.`,
    );
    return undefined;
  }
  if (url && variable === ENDPOINT) url.pathname = `${url.pathname.replace(/\/+$/, "")}/v1/traces`;
  return url;
}

/** @param {Settings} settings @returns {boolean} whether it is one that tap has */
function checkProtocol(settings) {
  const { variable, value } = settings.setting("PROTOCOL");
  if (value === "" || value === "http/json") return true;
  settings.problems.push(
    `${variable}=${quoteValue(value)}: tap exports by http/json alone, so no span is exported. Set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json and a port for HTTP.`,
  );
  return false;
}

/**
 * @param {Variables} variables
 * @returns {{target: Target | undefined, problems: string[]}} without a target nothing can be sent
 */
export function readExportTarget(variables) {
  const settings = new Settings(variables);
  const { problems } = settings;
  const url = readUrl(settings);
  if (!checkProtocol(settings) || !url) return { target: undefined, problems };
  for (const name of UNSUPPORTED) {
    const { variable, value } = settings.setting(name);
    if (value) problems.push(`${variable} is not supported; tap leaves it out.`);
  }
  const target = {
    url: url.href,
    shown: url.origin,
    headers: readHeaders(settings),
    timeoutMs: readTimeout(settings),
    compress: readCompression(settings),
    resource: readResource(settings),
  };
  return { target, problems };
}
