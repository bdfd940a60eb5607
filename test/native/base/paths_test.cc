// The spellings of a file's path.
#include "base/paths.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace tap {
namespace {

using Spellings = std::vector<std::string>;

// Without the path as it is, which comes first.
Spellings others(std::string_view path, std::string_view folder = "/home/ada/shop") {
  Spellings all = listSpellings(path, folder);
  EXPECT_EQ(all.front(), path);
  all.erase(all.begin());
  return all;
}

std::string times(size_t count, std::string_view text) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(Paths, APlainAbsolutePathHasOneSpelling) {
  EXPECT_EQ(others("/etc/hosts"), Spellings{});
  EXPECT_EQ(others("/"), Spellings{});
}

TEST(Paths, DotsAndEmptySegmentsAreTakenOut) {
  for (const char* path :
       {"/tmp/../etc/hosts", "/etc//hosts", "//etc/hosts", "///etc/hosts", "/./etc/./hosts",
        "/etc/hosts/", "/etc/hosts/.", "/etc/hosts//", "/etc/x/../hosts", "/etc/x/y/../../hosts",
        "/a/b/../../etc/hosts", "/etc/hosts/x/..", "/etc/.//./hosts", "/x/.././etc//hosts/"}) {
    const Spellings found = others(path);
    ASSERT_FALSE(found.empty()) << path;
    EXPECT_EQ(found.front(), "/etc/hosts") << path;
  }
}

TEST(Paths, AboveTheRootThereIsOnlyTheRoot) {
  EXPECT_EQ(others("/.."), Spellings{"/"});
  EXPECT_EQ(others("/../../etc/hosts"), Spellings{"/etc/hosts"});
  EXPECT_EQ(others("/etc/../../../etc/hosts"), Spellings{"/etc/hosts"});
  EXPECT_EQ(others("../../../../../../etc/hosts"), Spellings{"/etc/hosts"});
}

TEST(Paths, ARelativePathContinuesTheFolder) {
  EXPECT_EQ(others("src/a.c"), Spellings{"/home/ada/shop/src/a.c"});
  EXPECT_EQ(others("../../../etc/hosts"), Spellings{"/etc/hosts"});
  EXPECT_EQ(others("../other/a.c"), Spellings{"/home/ada/other/a.c"});
  EXPECT_EQ(others(""), Spellings{"/home/ada/shop"});
  EXPECT_EQ(others("."), Spellings{"/home/ada/shop"});
  EXPECT_EQ(others(".."), Spellings{"/home/ada"});
}

TEST(Paths, WhatLiesInTheFolderIsThereFromTheFolderToo) {
  EXPECT_EQ(others("/home/ada/shop/src/a.c"), Spellings{"src/a.c"});
  EXPECT_EQ(others("./src//a.c"), (Spellings{"/home/ada/shop/src/a.c", "src/a.c"}));
  EXPECT_EQ(others("../shop/src/a.c"), (Spellings{"/home/ada/shop/src/a.c", "src/a.c"}));
  EXPECT_EQ(others("/home/ada/shop"), Spellings{}) << "not the folder itself";
  EXPECT_EQ(others("/home/ada/shopping/a.c"), Spellings{}) << "a folder with the same prefix";
  EXPECT_EQ(others("/etc/hosts", "/"), Spellings{"etc/hosts"});
  EXPECT_EQ(others("x/../src/a.c", "/home//ada/./shop/"),
            (Spellings{"/home/ada/shop/src/a.c", "src/a.c"}));
}

TEST(Paths, WithoutAFolderARelativePathStaysRelative) {
  for (const char* folder : {"", "shop", "./shop", "~"}) {
    EXPECT_EQ(others("src/a.c", folder), Spellings{});
    EXPECT_EQ(others("x/../src//a.c", folder), Spellings{"src/a.c"});
    EXPECT_EQ(others("../../a.c", folder), Spellings{});
    EXPECT_EQ(others("x/../../y/../a.c", folder), Spellings{"../a.c"});
    EXPECT_EQ(others("/../etc", folder), Spellings{"/etc"});
    EXPECT_EQ(others("x/..", folder), Spellings{""});
  }
}

TEST(Paths, ATildeIsANameLikeAnyOther) {
  EXPECT_EQ(others("~/.ssh/id"), Spellings{"/home/ada/shop/~/.ssh/id"});
  EXPECT_EQ(others("~/../x"), (Spellings{"/home/ada/shop/x", "x"}));
  EXPECT_EQ(others("~root"), Spellings{"/home/ada/shop/~root"});
}

TEST(Paths, DotsThatAreNamesStay) {
  EXPECT_EQ(others("/a/.../b"), Spellings{});
  EXPECT_EQ(others("/a/..b/b../.b"), Spellings{});
  EXPECT_EQ(others("/a/.. /b"), Spellings{});
  EXPECT_EQ(others("/a/%2e%2e/b"), Spellings{});
  EXPECT_EQ(others("/a/\xEF\xBC\x8E\xEF\xBC\x8E/b"), Spellings{}) << "full-width dots";
}

TEST(Paths, NulLineEndsAndWhatIsNotUtf8AreCharacters) {
  const std::string nul("/tmp/../etc/ho\0sts", 18);
  EXPECT_EQ(others(nul), Spellings{std::string("/etc/ho\0sts", 11)});
  const std::string notUp("/etc/.\0./hosts", 14);
  EXPECT_EQ(others(notUp), Spellings{});
  EXPECT_EQ(others("/tmp/\n/../../etc/hosts"), Spellings{"/etc/hosts"});
  EXPECT_EQ(others("/tmp/..\n/etc/hosts"), Spellings{});
  EXPECT_EQ(others("/tmp/\xFF/../../etc/\xC3"), Spellings{"/etc/\xC3"});
}

TEST(Paths, ABackslashIsANameAndASeparator) {
  // A file of /home/ada/shop for a Unix system, a file of /etc for Windows.
  EXPECT_EQ(others("src\\..\\..\\..\\..\\etc\\hosts"),
            (Spellings{"/home/ada/shop/src\\..\\..\\..\\..\\etc\\hosts", "/etc/hosts"}));
  EXPECT_EQ(others("/tmp/../etc/a\\..\\..\\b"), (Spellings{"/etc/a\\..\\..\\b", "/b"}));
}

TEST(Paths, OfWindowsHaveDrivesAndServers) {
  const std::string_view shop = "C:\\shop";
  EXPECT_EQ(others("C:\\shop\\.\\x\\..\\a.c", shop).back(), "a.c");
  EXPECT_EQ(others("C:\\..\\..\\etc", shop).back(), "C:/etc");
  EXPECT_EQ(others("src/../a.c", shop), (Spellings{"a.c", "C:/shop/a.c"}));
  EXPECT_EQ(others("..\\x", shop).back(), "C:/x");
  EXPECT_EQ(others("\\x", shop).back(), "C:/x") << "on the drive of the folder";
  EXPECT_EQ(others("C:src\\a.c", shop).back(), "src/a.c") << "in the drive's own folder";
  EXPECT_EQ(others("D:\\a.c", shop).back(), "D:/a.c");
  EXPECT_EQ(others("D:/x/../a.c", "/home").back(), "D:/a.c");
  EXPECT_EQ(others("\\\\srv\\share\\..\\..\\..\\a.c", shop).back(), "//srv/share/a.c");
  EXPECT_EQ(others("//srv/share/x/../a.c"), (Spellings{"/srv/share/a.c", "//srv/share/a.c"}));
  EXPECT_EQ(others("\\\\..\\..\\x", shop).back(), "//x");
}

TEST(Paths, TakeTheTimeOfTheirLengthWhateverTheyAre) {
  const size_t many = 300'000;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(others("/etc/" + times(many, "./") + "hosts"), Spellings{"/etc/hosts"});
  EXPECT_EQ(others("/" + times(many, "a/") + times(many, "../") + "etc/hosts"),
            Spellings{"/etc/hosts"});
  EXPECT_EQ(others("/etc/" + times(many, "a/../") + "hosts"), Spellings{"/etc/hosts"});
  EXPECT_EQ(others(times(many, "../") + "etc/hosts"), Spellings{"/etc/hosts"});
  EXPECT_EQ(others(times(many, "/") + "etc/hosts").front(), "/etc/hosts");
  EXPECT_EQ(others(times(many, "../"), "").front().size(), 3 * many - 1);
  EXPECT_EQ(others("\\\\s\\" + times(many, "share") + times(many, "\\..") + "\\x").back(),
            "//s/" + times(many, "share") + "/x");
  EXPECT_EQ(others("x", "/" + times(many, "a/../") + "home"), Spellings{"/home/x"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace tap
