#include "records/thread.h"

#if defined(_WIN32)
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <pthread.h>
#include <signal.h>
#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#elif defined(__APPLE__)
#include <pthread/qos.h>
#endif
#endif

namespace tap::records {

namespace {

constexpr size_t kStackBytes = size_t{512} * 1024;

}  // namespace

struct Thread::Running {
  std::function<void()> body;
#if defined(_WIN32)
  HANDLE handle = nullptr;
  static DWORD WINAPI run(void* self) {
    static_cast<Running*>(self)->body();
    return 0;
  }
#else
  pthread_t handle{};
  static void* run(void* self) {
    static_cast<Running*>(self)->body();
    return nullptr;
  }
#endif
};

Thread::Thread() = default;
Thread::~Thread() = default;

bool Thread::start(std::function<void()> body) {
  auto running = std::make_unique<Running>();
  running->body = std::move(body);
#if defined(_WIN32)
  running->handle = CreateThread(nullptr, kStackBytes, Running::run, running.get(),
                                 STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  if (running->handle == nullptr) return false;
#else
  // Signals are for the other threads of the process. A new thread inherits the signal mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const int problem = pthread_create(&running->handle, &attributes, Running::run, running.get());
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (problem != 0) return false;
#endif
  running_ = std::move(running);
  return true;
}

void Thread::join() {
  if (running_ == nullptr) return;
#if defined(_WIN32)
  WaitForSingleObject(running_->handle, INFINITE);
  CloseHandle(running_->handle);
#else
  pthread_join(running_->handle, nullptr);
#endif
  running_.reset();
}

void Thread::lowerPriority() {
#if defined(__linux__)
  // With nice 10 the p99 of calls is twice as high; with SCHED_IDLE a commit next to busy processes
  // takes seconds. Never less than the process's own nice value.
  const int nice = std::max(17, getpriority(PRIO_PROCESS, 0));
  // Without it, a thread that wakes on this core may wait for the rest of a slice of 3 ms. From
  // Linux 6.12 on.
  constexpr uint64_t kTurnNs = 100'000;
  constexpr uint64_t kKeepPolicy = 0x08;
  // As in <linux/sched/types.h>; glibc has no function for it.
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes{.size = 48,
               .policy = 0,
               .flags = kKeepPolicy,
               .nice = nice,
               .priority = 0,
               .runtime = kTurnNs,
               .deadline = 0,
               .period = 0};
  // A sandbox may allow only one of them. On Linux, both apply to the thread.
  if (syscall(SYS_sched_setattr, 0, &attributes, 0) != 0) setpriority(PRIO_PROCESS, 0, nice);
#elif defined(__APPLE__)
  pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0);
#elif defined(_WIN32)
  SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_BELOW_NORMAL);
#endif
}

}  // namespace tap::records
