// Launches of kernels, alone and in graphs. Each function is one of the addon's. The context of `s` is current.
#pragma once

#include <napi.h>

#include <cstring>
#include <vector>

#include "arguments.h"
#include "device.h"

namespace {

// tensorMap(memory, columns, rows, boxColumns, boxRows): a matrix of f16 whose boxes arrive in shared memory with rows of 128 bytes swizzled,
// and zeros where they leave the matrix. A BigUint64Array.
Napi::Value EncodeTensorMap(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (!AreBigInts(info, 0, 1)) return env.Undefined();
  for (size_t i = 1; i < 5; i++) if (!IsCount(info, i)) return env.Undefined();
  const uint64_t sizes[2] = {Count(info[1]), Count(info[2])};
  const uint64_t rowBytes[1] = {2 * sizes[0]};
  const unsigned box[2] = {static_cast<unsigned>(Count(info[3])), static_cast<unsigned>(Count(info[4]))};
  const unsigned steps[2] = {1, 1};
  TensorMap map = {};
  const Status status = s->api->tensorMapEncodeTiled(&map, kTensorMapFloat16, 2, Pointer<void*>(info[0]), sizes, rowBytes, box, steps, 0,
                                                     kTensorMapSwizzle128, kTensorMapPromotion256, 0);
  if (!Check(env, *s->api, status, "cuTensorMapEncodeTiled")) return env.Undefined();
  Napi::BigUint64Array words = Napi::BigUint64Array::New(env, kTensorMapWords);
  std::memcpy(words.Data(), map.words, sizeof map.words);
  return words;
}

// launch(kernel, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, whether it may start before the launch before it is over,
// BigUint64Array of the first parameters, BigUint64Array of the tensor maps after them)
void Launch(const SessionPointer& s, const Napi::CallbackInfo& info) {
  if (!AreBigInts(info, 0, 1)) return;
  unsigned sizes[7];
  for (size_t i = 0; i < 7; i++) {
    if (!IsCount(info, i + 1)) return;
    sizes[i] = info[i + 1].As<Napi::Number>().Uint32Value();
  }
  if (!Require(info, info.Length() > 8 && info[8].IsBoolean(), "whether the launch is dependent")) return;
  if (!AreWords(info, 9, "parameters in a BigUint64Array") || !AreWords(info, 10, "tensor maps in a BigUint64Array")) return;
  Napi::BigUint64Array words = info[9].As<Napi::BigUint64Array>();
  Napi::BigUint64Array maps = info[10].As<Napi::BigUint64Array>();
  std::vector<void*> parameters;
  for (size_t i = 0; i < words.ElementLength(); i++) parameters.push_back(words.Data() + i);
  for (size_t i = 0; i < maps.ElementLength(); i += kTensorMapWords) parameters.push_back(maps.Data() + i);
  parameters.push_back(nullptr);
  const bool isDependent = info[8].As<Napi::Boolean>().Value();
  Check(info.Env(), *s->api, s->Launch(Pointer<Function>(info[0]), sizes, isDependent, parameters.data()), "cuLaunchKernelEx");
}

void BeginCapture(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Check(info.Env(), *s->api, s->api->streamBeginCapture(s->stream, kCaptureRelaxed), "cuStreamBeginCapture");
}

Napi::Value EndCapture(const SessionPointer& s, const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  Graph graph = nullptr;
  if (!Check(env, *s->api, s->api->streamEndCapture(s->stream, &graph), "cuStreamEndCapture")) return env.Undefined();
  GraphExec exec = nullptr;
  const Status status = s->api->graphInstantiate(&exec, graph, 0);
  s->api->graphDestroy(graph);
  if (!Check(env, *s->api, status, "cuGraphInstantiateWithFlags")) return env.Undefined();
  return ToHandle(env, exec);
}

void LaunchGraph(const SessionPointer& s, const Napi::CallbackInfo& info) {
  if (!AreBigInts(info, 0, 1)) return;
  Check(info.Env(), *s->api, s->api->graphLaunch(Pointer<GraphExec>(info[0]), s->stream), "cuGraphLaunch");
}

void FreeGraph(const SessionPointer& s, const Napi::CallbackInfo& info) {
  if (!AreBigInts(info, 0, 1)) return;
  Check(info.Env(), *s->api, s->api->graphExecDestroy(Pointer<GraphExec>(info[0])), "cuGraphExecDestroy");
}

}  // namespace
