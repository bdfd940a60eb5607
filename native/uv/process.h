// A program whose output is read on the loop. It leads its own process group; the code that started
// it ends the group.
#pragma once

#include <uv.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tap::uv {

// The read buffer that all programs of a loop share: its content is handled before the next read.
struct OutputBuffer {
  static constexpr size_t kSize = size_t{64} * 1024;
  std::unique_ptr<char[]> bytes = std::make_unique<char[]>(kSize);
};

struct ProcessOptions {
  std::string file;
  std::vector<std::string> args;  // without the program's own name
  std::string cwd;
  std::vector<std::string> env;  // "NAME=value": the whole environment
  bool withStderr = false;       // otherwise stderr is discarded
};

// What this process was given by its parents and no program of it is to have: keys of its session's
// keyring (Linux), and files that are open. For programs that the calling thread starts from now
// on.
void dropInherited();

class ProcessHandler {
 public:
  ProcessHandler() = default;
  ProcessHandler(const ProcessHandler&) = delete;
  ProcessHandler& operator=(const ProcessHandler&) = delete;
  virtual ~ProcessHandler() = default;

  // The bytes are invalid after the call.
  virtual void onOutput(std::string_view bytes, bool isStderr) = 0;
  // All output of it and its children has been read.
  virtual void onOutputEnd() = 0;
  // Output may still follow: a child of it can hold the pipes. `signal` is 0 if no signal ended it.
  virtual void onExit(int64_t code, int signal) = 0;
};

class Process {
 public:
  // The handler must outlive the Process, which must live until onExit(); otherwise the program
  // stays a zombie. start() does not call the handler. Returns: the process, or a reason for
  // people.
  [[nodiscard]] static Result<std::unique_ptr<Process>, std::string> start(
      uv_loop_t* loop, const ProcessOptions& options, std::shared_ptr<OutputBuffer> buffer,
      ProcessHandler& handler);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  // The id of its group, too.
  [[nodiscard]] int pid() const;

 private:
  struct Handles;
  explicit Process(Handles* handles) : handles_(handles) {}

  Handles* handles_;  // freed when libuv has closed them all
};

}  // namespace tap::uv
