#include "gateway/sync/tool_sync.h"

#include <algorithm>
#include <utility>

namespace tap::gateway {

using protocol::SyncMode;

void ToolSync::sessionRegistered(ToolSnapshot have, SyncMode mode, Time now) {
  mode_ = mode;
  confirmed_ = std::move(have);
  missing_.clear();
  for (const auto& [provider, digest] : wanted_) compare(provider);
  for (const auto& [provider, digest] : confirmed_) compare(provider);
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

void ToolSync::compare(const std::string& provider) {
  const auto wanted = wanted_.find(provider);
  const auto has = confirmed_.find(provider);
  const bool isWanted = wanted != wanted_.end();
  const bool isThere = has != confirmed_.end();
  if (isWanted && (!isThere || has->second != wanted->second)) {
    missing_[provider] = wanted->second;
  } else if (isThere && !isWanted) {
    missing_[provider] = std::nullopt;
  } else {
    missing_.erase(provider);
  }
}

void ToolSync::wantedChanged(const ToolChanges& changes, Time now) {
  for (const auto& [provider, digest] : changes) {
    if (digest) {
      wanted_[provider] = *digest;
    } else {
      wanted_.erase(provider);
    }
    compare(provider);
  }
  if (dirty()) {
    touch(now);
  } else {
    untouch();
  }
}

ToolChanges ToolSync::target() const {
  ToolChanges target = missing_;
  if (holdUntil_) std::erase_if(target, [](const auto& change) { return !change.second; });
  return target;
}

bool ToolSync::dirty() const {
  const ToolChanges next = target();
  if (failed_ && next == *failed_) return false;
  return inFlight_ ? next != inFlight_->changes : !next.empty();
}

bool ToolSync::brings() const {
  return std::any_of(missing_.begin(), missing_.end(),
                     [](const auto& change) { return change.second.has_value(); });
}

void ToolSync::touch(Time now) {
  if (!firstChange_) firstChange_ = now;
  lastChange_ = now;
  noteBrought(now);
}

void ToolSync::noteBrought(Time now) {
  if (!brings()) {
    firstBrought_.reset();
  } else if (!firstBrought_) {
    firstBrought_ = now;
  }
}

void ToolSync::hurry(Time now) {
  failed_.reset();
  if (!dirty()) return;
  hurried_ = true;
  if (!firstChange_) touch(now);
}

std::optional<int64_t> ToolSync::revisionOfWanted() const {
  if (dirty()) return revision_ + 1;
  if (inFlight_) return inFlight_->revision;
  return std::nullopt;
}

void ToolSync::untouch() {
  hurried_ = false;
  firstChange_.reset();
  lastChange_.reset();
  firstBrought_.reset();
}

// After an answer: if more has changed meanwhile, the time to gather starts from the change itself.
void ToolSync::settle(Time now) {
  if (!dirty()) {
    untouch();
  } else if (firstChange_) {
    noteBrought(*lastChange_);  // the answer may have made an addition of what changed meanwhile
  } else {
    touch(now);
  }
}

// A live swap disturbs nobody, so new tools wait a moment only; but each swap costs the model's
// prompt cache, so they do not follow each other closely, and a provider that is gone may be back
// soon.
Time ToolSync::gathered() const {
  const Time quiet = std::min(*lastChange_ + limits_->time(Limit::DebounceMs),
                              *firstChange_ + limits_->time(Limit::DebounceMaxMs));
  if (mode_ == SyncMode::Reload) return quiet;
  if (hurried_) return *firstChange_;
  Time at = quiet;
  if (firstBrought_) at = std::min(at, *firstBrought_ + limits_->time(Limit::LiveDebounceMs));
  if (lastSwap_) at = std::max(at, *lastSwap_ + limits_->time(Limit::LiveGatherMs));
  return at;
}

SyncPlan ToolSync::firstPlan(bool joined, Time now) {
  SyncPlan first = plan(joined ? ToolChanges() : target(), false);
  settle(now);
  return first;
}

std::optional<Time> ToolSync::due() const {
  if (inFlight_) return std::nullopt;
  if (!firstChange_ || !lastChange_) return holdUntil_;
  if (mode_ == SyncMode::Reload && gated_) return holdUntil_;
  Time at = gathered();
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
  if (reload) {
    countReload(now);
  } else {
    lastSwap_ = now;
  }
  untouch();
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

SyncPlan ToolSync::plan(ToolChanges changes, bool reload) {
  SyncPlan plan;
  plan.revision = ++revision_;
  plan.reload = reload;
  for (const auto& [provider, digest] : changes) {
    (digest ? plan.set : plan.drop).push_back(provider);
  }
  inFlight_ = Flight{revision_, std::move(changes)};
  return plan;
}

bool ToolSync::confirmed(int64_t revision, Time now) {
  if (!inFlight_ || inFlight_->revision != revision) return false;
  for (const auto& [provider, digest] : inFlight_->changes) {
    if (digest) {
      confirmed_[provider] = *digest;
    } else {
      confirmed_.erase(provider);
    }
    compare(provider);
  }
  inFlight_.reset();
  failed_.reset();
  settle(now);
  return true;
}

bool ToolSync::failed(int64_t revision, Time now) {
  if (!inFlight_ || inFlight_->revision != revision) return false;
  failed_ = std::move(inFlight_->changes);
  inFlight_.reset();
  settle(now);
  return true;
}

void ToolSync::linkLost() {
  inFlight_.reset();
  untouch();
}

}  // namespace tap::gateway
