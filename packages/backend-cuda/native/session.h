// An open device, and work on it that must not hold up JavaScript's thread.
#pragma once

#include <napi.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "arguments.h"
#include "copyThreads.h"
#include "cudaApi.h"
#include "thread.h"

namespace {

// One open device. Owned by the environment that opened it; jobs on other threads keep it alive.
struct Session {
  std::shared_ptr<const Api> api;
  Device device = 0;
  Context context = nullptr;
  Stream stream = nullptr;
  bool isClosed = false;
  CopyThreads copies;

  // `call` gets the name of the driver call whose status is returned.
  Status Close(const char** call) {
    *call = "cuCtxSetCurrent";
    if (isClosed) return kSuccess;
    isClosed = true;
    copies.Stop();
    Status status = api->ctxSetCurrent(context);
    if (status == kSuccess && stream != nullptr) {
      *call = "cuStreamDestroy";
      status = api->streamDestroy(stream);
    }
    const Status released = api->primaryCtxRelease(device);
    if (status != kSuccess) return status;
    *call = "cuDevicePrimaryCtxRelease";
    return released;
  }

  // `sizes` are those of the grid, of a block, and of dynamic shared memory. A dependent launch may start before earlier ones are over.
  Status Launch(Function function, const unsigned (&sizes)[7], bool isDependent, void** parameters) const {
    LaunchAttribute serialization = {kAttributeProgrammaticStreamSerialization, {}, {}};
    serialization.value[0] = 1;
    const LaunchConfig config = {{sizes[0], sizes[1], sizes[2]}, {sizes[3], sizes[4], sizes[5]}, sizes[6], stream,
                                 &serialization,                 isDependent ? 1U : 0U};
    return api->launchKernelEx(&config, function, parameters, nullptr);
  }

  // Ends a capture and drops what it recorded.
  void AbandonCapture() const {
    Graph graph = nullptr;
    if (api->ctxSetCurrent(context) == kSuccess && api->streamEndCapture(stream, &graph) == kSuccess && graph != nullptr) {
      api->graphDestroy(graph);
    }
  }

  // The event's status after at most this time: kNotReady if it is not reached by then.
  Status Poll(Event event, std::chrono::microseconds time) const {
    const auto end = std::chrono::steady_clock::now() + time;
    Status status = api->eventQuery(event);
    while (status == kNotReady && std::chrono::steady_clock::now() < end) status = api->eventQuery(event);
    return status;
  }
};

using SessionPointer = std::shared_ptr<Session>;

// Work on another thread. The context is made current there first.
class Job : public Napi::AsyncWorker {
 public:
  Job(Napi::Env env, SessionPointer session)
      : Napi::AsyncWorker(env), session_(std::move(session)), deferred_(Napi::Promise::Deferred::New(env)) {}

  Napi::Promise Promise() const { return deferred_.Promise(); }

  void Execute() override {
    status_ = session_->api->ctxSetCurrent(session_->context);
    if (status_ == kSuccess) status_ = Work(*session_, &call_);
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
  // `call` gets the name of the driver call whose status is returned.
  virtual Status Work(const Session& session, const char** call) = 0;
  virtual Napi::Value Result(Napi::Env env) { return env.Undefined(); }

  std::string log_;

 private:
  SessionPointer session_;
  const char* call_ = "cuCtxSetCurrent";
  Napi::Promise::Deferred deferred_;
  Status status_ = kSuccess;
};

// Queues a job for Node's pool. It frees itself.
Napi::Promise Start(Job* job) {
  Napi::Promise promise = job->Promise();
  job->Queue();
  return promise;
}

// A thread for one job. Compiling takes tenths of a second, and Node's pool has four threads, which reads of files need, too. Where no thread
// starts, the pool does the job.
class JobThread {
 public:
  // Starts a job, which frees itself.
  static Napi::Promise Start(Napi::Env env, Job* job) {
    Napi::Promise promise = job->Promise();
    auto* self = new JobThread(job);
    if (!self->Run(env)) {
      delete self;
      job->Queue();
    }
    return promise;
  }

 private:
  Job* job_;
  std::thread thread_;
  napi_threadsafe_function finish_ = nullptr;

  explicit JobThread(Job* job) : job_(job) {}

  // False, with nothing under way, if no thread can start or report its end.
  bool Run(Napi::Env env) {
    const napi_value name = Napi::String::New(env, "JobThread");
    const napi_status created =
        napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, nullptr, Finish, &finish_);
    if (created != napi_ok) return false;
    // An environment that ends waits for its threads; it calls hooks that were added last first.
    napi_add_env_cleanup_hook(env, Join, this);
    auto thread = StartThread([this] {
      job_->Execute();
      napi_call_threadsafe_function(finish_, this, napi_tsfn_nonblocking);
      napi_release_threadsafe_function(finish_, napi_tsfn_release);
    });
    if (thread) {
      thread_ = std::move(*thread);
      return true;
    }
    napi_remove_env_cleanup_hook(env, Join, this);
    napi_release_threadsafe_function(finish_, napi_tsfn_abort);
    return false;
  }

  static void Join(void* data) {
    auto* self = static_cast<JobThread*>(data);
    if (self->thread_.joinable()) self->thread_.join();
  }

