#include "plan/inputs.h"

#include <gtest/gtest.h>

#include <string>

#include "plan/plan_rig.h"

namespace tap::plan {
namespace {

std::string take(Engine& engine, std::string_view text) {
  Batch batch;
  return applyInput(engine, text, {.unixMillis = 1}, batch);
}

std::string createText(const std::string& plan) {
  return R"({"input":"create","planId":"p","facts":{},"plan":)" + plan + "}";
}

TEST(PlanInputs, EachIsTakenOrRefusedWithACode) {
  Engine engine({});
  EXPECT_EQ(take(engine, createText(planText({nodeText("a")}))), "");
  EXPECT_EQ(take(engine, R"({"input":"began","planId":"p","nodeId":"a","attempt":1})"), "");
  EXPECT_EQ(take(engine, R"({"input":"step","planId":"p","nodeId":"a","attempt":1,"detail":{}})"),
            "");
  EXPECT_EQ(take(engine, R"({"input":"phase-ended","planId":"p","nodeId":"a","attempt":1,)"
                         R"("phase":"merge-fi","outcome":"succeeded","detail":{}})"),
            "");
  EXPECT_EQ(take(engine, R"({"input":"pause","planId":"p","reason":"x"})"), "");
  EXPECT_EQ(take(engine, R"({"input":"resume","planId":"p"})"), "");
  EXPECT_EQ(take(engine, R"({"input":"add","planId":"p","nodes":[{"id":"b"}]})"), "");
  EXPECT_EQ(take(engine, R"({"input":"cancel","planId":"p","nodeId":"a"})"), "");
  EXPECT_EQ(take(engine, R"({"input":"retry","planId":"p","nodeId":"a","from":"start"})"), "");
  EXPECT_EQ(take(engine, R"({"input":"due"})"), "");
  EXPECT_EQ(take(engine, R"({"input":"cancel","planId":"p"})"), "");
  EXPECT_EQ(take(engine, R"({"input":"stopped","planId":"p","nodeId":"a"})"), "");
  EXPECT_EQ(take(engine, R"({"input":"land","planId":"p","result":"c","follows":true})"),
            R"({"code":"WRONG_STATE","message":"no node of the plan waits to land"})");
  EXPECT_EQ(take(engine, R"({"input":"landed","planId":"p","detail":{}})"),
            R"({"code":"WRONG_STATE","message":"no node of the plan waits to land"})");
  EXPECT_EQ(take(engine, R"({"input":"overlap","planId":"p","nodeId":"a","detail":{}})"), "");
}

TEST(PlanInputs, ARefusedPlanComesWithAllProblems) {
  Engine engine({});
  EXPECT_EQ(take(engine, createText(R"({"nodes":[{"id":"a"}]})")),
            R"({"code":"INVALID_PLAN","message":"the plan is not valid","problems":[)"
            R"({"path":"name","message":"is missing: the purpose of the plan, in a few words"}]})");
  EXPECT_TRUE(engine.plans().empty());
}

TEST(PlanInputs, ACheckChangesNothing) {
  Engine engine({});
  EXPECT_EQ(take(engine, R"({"input":"check","plan":)" + planText({nodeText("a")}) + "}"), "");
  EXPECT_TRUE(take(engine, R"({"input":"check","plan":{"name":"x"}})").find("INVALID_PLAN") == 9);
  EXPECT_TRUE(engine.plans().empty());
}

TEST(PlanInputs, WhatIsNoInputIsRefused) {
  Engine engine({});
  for (const char* text :
       {"", "[]", "{}", R"({"input":"move"})", R"({"input":5})", R"({"input":"create"})",
        R"({"input":"step","planId":"p","nodeId":"a"})", R"({"input":"phase-ended","phase":"x"})",
        R"({"input":"add","planId":7})", R"({"input":"began","attempt":-1})"}) {
    EXPECT_TRUE(take(engine, text).starts_with(R"({"code":"BAD_INPUT")")) << text;
  }
  const std::string large =
      R"({"input":"step","detail":{"x":")" + std::string(70'000, 'x') + R"("}})";
  EXPECT_EQ(take(engine, large),
            R"({"code":"BAD_INPUT","message":"detail: is longer than 65536 bytes"})");
}

TEST(PlanInputs, SyncIsPassedOn) {
  Engine engine({});
  ASSERT_EQ(take(engine, createText(planText({nodeText("a")}))), "");
  Batch batch;
  EXPECT_EQ(applyInput(engine,
                       R"({"input":"step","planId":"p","nodeId":"a","attempt":1,"detail":{},)"
                       R"("sync":true})",
                       {}, batch),
            "");
  EXPECT_TRUE(batch.sync);
  EXPECT_EQ(batch.entries.size(), 1U);
}

TEST(PlanViews, EachAnswersOrIsRefused) {
  Engine engine({});
  ASSERT_EQ(take(engine, createText(planText({nodeText("lexer")}))), "");
  for (const char* view : {"plan", "nodes", "groups", "graph"}) {
    const std::string text = R"({"view":")" + std::string(view) + R"(","planId":"p"})";
    EXPECT_FALSE(answerView(engine, text).starts_with("{\"refused")) << view;
  }
  EXPECT_TRUE(answerView(engine, R"({"view":"node","planId":"p","nodeId":"lexer"})")
                  .starts_with(R"({"id":"lexer")"));
  EXPECT_EQ(
      answerView(engine, R"({"view":"node","planId":"p","nodeId":"lexr"})"),
      R"({"refused":{"code":"UNKNOWN_NODE","message":"the plan \"test\" has no node \"lexr\". )"
      R"(Did you mean \"lexer\"?"}})");
  EXPECT_EQ(answerView(engine, R"({"view":"plan","planId":"q"})").find("UNKNOWN_PLAN"), 20U);
  EXPECT_EQ(answerView(engine, R"({"view":"nodes","planId":"p","status":"done"})"),
            R"({"refused":{"code":"BAD_INPUT","message":"status: expected pending ready )"
            R"(scheduled running succeeded failed blocked canceled"}})");
}

TEST(PlanEngine, SaysWhatIsNotThere) {
  PlanRig rig;
  ASSERT_EQ(rig.create(planText({nodeText("lexer")})), "");
  EXPECT_EQ(rig.retry("lexr"),
            "UNKNOWN_NODE: the plan \"test\" has no node \"lexr\". Did you mean \"lexer\"?");
  EXPECT_EQ(rig.retry("abcdefg"),
            "UNKNOWN_NODE: the plan \"test\" has no node \"abcdefg\". It has lexer");
  Batch batch;
  const auto refused = rig.engine().cancel("x", rig.now, batch);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Refusal::Code::UnknownPlan);
  EXPECT_TRUE(batch.entries.empty());
}

}  // namespace
}  // namespace tap::plan
