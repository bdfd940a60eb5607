#include "gateway/tool_sync.h"

#include <algorithm>
#include <utility>

namespace tap::gateway {

using protocol::SyncMode;

void ToolSync::sessionRegistered(ToolSnapshot have, SyncMode mode, Time now) {
  mode_ = mode;
  confirmed_ = std::move(have);
  inFlight_.reset();
  failed_.reset();
  holdUntil_.reset();
  if (!confirmed_.empty()) holdUntil_ = now + limits_->time(Limit::RemovalHoldMs);
  settle(now);
}

void ToolSync::setMode(SyncMode mode, Time now) {
  if (std::exchange(mode_, mode) == mode) return;
  inFlight_.reset();
  failed_.reset();
  settle(now);
}

void ToolSync::wantedChanged(ToolSnapshot wanted, Time now) {
  wanted_ = std::move(wanted);
  if (dirty()) {
    touch(now);
  } else {
    firstChange_.reset();
    lastChange_.reset();
  }
}

ToolSnapshot ToolSync::target() const {
  ToolSnapshot target = wanted_;
  if (holdUntil_) target.insert(confirmed_.begin(), confirmed_.end());
  return target;
}

bool ToolSync::dirty() const {
  const ToolSnapshot next = target();
  const ToolSnapshot& base = inFlight_ ? inFlight_->target : confirmed_;
  if (failed_ && next == *failed_) return false;
  return next != base;
}

void ToolSync::touch(Time now) {
  if (!firstChange_) firstChange_ = now;
  lastChange_ = now;
}

// After an answer: if more has changed meanwhile, the debounce starts from the change itself.
void ToolSync::settle(Time now) {
  if (dirty()) {
    if (!firstChange_) touch(now);
  } else {
    firstChange_.reset();
    lastChange_.reset();
  }
}

SyncPlan ToolSync::firstPlan(bool joined, Time now) {
  SyncPlan first = plan(joined ? confirmed_ : target(), false);
  settle(now);
  return first;
}

std::optional<Time> ToolSync::due() const {
  if (inFlight_) return std::nullopt;
  if (!firstChange_ || !lastChange_) return holdUntil_;
  if (mode_ == SyncMode::Reload && gated_) return holdUntil_;
  Time at = std::min(*lastChange_ + limits_->time(Limit::DebounceMs),
                     *firstChange_ + limits_->time(Limit::DebounceMaxMs));
  if (mode_ == SyncMode::Reload) {
    if (!quiet_) at = std::max(at, *firstChange_ + limits_->time(Limit::ReloadWaitMs));
    if (lastReload_) at = std::max(at, *lastReload_ + reloadFloor_);
  }
  return holdUntil_ ? std::min(at, *holdUntil_) : at;
}

std::optional<SyncPlan> ToolSync::takePlan(Time now) {
  if (holdUntil_ && now >= *holdUntil_) {
    holdUntil_.reset();
    settle(now);
  }
  const std::optional<Time> at = due();
  if (!at || now < *at) return std::nullopt;
  if (!dirty()) {
    settle(now);
    return std::nullopt;
  }
  const bool reload = mode_ == SyncMode::Reload;
  if (reload) countReload(now);
  firstChange_.reset();
  lastChange_.reset();
  return plan(target(), reload);
}

// The floor doubles only while reloads follow each other closely.
void ToolSync::countReload(Time now) {
  const Millis floor = limits_->time(Limit::ReloadFloorMs);
  const bool flapping = lastReload_ && now - *lastReload_ < reloadFloor_ + 4 * floor;
  reloadFloor_ =
      flapping ? std::min(reloadFloor_ * 2, limits_->time(Limit::ReloadFloorMaxMs)) : floor;
  lastReload_ = now;
}

SyncPlan ToolSync::plan(ToolSnapshot target, bool reload) {
  SyncPlan plan;
  plan.revision = ++revision_;
  plan.reload = reload;
  for (const auto& [provider, digest] : target) {
    const auto had = confirmed_.find(provider);
    if (had == confirmed_.end() || had->second != digest) plan.set.push_back(provider);
  }
  for (const auto& [provider, digest] : confirmed_) {
    if (!target.contains(provider)) plan.drop.push_back(provider);
  }
  inFlight_ = Flight{revision_, std::move(target)};
  return plan;
}

bool ToolSync::confirmed(int64_t revision, Time now) {
  if (!inFlight_ || inFlight_->revision != revision) return false;
  confirmed_ = std::move(inFlight_->target);
  inFlight_.reset();
  failed_.reset();
  settle(now);
  return true;
}

bool ToolSync::failed(int64_t revision, Time now) {
  if (!inFlight_ || inFlight_->revision != revision) return false;
  failed_ = std::move(inFlight_->target);
  inFlight_.reset();
  settle(now);
  return true;
}

void ToolSync::linkLost() {
  inFlight_.reset();
  firstChange_.reset();
  lastChange_.reset();
}

}  // namespace tap::gateway
