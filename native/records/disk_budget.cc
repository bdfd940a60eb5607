#include "records/disk_budget.h"

#include <algorithm>

namespace tap::records {

namespace {

constexpr int64_t kMB = int64_t{1000} * 1000;
constexpr int64_t kMinReserve = 16 * kMB;
constexpr int64_t kMaxReserve = 256 * kMB;
constexpr int64_t kKeeps = 4 * kMB;
constexpr int64_t kMinStep = 32'768;
constexpr int64_t kMaxStep = kMB;

}  // namespace

int64_t DiskBudget::reserveBytes(int64_t totalBytes) {
  return std::min(std::clamp(totalBytes / 100, kMinReserve, kMaxReserve), totalBytes / 4);
}

void DiskBudget::update(std::optional<DiskSpace> space) {
  if (!space) {
    *this = {};
    return;
  }
  freeBytes_ = space->freeBytes;
  reserve_ = reserveBytes(space->totalBytes);
  short_ = freeBytes_ < reserve_ || (short_ && isTight());
}

int64_t DiskBudget::keeps() const {
  return std::min(kKeeps, reserve_ / 2);
}

int64_t DiskBudget::step() const {
  return std::clamp(freeBytes_ / 4, kMinStep, kMaxStep);
}

}  // namespace tap::records
