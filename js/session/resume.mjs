// A change of a session's join while it runs: the join's request once more on its connection. A field
// that is left out keeps its value in the CLI, so tools, hooks and the system message can be changed
// apart from each other, also while another such request waits for the user.

/** @param {any} session what joinSession() resolves to; its connection is there, but not documented */
export function canResume(session) {
  return typeof session.connection?.sendRequest === "function";
}

/**
 * Rejects with the CLI's words; what was in force then stays so.
 * @param {any} session @param {{tools?: object[], hooks?: true, systemMessage?: object}} fields
 * @returns {Promise<unknown>}
 */
export function resume(session, fields) {
  return session.connection.sendRequest("session.resume", {
    sessionId: session.sessionId,
    requestPermission: false,
    disableResume: true,
    toolFilterPrecedence: "excluded",
    envValueMode: "direct",
    ...fields,
  });
}
