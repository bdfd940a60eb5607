// The findings of `check`: for each code the reason why it matters, the fix, and the rules of docs/protocol.md.
// docs/command.md lists the codes.

/**
 * @typedef {object} Finding
 * @property {string} code stable, for programs
 * @property {string} happened the observation
 * @property {string} why it matters
 * @property {string} fix the next step for the author
 * @property {string[]} rules of docs/protocol.md
 */

/** @typedef {{why: string, fix: string, rules: string[]}} Reason */

export const REASONS = /** @satisfies {Record<string, Reason>} */ ({
  NOT_STARTED: {
    why: "Without a running program no check is possible.",
    fix: "Check the command's spelling, its folder and its permissions.",
    rules: [],
  },
  ENDED_EARLY: {
    why: "The tools of a provider are in the session only while it is connected.",
    fix:
      "If it printed an error, correct that first. Keep the program running, and its connection " +
      "open, until it gets SIGTERM.",
    rules: ["P-SYNC-1", "P-ID-13"],
  },
  NEVER_CONNECTED: {
    why: "A provider is reached over its WebSocket connection and in no other way.",
    fix:
      "Connect to the port in TAP_GATEWAY_PORT, and look for the token below COPILOT_HOME. " +
      "If the program only starts slowly, give it more time with --wait.",
    rules: ["P-CONN-1", "P-AUTH-1"],
  },
  NO_AUTH: {
    why: "The gateway closes a connection that does not authenticate within 10 s.",
    fix: "Send `auth` with the token as the first message.",
    rules: ["P-CONN-8", "P-CONN-13"],
  },
  AUTH_REFUSED: {
    why: "Without a valid token the gateway closes the connection.",
    fix:
      "Send `auth` first, with the token that is in the file now. Look for the file below " +
      "COPILOT_HOME, and take TAP_PROVIDER_TOKEN only where it is not empty.",
    rules: ["P-CONN-8", "P-AUTH-1", "P-AUTH-4"],
  },
  NO_HELLO: {
    why: "The session has a provider's tools only after its `hello`.",
    fix: "Answer `sessions`, or the next `sessions.updated`, with `hello` for any of the sessions.",
    rules: ["P-AUTH-3", "P-HELLO-1", "P-HELLO-4"],
  },
  HELLO_REFUSED: {
    why: "After a refused `hello` the provider serves no session.",
    fix: "Correct the error, and send `hello` again.",
    rules: ["P-HELLO-1", "P-HELLO-10"],
  },
  CONNECTS_TWICE: {
    why: "An identity has a single holder, so the second connection has no effect.",
    fix: "Keep a single connection, or give each program its own `instance` in `hello`.",
    rules: ["P-ID-1", "P-ID-9"],
  },
  MESSAGE_REFUSED: {
    why: "A refused message has no effect.",
    fix: "Correct the error in the message.",
    rules: ["P-ERROR-1", "P-CONN-5"],
  },
  NO_DESCRIPTION: {
    why: "The model chooses a tool by its description; without a description it has to guess.",
    fix: "Describe in `description` the purpose of the tool and when to use it.",
    rules: ["P-TOOL-1"],
  },
  LONG_DESCRIPTION: {
    why: "The model reads the first 4096 bytes only.",
    fix: "Shorten it, or move parts of it to the descriptions of the parameters.",
    rules: ["P-TOOL-3"],
  },
  BAD_SCHEMA: {
    why: "A session whose tools have a bad schema gets an error from the model instead of an answer.",
    fix: 'Make `parameters` a JSON Schema with `"type": "object"` that any validator accepts.',
    rules: ["P-TOOL-2"],
  },
  ACCEPTS_BAD_ARGUMENTS: {
    why: "Arguments come from the model. It learns only from a failure that they were wrong.",
    fix: "Check the arguments first, and answer bad ones with `INVALID_ARGUMENTS`.",
    rules: ["P-CALL-5", "P-CALL-3"],
  },
  CRASHES: {
    why: "All running calls fail with DISCONNECTED, and the tools leave the session.",
    fix: "Catch errors in the tool, and answer with `error` and an `errorCode`.",
    rules: ["P-CALL-3", "P-CALL-15"],
  },
  NO_ANSWER: {
    why: "The model waits until the tool's timeout, which is five minutes by default.",
    fix: "Answer every call with a single `tool.result`, also when the tool throws.",
    rules: ["P-CALL-7", "P-CALL-11"],
  },
  BAD_ANSWER: {
    why: "The model reads a failure of the provider instead of its answer.",
    fix: "Send a `tool.result` with the call's `id` and either `data` or `error`.",
    rules: ["P-CALL-2", "P-CALL-3", "P-INPUT-4"],
  },
  IGNORES_CANCEL: {
    why: "The work continues without a reader, and a limited slot stays occupied for 5 s.",
    fix:
      "On `tool.cancel` stop the work and send a `tool.result` with `CANCELLED`. " +
      "With the SDKs, use the signal that the handler gets.",
    rules: ["P-CALL-12", "P-CALL-13", "P-RUN-7"],
  },
  ENDS_WITH_SESSION: {
    why: "After /clear the model has no tools of this provider until a person restarts it.",
    fix: "Keep running. The connection outlives the session, and may send `hello` for the next session.",
    rules: ["P-LIFE-2", "P-LIFE-3"],
  },
  NOT_IN_NEXT_SESSION: {
    why: "After /clear the model has no tools of this provider until a person restarts it.",
    fix:
      "When `session.lifecycle` says `shutdown.pending`, send `goodbye` and connect again, or " +
      "send `hello` for a session of the next `sessions.updated`.",
    rules: ["P-LIFE-2", "P-LIFE-3", "P-SESSION-4"],
  },
  ENDS_WITH_GATEWAY: {
    why: "A gateway may crash or be updated at any time; a new gateway starts within about a second.",
    fix: "When the connection closes, wait a second and connect again, for as long as you run.",
    rules: ["P-HOST-7", "P-HOST-9"],
  },
  NOT_BACK: {
    why: "A gateway may crash or be updated at any time; its providers have to come back on their own.",
    fix:
      "When the connection closes, wait a second, read the token file again (every gateway has " +
      "a new token), connect, and send `auth` and `hello`.",
    rules: ["P-HOST-7", "P-HOST-9", "P-AUTH-6"],
  },
  TOOLS_MISSING: {
    why: "The new session has only the declarations of the new `hello`.",
    fix: "Declare all tools in every `hello`, those of former `tools.update` messages included.",
    rules: ["P-HELLO-4", "P-SESSION-9"],
  },
  IGNORES_SIGTERM: {
    why: "tap ends its providers with SIGTERM and kills processes that still run 3 s later.",
    fix: "On SIGTERM close the connection and exit, and end the programs that you have started.",
    rules: ["P-PROJECT-1", "P-PROJECT-5"],
  },
});

/** @typedef {keyof typeof REASONS} Code */

/** @param {Code} code @param {string} happened @param {string} [fix] if it differs from the usual @returns {Finding} */
export const finding = (code, happened, fix) => {
  const reason = REASONS[code];
  return { code, happened, why: reason.why, fix: fix ?? reason.fix, rules: [...reason.rules] };
};
