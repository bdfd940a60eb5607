// The feature host: a process of its own, so that no feature can cost a call anything.

import { FEATURES } from "../features/list.mjs";
import { runFeatureHost } from "./process.mjs";

runFeatureHost(FEATURES);
