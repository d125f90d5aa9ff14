// An open device, and work on it that must not hold up JavaScript's thread.
#pragma once

#include <napi.h>

#include <memory>
#include <string>
#include <vector>

#include "cudaApi.h"

namespace {

// One open device. Owned by the environment that opened it; jobs on other threads keep it alive.
struct Session {
  std::shared_ptr<const Api> api;
  Device device = 0;
  Context context = nullptr;
  Stream stream = nullptr;
  bool isClosed = false;

  Status Close() {
    if (isClosed) return kSuccess;
    isClosed = true;
    Status status = api->ctxSetCurrent(context);
    if (status == kSuccess && stream != nullptr) status = api->streamDestroy(stream);
    const Status released = api->primaryCtxRelease(device);
    return status == kSuccess ? released : status;
  }
};

// Work on a pool thread. The context is made current there first.
class Job : public Napi::AsyncWorker {
 public:
  Job(Napi::Env env, std::shared_ptr<Session> session, const char* call)
      : Napi::AsyncWorker(env), session_(std::move(session)), call_(call), deferred_(Napi::Promise::Deferred::New(env)) {}

  Napi::Promise Promise() const { return deferred_.Promise(); }

  void Execute() override {
    status_ = session_->api->ctxSetCurrent(session_->context);
    if (status_ == kSuccess) status_ = Work(*session_);
  }

  void OnOK() override {
    Napi::HandleScope scope(Env());
    if (status_ == kSuccess) {
      deferred_.Resolve(Result(Env()));
    } else {
      deferred_.Reject(Failure(Env(), *session_->api, status_, call_, log_).Value());
    }
  }

 protected:
  virtual Status Work(const Session& session) = 0;
  virtual Napi::Value Result(Napi::Env env) { return env.Undefined(); }

  std::string log_;

 private:
  std::shared_ptr<Session> session_;
  const char* call_;
  Napi::Promise::Deferred deferred_;
  Status status_ = kSuccess;
};

class WaitJob : public Job {
 public:
  WaitJob(Napi::Env env, std::shared_ptr<Session> session, Event event)
      : Job(env, std::move(session), "cuEventSynchronize"), event_(event) {}

 protected:
  Status Work(const Session& session) override {
    const Status status = session.api->eventSynchronize(event_);
    session.api->eventDestroy(event_);
    return status;
  }

 private:
  Event event_;
};

// Compiles a module's text; `log` gets the compiler's words where it fails. The context must be current.
Status LoadModuleText(const Api& api, const std::string& text, Module* module, std::string* log) {
  std::vector<char> errors(kLogBytes, '\0');
  std::vector<char> infos(kLogBytes, '\0');
  int options[] = {kJitErrorLog, kJitErrorLogBytes, kJitInfoLog, kJitInfoLogBytes};
  // Sizes are passed in the pointer itself.
  void* values[] = {errors.data(), reinterpret_cast<void*>(kLogBytes - 1), infos.data(), reinterpret_cast<void*>(kLogBytes - 1)};
  const Status status = api.moduleLoadDataEx(module, text.c_str(), 4, options, values);
  errors.back() = '\0';
  if (status != kSuccess) *log = errors.data();
  return status;
}

class ModuleJob : public Job {
 public:
  ModuleJob(Napi::Env env, std::shared_ptr<Session> session, std::string text)
      : Job(env, std::move(session), "cuModuleLoadDataEx"), text_(std::move(text)) {}

 protected:
  Status Work(const Session& session) override { return LoadModuleText(*session.api, text_, &module_, &log_); }

  Napi::Value Result(Napi::Env env) override {
    return Napi::BigInt::New(env, static_cast<uint64_t>(reinterpret_cast<uintptr_t>(module_)));
  }

 private:
  std::string text_;
  Module module_ = nullptr;
};

}  // namespace
