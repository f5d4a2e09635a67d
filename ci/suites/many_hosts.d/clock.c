/* A clock of the day that is ahead by CLOCK_AHEAD_MS: loaded before the C library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*kernel)(clockid_t, struct timespec *);
    if (!kernel) kernel = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int answer = kernel(clock, time);
    const char *ahead = getenv("CLOCK_AHEAD_MS");
    if (answer == 0 && clock == CLOCK_REALTIME && ahead) {
        long milliseconds = atol(ahead);
        time->tv_sec += milliseconds / 1000;
        time->tv_nsec += milliseconds % 1000 * 1000000;
        if (time->tv_nsec >= 1000000000) { time->tv_sec++; time->tv_nsec -= 1000000000; }
    }
    return answer;
}
