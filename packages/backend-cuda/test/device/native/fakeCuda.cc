// A stand-in for libcuda.so.1 that tests load in its place: device memory is host memory, work runs when somebody waits for it
// or is recorded, and every kernel copies four bytes from its first parameter's memory to its second's.
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {
using Work = std::function<void()>;
using Recording = std::vector<Work>;
Recording* recording = nullptr;
// Given out and waited for on several threads.
std::mutex mutex;
Recording pending;
float milliseconds = 0;
size_t number(const char* name, size_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<size_t>(std::atoll(text));
}
// FAKE_CUDA_FAILURE: the error of the first kernel. The process has it from then on.
int failure = 0;
void runKernel() { failure = static_cast<int>(number("FAKE_CUDA_FAILURE", 0)); }
// FAKE_CUDA_REFUSE: a call and the status that it returns, such as "cuDevicePrimaryCtxRetain 2".
int refusal(const char* call) {
  const char* text = std::getenv("FAKE_CUDA_REFUSE");
  const size_t length = std::strlen(call);
  return text != nullptr && std::strncmp(text, call, length) == 0 && text[length] == ' ' ? std::atoi(text + length) : 0;
}
int submit(Work work) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (failure != 0) return failure;
  (recording != nullptr ? *recording : pending).push_back(work);
  return 0;
}
int drain() {
  const std::lock_guard<std::mutex> lock(mutex);
  for (const Work& work : pending) if (failure == 0) work();
  pending.clear();
  return failure;
}
// FAKE_CUDA_MEMORY: bytes of the device.
std::map<unsigned long long, size_t> allocations;
size_t total() { return number("FAKE_CUDA_MEMORY", size_t{1} << 40); }
size_t taken() {
  size_t sum = 0;
  for (const auto& allocation : allocations) sum += allocation.second;
  return sum;
}
}  // namespace

