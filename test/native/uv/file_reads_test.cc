// Reading files on separate threads, run under ThreadSanitizer (tools/sanitize.mjs).
#include "uv/file_reads.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace tap::uv {
namespace {

namespace fs = std::filesystem;

class FileReadsTest : public ::testing::Test {
 protected:
  FileReadsTest() {
    std::string pattern = (fs::temp_directory_path() / "tap-reads-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    uv_loop_init(&loop_);
  }
  ~FileReadsTest() override {
    uv_run(&loop_, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&loop_), 0) << "something is left in the loop";
    fs::remove_all(folder_);
  }

  gateway::ReadFile request(uint64_t session, const std::string& id, const std::string& text) {
    const std::string path = folder_ + "/" + id;
    std::ofstream(path) << text;
    const gateway::CallId callId{session, names_.size()};
    names_[callId] = id;
    return {callId, gateway::PeerId{session}, folder_, path, "text/plain", text.size()};
  }
  FileReads::Done collect() {
    return [this](const gateway::CallId& id, const gateway::FileOutcome& outcome) {
      read_[names_[id]] =
          outcome ? std::string(outcome.value().data.view()) : outcome.error().message;
    };
  }

  std::string folder_;
  uv_loop_t loop_{};
  std::map<gateway::CallId, std::string> names_;
  std::map<std::string, std::string> read_;
};

const FileReads::Ready kAlways = [](gateway::PeerId) { return true; };

TEST_F(FileReadsTest, SessionsAreReadForAtOnceAndEachInOrder) {
  FileReads reads(&loop_, kAlways, collect());
  for (uint64_t session = 1; session <= 4; ++session) {
    for (int i = 0; i < 8; ++i) {
      const std::string id = std::to_string(session) + "-" + std::to_string(i);
      reads.add(request(session, id, std::string(200'000, 'a') + id));
    }
  }
  uv_run(&loop_, UV_RUN_DEFAULT);
  ASSERT_EQ(read_.size(), 32U);
  for (const auto& [id, text] : read_) EXPECT_TRUE(text.ends_with(id + "\"")) << id;
}

TEST_F(FileReadsTest, AFileThatIsNotThereIsAFailureOfItsOwn) {
  FileReads reads(&loop_, kAlways, collect());
  gateway::ReadFile missing = request(1, "missing", "x");
  fs::remove(missing.path);
  reads.add(missing);
  reads.add(request(1, "there", "x"));
  uv_run(&loop_, UV_RUN_DEFAULT);
  EXPECT_NE(read_["missing"].find("no such file"), std::string::npos) << read_["missing"];
  EXPECT_EQ(read_["there"], "\"x\"");
}

TEST_F(FileReadsTest, WaitsUntilTheSessionIsReady) {
  bool ready = false;
  FileReads reads(
      &loop_, [&](gateway::PeerId) { return ready; }, collect());
  reads.add(request(1, "a", "x"));
  uv_run(&loop_, UV_RUN_DEFAULT);
  EXPECT_TRUE(read_.empty());
  ready = true;
  reads.resume(gateway::PeerId{1});
  uv_run(&loop_, UV_RUN_DEFAULT);
  EXPECT_EQ(read_.size(), 1U);
}

TEST_F(FileReadsTest, WhatIsDroppedIsNotRead) {
  FileReads reads(&loop_, kAlways, collect());
  for (const char* id : {"a", "b", "c"}) reads.add(request(1, id, std::string(1'000'000, 'x')));
  reads.drop(gateway::PeerId{1});
  uv_run(&loop_, UV_RUN_DEFAULT);
  EXPECT_EQ(read_.size(), 1U) << "only the file that was being read";
}

TEST_F(FileReadsTest, AfterCloseNothingIsReported) {
  FileReads reads(&loop_, kAlways, collect());
  for (const char* id : {"a", "b"}) reads.add(request(1, id, std::string(1'000'000, 'x')));
  reads.close();
  uv_run(&loop_, UV_RUN_DEFAULT);
  EXPECT_TRUE(read_.empty());
}

TEST_F(FileReadsTest, TheEndWaitsForWhatIsBeingRead) {
  {
    FileReads reads(&loop_, kAlways, collect());
    for (uint64_t session = 1; session <= 8; ++session) {
      reads.add(request(session, std::to_string(session), std::string(5'000'000, 'x')));
    }
  }
  uv_run(&loop_, UV_RUN_DEFAULT);
  EXPECT_TRUE(read_.empty());
}

}  // namespace
}  // namespace tap::uv
