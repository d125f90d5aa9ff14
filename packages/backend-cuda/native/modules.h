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
  return Start(new CompileJob(env, s, Bytes(info[0])));
}

// The same on the caller's thread.
Napi::Value CompileSync(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!IsText(info)) return env.Undefined();
  std::vector<uint8_t> code;
  std::string log;
  const Status status = CompileText(*s->api, Bytes(info[0]), &code, &log);
  if (status == kSuccess) return ToBytes(env, code);
  Failure(env, *s->api, status, "cuLinkComplete", log).ThrowAsJavaScriptException();
  return env.Undefined();
}

Napi::Value LoadModule(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!IsImage(info)) return env.Undefined();
  return Start(new ModuleJob(env, s, Bytes(info[0])));
}

// The same on the caller's thread: a module, not the promise of one.
Napi::Value LoadModuleSync(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!IsImage(info)) return env.Undefined();
  Module module = nullptr;
  std::string log;
  const Status status = LoadModuleImage(*s->api, Bytes(info[0]), &module, &log);
  if (status == kSuccess) return ToHandle(env, module);
  Failure(env, *s->api, status, "cuModuleLoadDataEx", log).ThrowAsJavaScriptException();
  return env.Undefined();
}

void UnloadModule(const SessionPointer& s, const Napi::CallbackInfo& info) {
  if (!AreBigInts(info, 0, 1)) return;
  Check(info.Env(), *s->api, s->api->moduleUnload(Pointer<Module>(info[0])), "cuModuleUnload");
}

// kernel(module, entry, dynamicSharedBytes)
Napi::Value GetKernel(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!AreBigInts(info, 0, 1) || !Require(info, info.Length() > 1 && info[1].IsString(), "a kernel's name") || !IsCount(info, 2))
    return env.Undefined();
  Function function = nullptr;
  const std::string entry = info[1].As<Napi::String>().Utf8Value();
  if (!Check(env, *s->api, s->api->moduleGetFunction(&function, Pointer<Module>(info[0]), entry.c_str()), "cuModuleGetFunction"))
    return env.Undefined();
  const int shared = info[2].As<Napi::Number>().Int32Value();
  if (shared > 0 && !Check(env, *s->api, s->api->funcSetAttribute(function, kFunctionMaxDynamicShared, shared), "cuFuncSetAttribute"))
    return env.Undefined();
  return ToHandle(env, function);
}

}  // namespace
