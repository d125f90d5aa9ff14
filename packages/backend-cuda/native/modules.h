// Compiled kernels and the modules that they are in. Each function is one of the addon's. The context of `s` is current.
#pragma once

#include <napi.h>

#include <string>
#include <vector>

#include "arguments.h"
#include "device.h"

namespace {

// compile(text): a promise of machine code for this device.
Napi::Value Compile(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!IsText(info)) return env.Undefined();
  return JobThread::Start(env, new CompileJob(env, s, Bytes(info[0])));
}

// The same on the caller's thread.
Napi::Value CompileSync(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!IsText(info)) return env.Undefined();
  std::vector<uint8_t> code;
  std::string log;
  const char* call = nullptr;
  const Status status = CompileText(*s->api, Bytes(info[0]), &code, &log, &call);
  if (status == kSuccess) return ToBytes(env, code);
  Failure(env, *s->api, status, call, log).ThrowAsJavaScriptException();
  return env.Undefined();
}

// loadModule(image, entry)
Napi::Value LoadModule(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!IsImage(info) || !IsName(info, 1)) return env.Undefined();
  return JobThread::Start(env, new ModuleJob(env, s, Bytes(info[0]), Text(info[1])));
}

// The same on the caller's thread: a module, not the promise of one.
Napi::Value LoadModuleSync(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!IsImage(info) || !IsName(info, 1)) return env.Undefined();
  Library library = nullptr;
  std::string log;
  const char* call = nullptr;
  const Status status = LoadImage(*s->api, Bytes(info[0]), Text(info[1]), &library, &log, &call);
  if (status == kSuccess) return ToHandle(env, library);
  Failure(env, *s->api, status, call, log).ThrowAsJavaScriptException();
  return env.Undefined();
}

void UnloadModule(const SessionPointer& s, const Napi::CallbackInfo& info) {
  if (!AreBigInts(info, 0, 1)) return;
  Check(info.Env(), *s->api, s->api->libraryUnload(Pointer<Library>(info[0])), "cuLibraryUnload");
}

// kernel(module, entry, dynamicSharedBytes)
Napi::Value GetKernel(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!AreBigInts(info, 0, 1) || !IsName(info, 1) || !IsCount(info, 2)) return env.Undefined();
  Function function = nullptr;
  const char* call = nullptr;
  const Status status = FindKernel(*s->api, Pointer<Library>(info[0]), Text(info[1]), &function, &call);
  if (!Check(env, *s->api, status, call)) return env.Undefined();
  const int shared = info[2].As<Napi::Number>().Int32Value();
  if (shared > 0 && !Check(env, *s->api, s->api->funcSetAttribute(function, kFunctionMaxDynamicShared, shared), "cuFuncSetAttribute"))
    return env.Undefined();
  return ToHandle(env, function);
}

}  // namespace
