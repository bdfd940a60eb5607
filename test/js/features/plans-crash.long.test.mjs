// Both hosts, that of the gateway and that of the features, are killed while a plan of twelve nodes runs, at some of
// the writes of its journal. `npm run faults` has them all.

import { kill, testKills } from "./plan-kills.mjs";

/** Of about 95, more or less as it happens to go. */
const AT = [1, 2, 3, 10, 18, 27, 36, 45, 54, 63, 72, 81];

testKills(
  AT.map((at, index) => {
    const when = index % 2 === 0 ? "after" : "before";
    return { name: `${when} write ${at}`, orders: [kill(when, at, "both")] };
  }),
);
