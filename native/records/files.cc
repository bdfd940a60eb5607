#include "records/files.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <system_error>

#if defined(_WIN32)
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/vfs.h>
#elif defined(__APPLE__)
#include <sys/mount.h>
#include <sys/param.h>
#endif
#endif

namespace tap::records {

namespace {

namespace fs = std::filesystem;

[[nodiscard]] fs::path toPath(const std::string& file) {
  return fs::path(std::u8string(file.begin(), file.end()));
}

[[nodiscard]] std::string toText(const fs::path& path) {
  const std::u8string text = path.u8string();
  return {text.begin(), text.end()};
}

// 20261122T101500Z: only characters that file names may have.
[[nodiscard]] std::string formatStamp(int64_t unixMillis) {
  const auto seconds = static_cast<std::time_t>(unixMillis / 1000);
  std::tm parts{};
#if defined(_WIN32)
  gmtime_s(&parts, &seconds);
#else
  gmtime_r(&seconds, &parts);
#endif
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts));
  return text;
}

}  // namespace

#if defined(__linux__)
// SMB has three numbers; Windows drives under WSL 2 use 9P.
FileSystem fileSystemFromMagic(uint64_t magic) {
  switch (magic & 0xFFFFFFFF) {
    case 0x6969:      // NFS
    case 0x517B:      // SMB
    case 0xFE534D42:  // SMB 2
    case 0xFF534D42:  // CIFS
    case 0x01021997:  // 9P
    case 0x5346414F:  // AFS
    case 0x6B414653:  // kAFS
    case 0x73757245:  // Coda
    case 0x00C36400:  // Ceph
    case 0x0BD00BD0:  // Lustre
    case 0x47504653:  // GPFS
      return FileSystem::Network;
    case 0x65735546:  // FUSE
      return FileSystem::NoSharedMemory;
    default:
      return FileSystem::Local;
  }
}
#endif

FileSystem findFileSystem(const std::string& file) {
  const fs::path folder = toPath(file).parent_path();
#if defined(__linux__)
  struct statfs about {};
  // The file may be a link to a different file system.
  if (statfs(file.c_str(), &about) != 0 && statfs(folder.c_str(), &about) != 0)
    return FileSystem::Local;
  return fileSystemFromMagic(static_cast<uint64_t>(about.f_type));
#elif defined(__APPLE__)
  struct statfs about {};
  if (statfs(file.c_str(), &about) != 0 && statfs(folder.c_str(), &about) != 0)
    return FileSystem::Local;
  return (about.f_flags & MNT_LOCAL) != 0 ? FileSystem::Local : FileSystem::Network;
#elif defined(_WIN32)
  const UINT kind = GetDriveTypeW(folder.root_path().c_str());
  return kind == DRIVE_REMOTE ? FileSystem::Network : FileSystem::Local;
#else
  return FileSystem::NoSharedMemory;
#endif
}

std::optional<DiskSpace> readDiskSpace(const std::string& file) {
  std::error_code problem;
  // The file may be a link to a different file system.
  fs::space_info space = fs::space(toPath(file), problem);
  if (problem) space = fs::space(toPath(file).parent_path(), problem);
  // Some file systems cannot tell, and report 0.
  if (problem || space.capacity == 0) return std::nullopt;
  constexpr auto kMaxInt64 = static_cast<uintmax_t>(INT64_MAX);
  return DiskSpace{static_cast<int64_t>(std::min(space.available, kMaxInt64)),
                   static_cast<int64_t>(std::min(space.capacity, kMaxInt64))};
}

FileId readFileId(const std::string& file) {
#if defined(_WIN32)
  // On Windows an open file can be neither renamed nor deleted.
  std::error_code problem;
  return {0, fs::exists(toPath(file), problem) ? 1u : 0u};
#else
  struct stat about {};
  if (stat(file.c_str(), &about) != 0) return {};
  return {static_cast<uint64_t>(about.st_dev), static_cast<uint64_t>(about.st_ino)};
#endif
}

void createParentFolder(const std::string& file) {
  const fs::path folder = toPath(file).parent_path();
#if defined(_WIN32)
  std::error_code problem;
  fs::create_directory(folder, problem);
#else
  (void)mkdir(folder.c_str(), 0700);
#endif
}

bool createPrivate(const std::string& file) {
#if defined(_WIN32)
  (void)file;
  return true;  // on Windows the user's folders are private
#else
  const auto create = [&file](int flags) {
    const int created = open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | flags, 0600);
    if (created >= 0) close(created);
    return created >= 0;
  };
  if (create(O_EXCL)) return true;
  struct stat about {};
  if (stat(file.c_str(), &about) != 0) return create(0);  // a dangling link
  if (!S_ISREG(about.st_mode)) return false;
  // By name: closing a descriptor of an open database would release this process's locks.
  for (const char* part : {"", "-journal", "-wal", "-shm"}) {
    const std::string name = file + part;
    if (stat(name.c_str(), &about) == 0 && (about.st_mode & 077) != 0) {
      (void)chmod(name.c_str(), 0600);
    }
  }
  return true;
#endif
}

bool isFile(const std::string& file) {
  std::error_code problem;
  return fs::is_regular_file(toPath(file), problem);
}

int64_t fileSize(const std::string& file) {
  std::error_code problem;
  const auto size = fs::file_size(toPath(file), problem);
  return problem ? 0 : static_cast<int64_t>(size);
}

std::string setAside(const std::string& file, int64_t unixMillis) {
  const fs::path path = toPath(file);
  std::error_code problem;
  const std::string former = toText(path.filename()) + ".corrupt-";
  for (const auto& entry : fs::directory_iterator(path.parent_path(), problem)) {
    if (toText(entry.path().filename()).starts_with(former)) fs::remove(entry.path(), problem);
  }
  std::string name = file + ".corrupt-" + formatStamp(unixMillis);
  fs::rename(path, toPath(name), problem);
  if (problem) return {};
  for (const char* journal : {"-journal", "-wal", "-shm"}) {
    fs::remove(toPath(file + journal), problem);
  }
  return name;
}

void removeWriteAheadLog(const std::string& file) {
  std::error_code problem;
  for (const char* part : {"-wal", "-shm"}) fs::remove(toPath(file + part), problem);
}

}  // namespace tap::records
