#include "records/room.h"

#include <algorithm>

namespace tap::records {

namespace {

constexpr int64_t kMB = int64_t{1000} * 1000;
constexpr int64_t kLeastReserve = 16 * kMB;
constexpr int64_t kMostReserve = 256 * kMB;
constexpr int64_t kKeeps = 4 * kMB;
constexpr int64_t kLeastStep = 32'768;
constexpr int64_t kMostStep = kMB;

}  // namespace

int64_t Room::reserveOf(int64_t totalBytes) {
  return std::min(std::clamp(totalBytes / 100, kLeastReserve, kMostReserve), totalBytes / 4);
}

void Room::look(std::optional<DiskSpace> space) {
  if (!space) {
    *this = {};
    return;
  }
  freeBytes_ = space->freeBytes;
  reserve_ = reserveOf(space->totalBytes);
  short_ = freeBytes_ < reserve_ || (short_ && isTight());
}

int64_t Room::keeps() const {
  return std::min(kKeeps, reserve_ / 2);
}

int64_t Room::step() const {
  return std::clamp(freeBytes_ / 4, kLeastStep, kMostStep);
}

}  // namespace tap::records
