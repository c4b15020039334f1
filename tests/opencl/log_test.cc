// Levels and topics of the log, and the table of environment variables.
#include "base/log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "base/env.h"

namespace tim::vx::base {
namespace {

TEST(Log, LevelsOfTopics) {
  const LogLevels levels = ParseLogLevels("error,select=debug,cache=off", "5");
  EXPECT_EQ(levels.For("device"), LogLevel::kError);
  EXPECT_EQ(levels.For("select"), LogLevel::kDebug);
  EXPECT_EQ(levels.For("cache"), LogLevel::kOff);
}
TEST(Log, VsiNumbersCountOnlyWithoutTimclLog) {
  constexpr LogLevel kByNumber[] = {LogLevel::kOff,  LogLevel::kError, LogLevel::kWarn,
                                    LogLevel::kInfo, LogLevel::kDebug, LogLevel::kTrace};
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(ParseLogLevels("", std::to_string(i)).standard, kByNumber[i]);
  EXPECT_EQ(ParseLogLevels("info", "0").standard, LogLevel::kInfo);
  EXPECT_EQ(ParseLogLevels("", "6").standard, LogLevel::kWarn);
  EXPECT_EQ(ParseLogLevels("", "").standard, LogLevel::kWarn);
  EXPECT_EQ(ParseLogLevels("loud,select=loud,", "").standard, LogLevel::kWarn);
}
TEST(Log, SinkOfTheApplication) {
  std::vector<std::string> lines;
  SetLogLevels(ParseLogLevels("off,seen=info", ""));
  SetLogSink([&](LogLevel, std::string_view topic, std::string_view text) {
    lines.push_back(std::string(topic) + ": " + std::string(text));
  });
  Log("seen", LogLevel::kInfo, "{} kernels", 3);
  Log("seen", LogLevel::kDebug, "too fine");
  Log("other", LogLevel::kError, "off");
  SetLogSink([](LogLevel, std::string_view, std::string_view) { throw 1; });
  Log("seen", LogLevel::kInfo, "a sink that throws harms nobody");
  SetLogSink({});
  SetLogLevels({});
  EXPECT_EQ(lines, std::vector<std::string>{"seen: 3 kernels"});
}
TEST(Env, TableIsComplete) {
  std::set<std::string> names;
  for (size_t i = 0; i < EnvTable().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(EnvTable()[i].id), i);
    EXPECT_STRNE(EnvTable()[i].description, "");
    names.insert(EnvTable()[i].name);
  }
  EXPECT_EQ(names.size(), kEnvCount);
}
TEST(Env, CacheFolder) {
  Environment env;
  EXPECT_EQ(env.CacheDir(), "");
  EXPECT_EQ(env.Set(Env::kHome, "/h").CacheDir(), "/h/.cache/timcl");
  EXPECT_EQ(env.Set(Env::kXdgCacheHome, "/x").CacheDir(), "/x/timcl");
  EXPECT_EQ(env.Set(Env::kCacheDir, "/c").CacheDir(), "/c");
}
TEST(Env, ReadsTheProcess) {
  ASSERT_EQ(setenv("TIMCL_DUMP", "/somewhere", 1), 0);
  EXPECT_EQ(Environment::Read().Get(Env::kDump), "/somewhere");
  const std::string at_first = Environment::Process().Get(Env::kDump);
  ASSERT_EQ(unsetenv("TIMCL_DUMP"), 0);
  EXPECT_EQ(Environment::Read().Get(Env::kDump), "");
  EXPECT_EQ(Environment::Process().Get(Env::kDump), at_first);
}

}  // namespace
}  // namespace tim::vx::base
