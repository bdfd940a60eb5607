// Loaded into a host of chaos: on SIGUSR2 its event loop is busy for a while, as with work that takes long.

import process from "node:process";

export const BUSY_MS = 9000;

process.on("SIGUSR2", () => {
  const end = performance.now() + BUSY_MS;
  while (performance.now() < end);
});
