#include "uv/stream.h"

#include <utility>

namespace tap::uv {

namespace {

constexpr size_t kShareFrom = size_t{16} * 1024;  // below it a copy is cheaper than a buffer
constexpr size_t kKeptText = size_t{64} * 1024;
constexpr size_t kEnough = size_t{2} * 1024;  // about twenty small messages
constexpr uint64_t kFarewellMs = 1000;

Stream* self(void* data) {
  return static_cast<Stream*>(data);
}

}  // namespace

void StreamHome::closeAll() const {
  for (Stream* stream : streams) stream->close();
}

void ReleaseStream::operator()(Stream* stream) const {
  stream->handler_ = nullptr;
  stream->finish();
}

Stream::Stream(uv_loop_t* loop, Kind kind, std::shared_ptr<StreamHome> home)
    : loop_(loop), home_(std::move(home)) {
  if (kind == Kind::Tcp) {
    uv_tcp_init(loop, &handle_.tcp);
  } else {
    uv_pipe_init(loop, &handle_.pipe, 0);
  }
  handle_.handle.data = this;
  home_->streams.insert(this);
}

StreamPtr Stream::create(uv_loop_t* loop, Kind kind, std::shared_ptr<StreamHome> home) {
  return StreamPtr(new Stream(loop, kind, std::move(home)));
}

void Stream::start(StreamHandler& handler) {
  handler_ = &handler;
  if (handle_.handle.type == UV_TCP) uv_tcp_nodelay(&handle_.tcp, 1);
  resume();
}

void Stream::resume() {
  if (reading_ || closing_) return;
  reading_ = true;
  uv_read_start(
      &handle_.stream,
      [](uv_handle_t* handle, size_t, uv_buf_t* buffer) {
        *buffer = uv_buf_init(self(handle->data)->home_->buffer.get(), StreamHome::kSize);
      },
      [](uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) {
        self(stream->data)->onRead(count, buffer);
      });
}

void Stream::pause() {
  if (!reading_ || finishing_) return;
  reading_ = false;
  uv_read_stop(&handle_.stream);
}

void Stream::onRead(ssize_t count, const uv_buf_t* buffer) {
  if (count > 0) {
    if (handler_ != nullptr) handler_->onBytes(buffer->base, static_cast<size_t>(count));
    return;
  }
  if (count == 0) return;
  if (finishing_) return close();
  reading_ = false;
  uv_read_stop(&handle_.stream);
  if (handler_ != nullptr) {
    handler_->onEnd(count == UV_EOF ? "closed by the peer" : uv_strerror(static_cast<int>(count)));
  }
}

void Stream::queue(std::string_view bytes) {
  if (finishing_) return;
  text_.append(bytes);
  queued_ += bytes.size();
}

void Stream::queue(const Slice& slice) {
  if (slice.size() < kShareFrom || slice.borrowed()) return queue(slice.view());
  if (finishing_) return;
  sealText();
  chunks_.push_back(slice);
  queued_ += slice.size();
}

void Stream::sealText() {
  if (!text_.empty()) chunks_.emplace_back(std::exchange(text_, {}));
}

// A small text that the system accepts at once: its buffer is reused.
bool Stream::writeText() {
  if (!chunks_.empty()) return false;
  const uv_buf_t buffer = uv_buf_init(text_.data(), static_cast<unsigned>(text_.size()));
  const int sent = uv_try_write(&handle_.stream, &buffer, 1);
  if (sent <= 0) return false;
  text_.erase(0, static_cast<size_t>(sent));
  queued_ = text_.size();
  if (text_.empty() && text_.capacity() > kKeptText) text_ = {};
  return text_.empty();
}

void Stream::flush() {
  if (writing_ != 0 || queued_ == 0 || closing_ || writeText()) return;
  sealText();
  writingChunks_ = std::exchange(chunks_, {});
  writing_ = std::exchange(queued_, 0);
  std::vector<uv_buf_t> buffers;
  buffers.reserve(writingChunks_.size());
  for (const Slice& chunk : writingChunks_) {
    // libuv does not write to it.
    buffers.push_back(
        uv_buf_init(const_cast<char*>(chunk.view().data()), static_cast<unsigned>(chunk.size())));
  }
  const int sent =
      uv_try_write(&handle_.stream, buffers.data(), static_cast<unsigned>(buffers.size()));
  if (sent >= 0 && static_cast<size_t>(sent) == writing_) {
    writing_ = 0;
    writingChunks_.clear();
    return;
  }
  size_t skip = sent > 0 ? static_cast<size_t>(sent) : 0;
  size_t first = 0;
  while (skip >= buffers[first].len) skip -= buffers[first++].len;
  buffers[first].base += skip;
  buffers[first].len -= static_cast<decltype(buffers[first].len)>(skip);
  write_.data = this;
  const int failure = uv_write(&write_, &handle_.stream, buffers.data() + first,
                               static_cast<unsigned>(buffers.size() - first),
                               [](uv_write_t* request, int) { self(request->data)->onWritten(); });
  // The read side reports a broken connection, and handles it.
  if (failure != 0) onWritten();
}

void Stream::flushIfEnough() {
  if (queued_ >= kEnough) flush();
}

void Stream::onWritten() {
  writing_ = 0;
  writingChunks_.clear();
  if (closing_) return;
  flush();
  if (finishing_) shutdownWhenWritten();
  if (backlog() == 0 && handler_ != nullptr) handler_->onDrained();
}

void Stream::finish() {
  if (finishing_ || closing_) return;
  flush();
  finishing_ = true;
  if (!uv_is_readable(&handle_.stream) && !uv_is_writable(&handle_.stream)) return close();
  farewell_ = new uv_timer_t;
  farewell_->data = this;
  uv_timer_init(loop_, farewell_);
  uv_unref(reinterpret_cast<uv_handle_t*>(farewell_));
  uv_timer_start(
      farewell_, [](uv_timer_t* timer) { self(timer->data)->close(); }, kFarewellMs, 0);
  resume();
  shutdownWhenWritten();
}

void Stream::shutdownWhenWritten() {
  if (writing_ != 0 || shutdownSent_ || closing_) return;
  shutdownSent_ = true;
  const int failure = uv_shutdown(&shutdown_, &handle_.stream, nullptr);
  if (failure != 0) close();
}

void Stream::close() {
  if (std::exchange(closing_, true)) return;
  if (farewell_ != nullptr) {
    uv_close(reinterpret_cast<uv_handle_t*>(farewell_),
             [](uv_handle_t* timer) { delete reinterpret_cast<uv_timer_t*>(timer); });
  }
  uv_close(&handle_.handle, [](uv_handle_t* handle) {
    Stream* stream = self(handle->data);
    stream->home_->streams.erase(stream);
    delete stream;
  });
}

}  // namespace tap::uv
