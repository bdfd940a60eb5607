// The process at the other end of a pipe, from the kernel: files and messages cannot fake it.
#pragma once

#include <uv.h>

#include <cstdint>

namespace tap::uv {

// The id, in this process's namespace, of the process that listens on the pipe that `pipe` is
// connected to. 0: the system does not report it, or the process has no id here (a different PID
// namespace).
[[nodiscard]] int64_t pidOfPeer(const uv_pipe_t& pipe);

}  // namespace tap::uv
