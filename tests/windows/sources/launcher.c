/* python.exe / pythonw.exe: loads the python3XX.dll beside it and calls Py_Main. */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
typedef int (__cdecl *py_main_t)(int, wchar_t **);
static int run(int argc, wchar_t **argv)
{
    HMODULE h = LoadLibraryW(PYDLL);
    /* wine 8, seen once on a busy machine: a DLL of its own says no to its first loading */
    for (int again = 0; !h && GetLastError() == ERROR_DLL_INIT_FAILED && again < 5; again++) {
        Sleep(200);
        h = LoadLibraryW(PYDLL);
    }
    if (!h) { fprintf(stderr, "cannot load the python dll: error %lu\n", GetLastError()); return 101; }
    py_main_t m = (py_main_t)(void *)GetProcAddress(h, "Py_Main");
    return m ? m(argc, argv) : 102;
}
#ifdef WINDOWED
int WINAPI wWinMain(HINSTANCE a, HINSTANCE b, LPWSTR c, int d) { return run(__argc, __wargv); }
#else
int wmain(int argc, wchar_t **argv) { return run(argc, argv); }
#endif
