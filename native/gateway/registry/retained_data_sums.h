// The running sums of what the gateway keeps of each party (gateway/registry/party.h): each part of
// it holds a share of its party's account for as long as it lives. What a push costs does not
// depend on how many sessions and providers there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tap::gateway {

class EventStreams;

class RetainedDataSums {
 public:
  struct Sum {
    size_t bytes = 0;
    size_t events = 0;  // of these, in streams: they can be dropped
  };
  [[nodiscard]] Sum of(std::string_view party) const;
  [[nodiscard]] size_t inAll() const { return inAll_; }
  [[nodiscard]] size_t ofPaired() const { return ofPaired_; }

  // REQUIRES: the party is not empty.
  void add(std::string_view party, size_t bytes);
  void remove(std::string_view party, size_t bytes);

  // The events of one name in one session. `oldest`: the number of the oldest one; 0: there is
  // none.
  struct Events {
    size_t bytes = 0;
    uint64_t oldest = 0;
  };
  void add(std::string_view party, Events events, EventStreams& streams);
  void remove(std::string_view party, Events events);
  // Events are numbered as they come.
  [[nodiscard]] uint64_t nextEvent() { return ++lastEvent_; }
  // The streams with the party's oldest event; null if it has no events.
  [[nodiscard]] EventStreams* withOldest(std::string_view party) const;

 private:
  struct Account {
    Sum sum;
    std::map<uint64_t, EventStreams*> streams;  // by their oldest event
  };
  [[nodiscard]] Account& obtain(std::string_view party);
  void change(Account& account, std::string_view party, size_t less, size_t more);
  void close(std::string_view party);

  std::map<std::string, Account, std::less<>> parties_;  // without parties that keep nothing
  size_t inAll_ = 0;
  size_t ofPaired_ = 0;
  uint64_t lastEvent_ = 0;
};

// So many bytes on a party's account. The sums must stay.
class RetainedDataShare {
 public:
  RetainedDataShare() = default;
  RetainedDataShare(RetainedDataShare&& other) noexcept { take(other); }
  RetainedDataShare& operator=(RetainedDataShare&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  RetainedDataShare(const RetainedDataShare&) = delete;
  RetainedDataShare& operator=(const RetainedDataShare&) = delete;
  ~RetainedDataShare() { release(); }

  // Nothing is counted for the empty party: the gateway itself, or a connection that has not sent
  // `hello`.
  void set(RetainedDataSums& sums, std::string_view party, size_t bytes);
  void release();
  [[nodiscard]] size_t bytes() const { return bytes_; }
  [[nodiscard]] const std::string& party() const { return party_; }

 private:
  void take(RetainedDataShare& other) noexcept;

  RetainedDataSums* sums_ = nullptr;
  std::string party_;
  size_t bytes_ = 0;
};

}  // namespace tap::gateway
