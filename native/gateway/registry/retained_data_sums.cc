#include "gateway/registry/retained_data_sums.h"

#include <utility>

#include "gateway/registry/party.h"

namespace tap::gateway {

RetainedDataSums::Sum RetainedDataSums::of(std::string_view party) const {
  const auto at = parties_.find(party);
  return at == parties_.end() ? Sum() : at->second.sum;
}

RetainedDataSums::Account& RetainedDataSums::obtain(std::string_view party) {
  const auto at = parties_.find(party);
  if (at != parties_.end()) return at->second;
  return parties_.emplace(std::string(party), Account()).first->second;
}

void RetainedDataSums::change(Account& account, std::string_view party, size_t less, size_t more) {
  account.sum.bytes = account.sum.bytes - less + more;
  inAll_ = inAll_ - less + more;
  if (!isProgram(party)) ofPaired_ = ofPaired_ - less + more;
}

void RetainedDataSums::close(std::string_view party) {
  const auto at = parties_.find(party);
  if (at->second.sum.bytes == 0) parties_.erase(at);
}

void RetainedDataSums::add(std::string_view party, size_t bytes) {
  if (bytes > 0) change(obtain(party), party, 0, bytes);
}

void RetainedDataSums::remove(std::string_view party, size_t bytes) {
  if (bytes == 0) return;
  change(obtain(party), party, bytes, 0);
  close(party);
}

void RetainedDataSums::add(std::string_view party, Events events, EventStreams& streams) {
  if (events.oldest == 0) return;
  Account& account = obtain(party);
  account.sum.events += events.bytes;
  account.streams.emplace(events.oldest, &streams);
  change(account, party, 0, events.bytes);
}

void RetainedDataSums::remove(std::string_view party, Events events) {
  if (events.oldest == 0) return;
  Account& account = obtain(party);
  account.sum.events -= events.bytes;
  account.streams.erase(events.oldest);
  change(account, party, events.bytes, 0);
  close(party);
}

EventStreams* RetainedDataSums::withOldest(std::string_view party) const {
  const auto at = parties_.find(party);
  if (at == parties_.end() || at->second.streams.empty()) return nullptr;
  return at->second.streams.begin()->second;
}

void RetainedDataShare::set(RetainedDataSums& sums, std::string_view party, size_t bytes) {
  release();
  if (party.empty()) return;
  sums_ = &sums;
  party_ = party;
  bytes_ = bytes;
  sums.add(party_, bytes_);
}

void RetainedDataShare::release() {
  if (sums_ != nullptr) std::exchange(sums_, nullptr)->remove(party_, bytes_);
  bytes_ = 0;
}

void RetainedDataShare::take(RetainedDataShare& other) noexcept {
  sums_ = std::exchange(other.sums_, nullptr);
  party_ = std::move(other.party_);
  bytes_ = std::exchange(other.bytes_, 0);
}

}  // namespace tap::gateway
