/* WinRT stand-in for wine 8: Windows.UI.ViewManagement.UISettings / AccessibilitySettings.
 * Qt >= 6.5's "windows" platform plugin creates UISettings without a guard, and wine 8 has no
 * such class, so Qt dies with an unhandled C++ exception (0xe06d7363).  Only in the test prefix. */
#include <windows.h>
typedef struct { const void *const *vt; } Obj;
typedef struct { BYTE A, R, G, B; } Color;
static HRESULT WINAPI qi(Obj *o, const GUID *iid, void **out);
static ULONG WINAPI addref(Obj *o) { return 2; }
static ULONG WINAPI release(Obj *o) { return 1; }
static HRESULT WINAPI get_iids(Obj *o, ULONG *n, void **i) { *n = 0; *i = 0; return S_OK; }
static HRESULT WINAPI get_name(Obj *o, void **h) { *h = 0; return S_OK; }
static HRESULT WINAPI get_trust(Obj *o, int *t) { *t = 0; return S_OK; }
static HRESULT WINAPI get_false(Obj *o, BYTE *b) { *b = 0; return S_OK; }
static HRESULT WINAPI get_true(Obj *o, BYTE *b) { *b = 1; return S_OK; }
static HRESULT WINAPI get_one(Obj *o, double *d) { *d = 1.0; return S_OK; }
static HRESULT WINAPI add_ev(Obj *o, void *handler, INT64 *token) { if (token) *token = 1; return S_OK; }
static HRESULT WINAPI rem_ev(Obj *o, INT64 token) { return S_OK; }
static HRESULT WINAPI nope(Obj *o) { return E_NOTIMPL; }
static HRESULT WINAPI color(Obj *o, int which, Color *c)
{   /* 0 background white, 1 foreground black, 2..8 accent blues */
    Color w = {255,255,255,255}, k = {255,0,0,0}, a = {255,0,120,215};
    *c = which == 0 ? w : which == 1 ? k : a; return S_OK;
}
static HRESULT WINAPI activate(Obj *o, void **out);
#define BASE qi, addref, release, get_iids, get_name, get_trust
static const void *const vt_fac[] = { BASE, activate };
static const void *const vt_ui1[] = { BASE, nope,nope,nope,nope,nope,nope,nope,nope,nope,nope,nope,nope,nope };
static const void *const vt_ui2[] = { BASE, get_one, add_ev, rem_ev };
static const void *const vt_ui3[] = { BASE, color, add_ev, rem_ev };
static const void *const vt_ui4[] = { BASE, get_true, add_ev, rem_ev };
static const void *const vt_acc[] = { BASE, get_false, get_name, add_ev, rem_ev };
static Obj fac = {vt_fac}, ui1 = {vt_ui1}, ui2 = {vt_ui2}, ui3 = {vt_ui3}, ui4 = {vt_ui4}, ui5 = {vt_ui4}, acc = {vt_acc};
static const struct { GUID id; Obj *o; } map[] = {
 {{0x00000035,0,0,{0xC0,0,0,0,0,0,0,0x46}}, &fac},
 {{0x85361600,0x1C63,0x4627,{0xBC,0xB1,0x3A,0x89,0xE0,0xBC,0x9C,0x55}}, &ui1},
 {{0xBAD82401,0x2721,0x44F9,{0xBB,0x91,0x2B,0xB2,0x28,0xBE,0x44,0x2F}}, &ui2},
 {{0x03021BE4,0x5254,0x4781,{0x81,0x94,0x51,0x68,0xF7,0xD0,0x6D,0x7B}}, &ui3},
 {{0x52BB3002,0x919B,0x4D6B,{0x9B,0x78,0x8D,0xD6,0x6F,0xF4,0xB9,0x3B}}, &ui4},
 {{0x5349D588,0x0CB5,0x5F05,{0xBD,0x34,0x70,0x6B,0x32,0x31,0xF0,0xBD}}, &ui5},
 {{0xFE0E8147,0xC4C0,0x4562,{0xB9,0x62,0x13,0x27,0xB5,0x2A,0xD5,0xB9}}, &acc},
 {{0x00000000,0,0,{0xC0,0,0,0,0,0,0,0x46}}, &ui1},                                            /* IUnknown */
 {{0xAF86E2E0,0xB12D,0x4c6a,{0x9C,0x5A,0xD7,0xAA,0x65,0x10,0x1E,0x90}}, &ui1},                /* IInspectable */
 {{0x94ea2b94,0xe9cc,0x49e0,{0xc0,0xff,0xee,0x64,0xca,0x8f,0x5b,0x90}}, &ui1},                /* IAgileObject */
};
static HRESULT WINAPI qi(Obj *o, const GUID *iid, void **out)
{
    for (unsigned i = 0; i < sizeof map / sizeof *map; i++)
        if (IsEqualGUID(iid, &map[i].id)) { *out = map[i].o; return S_OK; }
    *out = 0; return E_NOINTERFACE;
}
static HRESULT WINAPI activate(Obj *o, void **out) { *out = &ui1; return S_OK; }
__declspec(dllexport) HRESULT WINAPI DllGetActivationFactory(void *name, void **out) { *out = &fac; return S_OK; }
__declspec(dllexport) HRESULT WINAPI DllCanUnloadNow(void) { return S_FALSE; }
