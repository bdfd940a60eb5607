// The entry that the Copilot CLI finds and runs, once per session.
import { joinSession } from "@github/copilot-sdk/extension";
import { start } from "./js/extension/start.mjs";

await start(joinSession);
