// The CUDA driver API for JavaScript: each method is one driver call, or a wait for one. No policy.
//
// The driver is loaded at run time, so that the addon loads on machines without one. Nothing is linked and no CUDA header
// is needed. Addresses and handles cross as BigInt. Every failure becomes an exception with the fields status, statusName,
// call, log.

#include <napi.h>

#include <memory>
#include <type_traits>

#include "device.h"
#include "events.h"
#include "launches.h"
#include "memory.h"
#include "modules.h"
#include "nvml.h"
#include "session.h"

namespace {

class DriverWrap : public Napi::ObjectWrap<DriverWrap> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "Driver",
                       {
                           InstanceMethod<&DriverWrap::With<Properties>>("properties"),
                           InstanceMethod<&DriverWrap::With<MemoryInfo>>("memoryInfo"),
                           InstanceMethod<&DriverWrap::With<Alloc>>("alloc"),
                           InstanceMethod<&DriverWrap::With<Free>>("free"),
                           InstanceMethod<&DriverWrap::With<AllocPinned>>("allocPinned"),
                           InstanceMethod<&DriverWrap::With<FreePinned>>("freePinned"),
                           InstanceMethod<&DriverWrap::OnHost<WritePinned>>("writePinned"),
                           InstanceMethod<&DriverWrap::OnHost<ReadPinned>>("readPinned"),
                           InstanceMethod<&DriverWrap::Plain<ViewPinned>>("viewPinned"),
                           InstanceMethod<&DriverWrap::Plain<Detach>>("detach"),
                           InstanceMethod<&DriverWrap::With<CopyToDevice>>("copyToDevice"),
                           InstanceMethod<&DriverWrap::With<CopyFromDevice>>("copyFromDevice"),
                           InstanceMethod<&DriverWrap::With<CopyOnDevice>>("copyOnDevice"),
                           InstanceMethod<&DriverWrap::With<Zero>>("zero"),
                           InstanceMethod<&DriverWrap::With<EncodeTensorMap>>("tensorMap"),
                           InstanceMethod<&DriverWrap::With<Launch>>("launch"),
                           InstanceMethod<&DriverWrap::With<BeginCapture>>("beginCapture"),
                           InstanceMethod<&DriverWrap::With<EndCapture>>("endCapture"),
                           InstanceMethod<&DriverWrap::AbandonCapture>("abandonCapture"),
                           InstanceMethod<&DriverWrap::With<LaunchGraph>>("launchGraph"),
                           InstanceMethod<&DriverWrap::With<FreeGraph>>("freeGraph"),
                           InstanceMethod<&DriverWrap::With<Compile>>("compile"),
                           InstanceMethod<&DriverWrap::With<CompileSync>>("compileSync"),
                           InstanceMethod<&DriverWrap::With<LoadModule>>("loadModule"),
                           InstanceMethod<&DriverWrap::With<LoadModuleSync>>("loadModuleSync"),
                           InstanceMethod<&DriverWrap::With<UnloadModule>>("unloadModule"),
                           InstanceMethod<&DriverWrap::With<GetKernel>>("kernel"),
                           InstanceMethod<&DriverWrap::With<CreateTimer>>("createTimer"),
                           InstanceMethod<&DriverWrap::With<RecordTimer>>("recordTimer"),
                           InstanceMethod<&DriverWrap::With<ElapsedTime>>("elapsedTime"),
                           InstanceMethod<&DriverWrap::With<FreeTimer>>("freeTimer"),
                           InstanceMethod<&DriverWrap::With<Mark>>("mark"),
                           InstanceMethod<&DriverWrap::With<Reached>>("reached"),
                           InstanceMethod<&DriverWrap::With<Wait>>("wait"),
                           InstanceMethod<&DriverWrap::With<Synchronize>>("synchronize"),
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
  SessionPointer session_;

  static void CloseHook(void* data) {
    std::unique_ptr<std::weak_ptr<Session>> weak(static_cast<std::weak_ptr<Session>*>(data));
    const char* call = nullptr;
    if (SessionPointer session = weak->lock()) session->Close(&call);
  }

  // False with an exception pending if the session is closed.
  bool IsOpen(const Napi::CallbackInfo& info) {
    if (session_ != nullptr && !session_->isClosed) return true;
    Napi::Error::New(info.Env(), "Driver: used after close()").ThrowAsJavaScriptException();
    return false;
  }

  // Makes the session's context current on this thread. False with an exception pending if that fails.
  bool Enter(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    return IsOpen(info) && Check(env, *session_->api, session_->api->ctxSetCurrent(session_->context), "cuCtxSetCurrent");
  }

  // A method that calls `Call` with the open session.
  template <auto Call>
  std::invoke_result_t<decltype(Call), const SessionPointer&, const Napi::CallbackInfo&> With(const Napi::CallbackInfo& info) {
    if (!Enter(info)) return decltype(Call(session_, info))();
    return Call(session_, info);
  }

  // A method that needs the open session and not its context, which a failed kernel may have ended.
  template <auto Call>
  void OnHost(const Napi::CallbackInfo& info) {
    if (IsOpen(info)) Call(session_, info);
  }

  // A method that needs no session.
  template <auto Call>
  std::invoke_result_t<decltype(Call), const Napi::CallbackInfo&> Plain(const Napi::CallbackInfo& info) {
    return Call(info);
  }

  void AbandonCapture(const Napi::CallbackInfo&) {
    if (session_ != nullptr && !session_->isClosed) session_->AbandonCapture();
  }

  void Close(const Napi::CallbackInfo& info) {
    if (session_ == nullptr || session_->isClosed) return;
    const char* call = nullptr;
    const Status status = session_->Close(&call);
    Check(info.Env(), *session_->api, status, call);
  }
};

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("Driver", DriverWrap::Define(env));
  exports.Set("readings", Napi::Function::New<nvml::Readings>(env));
  return exports;
}

}  // namespace

NODE_API_MODULE(centella_cuda, Init)
