// Threads that are held up, for tests of those that wait for each other.
#ifndef TIMCL_TESTS_SUPPORT_DELAYER_H_
#define TIMCL_TESTS_SUPPORT_DELAYER_H_

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace tim::vx::test {

/// Holds up one of the process's other threads after the other, wherever it is just now: a signal
/// whose handler sleeps.
class Delayer {
 public:
  /// A pause every so often.
  explicit Delayer(std::chrono::microseconds pause,
                   std::chrono::microseconds every = std::chrono::milliseconds(7)) {
    held_up = 0;
    pause_us = static_cast<unsigned>(pause.count());
    struct sigaction action {};
    action.sa_handler = [](int) {
      usleep(pause_us);
      ++held_up;
    };
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, &before_);
    const pid_t caller = gettid();
    thread_ = std::thread([this, caller, every] {
      for (size_t turn = 0; !stop_; ++turn) {
        std::vector<pid_t> others;
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
          const pid_t id = std::stoi(task.path().filename());
          if (id != caller && id != gettid()) others.push_back(id);
        }
        if (!others.empty()) syscall(SYS_tgkill, getpid(), others[turn % others.size()], SIGUSR1);
        std::this_thread::sleep_for(every);  // most of the time nobody sleeps
      }
    });
  }
  ~Delayer() {
    stop_ = true;
    thread_.join();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // for handlers that still sleep
    sigaction(SIGUSR1, &before_, nullptr);
  }
  static inline std::atomic<int> held_up{0};

 private:
  static inline std::atomic<unsigned> pause_us{0};
  std::atomic<bool> stop_{false};
  struct sigaction before_ {};
  std::thread thread_;
};

}  // namespace tim::vx::test
#endif  // TIMCL_TESTS_SUPPORT_DELAYER_H_
