// The feature host: a separate process, so that features cannot slow down calls.

import { FEATURES } from "../features/list.mjs";
import { runFeatureHost } from "./gateway-messages.mjs";

runFeatureHost(FEATURES);
