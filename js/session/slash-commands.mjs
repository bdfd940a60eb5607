import { messageOf } from "../base/errors.mjs";
// What the user can type in the session: /tap, /tap-use, /tap-pair, /tap-doctor. The model sees none of it.

/** @typedef {{name: string, description: string, handler: (invocation?: {args?: string}) => Promise<void>}} SlashCommand */

/**
 * @param {object} on
 * @param {import("../base/paths.mjs").GatewayFiles} on.files
 * @param {(text: string) => void} on.show a text in the timeline
 * @param {(message: object) => boolean} on.ask sends the gateway a message; false: there is none
 * @returns {SlashCommand[]}
 */
export function slashCommands({ files, show, ask }) {
  /** Loaded when it is asked for: a session starts without it. */
  const views = () => import("../command/in-session.mjs");
  /** @param {() => Promise<string>} make */
  const showing = async (make) => {
    try {
      show(await make());
    } catch (error) {
      show(`tap: ${messageOf(error)}`);
    }
  };
  /** @param {object} message */
  const asking = (message) => {
    if (!ask(message)) show("tap: no gateway runs at the moment; try again in a few seconds");
  };
  return [
    {
      name: "tap",
      description: "What tap is doing: sessions, providers, rules, calls, recent failures",
      handler: () => showing(async () => (await views()).statusText(files)),
    },
    {
      name: "tap-pair",
      description: "The codes of those who ask to be paired with this session",
      handler: async () => asking({ type: "pairings.show" }),
    },
    {
      name: "tap-use",
      description: "Bring a provider that serves another session here: /tap-use <provider>",
      handler: async ({ args = "" } = {}) => {
        const provider = args.trim();
        if (provider) return asking({ type: "provider.use", provider });
        show("tap: which provider? As in: /tap-use weather. /tap lists them");
      },
    },
    {
      name: "tap-doctor",
      description: "Why a tool is missing: /tap-doctor, or with the tool's name",
      handler: ({ args = "" } = {}) => {
        const tool = /^[a-zA-Z0-9_][\w-]*$/.exec(args.trim())?.[0];
        return showing(async () => (await views()).doctorText(tool));
      },
    },
  ];
}
