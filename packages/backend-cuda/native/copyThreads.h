// Copies between page-locked and other memory of the host.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "thread.h"

namespace {

// Threads that help JavaScript's thread to copy: one thread does not reach the bandwidth of memory, least of all where pages are touched for the
// first time. They start with the first large copy. Starting them for each copy takes as long as the copy of a megabyte.
class CopyThreads {
 public:
  CopyThreads() = default;
  CopyThreads(const CopyThreads&) = delete;
  CopyThreads& operator=(const CopyThreads&) = delete;
  ~CopyThreads() { Stop(); }

  // Called by one thread at a time.
  void Copy(uint8_t* to, const uint8_t* from, size_t bytes) {
    if (bytes < kLeastShared) {
      if (bytes > 0) std::memcpy(to, from, bytes);
      return;
    }
    const auto task = std::make_shared<Task>(to, from, bytes);
    Share(task);
    task->CopyParts();
    // The last parts of other threads.
    while (task->copied.load(std::memory_order_acquire) < bytes) std::this_thread::yield();
  }

  void Stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      isStopped_ = true;
    }
    shared_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  static constexpr size_t kLeastShared = size_t{1} << 19;
  // Whole pages, so that hardly any page is touched by two threads.
  static constexpr size_t kPart = size_t{1} << 17;
  static constexpr unsigned kMaxThreads = 3;

  // A copy whose parts any thread may take. A thread that comes late finds none, and touches neither memory.
  struct Task {
    uint8_t* const to;
    const uint8_t* const from;
    const size_t bytes;
    std::atomic<size_t> next{0};
    std::atomic<size_t> copied{0};

    Task(uint8_t* target, const uint8_t* source, size_t count) : to(target), from(source), bytes(count) {}

    void CopyParts() {
      for (size_t at = next.fetch_add(kPart); at < bytes; at = next.fetch_add(kPart)) {
        const size_t part = std::min(kPart, bytes - at);
        std::memcpy(to + at, from + at, part);
        copied.fetch_add(part, std::memory_order_release);
      }
    }
  };

  std::mutex mutex_;
  std::condition_variable shared_;
  std::shared_ptr<Task> task_;
  bool isStopped_ = false;
  bool isStarted_ = false;
  std::vector<std::thread> threads_;

  void Share(const std::shared_ptr<Task>& task) {
    if (!isStarted_) Start();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      task_ = task;
    }
    shared_.notify_all();
  }

  // Without threads, the caller copies everything.
  void Start() {
    isStarted_ = true;
    const unsigned others = std::max(std::thread::hardware_concurrency(), 1U) - 1;
    for (unsigned i = 0; i < std::min(others, kMaxThreads); i++) {
      auto thread = StartThread([this] { Help(); });
      if (!thread) return;
      threads_.push_back(std::move(*thread));
    }
  }

  void Help() {
    std::shared_ptr<Task> last;
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      shared_.wait(lock, [&] { return isStopped_ || task_ != last; });
      if (isStopped_) return;
      last = task_;
      lock.unlock();
      last->CopyParts();
      lock.lock();
    }
  }
};

}  // namespace
