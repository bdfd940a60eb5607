// A connected byte stream on the loop, TCP or pipe: reads into the loop's shared buffer, gathers
// output and writes it in one piece.
//
// Ownership: a Stream lives until libuv has closed its handle, after its StreamPtr is released. Its
// handler is not called after that release.
#pragma once

#include <uv.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/slice.h"

namespace tap::uv {

class Stream;

// Shared by the streams of an owner: the read buffer (its content is handled before the next read),
// and a list of the streams that libuv has not closed.
struct StreamHome {
  static constexpr size_t kSize = size_t{64} * 1024;
  std::unique_ptr<char[]> buffer = std::make_unique<char[]>(kSize);
  std::unordered_set<Stream*> streams;

  // Closes at once, without sending queued output: for a loop that ends.
  void closeAll() const;
};

class StreamHandler {
 public:
  StreamHandler() = default;
  StreamHandler(const StreamHandler&) = delete;
  StreamHandler& operator=(const StreamHandler&) = delete;
  virtual ~StreamHandler() = default;

  // The bytes may be changed in place; they are invalid after the call. The handler may release the
  // stream here.
  virtual void onBytes(char* bytes, size_t size) = 0;
  // The peer has ended the connection, or it failed. `reason` is for logs.
  virtual void onEnd(std::string_view reason) = 0;
  // Output that had to wait has been written.
  virtual void onDrained() {}
};

struct ReleaseStream {
  void operator()(Stream* stream) const;
};
using StreamPtr = std::unique_ptr<Stream, ReleaseStream>;

class Stream {
 public:
  enum class Kind : uint8_t { Tcp, Pipe };
  [[nodiscard]] static StreamPtr create(uv_loop_t* loop, Kind kind,
                                        std::shared_ptr<StreamHome> home);

  [[nodiscard]] uv_stream_t* handle() { return &handle_.stream; }
  [[nodiscard]] uv_pipe_t* pipe() { return &handle_.pipe; }

  // Starts reading. The handler must outlive the StreamPtr.
  void start(StreamHandler& handler);
  void pause();
  void resume();

  // Queued bytes are sent with the next flush(), or after the present write.
  void queue(std::string_view bytes);
  // A large slice is shared instead of copied.
  void queue(const Slice& slice);
  void flush();
  // Flushes if enough is queued for a write: the peer can start on it while the gateway decides the
  // rest.
  void flushIfEnough();
  // Closes the connection without sending queued output.
  void close();
  // Bytes queued or handed to the system and not yet taken by it.
  [[nodiscard]] size_t backlog() const { return queued_ + writing_; }

 private:
  friend struct ReleaseStream;
  friend struct StreamHome;
  Stream(uv_loop_t* loop, Kind kind, std::shared_ptr<StreamHome> home);

  // Sends queued output, then FIN, then waits briefly for the peer's FIN, so that the peer reads
  // the last bytes. Then closes.
  void finish();
  void sealText();
  [[nodiscard]] bool writeText();
  void shutdownWhenWritten();
  void onRead(ssize_t count, const uv_buf_t* buffer);
  void onWritten();

  union {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
  } handle_{};
  uv_loop_t* loop_;
  std::shared_ptr<StreamHome> home_;
  StreamHandler* handler_ = nullptr;

  std::string text_;           // small writes, gathered
  std::vector<Slice> chunks_;  // before text_
  size_t queued_ = 0;

  uv_write_t write_{};  // a single write at a time
  std::vector<Slice> writingChunks_;
  size_t writing_ = 0;

  uv_shutdown_t shutdown_{};
  uv_timer_t* farewell_ = nullptr;
  bool reading_ = false;
  bool finishing_ = false;
  bool shutdownSent_ = false;
  bool closing_ = false;
};

}  // namespace tap::uv
