// Whether a process is there.

/** @param {number} pid */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is somebody else's, so at least it is there.
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}
