// Whether a process is alive.

/** @param {number} pid */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists, and belongs to a different user.
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}
