// The part of the CUDA driver API that the addon uses, declared as cuda.h has it (CUDA 12.0) and loaded at run time.
#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>
#include <string>

#include "library.h"

#ifdef _WIN32
#define CUDA_CALL __stdcall
#else
#define CUDA_CALL
#endif

namespace {

using Status = int;
using Device = int;
using DevicePointer = unsigned long long;
using Context = struct ContextTag*;
using Library = struct LibraryTag*;
using Kernel = struct KernelTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using Graph = struct GraphTag*;
using GraphExec = struct GraphExecTag*;
using LinkState = struct LinkStateTag*;

constexpr Status kSuccess = 0;
constexpr Status kNoDevice = 100;
constexpr Status kNotReady = 600;
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventBlockingSync = 1;
constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kEventRecordExternal = 1;
constexpr int kCaptureRelaxed = 2;
constexpr int kAttributeMultiprocessors = 16;
constexpr int kAttributeMajor = 75;
constexpr int kAttributeMinor = 76;
constexpr int kFunctionMaxDynamicShared = 8;
constexpr int kTensorMapFloat16 = 6;
constexpr int kTensorMapSwizzle128 = 3;
constexpr int kTensorMapPromotion256 = 3;
constexpr int kJitInfoLog = 3;
constexpr int kJitInfoLogBytes = 4;
constexpr int kJitErrorLog = 5;
constexpr int kJitErrorLogBytes = 6;
constexpr int kJitInputPtx = 1;
constexpr size_t kLogBytes = 16384;

constexpr int kAttributeProgrammaticStreamSerialization = 6;

// CUtensorMap: opaque
constexpr size_t kTensorMapWords = 16;
struct alignas(64) TensorMap {
  uint64_t words[kTensorMapWords];
};

// CUlaunchAttribute and CUlaunchConfig
struct LaunchAttribute {
  int id;
  char padding[4];
  alignas(8) unsigned char value[64];
};
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attributeCount;
};

// name of the member, exported symbol, parameters
#define DRIVER_FUNCTIONS(X)                                                                                              \
  X(init, "cuInit", (unsigned))                                                                                          \
  X(driverGetVersion, "cuDriverGetVersion", (int*))                                                                      \
  X(getErrorName, "cuGetErrorName", (Status, const char**))                                                              \
  X(getErrorString, "cuGetErrorString", (Status, const char**))                                                          \
  X(deviceGetCount, "cuDeviceGetCount", (int*))                                                                          \
  X(deviceGet, "cuDeviceGet", (Device*, int))                                                                            \
  X(deviceGetName, "cuDeviceGetName", (char*, int, Device))                                                              \
  X(deviceGetAttribute, "cuDeviceGetAttribute", (int*, int, Device))                                                     \
  X(deviceTotalMem, "cuDeviceTotalMem_v2", (size_t*, Device))                                                            \
  X(primaryCtxRetain, "cuDevicePrimaryCtxRetain", (Context*, Device))                                                    \
  X(primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (Device))                                                         \
  X(ctxSetCurrent, "cuCtxSetCurrent", (Context))                                                                         \
  X(memGetInfo, "cuMemGetInfo_v2", (size_t*, size_t*))                                                                   \
  X(memAlloc, "cuMemAlloc_v2", (DevicePointer*, size_t))                                                                 \
  X(memFree, "cuMemFree_v2", (DevicePointer))                                                                            \
  X(memHostAlloc, "cuMemHostAlloc", (void**, size_t, unsigned))                                                          \
  X(memFreeHost, "cuMemFreeHost", (void*))                                                                               \
  X(memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (DevicePointer, const void*, size_t, Stream))                               \
  X(memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void*, DevicePointer, size_t, Stream))                                     \
  X(memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (DevicePointer, DevicePointer, size_t, Stream))                             \
  X(memsetD8Async, "cuMemsetD8Async", (DevicePointer, unsigned char, size_t, Stream))                                    \
  X(libraryLoadData, "cuLibraryLoadData", (Library*, const void*, int*, void**, unsigned, int*, void**, unsigned))        \
  X(libraryGetKernel, "cuLibraryGetKernel", (Kernel*, Library, const char*))                                             \
  X(kernelGetFunction, "cuKernelGetFunction", (Function*, Kernel))                                                       \
  X(libraryUnload, "cuLibraryUnload", (Library))                                                                         \
  X(moduleLoadDataEx, "cuModuleLoadDataEx", (Module*, const void*, unsigned, int*, void**))                              \
  X(linkCreate, "cuLinkCreate_v2", (unsigned, int*, void**, LinkState*))                                                 \
  X(linkAddData, "cuLinkAddData_v2", (LinkState, int, void*, size_t, const char*, unsigned, int*, void**))               \
  X(linkComplete, "cuLinkComplete", (LinkState, void**, size_t*))                                                        \
  X(linkDestroy, "cuLinkDestroy", (LinkState))                                                                           \
  X(moduleUnload, "cuModuleUnload", (Module))                                                                            \
  X(funcSetAttribute, "cuFuncSetAttribute", (Function, int, int))                                                        \
  X(launchKernelEx, "cuLaunchKernelEx", (const LaunchConfig*, Function, void**, void**))                                 \
  X(tensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                                                      \
    (TensorMap*, int, unsigned, void*, const uint64_t*, const uint64_t*, const unsigned*, const unsigned*, int, int, int, int)) \
  X(streamCreate, "cuStreamCreate", (Stream*, unsigned))                                                                 \
  X(streamDestroy, "cuStreamDestroy_v2", (Stream))                                                                       \
  X(streamSynchronize, "cuStreamSynchronize", (Stream))                                                                  \
  X(streamBeginCapture, "cuStreamBeginCapture_v2", (Stream, int))                                                        \
  X(streamEndCapture, "cuStreamEndCapture", (Stream, Graph*))                                                            \
  X(graphInstantiate, "cuGraphInstantiateWithFlags", (GraphExec*, Graph, unsigned long long))                            \
  X(graphDestroy, "cuGraphDestroy", (Graph))                                                                             \
  X(graphLaunch, "cuGraphLaunch", (GraphExec, Stream))                                                                   \
  X(graphExecDestroy, "cuGraphExecDestroy", (GraphExec))                                                                 \
  X(eventCreate, "cuEventCreate", (Event*, unsigned))                                                                    \
  X(eventRecord, "cuEventRecord", (Event, Stream))                                                                       \
  X(eventRecordWithFlags, "cuEventRecordWithFlags", (Event, Stream, unsigned))                                           \
  X(eventQuery, "cuEventQuery", (Event))                                                                                 \
  X(eventElapsedTime, "cuEventElapsedTime", (float*, Event, Event))                                                      \
  X(eventSynchronize, "cuEventSynchronize", (Event))                                                                     \
  X(eventDestroy, "cuEventDestroy_v2", (Event))

