/* icuuc.dll stand-in, for the wine prefix only (Windows 10 1903+ has a real one, wine 8 none).
 * Qt >= 6.10 imports these 20 names for exotic text codecs: ucnv_open simply fails. */
#define E __declspec(dllexport)
E void *ucnv_open(const char *n, int *err) { if (err) *err = 4; return 0; }
E void ucnv_close(void *c) {}
E void ucnv_reset(void *c) {}
E signed char ucnv_getMaxCharSize(void *c) { return 1; }
E const char *ucnv_getName(void *c, int *err) { return ""; }
E void ucnv_getToUCallBack(void *c, void **a, const void **x) { *a = 0; *x = 0; }
E void ucnv_getFromUCallBack(void *c, void **a, const void **x) { *a = 0; *x = 0; }
E void ucnv_setToUCallBack(void *c, void *n, const void *x, void **o, const void **ox, int *err) { if (err) *err = 1; }
E void ucnv_setFromUCallBack(void *c, void *n, const void *x, void **o, const void **ox, int *err) { if (err) *err = 1; }
E void ucnv_fromUnicode(void *c, char **t, const char *tl, const void **s, const void *sl, int *o, signed char f, int *err) { if (err) *err = 1; }
E void ucnv_toUnicode(void *c, void **t, const void *tl, const char **s, const char *sl, int *o, signed char f, int *err) { if (err) *err = 1; }
E int ucnv_countAvailable(void) { return 0; }
E const char *ucnv_getAvailableName(int n) { return 0; }
E const char *ucnv_getStandardName(const char *n, const char *s, int *err) { return 0; }
E void ucnv_cbToUWriteUChars(void *a, const void *s, int l, int o, int *err) {}
E void ucnv_cbFromUWriteUChars(void *a, const void **s, const void *sl, int o, int *err) {}
E int ucnv_toUCountPending(void *c, int *err) { return 0; }
E int ucnv_fromUCountPending(void *c, int *err) { return 0; }
E void UCNV_TO_U_CALLBACK_SUBSTITUTE(void) {}
E void UCNV_FROM_U_CALLBACK_SUBSTITUTE(void) {}
