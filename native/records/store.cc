#include "records/store.h"

namespace tap::records {

namespace {

// How long a question waits for rows that were appended before it.
constexpr std::chrono::milliseconds kSettle{500};

}  // namespace

Store::Store(StoreOptions options)
    : options_(std::move(options)),
      writer_(options_.writer, queue_,
              {[this](uint64_t number, bool durable) {
                 post(CommittedEvent{number, durable});
               },
               [this](const Diagnostic& diagnostic) { post(diagnostic); },
               [this] { post(ClosedEvent{}); }}),
      reader_({options_.writer.file, options_.writer.clock, options_.readerIdle},
              {[this](uint64_t number, Answer answer) {
                 if (answer.damaged) writer_.suspect();
                 post(AnsweredEvent{number, std::move(answer)});
               },
               [this] { (void)writer_.settle(kSettle); }}) {}

Store::~Store() = default;

void Store::append(const Row& row) {
  if (onlyNotify_ && row.collection != Collection::Notify) return;
  if (!closing_ && writer_.started() && queue_.push(row)) return writer_.pushed(false);
  writer_.countDropped(row.collection);
}

void Store::commit(const Row& row, uint64_t number) {
  await(row, number);
}

void Store::commit(const Row& row, Committed done) {
  await(row, std::move(done));
}

void Store::await(const Row& row, std::variant<uint64_t, Committed> who) {
  const uint64_t number = ++numbers_;
  commits_.emplace(number, std::move(who));
  if (onlyNotify_ && row.collection != Collection::Notify) {
    return post(CommittedEvent{number, false});
  }
  if (!closing_ && writer_.started() && queue_.push(row, number)) return writer_.pushed(true);
  writer_.countDropped(row.collection);
  post(CommittedEvent{number, false});
}

void Store::query(std::string json, Answered done) {
  submitQuestion(Question::Kind::Query, std::move(json), std::move(done));
}

void Store::sql(std::string statement, Answered done) {
  submitQuestion(Question::Kind::Sql, std::move(statement), std::move(done));
}

void Store::submitQuestion(Question::Kind kind, std::string text, Answered done) {
  const uint64_t number = ++numbers_;
  answers_.emplace(number, std::move(done));
  std::string problem =
      closing_ ? "The store is closed." : reader_.submit({number, kind, std::move(text)});
  if (!problem.empty()) post(AnsweredEvent{number, {false, std::move(problem), false}});
}

FileState Store::state() const {
  return writer_.state();
}

void Store::close(std::function<void()> closed) {
  closing_ = true;
  closed_.push_back(std::move(closed));
  if (writer_.started() && !closedAlready_) return writer_.close();
  post(ClosedEvent{});
}

void Store::post(Event event) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  if (options_.wake) options_.wake();
}

bool Store::deliver() {
  std::vector<Event> events;
  {
    const std::lock_guard lock(mutex_);
    events.swap(events_);
  }
  for (Event& event : events) {
    std::visit([this](auto& one) { handle(std::move(one)); }, event);
  }
  return isAwaited();
}

void Store::handle(CommittedEvent event) {
  auto found = commits_.extract(event.number);
  if (found.empty()) return;
  auto& waits = found.mapped();
  if (const auto* done = std::get_if<Committed>(&waits)) {
    (*done)(event.durable);
  } else if (listener_) {
    listener_(std::get<uint64_t>(waits), event.durable);
  }
}

void Store::handle(const AnsweredEvent& event) {
  auto found = answers_.extract(event.number);
  if (!found.empty()) found.mapped()(event.answer);
}

void Store::handle(const Diagnostic& diagnostic) {
  if (options_.onDiagnostic) options_.onDiagnostic(diagnostic);
}

void Store::handle(ClosedEvent /*event*/) {
  closedAlready_ = true;
  for (const auto& closed : std::exchange(closed_, {})) closed();
}

}  // namespace tap::records
