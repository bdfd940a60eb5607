#include "uv/file_reads.h"

#include <optional>
#include <utility>

#include "gateway/calls/file_content.h"
#include "uv/files.h"

namespace tap::uv {

// Reads a file on its own thread, so that a file system that hangs delays no other file. Unlike a
// request in libuv's pool, it can be ended together with the loop.
struct FileReads::Job {
  FileReads* owner = nullptr;
  gateway::ReadFile request;
  std::optional<gateway::FileOutcome> outcome;
  uv_thread_t thread{};
  bool started = false;
  uv_async_t over{};  // wakes the loop

  void run() {
    auto bytes = readInside(request.folder, request.path, request.size);
    if (bytes) {
      outcome.emplace(gateway::toFileContent(bytes.value(), request.mimeType));
    } else {
      outcome.emplace(bytes.error());
    }
    uv_async_send(&over);
  }
  // On the loop: waits for the thread if it still runs. The job is freed when libuv releases its
  // handle.
  void end() {
    if (std::exchange(started, false)) uv_thread_join(&thread);
    uv_close(reinterpret_cast<uv_handle_t*>(&over),
             [](uv_handle_t* handle) { delete static_cast<Job*>(handle->data); });
  }
};

FileReads::FileReads(uv_loop_t* loop, Ready ready, Done done)
    : loop_(loop), ready_(std::move(ready)), done_(std::move(done)) {}

FileReads::~FileReads() {
  for (auto& [session, line] : lines_) {
    if (line.job != nullptr) line.job->end();
  }
}

void FileReads::add(gateway::ReadFile request) {
  const gateway::PeerId session = request.link;
  lines_[session].waiting.push_back(std::move(request));
  resume(session);
}

void FileReads::resume(gateway::PeerId session) {
  const auto at = lines_.find(session);
  if (at == lines_.end() || at->second.job != nullptr) return;
  if (at->second.waiting.empty()) {
    lines_.erase(at);
  } else if (ready_(session)) {
    start(at->second);
  }
}

void FileReads::start(Line& line) {
  auto* job = new Job;
  line.job = job;
  job->owner = this;
  job->request = std::move(line.waiting.front());
  line.waiting.pop_front();
  job->over.data = job;
  uv_async_init(loop_, &job->over, [](uv_async_t* over) {
    const auto* done = static_cast<Job*>(over->data);
    done->owner->finished(done->request.link);
  });
  job->started = uv_thread_create(
                     &job->thread, [](void* self) { static_cast<Job*>(self)->run(); }, job) == 0;
  if (job->started) return;
  job->outcome.emplace(protocol::Refusal{protocol::ErrorCode::Internal,
                                         "its file cannot be read: there is no thread to do it",
                                         "tool.result"});
  uv_async_send(&job->over);
}

void FileReads::finished(gateway::PeerId session) {
  Job* job = std::exchange(lines_[session].job, nullptr);
  const gateway::CallId callId = job->request.callId;
  job->end();
  gateway::FileOutcome outcome = std::move(*job->outcome);
  if (!closed_) done_(callId, std::move(outcome));
  resume(session);
}

void FileReads::drop(gateway::PeerId session) {
  const auto at = lines_.find(session);
  if (at == lines_.end()) return;
  at->second.waiting.clear();
  resume(session);
}

void FileReads::close() {
  closed_ = true;
  for (auto& [session, line] : lines_) line.waiting.clear();
}

}  // namespace tap::uv