  // On JavaScript's thread. Without `env`, the environment ends.
  static void Finish(napi_env env, napi_value, void*, void* data) {
    std::unique_ptr<JobThread> self(static_cast<JobThread*>(data));
    Join(data);
    if (env == nullptr) return;
    napi_remove_env_cleanup_hook(env, Join, data);
    self->job_->OnWorkComplete(env, napi_ok);
  }
};

class WaitJob : public Job {
 public:
  WaitJob(Napi::Env env, SessionPointer session, Event event)
      : Job(env, std::move(session)), event_(event) {}

 protected:
  Status Work(const Session& session, const char** call) override {
    *call = "cuEventSynchronize";
    const Status status = session.api->eventSynchronize(event_);
    session.api->eventDestroy(event_);
    return status;
  }

 private:
  Event event_;
};

// What the driver's compiler says. Its options pass sizes in the pointers themselves.
struct CompilerLog {
  std::vector<char> errors = std::vector<char>(kLogBytes, '\0');
  std::vector<char> infos = std::vector<char>(kLogBytes, '\0');
  int options[4] = {kJitErrorLog, kJitErrorLogBytes, kJitInfoLog, kJitInfoLogBytes};
  void* values[4] = {errors.data(), reinterpret_cast<void*>(kLogBytes - 1), infos.data(), reinterpret_cast<void*>(kLogBytes - 1)};
};

// What the compiler says against a module's text, or that a wrong text compiles as a module of one context.
std::string CompilerWords(const Api& api, const std::string& text) {
  CompilerLog compiler;
  Module module = nullptr;
  if (api.moduleLoadDataEx(&module, text.c_str(), 4, compiler.options, compiler.values) == kSuccess) api.moduleUnload(module);
  return compiler.errors.data();
}

// `call` gets the name of the driver call whose status is returned.
Status FindKernel(const Api& api, Library library, const std::string& entry, Function* function, const char** call) {
  Kernel kernel = nullptr;
  *call = "cuLibraryGetKernel";
  const Status status = api.libraryGetKernel(&kernel, library, entry.c_str());
  if (status != kSuccess) return status;
  *call = "cuKernelGetFunction";
  return api.kernelGetFunction(function, kernel);
}

// Loads a module from its text or its machine code, with its kernel `entry`: the driver may compile and load it only when a kernel is asked for.
// Libraries are compiled at the same time as others, `cuModuleLoadDataEx` compiles one text after the other. `log` gets the compiler's words where
// it fails, `call` the name of the driver call whose status is returned. The context must be current.
Status LoadImage(const Api& api, const std::string& image, const std::string& entry, Library* library, std::string* log,
                 const char** call) {
  *call = "cuLibraryLoadData";
  Status status = api.libraryLoadData(library, image.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (status == kSuccess) {
    Function function = nullptr;
    status = FindKernel(api, *library, entry, &function, call);
    if (status != kSuccess) api.libraryUnload(*library);
  }
  if (status != kSuccess) *log = CompilerWords(api, image);
  return status;
}

// Compiles a module's text to machine code for the current context's device. `call` gets the name of the driver call whose status is
// returned.
Status CompileText(const Api& api, const std::string& text, std::vector<uint8_t>* code, std::string* log, const char** call) {
  CompilerLog compiler;
  LinkState state = nullptr;
  *call = "cuLinkCreate";
  Status status = api.linkCreate(4, compiler.options, compiler.values, &state);
  if (status != kSuccess) return status;
  *call = "cuLinkAddData";
  // The size counts the terminating zero. The text is only read.
  status = api.linkAddData(state, kJitInputPtx, const_cast<char*>(text.c_str()), text.size() + 1, "kernel", 0, nullptr, nullptr);
  void* cubin = nullptr;
  size_t bytes = 0;
  if (status == kSuccess) {
    *call = "cuLinkComplete";
    status = api.linkComplete(state, &cubin, &bytes);
  }
  if (status == kSuccess) code->assign(static_cast<uint8_t*>(cubin), static_cast<uint8_t*>(cubin) + bytes);
  if (status != kSuccess) *log = compiler.errors.data();
  // The code belongs to the state.
  api.linkDestroy(state);
  return status;
}

class CompileJob : public Job {
 public:
  CompileJob(Napi::Env env, SessionPointer session, std::string text)
      : Job(env, std::move(session)), text_(std::move(text)) {}

 protected:
  Status Work(const Session& session, const char** call) override { return CompileText(*session.api, text_, &code_, &log_, call); }

  Napi::Value Result(Napi::Env env) override { return ToBytes(env, code_); }

 private:
  std::string text_;
  std::vector<uint8_t> code_;
};

class ModuleJob : public Job {
 public:
  ModuleJob(Napi::Env env, SessionPointer session, std::string image, std::string entry)
      : Job(env, std::move(session)), image_(std::move(image)), entry_(std::move(entry)) {}

 protected:
  Status Work(const Session& session, const char** call) override {
    return LoadImage(*session.api, image_, entry_, &library_, &log_, call);
  }

  Napi::Value Result(Napi::Env env) override {
    return ToHandle(env, library_);
  }

 private:
  std::string image_;
  std::string entry_;
  Library library_ = nullptr;
};

}  // namespace
