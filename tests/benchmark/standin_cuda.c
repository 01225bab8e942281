/* libcuda on the processor: memory is malloc's, time is virtual, the one kernel is known by its name. */
#include "standin.h"

API int standin_number(const char *name, int other) { const char *v = getenv(name); return v && *v ? atoi(v) : other; }

static int named(const char *variable, const char *function, const char **rest) {
  const char *v = getenv(variable);
  size_t n = strlen(function);
  if (!v || strncmp(v, function, n) || (v[n] && v[n] != ':' && v[n] != '@')) return 0;
  static int calls;
  const char *at = strchr(v, '@');
  *rest = strchr(v, ':');
  return !at || ++calls == atoi(at + 1);
}
API int standin_turn(const char *function) {
  const char *rest = NULL, *trace = getenv("STANDIN_TRACE");
  FILE *out = trace ? fopen(trace, "a") : NULL;
  if (out) fprintf(out, "%s\n", function), fclose(out);
  if (named("STANDIN_DIE", function, &rest)) abort();
  if (named("STANDIN_HANG", function, &rest)) for (;;) pause();
  if (named("STANDIN_FAIL", function, &rest)) return rest ? atoi(rest + 1) : 1;
  return 0;
}

static unsigned writes; /* so that a repeated convolution of unchanged data need not be computed again */
API unsigned standin_writes(void) { return writes; }
static double now;
API void standin_took(double milliseconds) { now += milliseconds; }

/* results that are computed where somebody looks */
static struct { char *at; size_t size; int width; void (*fill)(void *, size_t, size_t, void *); void *work; } late;
API void standin_later(void *at, size_t size, int width, void (*fill)(void *, size_t, size_t, void *), void *work) {
  late.at = at; late.size = size; late.width = width; late.fill = fill; late.work = work;
}

static int devices(void) {
  const char *shown = getenv("CUDA_VISIBLE_DEVICES");
  return shown && (!*shown || *shown == '-') ? 0 : standin_number("STANDIN_GPUS", 1);
}
static int capability(void) { return standin_number("STANDIN_CC", 90); }
static size_t total(void) { return (size_t)standin_number("STANDIN_MEMORY", 2048) << 20; }
static size_t used;
static struct { void *at; size_t size; } blocks[64];

