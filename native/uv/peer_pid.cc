#include "uv/peer_pid.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#endif

namespace tap::uv {

int64_t pidOfPeer(const uv_pipe_t& pipe) {
  uv_os_fd_t handle{};
  if (uv_fileno(reinterpret_cast<const uv_handle_t*>(&pipe), &handle) != 0) return 0;
#if defined(_WIN32)
  ULONG pid = 0;
  return GetNamedPipeServerProcessId(handle, &pid) != 0 ? static_cast<int64_t>(pid) : 0;
#elif defined(__linux__)
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(handle, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
#elif defined(LOCAL_PEERPID)
  pid_t pid = 0;
  socklen_t size = sizeof pid;
  return getsockopt(handle, SOL_LOCAL, LOCAL_PEERPID, &pid, &size) == 0 ? pid : 0;
#else
  return 0;
#endif
}

}  // namespace tap::uv
