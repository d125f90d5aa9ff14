// Copies between page-locked and other memory of the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "thread.h"

namespace {

constexpr size_t kBytesPerThread = size_t{1} << 19;
constexpr size_t kMaxThreads = 4;

// One thread does not reach the bandwidth of memory, least of all where pages are touched for the first time.
void CopyBytes(uint8_t* to, const uint8_t* from, size_t bytes) {
  if (bytes == 0) return;
  const size_t threads = std::clamp(bytes / kBytesPerThread, size_t{1}, kMaxThreads);
  // Whole pages, so that no two threads touch the same.
  const size_t part = ((bytes + threads - 1) / threads + 4095) / 4096 * 4096;
  std::vector<std::thread> others;
  for (size_t at = part; at < bytes; at += part) {
    const auto copy = [=] { std::memcpy(to + at, from + at, std::min(part, bytes - at)); };
    if (auto thread = StartThread(copy)) {
      others.push_back(std::move(*thread));
    } else {
      copy();
    }
  }
  std::memcpy(to, from, std::min(part, bytes));
  for (std::thread& thread : others) thread.join();
}

}  // namespace
