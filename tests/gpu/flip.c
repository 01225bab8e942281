/* Preloaded: spoils one value of every convolution that a program asks cuDNN for, without any error.
   cc -shared -fPIC -o flip.so flip.c -ldl; LD_PRELOAD=./flip.so convalesce benchmark */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
typedef void *(*finder)(void *, const char *);
static int (*set)(void *, int, int, int64_t, void *), (*execute)(void *, void *, void *);
static int (*forward)(void *, void *, void *, uintptr_t, void *, uintptr_t, void *, int, uintptr_t, size_t, void *, void *, uintptr_t);
static int (*poke)(uintptr_t, unsigned char, size_t), (*wait_)(void);
static struct { void *pack; uintptr_t result; } packs[256];
static int next;

static void spoil(uintptr_t at) {
  if (!poke || !wait_) return;
  wait_(); poke(at + 1, 0x45, 1);
  wait_();
}
static int my_set(void *d, int name, int type, int64_t n, void *v) {
  if (name == 1001 && n == 3) { packs[next % 256].pack = d; packs[next++ % 256].result = ((uintptr_t *)v)[2]; }
  return set(d, name, type, n, v);
}
static int my_execute(void *h, void *plan, void *pack) {
  int status = execute(h, plan, pack);
  for (int i = 0; i < 256 && !status; i++) if (packs[i].pack == pack) { spoil(packs[i].result); break; }
  return status;
}
static int my_forward(void *h, void *al, void *x, uintptr_t px, void *w, uintptr_t pw, void *c, int algo, uintptr_t ws, size_t n, void *be, void *y, uintptr_t py) {
  int status = forward(h, al, x, px, w, pw, c, algo, ws, n, be, y, py);
  if (!status) spoil(py);
  return status;
}
void *dlsym(void *handle, const char *name) {
  static finder real;
  if (!real) real = (finder)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (!real) real = (finder)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  void *found = real(handle, name);
  if (!found) return found;
  if (!strcmp(name, "cuMemsetD8_v2")) poke = found;
  if (!strcmp(name, "cuCtxSynchronize")) wait_ = found;
  if (!strcmp(name, "cudnnBackendSetAttribute")) { set = found; return (void *)my_set; }
  if (!strcmp(name, "cudnnBackendExecute")) { execute = found; return (void *)my_execute; }
  if (!strcmp(name, "cudnnConvolutionForward")) { forward = found; return (void *)my_forward; }
  return found;
}
