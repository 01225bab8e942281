/* python.exe / pythonw.exe: loads the python3XX.dll beside it and calls Py_Main. A copy in a virtual environment starts the base
   interpreter that pyvenv.cfg names, as CPython's own venvlauncher.exe does: the application folder is then that of the base. */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>
typedef int (__cdecl *py_main_t)(int, wchar_t **);

static int base_of_environment(wchar_t *home, const wchar_t *own)
{
    wchar_t folder[32768], settings[32768];
    wcscpy(folder, own);
    *wcsrchr(folder, L'\\') = 0;
    for (int up = 0; up < 2; up++) {
        swprintf(settings, 32768, L"%ls\\pyvenv.cfg", folder);
        FILE *f = _wfopen(settings, L"rt, ccs=UTF-8");
        for (wchar_t line[4096]; f && fgetws(line, 4096, f);)
            if (!wcsncmp(line, L"home = ", 7)) {
                wcscpy(home, line + 7);
                home[wcscspn(home, L"\r\n")] = 0;
                fclose(f);
                return 1;
            }
        if (f) fclose(f);
        wchar_t *cut = wcsrchr(folder, L'\\');
        if (!cut) break;
        *cut = 0;
    }
    return 0;
}

static int start_base(const wchar_t *home, const wchar_t *own)
{
    wchar_t program[32768];
    STARTUPINFOW start = { sizeof start };
    PROCESS_INFORMATION made;
    DWORD status = 103;
    GetStartupInfoW(&start);
    swprintf(program, 32768, L"%ls\\%ls", home, wcsrchr(own, L'\\') + 1);
    SetEnvironmentVariableW(L"__PYVENV_LAUNCHER__", own);
    if (!CreateProcessW(program, GetCommandLineW(), NULL, NULL, TRUE, 0, NULL, NULL, &start, &made)) return 104;
    WaitForSingleObject(made.hProcess, INFINITE);
    GetExitCodeProcess(made.hProcess, &status);
    return (int)status;
}

static int run(int argc, wchar_t **argv)
{
    wchar_t own[32768], home[32768];
    GetModuleFileNameW(NULL, own, 32768);
    if (base_of_environment(home, own)) return start_base(home, own);
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
