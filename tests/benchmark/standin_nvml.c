#include "standin.h"
int standin_unused_nvml;
