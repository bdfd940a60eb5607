// The native addon, for what cannot do without it.

import { loadAddon } from "./load-addon.mjs";

export const addon = loadAddon();
