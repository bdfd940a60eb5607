import { hostMemory } from "./memory.mjs";
import { Subject } from "./processes.mjs";
const all = [];
for (let i = 0; i < 5; ++i) {
  const s = await Subject.start("tap detached");
  all.push(await hostMemory(s));
  await s.close();
}
const med = (k) => all.map((m) => m[k] / 1024).sort((a, b) => a - b)[2];
console.log(all.map((m) => [m.bytes / 1024, m.privateBytes / 1024].join("/")).join(" "), "median", med("bytes"), med("privateBytes"));
