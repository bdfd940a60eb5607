// The JSON Schema of tap_start_emitter. Its text is part of every request to the model while the group is open, so it
// says no more than a model needs: emitter-spec.mjs checks the rest, and says what to write instead.

const TEXT = { type: "string" };
const YES_OR_NO = { type: "boolean" };
const TEXTS = { type: "array", items: TEXT };
/** @param {string} description */
const text = (description) => ({ type: "string", description });

/** Of a filter, here and in tap_set_event_filter. */
export const filterParameters = {
  eventFilter: {
    type: "array",
    description:
      "Rules; the first whose regex match fits a line decides, none: keep. Also not, cooldown, count, window {lines, time}, capture.",
    items: {
      type: "object",
      required: ["match", "outcome"],
      properties: { match: TEXT, outcome: { enum: ["drop", "keep", "surface", "inject"] } },
    },
  },
  includePattern: text("Older form of rules, as the next two."),
  excludePattern: TEXT,
  notifyPattern: TEXT,
};

export const emitterParameters = {
  type: "object",
  additionalProperties: false,
  required: ["name"],
  properties: {
    name: TEXT,
    command: text("Shell command. Or argv, prompt or url."),
    argv: { ...TEXTS, description: "Without a shell." },
    prompt: text("Asked of you; always injected."),
    url: text("Its changes are lines."),
    jsonPath: text("What of url's JSON to watch, as $.runs[0].status."),
    description: TEXT,
    channel: text("Stream. Default: name."),
    cwd: TEXT,
    env: { type: "object", additionalProperties: TEXT },
    every: text(
      "30s, 5m, 2h, 1d; for prompts also idle. Without every, cron and onChange a command runs until stopped, a prompt once.",
    ),
    cron: text("Five fields."),
    timezone: TEXT,
    onChange: { ...TEXTS, description: "Globs of files." },
    missed: { enum: ["skip", "once"] },
    overlap: { enum: ["skip", "queue", "kill"] },
    restart: { enum: ["never", "on-failure", "always"] },
    maxRuns: { type: "integer", description: "1: a command runs once." },
    expectEvery: text("A longer silence is an event."),
    ...filterParameters,
    includeStderr: YES_OR_NO,
    subscribe: { ...YES_OR_NO, description: "Default: true." },
    delivery: text("important: only what a rule injects; or all."),
    scope: { enum: ["temporary", "persistent"], description: "persistent: kept in a config." },
    file: { enum: ["project", "user"] },
    background: { ...YES_OR_NO, description: "Also without a session." },
    autoStart: YES_OR_NO,
    managedBy: { enum: ["modelOwned", "userOwned"] },
    force: { ...YES_OR_NO, description: "Changes what the user owns; asks him." },
  },
};
