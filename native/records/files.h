// The file of the store, as the operating system sees it. Paths are UTF-8.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tap::records {

enum class FileSystem : uint8_t {
  Local,
  NoSharedMemory,  // local, but perhaps without what a write-ahead log needs
  Network,         // its locks cannot be relied on
};
// Of the folder that the file is in.
[[nodiscard]] FileSystem findFileSystem(const std::string& file);

#if defined(__linux__)
// Of the number that statfs(2) gives.
[[nodiscard]] FileSystem fileSystemFromMagic(uint64_t magic);
#endif

// Of the disk that the file is on, or will be on.
struct DiskSpace {
  int64_t freeBytes = 0;  // that this user may write
  int64_t totalBytes = 0;
};
// Nothing: the system does not say.
[[nodiscard]] std::optional<DiskSpace> readDiskSpace(const std::string& file);

// Which file stands at a path. Two are equal if they are the same file.
struct FileId {
  uint64_t device = 0;
  uint64_t number = 0;  // zero: there is no file
  bool operator==(const FileId&) const = default;
};
[[nodiscard]] FileId readFileId(const std::string& file);

// Creates the folder that the file is in, for nobody but the user, if it is not there.
void createParentFolder(const std::string& file);

// Creates the file if it is not there. It and its journals are for nobody but the user then.
// Returns: whether it is there, and is a file.
bool createPrivate(const std::string& file);

// Whether it is there, and not a folder or a pipe: opening a pipe waits for its other end.
[[nodiscard]] bool isFile(const std::string& file);

[[nodiscard]] int64_t fileSize(const std::string& file);  // 0 where there is none

// Renames a damaged file to `<file>.corrupt-<time>` and deletes its journals, and the one that was
// set aside before. Returns: its new name; empty if that failed.
[[nodiscard]] std::string setAside(const std::string& file, int64_t unixMillis);

// Deletes what a connection to a former file of this name has left: SQLite would take its pages for
// those of the file that is there now.
void removeWriteAheadLog(const std::string& file);

}  // namespace tap::records
