// Memory of a device, page-locked memory of the host, and copies between them. Each function is one of the addon's. The context of `s` is
// current, except for copies of the host.
#pragma once

#include <napi.h>

#include "arguments.h"
#include "device.h"

namespace {

Napi::Value MemoryInfo(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  size_t free = 0, total = 0;
  if (!Check(env, *s->api, s->api->memGetInfo(&free, &total), "cuMemGetInfo")) return env.Undefined();
  Napi::Object result = Napi::Object::New(env);
  result.Set("free", Napi::Number::New(env, static_cast<double>(free)));
  result.Set("total", Napi::Number::New(env, static_cast<double>(total)));
  return result;
}

Napi::Value Alloc(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!IsCount(info, 0)) return env.Undefined();
  DevicePointer pointer = 0;
  if (!Check(env, *s->api, s->api->memAlloc(&pointer, Count(info[0])), "cuMemAlloc")) return env.Undefined();
  return Napi::BigInt::New(env, static_cast<uint64_t>(pointer));
}

void Free(const SessionPointer& s, const Napi::CallbackInfo& info) {
  if (!AreBigInts(info, 0, 1)) return;
  Check(info.Env(), *s->api, s->api->memFree(Word(info[0])), "cuMemFree");
}

Napi::Value AllocPinned(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!IsCount(info, 0)) return env.Undefined();
  void* pointer = nullptr;
  if (!Check(env, *s->api, s->api->memHostAlloc(&pointer, Count(info[0]), 0), "cuMemHostAlloc")) return env.Undefined();
  return ToHandle(env, pointer);
}

void FreePinned(const SessionPointer& s, const Napi::CallbackInfo& info) {
  if (!AreBigInts(info, 0, 1)) return;
  Check(info.Env(), *s->api, s->api->memFreeHost(Pointer<void*>(info[0])), "cuMemFreeHost");
}

// writePinned(block, offset, Uint8Array)
void WritePinned(const SessionPointer& s, const Napi::CallbackInfo& info) {
  if (!AreBigInts(info, 0, 1) || !IsCount(info, 1) || !Require(info, info.Length() > 2 && info[2].IsTypedArray(), "a Uint8Array")) return;
  Napi::Uint8Array data = info[2].As<Napi::Uint8Array>();
  s->copies.Copy(Pointer<uint8_t*>(info[0]) + Count(info[1]), data.Data(), data.ByteLength());
}

// readPinned(block, offset, into: Uint8Array)
void ReadPinned(const SessionPointer& s, const Napi::CallbackInfo& info) {
  if (!AreBigInts(info, 0, 1) || !IsCount(info, 1) || !Require(info, info.Length() > 2 && info[2].IsTypedArray(), "a Uint8Array")) return;
  Napi::Uint8Array into = info[2].As<Napi::Uint8Array>();
  s->copies.Copy(into.Data(), Pointer<const uint8_t*>(info[0]) + Count(info[1]), into.ByteLength());
}

// viewPinned(block, bytes): an ArrayBuffer over the block. It must be detached before the block is freed.
Napi::Value ViewPinned(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!AreBigInts(info, 0, 1) || !IsCount(info, 1)) return env.Undefined();
  return Napi::ArrayBuffer::New(env, Pointer<void*>(info[0]), Count(info[1]));
}

void Detach(const Napi::CallbackInfo& info) {
  if (Require(info, info.Length() > 0 && info[0].IsArrayBuffer(), "an ArrayBuffer")) info[0].As<Napi::ArrayBuffer>().Detach();
}

void CopyToDevice(const SessionPointer& s, const Napi::CallbackInfo& info) {
  if (!AreBigInts(info, 0, 2) || !IsCount(info, 2)) return;
  Check(info.Env(), *s->api, s->api->memcpyHtoDAsync(Word(info[0]), Pointer<const void*>(info[1]), Count(info[2]), s->stream),
        "cuMemcpyHtoDAsync");
}

void CopyFromDevice(const SessionPointer& s, const Napi::CallbackInfo& info) {
  if (!AreBigInts(info, 0, 2) || !IsCount(info, 2)) return;
  Check(info.Env(), *s->api, s->api->memcpyDtoHAsync(Pointer<void*>(info[0]), Word(info[1]), Count(info[2]), s->stream),
        "cuMemcpyDtoHAsync");
}

void CopyOnDevice(const SessionPointer& s, const Napi::CallbackInfo& info) {
  if (!AreBigInts(info, 0, 2) || !IsCount(info, 2)) return;
  Check(info.Env(), *s->api, s->api->memcpyDtoDAsync(Word(info[0]), Word(info[1]), Count(info[2]), s->stream), "cuMemcpyDtoDAsync");
}

void Zero(const SessionPointer& s, const Napi::CallbackInfo& info) {
  if (!AreBigInts(info, 0, 1) || !IsCount(info, 1)) return;
  Check(info.Env(), *s->api, s->api->memsetD8Async(Word(info[0]), 0, Count(info[1]), s->stream), "cuMemsetD8Async");
}

}  // namespace