API int cuInit(unsigned flags) { ENTER(cuInit); return devices() ? 0 : 100; }
API int cuDriverGetVersion(int *v) { *v = 13000; return 0; }
API int cuGetErrorName(int status, const char **name) {
  ENTER(cuGetErrorName);
  static const struct { int status; const char *name; } names[] = {
    {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {34, "CUDA_ERROR_STUB_LIBRARY"}, {100, "CUDA_ERROR_NO_DEVICE"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"}, {218, "CUDA_ERROR_INVALID_PTX"}, {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {719, "CUDA_ERROR_LAUNCH_FAILED"}, {999, "CUDA_ERROR_UNKNOWN"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) if (names[i].status == status) { *name = names[i].name; return 0; }
  return 1;
}
API int cuDeviceGetCount(int *n) { ENTER(cuDeviceGetCount); *n = devices(); return 0; }
API int cuDeviceGet(int *d, int n) { ENTER(cuDeviceGet); *d = n; return n < devices() ? 0 : 101; }
API int cuDeviceGetName(char *name, int n, int d) { snprintf(name, n, "NVIDIA Stand-in %d", d); return 0; }
API int cuDeviceTotalMem_v2(size_t *size, int d) { *size = total(); return 0; }
API int cuDeviceGetPCIBusId(char *id, int n, int d) { snprintf(id, n, "0000:%02d:00.0", d + 1); return 0; }
API int cuDeviceGetUuid_v2(char *uuid, int d) { ENTER(cuDeviceGetUuid_v2); memset(uuid, 0x10 + d, 16); return 0; }
API int cuDeviceGetAttribute(int *v, int which, int d) {
  ENTER(cuDeviceGetAttribute);
  *v = which == 13 ? 100000 : which == 16 ? 4 : which == 75 ? capability() / 10 : which == 76 ? capability() % 10 : 0;
  return 0;
}
API int cuDevicePrimaryCtxRetain(void **c, int d) { ENTER(cuDevicePrimaryCtxRetain); *c = &now; return 0; }
API int cuCtxSetCurrent(void *c) { ENTER(cuCtxSetCurrent); return 0; }
API int cuCtxSynchronize(void) { ENTER(cuCtxSynchronize); return 0; }
API int cuMemGetInfo_v2(size_t *free_, size_t *all) { ENTER(cuMemGetInfo_v2); *all = total(); *free_ = total() - used; return 0; }
API int cuMemAlloc_v2(uintptr_t *at, size_t size) {
  ENTER(cuMemAlloc_v2);
  if (used + size > total()) return 2;
  for (int i = 0; i < 64; i++) if (!blocks[i].at) {
    blocks[i].at = malloc(size); blocks[i].size = size; used += size; *at = (uintptr_t)blocks[i].at; return 0;
  }
  return 2;
}
API int cuMemFree_v2(uintptr_t at) {
  ENTER(cuMemFree_v2);
  for (int i = 0; i < 64; i++) if ((uintptr_t)blocks[i].at == at) { free(blocks[i].at); used -= blocks[i].size; blocks[i].at = 0; return 0; }
  return 1;
}
API int cuMemcpyHtoD_v2(uintptr_t to, const void *from, size_t n) { ENTER(cuMemcpyHtoD_v2); writes++; memcpy((void *)to, from, n); return 0; }
API int cuMemcpyDtoD_v2(uintptr_t to, uintptr_t from, size_t n) { ENTER(cuMemcpyDtoD_v2); writes++; memmove((void *)to, (void *)from, n); return 0; }
API int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t n) {
  ENTER(cuMemcpyDtoH_v2);
  char *at = (char *)from;
  if (late.at && at >= late.at && at + n <= late.at + late.size)
    late.fill(late.work, (at - late.at) / late.width, n / late.width, at);
  memcpy(to, at, n);
  return 0;
}
API int cuMemsetD8_v2(uintptr_t at, unsigned char v, size_t n) { ENTER(cuMemsetD8_v2); writes++; late.at = 0; memset((void *)at, v, n); return 0; }
API int cuModuleLoadData(void **m, const char *code) {
  ENTER(cuModuleLoadData);
  *m = (void *)code;
  return strstr(code, ".entry scale") ? 0 : 218;
}
API int cuModuleGetFunction(void **f, void *m, const char *name) { ENTER(cuModuleGetFunction); *f = m; return strcmp(name, "scale") ? 500 : 0; }
API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned sh, void *s, void **a, void **e) {
  ENTER(cuLaunchKernel);
  const unsigned *from = *(unsigned **)a[0]; unsigned *to = *(unsigned **)a[1], count = *(unsigned *)a[2];
  for (unsigned i = 0; i < count; i++) to[i] = 3 * from[i] + i;
  if (getenv("STANDIN_KERNEL_WRONG")) to[7] ^= 1;
  return 0;
}
API int cuStreamCreate(void **s, unsigned f) { ENTER(cuStreamCreate); *s = &now; return 0; }
API int cuStreamSynchronize(void *s) { ENTER(cuStreamSynchronize); return 0; }
API int cuEventCreate(double **e, unsigned f) { ENTER(cuEventCreate); *e = calloc(1, sizeof **e); return 0; }
API int cuEventRecord(double *e, void *s) { ENTER(cuEventRecord); *e = now; return 0; }
API int cuEventSynchronize(double *e) { ENTER(cuEventSynchronize); return 0; }
API int cuEventElapsedTime(float *ms, double *a, double *b) { ENTER(cuEventElapsedTime); *ms = (float)(*b - *a); return 0; }
static double begun;
API int cuStreamBeginCapture_v2(void *s, int mode) { ENTER(cuStreamBeginCapture_v2); begun = now; return 0; }
API int cuStreamEndCapture(void *s, double **g) { ENTER(cuStreamEndCapture); *g = calloc(1, sizeof **g); **g = now - begun; now = begun; return 0; }
API int cuGraphInstantiateWithFlags(double **x, double *g, unsigned long long f) { ENTER(cuGraphInstantiateWithFlags); *x = g; return 0; }
API int cuGraphLaunch(double *x, void *s) { ENTER(cuGraphLaunch); now += *x; return 0; }
API int cuGraphExecDestroy(void *x) { ENTER(cuGraphExecDestroy); return 0; }
API int cuGraphDestroy(void *g) { ENTER(cuGraphDestroy); free(g); return 0; }
