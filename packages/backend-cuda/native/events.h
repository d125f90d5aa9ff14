// Timers, and waits for what the stream was given. Each function is one of the addon's. The context of `s` is current.
#pragma once

#include <napi.h>

#include <chrono>

#include "arguments.h"
#include "device.h"

namespace {

Napi::Value CreateTimer(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  Event event = nullptr;
  if (!Check(env, *s->api, s->api->eventCreate(&event, 0), "cuEventCreate")) return env.Undefined();
  return ToHandle(env, event);
}

// recordTimer(event), during a capture: a node of the graph that records the event.
void RecordTimer(const SessionPointer& s, const Napi::CallbackInfo& info) {
  if (!AreBigInts(info, 0, 1)) return;
  Check(info.Env(), *s->api, s->api->eventRecordWithFlags(Pointer<Event>(info[0]), s->stream, kEventRecordExternal), "cuEventRecordWithFlags");
}

// elapsedTime(from, to), in milliseconds
Napi::Value ElapsedTime(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  float milliseconds = 0;
  if (!AreBigInts(info, 0, 2) ||
      !Check(env, *s->api, s->api->eventElapsedTime(&milliseconds, Pointer<Event>(info[0]), Pointer<Event>(info[1])), "cuEventElapsedTime"))
    return env.Undefined();
  return Napi::Number::New(env, milliseconds);
}

void FreeTimer(const SessionPointer& s, const Napi::CallbackInfo& info) {
  if (!AreBigInts(info, 0, 1)) return;
  Check(info.Env(), *s->api, s->api->eventDestroy(Pointer<Event>(info[0])), "cuEventDestroy");
}

// An event after everything that the stream was given so far.
Napi::Value Mark(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  Event event = nullptr;
  if (!Check(env, *s->api, s->api->eventCreate(&event, kEventBlockingSync | kEventDisableTiming), "cuEventCreate")) return env.Undefined();
  const Status status = s->api->eventRecord(event, s->stream);
  if (status != kSuccess) {
    s->api->eventDestroy(event);
    Check(env, *s->api, status, "cuEventRecord");
    return env.Undefined();
  }
  return ToHandle(env, event);
}

// reached(event, microseconds): whether the event is reached within this time. It frees the event then, and where the query fails.
Napi::Value Reached(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!AreBigInts(info, 0, 1) || !IsCount(info, 1)) return env.Undefined();
  Event event = Pointer<Event>(info[0]);
  const Status status = s->Poll(event, std::chrono::microseconds(Count(info[1])));
  if (status == kNotReady) return Napi::Boolean::New(env, false);
  s->api->eventDestroy(event);
  if (!Check(env, *s->api, status, "cuEventQuery")) return env.Undefined();
  return Napi::Boolean::New(env, true);
}

// wait(event): a promise that settles when the event is reached. It frees the event.
Napi::Value Wait(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!AreBigInts(info, 0, 1)) return env.Undefined();
  return Start(new WaitJob(env, s, Pointer<Event>(info[0])));
}

// Blocks the caller's thread until everything that the stream was given is done.
void Synchronize(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Check(info.Env(), *s->api, s->api->streamSynchronize(s->stream), "cuStreamSynchronize");
}

}  // namespace
