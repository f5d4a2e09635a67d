/* A library with the functions of libgfapi, on files of this machine: the file of a volume has its own path. The volume's
 * name says how it misbehaves:
 *
 *   good    answers from threads of its own       short    moves half of the bytes
 *   error   answers EIO                           twice    calls back twice
 *   huge    says that more came than was asked for
 *   refused takes no operation                    none     is not there
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef void (*callback)(void *, ssize_t, void *, void *, void *);
struct volume { char mode[16]; pthread_mutex_t lock; pthread_cond_t quiet; int calls; };
struct file { struct volume *volume; int fd; };
struct call { struct file *file; callback back; void *argument; ssize_t result; int error; };

void *glfs_new(const char *name) {
    struct volume *v = calloc(1, sizeof *v);
    strncpy(v->mode, name, sizeof v->mode - 1);
    pthread_mutex_init(&v->lock, NULL);
    pthread_cond_init(&v->quiet, NULL);
    return v;
}
int glfs_set_volfile_server(void *v, const char *transport, const char *host, int port) {
    (void)v; (void)transport; (void)host;
    return errno = EINVAL, port > 0 ? 0 : -1;
}
int glfs_set_logging(void *v, const char *file, int level) { (void)v; (void)file; (void)level; return 0; }
int glfs_init(void *v) { return errno = ENOENT, !strcmp(((struct volume *)v)->mode, "none") ? -1 : 0; }
/* Waits until all callbacks have returned, as Gluster's does. */
int glfs_fini(void *volume) {
    struct volume *v = volume;
    pthread_mutex_lock(&v->lock);
    while (v->calls)
        pthread_cond_wait(&v->quiet, &v->lock);
    pthread_mutex_unlock(&v->lock);
    free(v);
    return 0;
}
int glfs_stat(void *v, const char *path, struct stat *facts) { (void)v; return stat(path, facts); }
static void *opened(void *volume, int fd) {
    if (fd < 0)
        return NULL;
    struct file *f = malloc(sizeof *f);
    f->volume = volume, f->fd = fd;
    return f;
}
void *glfs_open(void *v, const char *path, int flags) { return opened(v, open(path, flags | O_CLOEXEC)); }
void *glfs_creat(void *v, const char *path, int flags, mode_t mode) {
    int fd = open(path, flags | O_CREAT | O_CLOEXEC, mode);
    if (fd >= 0)
        fchmod(fd, mode);
    return opened(v, fd);
}
int glfs_close(struct file *f) {
    close(f->fd);
    free(f);
    return 0;
}
static ssize_t end(struct file *f, ssize_t moved, size_t asked) {
    const char *mode = f->volume->mode;
    if (!strcmp(mode, "refused"))
        return errno = EBUSY, -1;
    if (!strcmp(mode, "error"))
        return errno = EIO, -1;
    return moved > 0 && !strcmp(mode, "huge") ? (ssize_t)asked * 1000 : moved;
}
static size_t part(struct file *f, size_t bytes) { return !strcmp(f->volume->mode, "short") ? bytes / 2 : bytes; }
ssize_t glfs_pread(struct file *f, void *to, size_t bytes, off_t at, int flags, void *after) {
    (void)flags; (void)after;
    return end(f, pread(f->fd, to, part(f, bytes), at), bytes);
}
ssize_t glfs_pwrite(struct file *f, const void *from, size_t bytes, off_t at, int flags, void *before, void *after) {
    (void)flags; (void)before; (void)after;
    return end(f, pwrite(f->fd, from, part(f, bytes), at), bytes);
}
int glfs_fsync(struct file *f, void *before, void *after) { (void)before; (void)after; return end(f, fsync(f->fd), 0); }
int glfs_fdatasync(struct file *f, void *before, void *after) { return glfs_fsync(f, before, after); }
int glfs_ftruncate(struct file *f, off_t bytes, void *b, void *a) { (void)b; (void)a; return ftruncate(f->fd, bytes); }
int glfs_discard(struct file *f, off_t at, size_t bytes) {
    char *zeroes = calloc(1, bytes);
    ssize_t moved = pwrite(f->fd, zeroes, bytes, at);
    free(zeroes);
    return end(f, moved < 0 ? -1 : 0, 0);
}

static void *call(void *argument) {
    struct call *c = argument;
    struct volume *v = c->file->volume;
    errno = c->error;
    c->back(c->file, c->result, NULL, NULL, c->argument);
    free(c);
    pthread_mutex_lock(&v->lock);
    if (!--v->calls)
        pthread_cond_signal(&v->quiet);
    pthread_mutex_unlock(&v->lock);
    return NULL;
}
static int land(struct file *f, ssize_t result, callback back, void *argument) {
    int error = errno;
    pthread_t thread;
    if (!strcmp(f->volume->mode, "refused"))
        return errno = EBUSY, -1;
    if (!strcmp(f->volume->mode, "twice"))
        return back(f, result, NULL, NULL, argument), back(f, result, NULL, NULL, argument), 0;
    struct call *c = malloc(sizeof *c);
    c->file = f, c->back = back, c->argument = argument, c->result = result, c->error = error;
    pthread_mutex_lock(&f->volume->lock);
    f->volume->calls++;
    pthread_mutex_unlock(&f->volume->lock);
    if (pthread_create(&thread, NULL, call, c) != 0)
        abort();
    return pthread_detach(thread);
}
int glfs_pread_async(struct file *f, void *to, size_t bytes, off_t at, int flags, callback back, void *argument) {
    return land(f, glfs_pread(f, to, bytes, at, flags, NULL), back, argument);
}
int glfs_pwrite_async(struct file *f, const void *from, int bytes, off_t at, int flags, callback back, void *argument) {
    return land(f, glfs_pwrite(f, from, bytes, at, flags, NULL, NULL), back, argument);
}
int glfs_fsync_async(struct file *f, callback back, void *argument) {
    return land(f, glfs_fsync(f, NULL, NULL), back, argument);
}
int glfs_fdatasync_async(struct file *f, callback back, void *a) { return glfs_fsync_async(f, back, a); }
int glfs_discard_async(struct file *f, off_t at, size_t bytes, callback back, void *argument) {
    return land(f, glfs_discard(f, at, bytes), back, argument);
}
