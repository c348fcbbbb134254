/*
 * A library to preload: one call in the range that a control file names fails, as a bad disk would make it.
 * The control file (FAULTY_IO) is mapped: armed, call, error, skip and the text that the path must hold. The
 * tester writes it while the program runs; `armed` counts the failures that are left.
 *
 *   gcc -shared -fPIC -O2 -o faulty-io.so faulty-io.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, SYNC = 2, OPEN = 3, READ = 4 };
/** In place of an errno: half of the bytes are written. */
#define SHORT_WRITE -1

struct control {
  _Atomic int32_t armed, call, error, skip;
  _Atomic int32_t hits;
  char path[236];
};

static struct control *control;

__attribute__((constructor)) static void start(void) {
  const char *file = getenv("FAULTY_IO");
  if (file == NULL) return;
  int (*real_open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
  int fd = real_open(file, O_RDWR);
  if (fd < 0) return;
  void *at = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) control = at;
  close(fd);
}

/** Returns 0, or the error with which this call fails. */
static int fails(int call, const char *path) {
  if (strstr(path, control->path) == NULL) return 0;
  if (atomic_fetch_sub(&control->skip, 1) > 0) return 0;
  if (atomic_fetch_sub(&control->armed, 1) <= 0) {
    control->armed = 0;
    return 0;
  }
  atomic_fetch_add(&control->hits, 1);
  (void)call;
  return control->error;
}

static int fails_fd(int call, int fd) {
  if (control == NULL || control->armed <= 0 || control->call != call) return 0;
  char link[32], path[1024];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return fails(call, path);
}

static int fails_path(const char *path) {
  if (control == NULL || control->armed <= 0 || control->call != OPEN) return 0;
  return fails(OPEN, path);
}

#define REAL(name) \
  static __typeof__(name) *real = NULL; \
  if (real == NULL) real = dlsym(RTLD_NEXT, #name)

#define FAIL_WRITE(short_write) \
  int error = fails_fd(WRITE, fd); \
  if (error == SHORT_WRITE && count > 1) return short_write; \
  if (error > 0) { \
    errno = error; \
    return -1; \
  }

ssize_t write(int fd, const void *bytes, size_t count) {
  REAL(write);
  FAIL_WRITE(real(fd, bytes, count / 2))
  return real(fd, bytes, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
  REAL(pwrite);
  FAIL_WRITE(real(fd, bytes, count / 2, at))
  return real(fd, bytes, count, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  REAL(pwrite64);
  FAIL_WRITE(real(fd, bytes, count / 2, at))
  return real(fd, bytes, count, at);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  FAIL_WRITE(real(fd, parts, count / 2))
  return real(fd, parts, count);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  REAL(pwritev);
  FAIL_WRITE(real(fd, parts, count / 2, at))
  return real(fd, parts, count, at);
}

ssize_t pread64(int fd, void *bytes, size_t count, off64_t at) {
  REAL(pread64);
  int error = fails_fd(READ, fd);
  if (error > 0) {
    errno = error;
    return -1;
  }
  return real(fd, bytes, count, at);
}

int fsync(int fd) {
  REAL(fsync);
  int error = fails_fd(SYNC, fd);
  if (error > 0) {
    errno = error;
    return -1;
  }
  return real(fd);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  int error = fails_fd(SYNC, fd);
  if (error > 0) {
    errno = error;
    return -1;
  }
  return real(fd);
}

static mode_t mode_of(int flags, va_list rest) {
  return flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

#define OPENER(name, first_params, first_args) \
  int name(first_params const char *path, int flags, ...) { \
    REAL(name); \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = mode_of(flags, rest); \
    va_end(rest); \
    int error = fails_path(path); \
    if (error > 0) { \
      errno = error; \
      return -1; \
    } \
    return real(first_args path, flags, mode); \
  }

#define COMMA ,
OPENER(open, , )
OPENER(open64, , )
OPENER(openat, int dir COMMA, dir COMMA)
OPENER(openat64, int dir COMMA, dir COMMA)
