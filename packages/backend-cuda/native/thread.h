// Threads that may fail to start.
#pragma once

#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace {

// A thread that runs `work`; none if the system gives no more of them.
template <typename Work>
std::optional<std::thread> StartThread(Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

}  // namespace
