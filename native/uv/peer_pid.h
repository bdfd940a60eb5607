// The process at the other end of a pipe, from the kernel: files and messages cannot fake it.
#pragma once

#include <uv.h>

#include <cstdint>

namespace tap::uv {

// The id of the process that listens on the pipe that `pipe` is connected to, as this process sees
// it. 0: the system does not say, or that process has no id here (it is in another PID namespace).
[[nodiscard]] int64_t pidOfPeer(const uv_pipe_t& pipe);

}  // namespace tap::uv
