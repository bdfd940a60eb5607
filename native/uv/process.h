// A program whose output is read on the loop. It leads a process group of its own; whoever started
// it ends the group.
#pragma once

#include <uv.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tap::uv {

// All programs of a loop read into one buffer: what lies in it is handled before the next read.
struct OutputBuffer {
  static constexpr size_t kSize = size_t{64} * 1024;
  std::unique_ptr<char[]> bytes = std::make_unique<char[]>(kSize);
};

struct ProcessOptions {
  std::string file;
  std::vector<std::string> args;  // after the file
  std::string cwd;
  std::vector<std::string> env;  // "NAME=value": nothing else is passed on
  bool withStderr = false;       // else it goes nowhere
};

class ProcessHandler {
 public:
  ProcessHandler() = default;
  ProcessHandler(const ProcessHandler&) = delete;
  ProcessHandler& operator=(const ProcessHandler&) = delete;
  virtual ~ProcessHandler() = default;

  // The bytes are gone after the call.
  virtual void onOutput(std::string_view bytes, bool isStderr) = 0;
  // All that it and its children have written was read.
  virtual void onOutputEnd() = 0;
  // Output may still come: a child of it can hold the pipes. `signal` is 0 where none ended it.
  virtual void onExit(int64_t code, int signal) = 0;
};

class Process {
 public:
  // The handler must outlive the Process, which must live until onExit(): else the program stays a
  // zombie. No call to the handler comes out of start().
  // Returns: or the reason, for people.
  [[nodiscard]] static Result<std::unique_ptr<Process>, std::string> start(
      uv_loop_t* loop, const ProcessOptions& options, std::shared_ptr<OutputBuffer> buffer,
      ProcessHandler& handler);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  // Of its group, too.
  [[nodiscard]] int pid() const;

 private:
  struct Handles;
  explicit Process(Handles* handles) : handles_(handles) {}

  Handles* handles_;  // freed when libuv has closed them all
};

}  // namespace tap::uv
