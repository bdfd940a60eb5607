// Reads the files that calls were answered with, off the loop's thread. For each session one after
// another, and none while its link still has much to take: a large result waits on the disk, not
// in memory.
#pragma once

#include <uv.h>

#include <deque>
#include <functional>
#include <string>
#include <unordered_map>

#include "gateway/effects.h"

namespace tap::uv {

class FileReads {
 public:
  // Called on the loop.
  using Done = std::function<void(const std::string& callId, gateway::FileOutcome outcome)>;
  // Whether this session's link can take a large result now; if not, resume() follows when it can.
  using Ready = std::function<bool(gateway::PeerId session)>;

  FileReads(uv_loop_t* loop, Ready ready, Done done);
  FileReads(const FileReads&) = delete;
  FileReads& operator=(const FileReads&) = delete;
  ~FileReads();

  void add(gateway::ReadFile request);
  void resume(gateway::PeerId session);
  // Its link has ended: what waits for it is not read any more.
  void drop(gateway::PeerId session);
  // Nothing is reported from now on. Where the loop itself ends (`wait`), what is being read is
  // waited for, since libuv must be done with it.
  void close(bool wait);

 private:
  struct Job;
  struct Line {
    std::deque<gateway::ReadFile> waiting;
    Job* job = nullptr;  // what is being read for it
  };

  void start(gateway::PeerId session, Line& line);
  void finished(const Job& job);

  uv_loop_t* loop_;
  Ready ready_;
  Done done_;
  std::unordered_map<gateway::PeerId, Line> lines_;
};

}  // namespace tap::uv