extern "C" {
typedef unsigned long long Address;
int cuInit(unsigned) { return std::getenv("FAKE_CUDA_NO_DEVICE") == nullptr ? 0 : 100; }
int cuDriverGetVersion(int* version) { *version = 12040; return 0; }
int cuGetErrorName(int status, const char** name) {
  static const std::map<int, const char*> names = {{2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                   {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
                                                   {218, "CUDA_ERROR_INVALID_PTX"},
                                                   {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}};
  const auto found = names.find(status);
  *name = found == names.end() ? "CUDA_ERROR_OTHER" : found->second;
  return 0;
}
int cuGetErrorString(int, const char** text) { *text = "in words"; return 0; }
int cuDeviceGetCount(int* count) { *count = 1; return 0; }
int cuDeviceGet(int* device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char* name, int length, int) { std::strncpy(name, "Fake GPU", static_cast<size_t>(length)); return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int) {
  const char* major = std::getenv("FAKE_CUDA_MAJOR");
  *value = attribute == 75 ? (major == nullptr ? 9 : std::atoi(major)) : attribute == 16 ? 132 : 0;
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) { *bytes = total(); return refusal("cuDeviceTotalMem"); }
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &recording;
  return failure != 0 ? failure : refusal("cuDevicePrimaryCtxRetain");
}
int cuDevicePrimaryCtxRelease_v2(int) { return refusal("cuDevicePrimaryCtxRelease"); }
int cuCtxSetCurrent(void* context) { return context == &recording ? refusal("cuCtxSetCurrent") : 201; }
int cuMemGetInfo_v2(size_t* free, size_t* all) { *all = total(); *free = total() - taken(); return failure; }
int cuMemAlloc_v2(Address* address, size_t bytes) {
  if (bytes == 0) return 1;
  if (failure != 0) return failure;
  if (bytes > (size_t{1} << 30) || taken() + bytes > total()) return 2;
  *address = reinterpret_cast<Address>(std::malloc(bytes));
  allocations[*address] = bytes;
  return 0;
}
int cuMemFree_v2(Address address) {
  const int status = drain();
  if (status == 0 && allocations.erase(address) == 1) std::free(reinterpret_cast<void*>(address));
  return status;
}
// FAKE_CUDA_NO_PINNED: the host has no page-locked memory.
int cuMemHostAlloc(void** pointer, size_t bytes, unsigned) {
  if (std::getenv("FAKE_CUDA_NO_PINNED") != nullptr) return 2;
  *pointer = std::malloc(bytes);
  return failure;
}
int cuMemFreeHost(void* pointer) { const int status = drain(); if (status == 0) std::free(pointer); return status; }
int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, void*) {
  return submit([=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
}
int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, void*) {
  return submit([=] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); });
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void*) {
  return submit([=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
}
int cuMemsetD8Async(Address to, unsigned char value, size_t bytes, void*) {
  return submit([=] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
}
int cuModuleLoadDataEx(void** module, const void* text, unsigned count, int* options, void** values) {
  if (std::strstr(static_cast<const char*>(text), "rejected") != nullptr) {
    for (unsigned i = 0; i < count; i++) if (options[i] == 5) std::strcpy(static_cast<char*>(values[i]), "line 1: syntax error");
    return 218;
  }
  *module = &recording;
  return 0;
}
int cuLibraryLoadData(void** library, const void* text, int*, void**, unsigned, int*, void**, unsigned) {
  const int status = refusal("cuLibraryLoadData");
  return status != 0 ? status : cuModuleLoadDataEx(library, text, 0, nullptr, nullptr);
}
int cuLibraryGetKernel(void** kernel, void*, const char* name) {
  *kernel = const_cast<char*>("kernel");
  return name[0] == '\0' ? 500 : refusal("cuLibraryGetKernel");
}
int cuKernelGetFunction(void** function, void* kernel) { *function = kernel; return refusal("cuKernelGetFunction"); }
int cuLibraryUnload(void*) { return 0; }
// Machine code is the text with a word in front of it.
struct Link { std::string code; char* log; };
int cuLinkCreate_v2(unsigned count, int* options, void** values, Link** link) {
  *link = new Link{"", nullptr};
  for (unsigned i = 0; i < count; i++) if (options[i] == 5) (*link)->log = static_cast<char*>(values[i]);
  return refusal("cuLinkCreate");
}
int cuLinkAddData_v2(Link* link, int type, void* data, size_t bytes, const char*, unsigned, int*, void**) {
  const char* text = static_cast<const char*>(data);
  if (type != 1 || text[bytes - 1] != '\0') return 1;
  if (std::strstr(text, "rejected") != nullptr) {
    std::strcpy(link->log, "line 1: syntax error");
    return 218;
  }
  link->code = std::string("code ") + text;
  return refusal("cuLinkAddData");
}
int cuLinkComplete(Link* link, void** code, size_t* bytes) {
  *code = &link->code[0];
  *bytes = link->code.size();
  return refusal("cuLinkComplete");
}
int cuLinkDestroy(Link* link) { delete link; return 0; }
int cuModuleUnload(void*) { return 0; }
int cuFuncSetAttribute(void*, int, int) { return 0; }
// Not a tensor map, but what it was made from.
int cuTensorMapEncodeTiled(Address* map, int type, unsigned rank, void* memory, const Address* sizes, const Address* strides, const unsigned* box,
                           const unsigned* steps, int interleave, int swizzle, int, int fill) {
  if (type != 6 || rank != 2 || steps[0] != 1 || steps[1] != 1 || interleave != 0 || swizzle != 3 || fill != 0 || strides[0] % 16 != 0) return 1;
  const Address words[] = {reinterpret_cast<Address>(memory), sizes[0], sizes[1], strides[0], box[0], box[1]};
  std::memcpy(map, words, sizeof words);
  return 0;
}
struct Attribute { int id; char padding[4]; int value; };
struct Config { unsigned grid[3]; unsigned block[3]; unsigned sharedBytes; void* stream; const Attribute* attributes; unsigned count; };
int cuLaunchKernelEx(const Config* config, void*, void** parameters, void**) {
  if (config->grid[0] == 0 || config->grid[1] != 1 || config->grid[2] != 1 || config->block[0] % 32 != 0) return 1;
  // Generated kernels may start early: the attribute of programmatic stream serialization.
  if (config->count != 1 || config->attributes[0].id != 6 || config->attributes[0].value != 1) return 1;
  const Address from = *static_cast<Address*>(parameters[0]);
  const Address to = *static_cast<Address*>(parameters[1]);
  return submit([=] {
    runKernel();
    milliseconds += 1;
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), 4);
  });
}
int cuStreamCreate(void** stream, unsigned) { *stream = &recording; return 0; }
int cuStreamDestroy_v2(void*) { return refusal("cuStreamDestroy"); }
int cuStreamSynchronize(void*) { return drain(); }
int cuStreamBeginCapture_v2(void*, int) {
  if (recording != nullptr) return 901;
  recording = new Recording();
  return 0;
}
int cuStreamEndCapture(void*, void** graph) { *graph = recording; recording = nullptr; return 0; }
int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  *executable = new Recording(*static_cast<Recording*>(graph));
  return 0;
}
int cuGraphDestroy(void* graph) { delete static_cast<Recording*>(graph); return 0; }
int cuGraphLaunch(void* executable, void*) {
  for (const Work& work : *static_cast<Recording*>(executable)) submit(work);
  return failure;
}
int cuGraphExecDestroy(void* executable) { delete static_cast<Recording*>(executable); return 0; }
int cuEventCreate(void** event, unsigned) { *event = std::calloc(1, sizeof(float)); return 0; }
int cuEventRecord(void*, void*) { return 0; }
// Only in a recording. Time stands still except for kernels, which take a millisecond each.
int cuEventRecordWithFlags(void* event, void*, unsigned flags) {
  if (recording == nullptr || flags != 1) return 1;
  return submit([=] { *static_cast<float*>(event) = milliseconds; });
}
int cuEventElapsedTime(float* elapsed, void* from, void* to) {
  *elapsed = *static_cast<float*>(to) - *static_cast<float*>(from);
  return 0;
}
int cuEventSynchronize(void*) { return drain(); }
// FAKE_CUDA_SLOW: work is never over when somebody asks, but only when somebody waits.
int cuEventQuery(void*) { return std::getenv("FAKE_CUDA_SLOW") != nullptr && !pending.empty() ? 600 : drain(); }
int cuEventDestroy_v2(void* event) { std::free(event); return 0; }
}