struct Api {
#define DECLARE(member, symbol, parameters) Status(CUDA_CALL* member) parameters = nullptr;
  DRIVER_FUNCTIONS(DECLARE)
#undef DECLARE
};

const char* const kLibrary =
#ifdef _WIN32
    "nvcuda.dll";
#else
    "libcuda.so.1";
#endif

// The library stays loaded until the process ends: its own threads may outlive every user of it.
std::shared_ptr<const Api> LoadApi(std::string* reason) {
  void* library = OpenLibrary(kLibrary);
  if (library == nullptr) {
    *reason = std::string("no NVIDIA driver (") + kLibrary + " not found)";
    return nullptr;
  }
  auto api = std::make_shared<Api>();
  const char* missing = nullptr;
#define RESOLVE(member, symbol, parameters) \
  if (!FindSymbol(library, symbol, &api->member) && missing == nullptr) missing = symbol;
  DRIVER_FUNCTIONS(RESOLVE)
#undef RESOLVE
  if (missing != nullptr) {
    *reason = std::string("the NVIDIA driver is too old (it has no ") + missing + "; CUDA 12.0 or newer is needed)";
    return nullptr;
  }
  return api;
}

std::string StatusName(const Api& api, Status status) {
  const char* name = nullptr;
  return api.getErrorName(status, &name) == kSuccess && name != nullptr ? name : "CUDA_ERROR_UNKNOWN";
}

Napi::Error Failure(Napi::Env env, const Api& api, Status status, const char* call, const std::string& log = "") {
  const char* text = nullptr;
  api.getErrorString(status, &text);
  const std::string name = StatusName(api, status);
  Napi::Error error = Napi::Error::New(env, std::string(call) + ": " + name + (text == nullptr ? "" : std::string(": ") + text));
  Napi::Object value = error.Value();
  value.Set("status", Napi::Number::New(env, status));
  value.Set("statusName", Napi::String::New(env, name));
  value.Set("call", Napi::String::New(env, call));
  value.Set("log", Napi::String::New(env, log));
  return error;
}

}  // namespace
