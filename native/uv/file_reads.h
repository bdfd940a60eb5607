// Reads the files of results off the loop's thread. For each session they are read in sequence, and
// only while its link has little output pending: a large result waits on the disk, not in memory.
#pragma once

#include <uv.h>

#include <deque>
#include <functional>
#include <string>
#include <unordered_map>

#include "gateway/core/effects.h"

namespace tap::uv {

class FileReads {
 public:
  // Called on the loop.
  using Done = std::function<void(const gateway::CallId& callId, gateway::FileOutcome outcome)>;
  // Whether this session's link can take a large result now; if not, resume() follows when it can.
  using Ready = std::function<bool(gateway::PeerId session)>;

  FileReads(uv_loop_t* loop, Ready ready, Done done);
  FileReads(const FileReads&) = delete;
  FileReads& operator=(const FileReads&) = delete;
  // Waits for reads in progress: libuv must finish them before a loop ends.
  ~FileReads();

  void add(gateway::ReadFile request);
  void resume(gateway::PeerId session);
  // The session's link has ended: files that wait for it are not read.
  void drop(gateway::PeerId session);
  // Stops all reads, without reports.
  void close();

 private:
  struct Job;
  struct Line {
    std::deque<gateway::ReadFile> waiting;
    Job* job = nullptr;  // the file that is being read for it
  };

  void start(Line& line);
  void finished(gateway::PeerId session);

  uv_loop_t* loop_;
  Ready ready_;
  Done done_;
  std::unordered_map<gateway::PeerId, Line> lines_;
  bool closed_ = false;
};

}  // namespace tap::uv
