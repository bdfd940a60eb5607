// What something costs this process, whatever else the machine does.

/** @returns {number} CPU time of this process until now, its threads included, in ms */
export function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
