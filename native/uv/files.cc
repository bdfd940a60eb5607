#include "uv/files.h"

#include <uv.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace tap::uv {

using protocol::ErrorCode;
using protocol::Refusal;

namespace {

constexpr int kPrivate = 0700;
constexpr size_t kReadBytes = size_t{1} << 20;

// A single synchronous request: it is complete when the call returns.
class Request {
 public:
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request() { uv_fs_req_cleanup(&request_); }
  [[nodiscard]] uv_fs_t* get() { return &request_; }

 private:
  uv_fs_t request_{};
};

class OpenFile {
 public:
  // Does not follow a symbolic link, and does not wait for a pipe.
  explicit OpenFile(const std::string& path) {
    Request request;
    file_ = uv_fs_open(nullptr, request.get(), path.c_str(),
                       UV_FS_O_RDONLY | UV_FS_O_NOFOLLOW | UV_FS_O_NONBLOCK, 0, nullptr);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    Request request;
    if (file_ >= 0) uv_fs_close(nullptr, request.get(), file_, nullptr);
  }
  [[nodiscard]] uv_file get() const { return file_; }  // or an error

 private:
  uv_file file_ = -1;
};

Refusal refused(ErrorCode code, std::string message) {
  return {code, std::move(message), "tool.result"};
}

Refusal cannotBeRead(int failure) {
  const bool absent = failure == UV_ENOENT || failure == UV_ENOTDIR;
  return refused(absent ? ErrorCode::NotFound : ErrorCode::Internal,
                 std::string("its file cannot be read: ") + uv_strerror(failure));
}

Result<std::string, int> realPath(const std::string& path) {
  Request request;
  const int failure = uv_fs_realpath(nullptr, request.get(), path.c_str(), nullptr);
  if (failure < 0) return failure;
  return std::string(static_cast<const char*>(request.get()->ptr));
}

#ifdef _WIN32
constexpr char kSeparator = '\\';
#else
constexpr char kSeparator = '/';
#endif

// The path of a folder with the links above it resolved. The folder itself is not resolved: a
// provider could replace its own folder by a link.
Result<std::string, int> realPlace(const std::string& folder) {
  const size_t end = folder.find_last_not_of("/\\") + 1;
  const size_t name = folder.find_last_of("/\\", end - 1) + 1;
  auto parent = realPath(folder.substr(0, name));
  if (!parent) return parent;
  return parent.value() + kSeparator + folder.substr(name, end - name);
}

bool isInside(const std::string& path, const std::string& folder) {
  return path.size() > folder.size() && path.starts_with(folder) &&
         (path[folder.size()] == '/' || path[folder.size()] == '\\');
}

bool isRegular(const uv_stat_t& stat) {
  return (stat.st_mode & S_IFMT) == S_IFREG;
}

std::optional<uv_stat_t> readStat(uv_file file) {
  Request request;
  if (uv_fs_fstat(nullptr, request.get(), file, nullptr) < 0) return std::nullopt;
  return request.get()->statbuf;
}

// A folder of the path may have been replaced by a link since the path was checked.
bool isStillAt(const std::string& path, const uv_stat_t& opened) {
  const auto real = realPath(path);
  Request request;
  if (!real || real.value() != path) return false;
  if (uv_fs_lstat(nullptr, request.get(), path.c_str(), nullptr) < 0) return false;
  const uv_stat_t& found = request.get()->statbuf;
  return found.st_dev == opened.st_dev && found.st_ino == opened.st_ino;
}

Result<std::string, Refusal> readContent(uv_file file, uint64_t size) {
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const size_t wanted = std::min(kReadBytes, bytes.size() - done);
    uv_buf_t buffer = uv_buf_init(bytes.data() + done, static_cast<unsigned>(wanted));
    Request request;
    const int count =
        uv_fs_read(nullptr, request.get(), file, &buffer, 1, static_cast<int64_t>(done), nullptr);
    if (count < 0) return cannotBeRead(count);
    if (count == 0)
      return refused(ErrorCode::Internal, "its file became shorter while it was read");
    done += static_cast<size_t>(count);
  }
  return bytes;
}

}  // namespace

int makeFolder(const std::string& path) {
  const size_t end = path.find_last_not_of("/\\");
  if (end == std::string::npos) return 0;
  const std::string folder = path.substr(0, end + 1);
  const auto make = [&folder] {
    Request request;
    return uv_fs_mkdir(nullptr, request.get(), folder.c_str(), kPrivate, nullptr);
  };
  int failure = make();
  const size_t slash = folder.find_last_of("/\\");
  if (failure == UV_ENOENT && slash != std::string::npos) {
    failure = makeFolder(folder.substr(0, slash));
    if (failure == 0) failure = make();
  }
  return failure == UV_EEXIST ? 0 : failure;
}

Result<std::string, Refusal> readInside(const std::string& folder, const std::string& path,
                                        uint64_t size) {
  const auto home = realPlace(folder);
  if (!home) return refused(ErrorCode::Internal, "its persistDir is not there");
  const auto real = realPath(path);
  if (!real) return cannotBeRead(real.error());
  if (!isInside(real.value(), home.value())) {
    return refused(ErrorCode::Unauthorized, "its file does not lie in its persistDir");
  }
  const OpenFile file(real.value());
  if (file.get() < 0) return cannotBeRead(file.get());
  const auto stat = readStat(file.get());
  if (!stat || !isRegular(*stat)) {
    return refused(ErrorCode::Internal, "its file is not a regular file");
  }
  if (!isStillAt(real.value(), *stat)) {
    return refused(ErrorCode::Unauthorized, "its file was exchanged while it was opened");
  }
  if (stat->st_size != size) {
    return refused(ErrorCode::Internal, "its file has " + std::to_string(stat->st_size) +
                                            " bytes, not " + std::to_string(size) + " as it says");
  }
  return readContent(file.get(), size);
}

}  // namespace tap::uv
