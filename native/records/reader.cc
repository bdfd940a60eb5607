#include "records/reader.h"

#if defined(__linux__)
#include <malloc.h>
#endif

#include "base/encoding.h"

namespace tap::records {

namespace {

constexpr size_t kMaxQuestions = 32;

}  // namespace

Reader::~Reader() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wakes_.notify_one();
  thread_.join();
}

std::string Reader::submit(Question question) {
  const std::unique_lock lock(mutex_);
  if (questions_.size() >= kMaxQuestions) return "Too many questions wait for an answer.";
  questions_.push_back(std::move(question));
  if (running_) {
    wakes_.notify_one();
    return {};
  }
  thread_.join();  // it has ended, or is about to
  running_ = thread_.start([this] { run(); });
  if (running_) return {};
  questions_.pop_back();
  return "The system gives no thread for it.";
}

bool Reader::next(Question& question) {
  std::unique_lock lock(mutex_);
  wakes_.wait_for(lock, options_.idle, [this] { return closing_ || !questions_.empty(); });
  if (closing_ || questions_.empty()) {
    running_ = false;
    return false;
  }
  question = std::move(questions_.front());
  questions_.pop_front();
  return true;
}

void Reader::run() {
  for (Question question; next(question);) {
    events_.settle();
    events_.answered(question.number, answer(question));
    if (database_.isOpen()) database_.releaseMemory();
  }
  database_ = {};
#if defined(__GLIBC__)
  malloc_trim(0);  // a new thread would inherit the memory
#endif
}

Answer Reader::open() {
  if (!isFile(options_.file))
    return {false, "The records cannot be read: there is no such file.", false};
  id_ = readFileId(options_.file);
  database_ = Database::open(options_.file, Database::Access::ReadOnly);
  if (database_.failure() == Failure::None && database_.run("PRAGMA cache_size = -1024"))
    return {true, {}, false};
  Answer answer;
  answer.text = "The records cannot be read: " + visible(database_.problem(), false, 512) + ".";
  answer.damaged = database_.failure() == Failure::Corrupt;
  database_ = {};
  return answer;
}

Answer Reader::answer(const Question& question) {
  if (database_.isOpen() && !(readFileId(options_.file) == id_)) database_ = {};
  if (!database_.isOpen()) {
    Answer opened = open();
    if (!opened.good) return opened;
  }
  Answer answer = question.kind == Question::Kind::Query
                      ? answerQuery(database_, question.text, options_.clock())
                      : answerSql(database_, question.text);
  if (answer.damaged) database_ = {};
  return answer;
}

}  // namespace tap::records
