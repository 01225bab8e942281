/* NVRTC, which knows one program, or cuBLAS, which multiplies column by column. */
#include "standin.h"
#ifdef NVRTC
static const char PTX[] = "// stand-in\n.visible .entry scale(";
API int nvrtcCreateProgram(void **p, const char *s, const char *n, int c, void *h, void *i) { ENTER(nvrtcCreateProgram); *p = (void *)s; return 0; }
API int nvrtcCompileProgram(void *p, int n, const char **o) { ENTER(nvrtcCompileProgram); return strstr(p, "scale") ? 0 : 6; }
API int nvrtcGetPTXSize(void *p, size_t *n) { ENTER(nvrtcGetPTXSize); *n = sizeof PTX; return 0; }
API int nvrtcGetPTX(void *p, char *to) { ENTER(nvrtcGetPTX); memcpy(to, PTX, sizeof PTX); return 0; }
API const char *nvrtcGetErrorString(int s) { TURN(nvrtcGetErrorString); return s == 5 ? "NVRTC_ERROR_INVALID_OPTION" : "NVRTC_ERROR"; }
#else
API int cublasCreate_v2(void **h) { ENTER(cublasCreate_v2); *h = calloc(1, 8); return 0; }
API int cublasSetStream_v2(void *h, void *s) { ENTER(cublasSetStream_v2); return 0; }
API const char *cublasGetStatusName(int s) { TURN(cublasGetStatusName); return s == 1 ? "CUBLAS_STATUS_NOT_INITIALIZED" : "CUBLAS_STATUS_INTERNAL_ERROR"; }
API int cublasSgemm_v2(void *h, int ta, int tb, int m, int n, int k, float *al, float *a, int lda, float *b, int ldb, float *be, float *c, int ldc) {
  ENTER(cublasSgemm_v2);
  for (int j = 0; j < n; j++) for (int i = 0; i < m; i++) {
    float sum = 0;
    for (int l = 0; l < k; l++) sum += a[l * lda + i] * b[j * ldb + l];
    c[j * ldc + i] = sum;
  }
  if (getenv("STANDIN_BLAS_WRONG")) c[3] += 1;
  return 0;
}
#endif
