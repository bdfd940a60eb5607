// tap_tools: the model turns a group of tools on, within its turn. The slash command /tap-tools does so for the user.

import { errorMessage } from "../../lib/values.mjs";
import { visible } from "../../lib/visible.mjs";

export const TAP_TOOLS = "tap_tools";

/** All that a session has from tap at its start stays below 1,200 characters; this is the part of the list. */
const MAX_LIST = 600;
const MAX_LINE = 100;

/**
 * @typedef {{name: string, description: string}} ToolGroup
 *
 * @typedef {object} TapToolsOptions
 * @property {() => ToolGroup[]} groups those that there are, in the order in which they are listed
 * @property {(sessionId: string, names: string[]) => Promise<import("../../lib/addon.js").OpenedGroups>} openGroups
 *
 * @typedef {object} TapTools
 * @property {string} name
 * @property {() => string} description as the groups are now
 * @property {object} parameters
 * @property {(args: {group?: string}, call: {session: string}) => Promise<string>} handler
 * @property {(args: string, sessionId: string) => Promise<string>} command the text of /tap-tools
 */

const PARAMETERS = { type: "object", properties: { group: { type: "string" } } };

/** @param {ToolGroup} group @param {number} [most] */
const formatGroup = ({ name, description }, most = Infinity) => {
  const line = `- ${name}: ${description}`;
  if (line.length <= most) return line;
  const words = line.slice(0, most - 1);
  return `${words.slice(0, words.lastIndexOf(" ") + 1) || words}…`;
};

/** As many lines as fit. @param {ToolGroup[]} groups */
function shortList(groups) {
  let list = "";
  for (const [index, group] of groups.entries()) {
    const line = `\n${formatGroup(group, MAX_LINE)}`;
    const rest = `\n- ${groups.length - index} more: call it without a group`;
    if (list.length + line.length + rest.length > MAX_LIST) return list + rest;
    list += line;
  }
  return list;
}

/** @param {ToolGroup[]} groups */
const wholeList = (groups) =>
  groups.length === 0
    ? "There are no groups of tools."
    : ["Groups of tools:", ...groups.map((group) => formatGroup(group))].join("\n");

/**
 * @param {string} group @param {import("../../lib/addon.js").OpenedGroups} opened
 * @returns {string}
 */
function outcome(group, { inForce, tools, reason }) {
  const names = tools.join(", ");
  if (inForce && tools.length > 0) return `The tools of ${group} are here now: ${names}.`;
  if (inForce) {
    return `The group ${group} is on, but its feature has no tools yet. Call ${TAP_TOOLS} again in a moment.`;
  }
  const which = names === "" ? "" : ` (${names})`;
  return (
    `The group ${group} is on, but its tools${which} are not here yet: ${reason || "unknown"}. ` +
    `Call ${TAP_TOOLS} with "${group}" again.`
  );
}

/** @param {TapToolsOptions} options @returns {TapTools} */
export function createTapTools({ groups, openGroups }) {
  /** @param {string | undefined} group @param {string} sessionId @returns {Promise<string>} */
  const open = async (group, sessionId) => {
    const all = groups();
    if (!group) return wholeList(all);
    if (!all.some(({ name }) => name === group)) {
      return `There is no group ${JSON.stringify(visible(group.slice(0, 80)))}. ${wholeList(all)}`;
    }
    try {
      return outcome(group, await openGroups(sessionId, [group]));
    } catch (error) {
      const again = /** @type {any} */ (error)?.cause?.final ? "" : ` Call ${TAP_TOOLS} again.`;
      return `The group ${group} could not be turned on: ${errorMessage(error)}.${again}`;
    }
  };
  return {
    name: TAP_TOOLS,
    description: () =>
      `Adds a group of tools to this session. They are there with your next step.${shortList(groups())}`,
    parameters: PARAMETERS,
    handler: ({ group }, { session }) => open(group, session),
    command: (args, sessionId) => open(args.trim() || undefined, sessionId),
  };
}
