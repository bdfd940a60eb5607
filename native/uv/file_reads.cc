#include "uv/file_reads.h"

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "gateway/file_results.h"
#include "uv/files.h"

namespace tap::uv {

// Owned by libuv from queueing to the end; it may outlive the one who asked.
struct FileReads::Job {
  uv_work_t work{};
  FileReads* owner = nullptr;
  gateway::ReadFile request;
  std::optional<gateway::FileOutcome> outcome;
  std::atomic<bool> worked = false;

  // On a thread of the pool.
  void run() {
    auto bytes = readInside(request.folder, request.path, request.size);
    if (bytes) {
      outcome.emplace(gateway::contentOf(bytes.value(), request.mimeType));
    } else {
      outcome.emplace(bytes.error());
    }
    worked = true;
    worked.notify_all();
  }
};

FileReads::FileReads(uv_loop_t* loop, Ready ready, Done done)
    : loop_(loop), ready_(std::move(ready)), done_(std::move(done)) {}

FileReads::~FileReads() {
  close(false);
}

void FileReads::add(gateway::ReadFile request) {
  const gateway::PeerId session = request.session;
  lines_[session].waiting.push_back(std::move(request));
  resume(session);
}

void FileReads::resume(gateway::PeerId session) {
  const auto at = lines_.find(session);
  if (at == lines_.end() || at->second.job != nullptr) return;
  if (at->second.waiting.empty()) {
    lines_.erase(at);
  } else if (ready_(session)) {
    start(session, at->second);
  }
}

void FileReads::start(gateway::PeerId session, Line& line) {
  auto job = std::make_unique<Job>();
  job->owner = this;
  job->request = std::move(line.waiting.front());
  line.waiting.pop_front();
  job->work.data = job.get();
  const int failure = uv_queue_work(
      loop_, &job->work, [](uv_work_t* work) { static_cast<Job*>(work->data)->run(); },
      [](uv_work_t* work, int) {
        const std::unique_ptr<Job> over(static_cast<Job*>(work->data));
        if (over->owner != nullptr) over->owner->finished(*over);
      });
  // It fails for a missing function only.
  if (failure == 0) lines_[session].job = job.release();
}

void FileReads::finished(const Job& job) {
  const gateway::PeerId session = job.request.session;
  lines_[session].job = nullptr;
  done_(job.request.callId, *job.outcome);
  resume(session);
}

void FileReads::drop(gateway::PeerId session) {
  const auto at = lines_.find(session);
  if (at == lines_.end()) return;
  at->second.waiting.clear();
  resume(session);
}

void FileReads::close(bool wait) {
  for (auto& [session, line] : std::exchange(lines_, {})) {
    if (line.job == nullptr) continue;
    line.job->owner = nullptr;
    if (wait && uv_cancel(reinterpret_cast<uv_req_t*>(&line.job->work)) != 0) {
      line.job->worked.wait(false);
    }
  }
}

}  // namespace tap::uv
