// The native addon, for modules that require it.

import { loadAddon } from "./load-addon.mjs";

export const addon = loadAddon();
