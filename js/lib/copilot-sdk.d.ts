// The SDK is in the Copilot CLI and not on npm: the CLI resolves this name for extensions. Declared
// here is what js/extension/copilot-session.mjs and the entry use; everything else about it is feature-detected.

declare module "@github/copilot-sdk/extension" {
  /** Joins the session that started this process. */
  export function joinSession(config?: object): Promise<any>;
}
