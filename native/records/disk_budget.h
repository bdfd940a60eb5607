// The room that the store leaves to others on its disk.
#pragma once

#include <cstdint>
#include <optional>

#include "records/files.h"

namespace tap::records {

class DiskBudget {
 public:
  // What stays free of a disk of that size: 1 % of it, but 16 MB at least and 256 MB at most; of a
  // small disk a quarter.
  [[nodiscard]] static int64_t reserveBytes(int64_t totalBytes);

  // Takes what the disk has now. Nothing: that is not known, and there is room.
  void update(std::optional<DiskSpace> space);

  // Less than the reserve is free, or was and there is not much more now: nothing is written but
  // what must be.
  [[nodiscard]] bool isShort() const { return short_; }
  // There is little more than the reserve, or less: the oldest rows go.
  [[nodiscard]] bool isTight() const { return freeBytes_ < enough(); }
  [[nodiscard]] int64_t freeBytes() const { return freeBytes_; }
  // With so much it is not tight.
  [[nodiscard]] int64_t enough() const { return reserve_ + reserve_ / 4; }
  // What the store may keep of the disk, however tight it is.
  [[nodiscard]] int64_t keeps() const;
  // How many bytes may be given back at a time: that takes some, too.
  [[nodiscard]] int64_t step() const;

 private:
  int64_t freeBytes_ = 0;
  int64_t reserve_ = 0;
  bool short_ = false;
};

}  // namespace tap::records
