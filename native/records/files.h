// The store's file in the file system. Paths are UTF-8.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tap::records {

enum class FileSystem : uint8_t {
  Local,
  NoSharedMemory,  // local, but may lack the shared memory that a write-ahead log needs
  Network,         // its locks are not reliable
};
// Of the file's folder.
[[nodiscard]] FileSystem findFileSystem(const std::string& file);

#if defined(__linux__)
// From a number of statfs(2).
[[nodiscard]] FileSystem fileSystemFromMagic(uint64_t magic);
#endif

// Of the disk that the file is on, or will be on.
struct DiskSpace {
  int64_t freeBytes = 0;  // available to this user
  int64_t totalBytes = 0;
};
// Empty if the system does not report it.
[[nodiscard]] std::optional<DiskSpace> readDiskSpace(const std::string& file);

// Identifies the file at a path. Two ids are equal if they are the same file.
struct FileId {
  uint64_t device = 0;
  uint64_t number = 0;  // zero: there is no file
  bool operator==(const FileId&) const = default;
};
[[nodiscard]] FileId readFileId(const std::string& file);

// Creates the file's folder if it does not exist, private to the user.
void createParentFolder(const std::string& file);

// Creates the file if it does not exist, and makes it and its journals private to the user.
// Returns: whether a file is there.
bool createPrivate(const std::string& file);

// Whether it exists and is neither a folder nor a pipe: opening a pipe would block.
[[nodiscard]] bool isFile(const std::string& file);

[[nodiscard]] int64_t fileSize(const std::string& file);  // 0 if it does not exist

// Renames a damaged file to `<file>.corrupt-<time>`, and deletes its journals and the file that was
// renamed before. Returns: its new name; empty after a failure.
[[nodiscard]] std::string setAside(const std::string& file, int64_t unixMillis);

// Deletes the write-ahead log of a former file of this name: SQLite would apply its pages to the
// present file.
void removeWriteAheadLog(const std::string& file);

}  // namespace tap::records
