// The state of a session, and its mode. The code of the tools is loaded with their first call.

import {
  about,
  anything,
  choice,
  required,
  shown,
  text,
  toParameters,
} from "../../config/schema.mjs";

/** @type {import("../../feature-host/descriptor.mjs").Descriptor} */
export const descriptor = {
  id: "builtin:session",
  displayName: "Session",
  version: "1",
  runtime: "builtin",
  host: "feature-host",
  capabilities: [
    { capability: "session:read", required: true, reason: "reads the state of the session" },
    {
      capability: "session:control",
      required: false,
      reason: "asks the user for another mode, and sets it",
    },
  ],
  tools: [
    {
      name: "tap_get_session_state",
      group: "session",
      requires: ["session:read"],
      description:
        "The state of this session: mode, model, plan and todos, context, usage, quota, tasks, " +
        "schedules, canvases, permission mode. What the CLI does not say is unknown, with the reason.",
      parameters: toParameters(),
    },
    {
      name: "tap_set_session_mode",
      group: "session",
      requires: ["session:read", "session:control"],
      description:
        "Changes the mode of this session. The user is asked first; where nobody can be asked, it is refused.",
      parameters: toParameters({
        mode: required(choice(["interactive", "plan", "autopilot"])),
        confirm: required(about("You mean it.", shown({ const: true }, anything))),
        reason: required(
          about("For the user: why.", shown({ minLength: 1, maxLength: 500 }, text())),
        ),
      }),
    },
  ],
};

/** @param {import("../../feature-host/installation.mjs").Context} context */
export function install({ tools, services }) {
  tools.register("tap_get_session_state", (_args, { session }) =>
    services.sessions.state({ session }),
  );
  tools.register("tap_set_session_mode", async (args, { session }) => {
    const { changeMode } = await import("./mode.mjs");
    return changeMode(services, session, args);
  });
}
