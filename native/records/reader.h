// The thread that reads: it starts with the first question, and ends after a minute without a
// question.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

#include "records/answer.h"
#include "records/files.h"
#include "records/thread.h"

namespace tap::records {

struct Question {
  enum class Kind : uint8_t { Query, Sql };
  uint64_t number = 0;
  Kind kind = Kind::Query;
  std::string text;
};

class Reader {
 public:
  struct Options {
    std::string file;
    std::function<int64_t()> clock;
    std::chrono::milliseconds idle{60'000};
  };
  // Called on the reader's thread.
  struct Events {
    std::function<void(uint64_t number, Answer answer)> answered;
    // Called before a question: rows recorded before it should be in the file.
    std::function<void()> settle;
  };

  Reader(Options options, Events events)
      : options_(std::move(options)), events_(std::move(events)) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader();  // pending questions get no answer

  // Returns: empty, or the reason why the question is refused; then there is no answer.
  [[nodiscard]] std::string submit(Question question);

 private:
  void run();
  [[nodiscard]] bool next(Question& question);
  [[nodiscard]] Answer answer(const Question& question);
  [[nodiscard]] Answer open();

  Options options_;
  Events events_;
  Thread thread_;

  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<Question> questions_;
  bool running_ = false;
  bool closing_ = false;

  // The reader's thread.
  Database database_;
  FileId id_;
};

}  // namespace tap::records
