// Vendors' plugins under threads, for the sanitizers above all: libraries are opened and closed,
// halves join, while other threads compile and run. Against the shared library.
#include <dlfcn.h>

#include <atomic>
#include <random>
#include <thread>

#include "plugins/mapped.h"
#include "plugins/vendor_support.h"

namespace tim::vx::test {
namespace {

using ::testing::IsEmpty;

/// Asked of the loader: under the thread sanitizer pages of closed libraries stay in the memory
/// map.
bool IsOpen(const std::string& file) {
  void* const handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

constexpr int kThreads = 6, kRounds = 12;

TEST(VendorThreads, LibrariesCloseWhileOthersCompileAndRun) {
  VendorFolder folder;
  const std::string whole = folder.Copy("vendor", "libtimcl_whole.so"),
                    compiler = folder.Copy("vendor_compiler", "libtimcl_compiler.so"),
                    dispatch = folder.Copy("vendor_dispatch", "libtimcl_dispatch.so");
  const auto want = Expected();
  std::atomic<int> wrong = 0, not_taken = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<uint32_t>(t));
      for (int round = 0; round < kRounds; ++round) {
        auto context = VendorContext({});
        const bool halves = random() % 2 == 0;
        bool loaded = context->LoadPlugin(halves ? compiler : whole).ok();
        if (halves) loaded = context->LoadPlugin(dispatch).ok() && loaded;
        auto mixed = std::make_unique<Mixed>(context, Acme({"live", "1"}));
        if (random() % 2 == 0) context.reset();
        if (!loaded || mixed->Of() != want) ++wrong;
        if (mixed->Backends() != "acme acme acme reference acme") ++not_taken;
        mixed.reset();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(not_taken, 0);
  for (const std::string& file : {whole, compiler, dispatch})
    EXPECT_EQ(IsOpen(file), !ClosesLibraries()) << file;
}

TEST(VendorThreads, HalvesJoinWhileOthersCompileAndRun) {
  for (int round = 0; round < 4; ++round) {
    auto context = VendorContext({});
    const auto want = Expected();
    std::atomic<int> wrong = 0, loaded = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        // Of each half one thread's is taken.
        if (t % 3 != 0)
          loaded +=
              context->LoadPlugin(Made(t % 3 == 1 ? "vendor_compiler" : "vendor_dispatch")).ok();
        for (int i = 0; i < 4; ++i) {
          if (Mixed(context).Of() != want) ++wrong;
          (void)context->Backends();
        }
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(loaded, 2);
    Mixed mixed(context);
    EXPECT_EQ(mixed.Of(), want);
    EXPECT_EQ(mixed.Backends(), "acme acme acme reference acme");
  }
}

}  // namespace
}  // namespace tim::vx::test
