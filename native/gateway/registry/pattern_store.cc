#include "gateway/registry/pattern_store.h"

#include <utility>

namespace tap::gateway {

using protocol::ErrorCode;

namespace {

// Compiling takes time as the result takes memory: so much of it costs one of the allowance.
constexpr size_t kBytesPerCharge = size_t{16} * 1024;
// A provider that starts over sends all its patterns at once.
constexpr int64_t kBurst = 2;
constexpr int64_t kPartiesAtOnce = 5;
// Of the maps and the text, about.
constexpr size_t kOverhead = 256;

Allowance compileAllowance(const Limits& limits, int64_t parties) {
  return {limits.get(Limit::PatternsPerParty) * kBurst * parties,
          limits.get(Limit::CompilesPerSecond) * parties};
}

}  // namespace

struct PatternStore::Compiled {
  Compiled(std::string ownText, Pattern compiled, std::shared_ptr<Books> ownBooks)
      : text(std::move(ownText)), pattern(std::move(compiled)), books(std::move(ownBooks)) {
    books->use.patterns += 1;
    books->use.bytes += bytes();
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    books->use.patterns -= 1;
    books->use.bytes -= bytes();
    books->texts.erase(text);
  }
  [[nodiscard]] size_t bytes() const { return pattern.bytes() + text.size() + kOverhead; }

  const std::string text;
  const Pattern pattern;
  const std::shared_ptr<Books> books;
};

struct PatternStore::Account {
  explicit Account(const Limits& limits) : compiles(compileAllowance(limits, 1)) {}

  Allowance compiles;
  std::map<std::string_view, std::weak_ptr<const Held>> texts;
  Use use;
};

// A pattern on a party's account.
struct PatternStore::Held {
  Held(std::shared_ptr<const Compiled> shared, std::shared_ptr<Account> its)
      : compiled(std::move(shared)), account(std::move(its)) {
    account->use.patterns += 1;
    account->use.bytes += compiled->bytes();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    account->use.patterns -= 1;
    account->use.bytes -= compiled->bytes();
    account->texts.erase(compiled->text);
  }

  const std::shared_ptr<const Compiled> compiled;
  const std::shared_ptr<Account> account;
};

PatternStore::PatternStore(const Limits& limits)
    : limits_(limits), all_(compileAllowance(limits, kPartiesAtOnce)) {}

// Accounts that nothing depends on any more are forgotten when another is opened.
std::shared_ptr<PatternStore::Account> PatternStore::obtainAccount(std::string_view party,
                                                                   Time now) {
  const auto at = parties_.find(party);
  if (at != parties_.end()) return at->second;
  std::erase_if(parties_, [now](const auto& one) {
    return one.second->use.patterns == 0 && one.second->compiles.isWhole(now);
  });
  return parties_.emplace(std::string(party), std::make_shared<Account>(limits_)).first->second;
}

Result<std::shared_ptr<const Pattern>, PatternStore::Refused> PatternStore::obtain(
    std::string_view party, std::string_view text, Time now) {
  const std::shared_ptr<Account> account = obtainAccount(party, now);
  if (const auto at = account->texts.find(text); at != account->texts.end()) {
    const std::shared_ptr<const Held> held = at->second.lock();
    return std::shared_ptr<const Pattern>(held, &held->compiled->pattern);
  }
  const Use& use = account->use;
  if (use.patterns >= 2 * limits_.count(Limit::PatternsPerParty) ||
      use.bytes >= 2 * limits_.bytes(Limit::PatternBytesPerParty)) {
    return Refused{ErrorCode::PayloadTooLarge, overdrawn(party, {})};
  }
  Lookup compiled = find(*account, text, now);
  if (!compiled) return compiled.error();
  auto held = std::make_shared<const Held>(std::move(compiled.value()), account);
  account->texts.emplace(held->compiled->text, held);
  return std::shared_ptr<const Pattern>(held, &held->compiled->pattern);
}

PatternStore::Lookup PatternStore::find(Account& account, std::string_view text, Time now) {
  if (const auto at = books_->texts.find(text); at != books_->texts.end()) {
    return at->second.lock();
  }
  if (!account.compiles.has(now)) {
    return Refused{ErrorCode::RateLimited,
                   "too many new patterns at once, at most " +
                       std::to_string(limits_.get(Limit::CompilesPerSecond)) +
                       " a second are compiled: wait a second, then send the message again"};
  }
  if (!all_.has(now)) {
    return Refused{ErrorCode::RateLimited,
                   "the gateway compiles too many patterns of all providers at the moment: wait a "
                   "second, then send the message again"};
  }
  if (books_->use.patterns >= limits_.count(Limit::Patterns)) return isFull();
  return compile(account, text);
}

PatternStore::Refused PatternStore::isFull() const {
  return {ErrorCode::RateLimited,
          "the gateway holds as many compiled patterns of all providers as it may (" +
              std::to_string(books_->use.patterns) +
              "; limits patterns and pattern-bytes): try again when others have left"};
}

PatternStore::Lookup PatternStore::compile(Account& account, std::string_view text) {
  ++compiles_;
  Result<Pattern, PatternError> pattern = Pattern::compile(text);
  charge(account, pattern ? pattern.value().bytes() : 0);
  if (!pattern) return Refused{ErrorCode::InvalidJson, notAPattern(pattern.error())};
  auto compiled =
      std::make_shared<const Compiled>(std::string(text), std::move(pattern.value()), books_);
  if (books_->use.bytes > limits_.bytes(Limit::PatternBytes)) return isFull();
  books_->texts.emplace(compiled->text, compiled);
  return compiled;
}

void PatternStore::charge(Account& account, size_t bytes) {
  const auto units = static_cast<int64_t>(1 + bytes / kBytesPerCharge);
  account.compiles.charge(units);
  all_.charge(units);
  charged_ += static_cast<uint64_t>(units);
}

std::string PatternStore::overdrawn(std::string_view party, Use freed) const {
  const Use use = of(party);
  const size_t patterns = limits_.count(Limit::PatternsPerParty);
  const size_t bytes = limits_.bytes(Limit::PatternBytesPerParty);
  if (use.patterns - freed.patterns <= patterns && use.bytes - freed.bytes <= bytes) return {};
  const bool tooMany = use.patterns - freed.patterns > patterns;
  return "at most " +
         (tooMany ? std::to_string(patterns) + " different patterns"
                  : std::to_string(bytes) + " bytes of compiled patterns") +
         " in all your filters and rules: take filters away (filter.set with \"rules\": []), or "
         "join patterns with |";
}

PatternStore::Use PatternStore::of(std::string_view party) const {
  const auto at = parties_.find(party);
  return at == parties_.end() ? Use() : at->second->use;
}

PatternStore::Use PatternStore::inAll() const {
  return books_->use;
}

}  // namespace tap::gateway
