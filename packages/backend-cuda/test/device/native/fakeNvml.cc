// A stand-in for libnvidia-ml.so.1 that tests load in its place: a device that reports everything, and one that reports only its name.
#include <cstdlib>
#include <cstring>

extern "C" {
int nvmlInit_v2() { return std::getenv("FAKE_NVML_FAILURE") == nullptr ? 0 : 9; }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned length) { std::strncpy(text, "580.12", length); return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { *count = std::getenv("FAKE_NVML_NO_DEVICE") == nullptr ? 2 : 0; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, size_t* device) { *device = index; return 0; }
int nvmlDeviceGetName(size_t device, char* text, unsigned length) { std::strncpy(text, device == 0 ? "Fake GPU" : "Silent GPU", length); return 0; }
struct Memory { unsigned long long total, free, used; };
struct Utilization { unsigned gpu, memory; };
constexpr int notSupported = 3;
int nvmlDeviceGetMemoryInfo(size_t device, Memory* memory) {
  *memory = {80000000000, 60000000000, 20000000000};
  return device == 0 ? 0 : notSupported;
}
int nvmlDeviceGetUtilizationRates(size_t device, Utilization* rates) { *rates = {75, 40}; return device == 0 ? 0 : notSupported; }
int nvmlDeviceGetClockInfo(size_t device, int clock, unsigned* value) { *value = clock == 1 ? 1980 : clock == 2 ? 3201 : 0; return device == 0 ? 0 : notSupported; }
int nvmlDeviceGetTemperature(size_t device, int, unsigned* value) { *value = 41; return device == 0 ? 0 : notSupported; }
int nvmlDeviceGetPowerUsage(size_t device, unsigned* value) { *value = 83500; return device == 0 ? 0 : notSupported; }
}
