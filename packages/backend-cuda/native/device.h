// Opens a device and describes it.
#pragma once

#include <napi.h>

#include <memory>
#include <string>

#include "session.h"

namespace {

// True for success; otherwise the failure of `call` is pending as an exception.
bool Check(Napi::Env env, const Api& api, Status status, const char* call) {
  if (status == kSuccess) return true;
  Failure(env, api, status, call).ThrowAsJavaScriptException();
  return false;
}

// Throws an Error with the field `unavailable`.
SessionPointer Unavailable(Napi::Env env, const std::string& reason) {
  Napi::Error error = Napi::Error::New(env, reason);
  error.Value().Set("unavailable", Napi::String::New(env, reason));
  error.ThrowAsJavaScriptException();
  return nullptr;
}

// Opens device `ordinal`. Returns null with an exception pending if that fails.
SessionPointer OpenSession(Napi::Env env, int ordinal) {
  std::string reason;
  std::shared_ptr<const Api> api = LoadApi(&reason);
  if (api == nullptr) return Unavailable(env, reason);
  const Status initialised = api->init(0);
  if (initialised == kNoDevice) return Unavailable(env, "the NVIDIA driver finds no device");
  if (initialised != kSuccess) return Unavailable(env, "the NVIDIA driver does not start: " + StatusName(*api, initialised));
  int count = 0;
  const Status counted = api->deviceGetCount(&count);
  if (counted != kSuccess) return Unavailable(env, "the NVIDIA driver counts no devices: " + StatusName(*api, counted));
  if (ordinal < 0 || ordinal >= count) {
    return Unavailable(env, "there is no CUDA device " + std::to_string(ordinal) + " (" + std::to_string(count) + " found)");
  }
  auto session = std::make_shared<Session>();
  session->api = api;
  if (!Check(env, *api, api->deviceGet(&session->device, ordinal), "cuDeviceGet")) return nullptr;
  if (!Check(env, *api, api->primaryCtxRetain(&session->context, session->device), "cuDevicePrimaryCtxRetain")) return nullptr;
  Status status = api->ctxSetCurrent(session->context);
  const char* call = "cuCtxSetCurrent";
  if (status == kSuccess) {
    status = api->streamCreate(&session->stream, kStreamNonBlocking);
    call = "cuStreamCreate";
  }
  if (status == kSuccess) return session;
  const char* closing = nullptr;
  session->Close(&closing);
  Check(env, *api, status, call);
  return nullptr;
}

// The properties of an open device, or undefined with an exception pending.
Napi::Value Properties(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  const Session& session = *s;
  char name[256] = {0};
  int major = 0, minor = 0, multiprocessors = 0, version = 0;
  size_t total = 0;
  const Api& api = *session.api;
  if (!Check(env, api, api.deviceGetName(name, sizeof(name) - 1, session.device), "cuDeviceGetName")) return env.Undefined();
  if (!Check(env, api, api.deviceGetAttribute(&major, kAttributeMajor, session.device), "cuDeviceGetAttribute")) return env.Undefined();
  if (!Check(env, api, api.deviceGetAttribute(&minor, kAttributeMinor, session.device), "cuDeviceGetAttribute")) return env.Undefined();
  if (!Check(env, api, api.deviceGetAttribute(&multiprocessors, kAttributeMultiprocessors, session.device), "cuDeviceGetAttribute"))
    return env.Undefined();
  if (!Check(env, api, api.deviceTotalMem(&total, session.device), "cuDeviceTotalMem")) return env.Undefined();
  if (!Check(env, api, api.driverGetVersion(&version), "cuDriverGetVersion")) return env.Undefined();
  Napi::Object result = Napi::Object::New(env);
  result.Set("name", Napi::String::New(env, name));
  result.Set("major", Napi::Number::New(env, major));
  result.Set("minor", Napi::Number::New(env, minor));
  result.Set("multiprocessors", Napi::Number::New(env, multiprocessors));
  result.Set("totalBytes", Napi::Number::New(env, static_cast<double>(total)));
  result.Set("driverVersion", Napi::Number::New(env, version));
  return result;
}

}  // namespace
