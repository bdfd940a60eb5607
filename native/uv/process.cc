#include "uv/process.h"

#if defined(__linux__)
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <array>
#include <utility>

namespace tap::uv {

void dropInherited() {
#if defined(__linux__)
  // A new keyring without a name. A container may forbid it; then there is none to be read, either.
  (void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
#if defined(SYS_close_range)
  constexpr unsigned kFirst = 3;
  constexpr unsigned kCloseOnExec = 1U << 2U;  // CLOSE_RANGE_CLOEXEC, of Linux 5.11
  (void)syscall(SYS_close_range, kFirst, ~0U, kCloseOnExec);
#endif
#endif
}

struct Process::Handles {
  uv_process_t process{};
  std::array<uv_pipe_t, 2> pipes{};  // stdout, stderr
  std::shared_ptr<OutputBuffer> buffer;
  ProcessHandler* handler = nullptr;  // null after abandon()
  size_t held = 1;                    // references: the owner, and each handle that is not closed
  size_t reading = 0;                 // pipes that have not ended

  void add(uv_handle_t* handle) {
    handle->data = this;
    ++held;
  }
  static void release(Handles* self) {
    if (--self->held == 0) delete self;
  }
  static void close(uv_handle_t* handle) {
    if (handle->data == nullptr || uv_is_closing(handle) != 0) return;
    uv_close(handle, [](uv_handle_t* closed) { release(static_cast<Handles*>(closed->data)); });
  }
  // The owner has been destroyed.
  void abandon() {
    handler = nullptr;
    for (uv_pipe_t& pipe : pipes) close(reinterpret_cast<uv_handle_t*>(&pipe));
    close(reinterpret_cast<uv_handle_t*>(&process));
    release(this);
  }
  void read(uv_pipe_t& pipe) {
    ++reading;
    uv_read_start(
        reinterpret_cast<uv_stream_t*>(&pipe),
        [](uv_handle_t* handle, size_t, uv_buf_t* space) {
          const auto* const self = static_cast<Handles*>(handle->data);
          *space = uv_buf_init(self->buffer->bytes.get(), OutputBuffer::kSize);
        },
        [](uv_stream_t* stream, ssize_t count, const uv_buf_t*) {
          static_cast<Handles*>(stream->data)->onRead(stream, count);
        });
  }
  void onRead(uv_stream_t* stream, ssize_t count) {
    if (handler == nullptr) return;
    const bool isStderr = reinterpret_cast<uv_pipe_t*>(stream) == &pipes[1];
    if (count > 0) {
      handler->onOutput({buffer->bytes.get(), static_cast<size_t>(count)}, isStderr);
    } else if (count < 0) {
      close(reinterpret_cast<uv_handle_t*>(stream));
      if (--reading == 0) handler->onOutputEnd();
    }
  }
};

namespace {

[[nodiscard]] std::vector<char*> pointersTo(const std::vector<std::string>& texts,
                                            const std::string* first) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 2);
  if (first != nullptr) pointers.push_back(const_cast<char*>(first->c_str()));
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<std::unique_ptr<Process>, std::string> Process::start(uv_loop_t* loop,
                                                             const ProcessOptions& options,
                                                             std::shared_ptr<OutputBuffer> buffer,
                                                             ProcessHandler& handler) {
  auto* const handles = new Handles;
  handles->buffer = std::move(buffer);
  const size_t pipeCount = options.withStderr ? 2 : 1;
  std::array<uv_stdio_container_t, 3> stdio{};
  stdio[0].flags = UV_IGNORE;
  stdio[2].flags = UV_IGNORE;
  for (size_t i = 0; i < pipeCount; ++i) {
    uv_pipe_init(loop, &handles->pipes[i], 0);
    handles->add(reinterpret_cast<uv_handle_t*>(&handles->pipes[i]));
    stdio[i + 1].flags = static_cast<uv_stdio_flags>(UV_CREATE_PIPE | UV_WRITABLE_PIPE);
    stdio[i + 1].data.stream = reinterpret_cast<uv_stream_t*>(&handles->pipes[i]);
  }
  std::vector<char*> args = pointersTo(options.args, &options.file);
  std::vector<char*> env = pointersTo(options.env, nullptr);
  uv_process_options_t how{};
  how.file = options.file.c_str();
  how.args = args.data();
  how.env = env.data();
  how.cwd = options.cwd.c_str();
  how.stdio = stdio.data();
  how.stdio_count = static_cast<int>(stdio.size());
  how.flags = UV_PROCESS_WINDOWS_HIDE;
#ifndef _WIN32
  how.flags |= UV_PROCESS_DETACHED;  // its own process group
#endif
  how.exit_cb = [](uv_process_t* process, int64_t code, int signal) {
    auto* const self = static_cast<Handles*>(process->data);
    Handles::close(reinterpret_cast<uv_handle_t*>(process));
    if (self->handler != nullptr) self->handler->onExit(code, signal);
  };
  const int failed = uv_spawn(loop, &handles->process, &how);
  handles->add(reinterpret_cast<uv_handle_t*>(&handles->process));
  if (failed != 0) {
    handles->abandon();
    return std::string(uv_strerror(failed));
  }
  handles->handler = &handler;
  for (size_t i = 0; i < pipeCount; ++i) handles->read(handles->pipes[i]);
  return std::unique_ptr<Process>(new Process(handles));
}

Process::~Process() {
  handles_->abandon();
}

int Process::pid() const {
  return handles_->process.pid;
}

}  // namespace tap::uv
