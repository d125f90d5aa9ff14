// The CUDA driver API for JavaScript: each function here is one driver call, or a wait for one. No policy.
//
// The driver is loaded at run time, so that the addon loads on machines without one. Nothing is linked and no CUDA header
// is needed. Addresses and handles cross as BigInt. Every failure becomes an exception with the fields status, statusName,
// call, log.

#include <napi.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "arguments.h"
#include "copyBytes.h"
#include "device.h"
#include "nvml.h"
#include "session.h"

namespace {

class DriverWrap : public Napi::ObjectWrap<DriverWrap> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "Driver",
                       {
                           InstanceMethod<&DriverWrap::Properties>("properties"),
                           InstanceMethod<&DriverWrap::MemoryInfo>("memoryInfo"),
                           InstanceMethod<&DriverWrap::Alloc>("alloc"),
                           InstanceMethod<&DriverWrap::Free>("free"),
                           InstanceMethod<&DriverWrap::AllocPinned>("allocPinned"),
                           InstanceMethod<&DriverWrap::FreePinned>("freePinned"),
                           InstanceMethod<&DriverWrap::WritePinned>("writePinned"),
                           InstanceMethod<&DriverWrap::ReadPinned>("readPinned"),
                           InstanceMethod<&DriverWrap::ViewPinned>("viewPinned"),
                           InstanceMethod<&DriverWrap::Detach>("detach"),
                           InstanceMethod<&DriverWrap::CopyToDevice>("copyToDevice"),
                           InstanceMethod<&DriverWrap::CopyFromDevice>("copyFromDevice"),
                           InstanceMethod<&DriverWrap::CopyOnDevice>("copyOnDevice"),
                           InstanceMethod<&DriverWrap::Zero>("zero"),
                           InstanceMethod<&DriverWrap::EncodeTensorMap>("tensorMap"),
                           InstanceMethod<&DriverWrap::Launch>("launch"),
                           InstanceMethod<&DriverWrap::BeginCapture>("beginCapture"),
                           InstanceMethod<&DriverWrap::EndCapture>("endCapture"),
                           InstanceMethod<&DriverWrap::AbandonCapture>("abandonCapture"),
                           InstanceMethod<&DriverWrap::LaunchGraph>("launchGraph"),
                           InstanceMethod<&DriverWrap::FreeGraph>("freeGraph"),
                           InstanceMethod<&DriverWrap::Compile>("compile"),
                           InstanceMethod<&DriverWrap::CompileSync>("compileSync"),
                           InstanceMethod<&DriverWrap::LoadModule>("loadModule"),
                           InstanceMethod<&DriverWrap::LoadModuleSync>("loadModuleSync"),
                           InstanceMethod<&DriverWrap::UnloadModule>("unloadModule"),
                           InstanceMethod<&DriverWrap::GetKernel>("kernel"),
                           InstanceMethod<&DriverWrap::CreateTimer>("createTimer"),
                           InstanceMethod<&DriverWrap::RecordTimer>("recordTimer"),
                           InstanceMethod<&DriverWrap::ElapsedTime>("elapsedTime"),
                           InstanceMethod<&DriverWrap::FreeTimer>("freeTimer"),
                           InstanceMethod<&DriverWrap::Mark>("mark"),
                           InstanceMethod<&DriverWrap::Reached>("reached"),
                           InstanceMethod<&DriverWrap::Wait>("wait"),
                           InstanceMethod<&DriverWrap::Synchronize>("synchronize"),
                           InstanceMethod<&DriverWrap::Close>("close"),
                       });
  }

  // new Driver(ordinal). Throws an Error with the field `unavailable` where there is no driver or no such device.
  explicit DriverWrap(const Napi::CallbackInfo& info) : Napi::ObjectWrap<DriverWrap>(info) {
    Napi::Env env = info.Env();
    if (info.Length() < 1 || !info[0].IsNumber()) {
      Napi::TypeError::New(env, "Driver: expected the number of a device").ThrowAsJavaScriptException();
      return;
    }
    session_ = OpenSession(env, info[0].As<Napi::Number>().Int32Value());
    if (session_ == nullptr) return;
    // A worker thread that ends without close() must not leave its stream and its hold on the device behind.
    napi_add_env_cleanup_hook(env, CloseHook, new std::weak_ptr<Session>(session_));
  }

 private:
  std::shared_ptr<Session> session_;

  static void CloseHook(void* data) {
    std::unique_ptr<std::weak_ptr<Session>> weak(static_cast<std::weak_ptr<Session>*>(data));
    if (std::shared_ptr<Session> session = weak->lock()) session->Close();
  }

  // The session with its context current on this thread, or null with an exception pending.
  Session* Enter(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    if (session_ == nullptr || session_->isClosed) {
      Napi::Error::New(env, "Driver: used after close()").ThrowAsJavaScriptException();
      return nullptr;
    }
    if (!Check(env, *session_->api, session_->api->ctxSetCurrent(session_->context), "cuCtxSetCurrent")) return nullptr;
    return session_.get();
  }

  Napi::Value Properties(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    Session* s = Enter(info);
    if (s == nullptr) return env.Undefined();
    return Describe(env, *s);
  }

  Napi::Value MemoryInfo(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    Session* s = Enter(info);
    size_t free = 0, total = 0;
    if (s == nullptr || !Check(env, *s->api, s->api->memGetInfo(&free, &total), "cuMemGetInfo")) return env.Undefined();
    Napi::Object result = Napi::Object::New(env);
    result.Set("free", Napi::Number::New(env, static_cast<double>(free)));
    result.Set("total", Napi::Number::New(env, static_cast<double>(total)));
    return result;
  }

  Napi::Value Alloc(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    Session* s = Enter(info);
    if (s == nullptr || !IsCount(info, 0)) return env.Undefined();
    DevicePointer pointer = 0;
    if (!Check(env, *s->api, s->api->memAlloc(&pointer, Count(info[0])), "cuMemAlloc")) return env.Undefined();
    return Napi::BigInt::New(env, static_cast<uint64_t>(pointer));
  }

  void Free(const Napi::CallbackInfo& info) {
    Session* s = Enter(info);
    if (s == nullptr || !AreBigInts(info, 0, 1)) return;
    Check(info.Env(), *s->api, s->api->memFree(Word(info[0])), "cuMemFree");
  }

  Napi::Value AllocPinned(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    Session* s = Enter(info);
    if (s == nullptr || !IsCount(info, 0)) return env.Undefined();
    void* pointer = nullptr;
    if (!Check(env, *s->api, s->api->memHostAlloc(&pointer, Count(info[0]), 0), "cuMemHostAlloc")) return env.Undefined();
    return ToHandle(env, pointer);
  }

  void FreePinned(const Napi::CallbackInfo& info) {
    Session* s = Enter(info);
    if (s == nullptr || !AreBigInts(info, 0, 1)) return;
    Check(info.Env(), *s->api, s->api->memFreeHost(Pointer<void*>(info[0])), "cuMemFreeHost");
  }

  // writePinned(block, offset, Uint8Array)
  void WritePinned(const Napi::CallbackInfo& info) {
    if (!AreBigInts(info, 0, 1) || !IsCount(info, 1) || !Require(info, info.Length() > 2 && info[2].IsTypedArray(), "a Uint8Array")) return;
    Napi::Uint8Array data = info[2].As<Napi::Uint8Array>();
    CopyBytes(Pointer<uint8_t*>(info[0]) + Count(info[1]), data.Data(), data.ByteLength());
  }

  // readPinned(block, offset, into: Uint8Array)
  void ReadPinned(const Napi::CallbackInfo& info) {
    if (!AreBigInts(info, 0, 1) || !IsCount(info, 1) || !Require(info, info.Length() > 2 && info[2].IsTypedArray(), "a Uint8Array")) return;
    Napi::Uint8Array into = info[2].As<Napi::Uint8Array>();
    CopyBytes(into.Data(), Pointer<const uint8_t*>(info[0]) + Count(info[1]), into.ByteLength());
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

  void CopyToDevice(const Napi::CallbackInfo& info) {
    Session* s = Enter(info);
    if (s == nullptr || !AreBigInts(info, 0, 2) || !IsCount(info, 2)) return;
    Check(info.Env(), *s->api, s->api->memcpyHtoDAsync(Word(info[0]), Pointer<const void*>(info[1]), Count(info[2]), s->stream),
          "cuMemcpyHtoDAsync");
  }

  void CopyFromDevice(const Napi::CallbackInfo& info) {
    Session* s = Enter(info);
    if (s == nullptr || !AreBigInts(info, 0, 2) || !IsCount(info, 2)) return;
    Check(info.Env(), *s->api, s->api->memcpyDtoHAsync(Pointer<void*>(info[0]), Word(info[1]), Count(info[2]), s->stream),
          "cuMemcpyDtoHAsync");
  }

  void CopyOnDevice(const Napi::CallbackInfo& info) {
    Session* s = Enter(info);
    if (s == nullptr || !AreBigInts(info, 0, 2) || !IsCount(info, 2)) return;
    Check(info.Env(), *s->api, s->api->memcpyDtoDAsync(Word(info[0]), Word(info[1]), Count(info[2]), s->stream), "cuMemcpyDtoDAsync");
  }

  void Zero(const Napi::CallbackInfo& info) {
    Session* s = Enter(info);
    if (s == nullptr || !AreBigInts(info, 0, 1) || !IsCount(info, 1)) return;
    Check(info.Env(), *s->api, s->api->memsetD8Async(Word(info[0]), 0, Count(info[1]), s->stream), "cuMemsetD8Async");
  }

  // tensorMap(memory, columns, rows, boxColumns, boxRows): a matrix of f16 whose boxes arrive in shared memory with rows of 128 bytes swizzled,
  // and zeros where they leave the matrix. A BigUint64Array.
  Napi::Value EncodeTensorMap(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    Session* s = Enter(info);
    if (s == nullptr || !AreBigInts(info, 0, 1)) return env.Undefined();
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
  void Launch(const Napi::CallbackInfo& info) {
    Session* s = Enter(info);
    if (s == nullptr || !AreBigInts(info, 0, 1)) return;
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

  void BeginCapture(const Napi::CallbackInfo& info) {
    Session* s = Enter(info);
    if (s == nullptr) return;
    Check(info.Env(), *s->api, s->api->streamBeginCapture(s->stream, kCaptureRelaxed), "cuStreamBeginCapture");
  }

  Napi::Value EndCapture(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    Session* s = Enter(info);
    if (s == nullptr) return env.Undefined();
    Graph graph = nullptr;
    if (!Check(env, *s->api, s->api->streamEndCapture(s->stream, &graph), "cuStreamEndCapture")) return env.Undefined();
    GraphExec exec = nullptr;
    const Status status = s->api->graphInstantiate(&exec, graph, 0);
    s->api->graphDestroy(graph);
    if (!Check(env, *s->api, status, "cuGraphInstantiateWithFlags")) return env.Undefined();
    return ToHandle(env, exec);
  }

  void AbandonCapture(const Napi::CallbackInfo&) {
    if (session_ != nullptr && !session_->isClosed) session_->AbandonCapture();
  }

  void LaunchGraph(const Napi::CallbackInfo& info) {
    Session* s = Enter(info);
    if (s == nullptr || !AreBigInts(info, 0, 1)) return;
    Check(info.Env(), *s->api, s->api->graphLaunch(Pointer<GraphExec>(info[0]), s->stream), "cuGraphLaunch");
  }

  void FreeGraph(const Napi::CallbackInfo& info) {
    Session* s = Enter(info);
    if (s == nullptr || !AreBigInts(info, 0, 1)) return;
    Check(info.Env(), *s->api, s->api->graphExecDestroy(Pointer<GraphExec>(info[0])), "cuGraphExecDestroy");
  }

  template <typename Kind>
  static Napi::Promise Start(Kind* job) {
    Napi::Promise promise = job->Promise();
    job->Queue();
    return promise;
  }

  // compile(text): a promise of machine code for this device.
  Napi::Value Compile(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    if (Enter(info) == nullptr || !IsText(info)) return env.Undefined();
    return Start(new CompileJob(env, session_, Bytes(info[0])));
  }

  // The same on the caller's thread.
  Napi::Value CompileSync(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    Session* s = Enter(info);
    if (s == nullptr || !IsText(info)) return env.Undefined();
    std::vector<uint8_t> code;
    std::string log;
    const Status status = CompileText(*s->api, Bytes(info[0]), &code, &log);
    if (status == kSuccess) return ToBytes(env, code);
    Failure(env, *s->api, status, "cuLinkComplete", log).ThrowAsJavaScriptException();
    return env.Undefined();
  }

  Napi::Value LoadModule(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    if (Enter(info) == nullptr || !IsImage(info)) return env.Undefined();
    return Start(new ModuleJob(env, session_, Bytes(info[0])));
  }

  // The same on the caller's thread: a module, not the promise of one.
  Napi::Value LoadModuleSync(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    Session* s = Enter(info);
    if (s == nullptr || !IsImage(info)) return env.Undefined();
    Module module = nullptr;
    std::string log;
    const Status status = LoadModuleImage(*s->api, Bytes(info[0]), &module, &log);
    if (status == kSuccess) return ToHandle(env, module);
    Failure(env, *s->api, status, "cuModuleLoadDataEx", log).ThrowAsJavaScriptException();
    return env.Undefined();
  }

  void UnloadModule(const Napi::CallbackInfo& info) {
    Session* s = Enter(info);
    if (s == nullptr || !AreBigInts(info, 0, 1)) return;
    Check(info.Env(), *s->api, s->api->moduleUnload(Pointer<Module>(info[0])), "cuModuleUnload");
  }

  // kernel(module, entry, dynamicSharedBytes)
  Napi::Value GetKernel(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    Session* s = Enter(info);
    if (s == nullptr || !AreBigInts(info, 0, 1) || !Require(info, info.Length() > 1 && info[1].IsString(), "a kernel's name") || !IsCount(info, 2))
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

  Napi::Value CreateTimer(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    Session* s = Enter(info);
    Event event = nullptr;
    if (s == nullptr || !Check(env, *s->api, s->api->eventCreate(&event, 0), "cuEventCreate")) return env.Undefined();
    return ToHandle(env, event);
  }

  // recordTimer(event), during a capture: a node of the graph that records the event.
  void RecordTimer(const Napi::CallbackInfo& info) {
    Session* s = Enter(info);
    if (s == nullptr || !AreBigInts(info, 0, 1)) return;
    Check(info.Env(), *s->api, s->api->eventRecordWithFlags(Pointer<Event>(info[0]), s->stream, kEventRecordExternal), "cuEventRecordWithFlags");
  }

  // elapsedTime(from, to), in milliseconds
  Napi::Value ElapsedTime(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    Session* s = Enter(info);
    float milliseconds = 0;
    if (s == nullptr || !AreBigInts(info, 0, 2) ||
        !Check(env, *s->api, s->api->eventElapsedTime(&milliseconds, Pointer<Event>(info[0]), Pointer<Event>(info[1])), "cuEventElapsedTime"))
      return env.Undefined();
    return Napi::Number::New(env, milliseconds);
  }

  void FreeTimer(const Napi::CallbackInfo& info) {
    Session* s = Enter(info);
    if (s == nullptr || !AreBigInts(info, 0, 1)) return;
    Check(info.Env(), *s->api, s->api->eventDestroy(Pointer<Event>(info[0])), "cuEventDestroy");
  }

  // An event behind everything that the stream was given so far.
  Napi::Value Mark(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    Session* s = Enter(info);
    if (s == nullptr) return env.Undefined();
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
  Napi::Value Reached(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    Session* s = Enter(info);
    if (s == nullptr || !AreBigInts(info, 0, 1) || !IsCount(info, 1)) return env.Undefined();
    Event event = Pointer<Event>(info[0]);
    const Status status = s->Poll(event, std::chrono::microseconds(Count(info[1])));
    if (status == kNotReady) return Napi::Boolean::New(env, false);
    s->api->eventDestroy(event);
    if (!Check(env, *s->api, status, "cuEventQuery")) return env.Undefined();
    return Napi::Boolean::New(env, true);
  }

  // wait(event): a promise that settles when the event is reached. It frees the event.
  Napi::Value Wait(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    if (Enter(info) == nullptr || !AreBigInts(info, 0, 1)) return env.Undefined();
    return Start(new WaitJob(env, session_, Pointer<Event>(info[0])));
  }

  // Blocks the caller's thread until everything that the stream was given is done.
  void Synchronize(const Napi::CallbackInfo& info) {
    Session* s = Enter(info);
    if (s == nullptr) return;
    Check(info.Env(), *s->api, s->api->streamSynchronize(s->stream), "cuStreamSynchronize");
  }

  void Close(const Napi::CallbackInfo& info) {
    if (session_ == nullptr || session_->isClosed) return;
    Check(info.Env(), *session_->api, session_->Close(), "cuDevicePrimaryCtxRelease");
  }
};

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("Driver", DriverWrap::Define(env));
  exports.Set("readings", Napi::Function::New<nvml::Readings>(env));
  return exports;
}

}  // namespace

NODE_API_MODULE(centella_cuda, Init)
