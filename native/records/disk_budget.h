// The space that the store leaves free on its disk for other programs.
#pragma once

#include <cstdint>
#include <optional>

#include "records/files.h"

namespace tap::records {

class DiskBudget {
 public:
  // The reserve: 1 % of the disk, at least 16 MB and at most 256 MB, but of a small disk a quarter.
  [[nodiscard]] static int64_t reserveBytes(int64_t totalBytes);

  // Sets the disk's present space; empty if unknown, which counts as enough.
  void update(std::optional<DiskSpace> space);

  // Less than the reserve is free, or was and space is still tight: only urgent rows are written.
  [[nodiscard]] bool isShort() const { return short_; }
  // Little more than the reserve is free, or less: the oldest rows are deleted.
  [[nodiscard]] bool isTight() const { return freeBytes_ < enough(); }
  [[nodiscard]] int64_t freeBytes() const { return freeBytes_; }
  // With this many free bytes it is not tight.
  [[nodiscard]] int64_t enough() const { return reserve_ + reserve_ / 4; }
  // The bytes that the store keeps even on a full disk.
  [[nodiscard]] int64_t keeps() const;
  // The maximum of bytes to free in a step, since freeing needs space, too.
  [[nodiscard]] int64_t step() const;

 private:
  int64_t freeBytes_ = 0;
  int64_t reserve_ = 0;
  bool short_ = false;
};

}  // namespace tap::records
