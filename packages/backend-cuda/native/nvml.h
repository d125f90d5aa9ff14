// Readings of the NVIDIA devices of this machine through NVML, declared as nvml.h has it and loaded at run time.
#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>
#include <string>

#include "library.h"

namespace nvml {

using Status = int;
using Device = struct DeviceTag*;

constexpr Status kSuccess = 0;
constexpr int kTemperatureGpu = 0;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr unsigned kTextBytes = 96;

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Utilization {
  unsigned gpu;
  unsigned memory;
};

// name of the member, exported symbol, parameters
#define NVML_FUNCTIONS(X)                                                                \
  X(init, "nvmlInit_v2", ())                                                             \
  X(shutdown, "nvmlShutdown", ())                                                        \
  X(driverVersion, "nvmlSystemGetDriverVersion", (char*, unsigned))                      \
  X(deviceCount, "nvmlDeviceGetCount_v2", (unsigned*))                                   \
  X(device, "nvmlDeviceGetHandleByIndex_v2", (unsigned, Device*))                        \
  X(name, "nvmlDeviceGetName", (Device, char*, unsigned))                                \
  X(memory, "nvmlDeviceGetMemoryInfo", (Device, Memory*))                                \
  X(utilization, "nvmlDeviceGetUtilizationRates", (Device, Utilization*))                \
  X(clock, "nvmlDeviceGetClockInfo", (Device, int, unsigned*))                           \
  X(temperature, "nvmlDeviceGetTemperature", (Device, int, unsigned*))                   \
  X(power, "nvmlDeviceGetPowerUsage", (Device, unsigned*))

struct Api {
#define DECLARE(member, symbol, parameters) Status(*member) parameters = nullptr;
  NVML_FUNCTIONS(DECLARE)
#undef DECLARE
};

const char* const kLibrary =
#ifdef _WIN32
    "nvml.dll";
#else
    "libnvidia-ml.so.1";
#endif

std::unique_ptr<const Api> Load(std::string* reason) {
  void* library = OpenLibrary(kLibrary);
  if (library == nullptr) {
    *reason = std::string("no NVIDIA driver (") + kLibrary + " not found)";
    return nullptr;
  }
  auto api = std::make_unique<Api>();
  const char* missing = nullptr;
#define RESOLVE(member, symbol, parameters) \
  if (!FindSymbol(library, symbol, &api->member) && missing == nullptr) missing = symbol;
  NVML_FUNCTIONS(RESOLVE)
#undef RESOLVE
  if (missing == nullptr) return api;
  *reason = std::string("the NVIDIA driver is too old (it has no ") + missing + ")";
  return nullptr;
}

// Sets a field unless the device does not report it.
void SetIf(Status status, Napi::Object object, const char* name, double value) {
  if (status == kSuccess) object.Set(name, Napi::Number::New(object.Env(), value));
}

Napi::Object Reading(Napi::Env env, const Api& api, unsigned index, Device device) {
  Napi::Object reading = Napi::Object::New(env);
  char name[kTextBytes] = {0};
  api.name(device, name, kTextBytes - 1);
  reading.Set("index", Napi::Number::New(env, index));
  reading.Set("name", Napi::String::New(env, name));
  Memory memory = {};
  const Status remembered = api.memory(device, &memory);
  SetIf(remembered, reading, "usedBytes", static_cast<double>(memory.used));
  SetIf(remembered, reading, "freeBytes", static_cast<double>(memory.free));
  SetIf(remembered, reading, "totalBytes", static_cast<double>(memory.total));
  Utilization rates = {};
  const Status rated = api.utilization(device, &rates);
  SetIf(rated, reading, "utilization", rates.gpu);
  SetIf(rated, reading, "memoryUtilization", rates.memory);
  unsigned value = 0;
  Status status = api.clock(device, kClockSm, &value);
  SetIf(status, reading, "clockMHz", value);
  status = api.clock(device, kClockMemory, &value);
  SetIf(status, reading, "memoryClockMHz", value);
  status = api.temperature(device, kTemperatureGpu, &value);
  SetIf(status, reading, "temperatureC", value);
  status = api.power(device, &value);
  SetIf(status, reading, "powerW", value / 1000.0);
  return reading;
}

// The reason why there are no readings; empty if NVML is started and has devices.
std::string Start(const Api& api, unsigned* count) {
  const Status status = api.init();
  if (status != kSuccess) return "NVML does not start (error " + std::to_string(status) + ")";
  if (api.deviceCount(count) == kSuccess && *count > 0) return "";
  api.shutdown();
  return "the NVIDIA driver finds no device";
}

// readings(): the driver's version and what each device reports, or { unavailable: reason }.
Napi::Value Readings(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  Napi::Object result = Napi::Object::New(env);
  std::string reason;
  unsigned count = 0;
  const std::unique_ptr<const Api> api = Load(&reason);
  if (api != nullptr) reason = Start(*api, &count);
  if (!reason.empty()) {
    result.Set("unavailable", Napi::String::New(env, reason));
    return result;
  }
  char version[kTextBytes] = {0};
  api->driverVersion(version, kTextBytes - 1);
  Napi::Array devices = Napi::Array::New(env);
  for (unsigned i = 0; i < count; i++) {
    Device device = nullptr;
    if (api->device(i, &device) == kSuccess) devices.Set(devices.Length(), Reading(env, *api, i, device));
  }
  api->shutdown();
  result.Set("driverVersion", Napi::String::New(env, version));
  result.Set("devices", devices);
  return result;
}

}  // namespace nvml
