// Hosts in what an agent asks for, and whether its job may reach them.

import { matchesHost } from "../lib/values.mjs";
import { wrapInQuotes, shortenText, visible } from "../lib/visible.mjs";

/** @param {unknown} value */
export const quoteName = (value) => wrapInQuotes(visible(shortenText(String(value), 300)));

const SCHEMES = /^(https?|ftps?|wss?|ssh|git|sftp):[/\\]+/i;

/** @param {string} word @returns {string | undefined} the host of a URL, or of `user@host:path` */
export function parseHost(word) {
  if (/^file:/i.test(word)) return undefined;
  const begin = /^[a-z][a-z0-9+.-]*:\/\//i.exec(word) ?? SCHEMES.exec(word);
  if (!begin) return /^[\w.-]+@([\w.-]+):/.exec(word)?.[1].toLowerCase();
  const authority = /^[/\\]*([^/?#]*)/.exec(word.slice(begin[0].length))?.[1] ?? "";
  // Programs do not agree on such a one: it is no host that could be allowed.
  if (/\\|\s|@.*@/.test(authority)) return authority;
  const host = /^(?:[^@]*@)?(\[[^\]]+\]|[^:]+)/.exec(authority)?.[1];
  return host?.toLowerCase().replace(/\.$/, "");
}

/** @param {string} host @param {{hosts: string[]}} bounds @returns {string} why not; "": it may */
export const findHostRefusal = (host, { hosts }) =>
  hosts.some((one) => matchesHost(parseHost(one) ?? one, host))
    ? ""
    : `tap: this job may not reach ${quoteName(host)}. Allowed hosts: ${hosts.map(visible).join(", ") || "none"}.`;
