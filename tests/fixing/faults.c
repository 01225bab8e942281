/* Loaded before libc: counts the calls that change a file system, and has one of them fail, or ends the process there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static int armed, chosen, number, lasting, calls;

/* Fail call AT with error ERROR (0: end the process instead), and all after it if LASTING. AT 0 only counts. */
void fault_arm(int at, int error, int lasts) { chosen = at; number = error; lasting = lasts; calls = 0; armed = 1; }
int fault_disarm(void) { armed = 0; return calls; }

static int fails(void)
{
    if (!armed)
        return 0;
    calls++;
    if (!chosen || calls < chosen || (calls > chosen && !lasting))
        return 0;
    if (!number)
        kill(getpid(), SIGKILL);
    errno = number;
    return 1;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define WRAP(type, name, params, args) type name params { REAL(name); return fails() ? -1 : real args; }

WRAP(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, rename, (const char *a, const char *b), (a, b))
WRAP(int, renameat, (int f, const char *a, int t, const char *b), (f, a, t, b))
WRAP(int, link, (const char *a, const char *b), (a, b))
WRAP(int, linkat, (int f, const char *a, int t, const char *b, int flags), (f, a, t, b, flags))
WRAP(int, unlink, (const char *a), (a))
WRAP(int, unlinkat, (int f, const char *a, int flags), (f, a, flags))
WRAP(int, symlink, (const char *a, const char *b), (a, b))
WRAP(int, symlinkat, (const char *a, int f, const char *b), (a, f, b))
WRAP(int, mkdir, (const char *a, mode_t mode), (a, mode))
WRAP(int, mkdirat, (int f, const char *a, mode_t mode), (f, a, mode))
WRAP(int, rmdir, (const char *a), (a))
WRAP(int, chmod, (const char *a, mode_t mode), (a, mode))
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode))
WRAP(int, fchmodat, (int f, const char *a, mode_t mode, int flags), (f, a, mode, flags))
WRAP(int, fchown, (int fd, uid_t u, gid_t g), (fd, u, g))
WRAP(int, futimens, (int fd, const struct timespec t[2]), (fd, t))
WRAP(int, utimensat, (int f, const char *a, const struct timespec t[2], int flags), (f, a, t, flags))
WRAP(int, fsetxattr, (int fd, const char *n, const void *v, size_t s, int flags), (fd, n, v, s, flags))
WRAP(int, fremovexattr, (int fd, const char *n), (fd, n))

#define OPEN(name, params, call) int name params { \
    REAL(name); mode_t mode = 0; \
    if (flags & O_CREAT) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); \
        if (fails()) return -1; } \
    return real call; }

OPEN(open, (const char *a, int flags, ...), (a, flags, mode))
OPEN(open64, (const char *a, int flags, ...), (a, flags, mode))
OPEN(openat, (int f, const char *a, int flags, ...), (f, a, flags, mode))
OPEN(openat64, (int f, const char *a, int flags, ...), (f, a, flags, mode))
