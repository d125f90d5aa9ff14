// Libraries that are loaded at run time, so that the addon loads on machines without them.
#pragma once

#include <cstring>

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace {

// Null where there is no such library.
void* OpenLibrary(const char* name) {
#ifdef _WIN32
  return reinterpret_cast<void*>(LoadLibraryA(name));
#else
  return dlopen(name, RTLD_NOW | RTLD_LOCAL);
#endif
}

// Sets `function` to the library's function of that name. False, and null, where it has none.
template <typename Function>
bool FindSymbol(void* library, const char* name, Function* function) {
#ifdef _WIN32
  void* address = reinterpret_cast<void*>(GetProcAddress(reinterpret_cast<HMODULE>(library), name));
#else
  void* address = dlsym(library, name);
#endif
  static_assert(sizeof(address) == sizeof(*function), "functions and data have addresses of one size");
  std::memcpy(function, &address, sizeof(address));
  return address != nullptr;
}

}  // namespace
