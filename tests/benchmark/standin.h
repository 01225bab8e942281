/* Shared by the stand-ins: the switches that make one function fail, die or hang, and the lazily computed results. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define API __attribute__((visibility("default")))
typedef float (*element_fn)(void *work, size_t index);
API int standin_turn(const char *function);
API void standin_later(void *at, size_t size, int width, void (*fill)(void *work, size_t first, size_t count, void *to), void *work);
API unsigned standin_writes(void);
API void standin_took(double milliseconds);
API int standin_number(const char *name, int other);
/* For a function whose result is no status. */
#define TURN(name) ((void)standin_turn(#name))
/* Return a status that a variable asks for, or go on; ends or hangs the process where one asks for that. */
#define ENTER(name) do { int asked = standin_turn(#name); if (asked) return asked; } while (0)
