// What the user can type in the session: /tap, /tap-pair, /tap-doctor. The model sees none of it.

/** @typedef {{name: string, description: string, handler: (invocation?: {args?: string}) => Promise<void>}} SlashCommand */

/** @param {unknown} error */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/**
 * @param {object} on
 * @param {import("../base/paths.mjs").GatewayFiles} on.files
 * @param {(text: string) => void} on.show a text in the timeline
 * @param {() => boolean} on.showPairings asks the gateway to; false: there is none
 * @returns {SlashCommand[]}
 */
export function slashCommands({ files, show, showPairings }) {
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
  return [
    {
      name: "tap",
      description: "What tap is doing: sessions, providers, calls, last failures",
      handler: () => showing(async () => (await views()).statusText(files)),
    },
    {
      name: "tap-pair",
      description: "The codes of those who ask to be paired with this session",
      handler: async () => {
        if (!showPairings()) show("tap: no gateway runs at the moment; try again in a few seconds");
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
