// The compiled patterns of all filters and rules. A text is compiled once, however many use it, and
// freed when nobody does. Compiling is work and compiled patterns are memory: both are bounded for
// each party (gateway/registry/party.h) and for all together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/pattern.h"
#include "base/result.h"
#include "base/time.h"
#include "gateway/registry/allowance.h"
#include "protocol/errors.h"

namespace tap::gateway {

class PatternStore {
 public:
  // `limits` must stay.
  explicit PatternStore(const Limits& limits);

  struct Refused {
    protocol::ErrorCode code;  // InvalidJson: it is not a pattern
    std::string why;
  };
  // The pattern of that text, on that party's account for as long as the pointer or a copy of it
  // lives. While a message replaces others' patterns the party may hold twice what it may hold
  // afterwards: see overdrawn.
  [[nodiscard]] Result<std::shared_ptr<const Pattern>, Refused> obtain(std::string_view party,
                                                                       std::string_view text,
                                                                       Time now);
  // Why the party holds too much once `freed` of it is gone; empty if it does not.
  struct Use {
    size_t patterns = 0;
    size_t bytes = 0;
  };
  [[nodiscard]] std::string overdrawn(std::string_view party, Use freed) const;

  [[nodiscard]] Use of(std::string_view party) const;
  [[nodiscard]] Use inAll() const;
  // The number of compilations since the start, and the part of the allowances that they used.
  [[nodiscard]] uint64_t compiles() const { return compiles_; }
  [[nodiscard]] uint64_t charged() const { return charged_; }
  [[nodiscard]] size_t parties() const { return parties_.size(); }

 private:
  struct Compiled;
  struct Account;
  struct Held;
  // The books from which a pattern removes itself when its last user releases it.
  struct Books {
    std::map<std::string_view, std::weak_ptr<const Compiled>> texts;
    Use use;
  };
  using Lookup = Result<std::shared_ptr<const Compiled>, Refused>;

  [[nodiscard]] std::shared_ptr<Account> obtainAccount(std::string_view party, Time now);
  [[nodiscard]] Lookup find(Account& account, std::string_view text, Time now);
  [[nodiscard]] Lookup compile(Account& account, std::string_view text);
  [[nodiscard]] Refused isFull() const;
  void charge(Account& account, size_t bytes);

  const Limits& limits_;
  std::shared_ptr<Books> books_ = std::make_shared<Books>();
  std::map<std::string, std::shared_ptr<Account>, std::less<>> parties_;
  Allowance all_;
  uint64_t compiles_ = 0;
  uint64_t charged_ = 0;
};

}  // namespace tap::gateway
