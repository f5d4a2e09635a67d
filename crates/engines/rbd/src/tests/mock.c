/* A library with the functions of librados and of librbd, on files of this machine. An image is named MODE:PATH, and
 * misbehaves as the mode says:
 *
 *   good       answers in reversed order          short      moves half of the bytes
 *   error      answers EIO                        twice      hands completions out twice
 *   huge       says that more came than was asked for
 *   stranger   hands out a completion that is nobody's, too
 *   refused    takes no operation                 fails      cannot hand completions out
 *
 * An object is the file of its name; its pool is named as the mode. Callbacks come from threads of their own.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct completion { void *argument; ssize_t result; int released; struct completion *next; };
struct cluster { pthread_mutex_t lock; pthread_cond_t quiet; int calls; };
struct pool { struct cluster *cluster; char mode[16]; };
struct image { char mode[16]; int fd, bell; struct completion *last; struct completion stranger; };

/* librados */
int rados_create2(void **cluster, const char *name, const char *user, uint64_t flags) {
    (void)name; (void)flags;
    if (!strcmp(user, "client.nobody"))
        return -EACCES;
    struct cluster *own = calloc(1, sizeof *own);
    pthread_mutex_init(&own->lock, NULL);
    pthread_cond_init(&own->quiet, NULL);
    *cluster = own;
    return 0;
}
int rados_conf_read_file(void *c, const char *path) { (void)c; (void)path; return 0; }
int rados_conf_set(void *c, const char *name, const char *value) { (void)c; (void)name; (void)value; return 0; }
int rados_conf_get(void *c, const char *name, char *to, size_t room) {
    (void)c; (void)name;
    snprintf(to, room, "false");
    return 0;
}
int rados_connect(void *c) { (void)c; return 0; }
int rados_ioctx_create(void *c, const char *pool, void **io) {
    if (!strcmp(pool, "none"))
        return -ENOENT;
    struct pool *own = calloc(1, sizeof *own);
    own->cluster = c;
    strncpy(own->mode, pool, sizeof own->mode - 1);
    *io = own;
    return 0;
}
void rados_ioctx_destroy(void *io) { free(io); }
/* Waits until all callbacks have returned, as Ceph's does. */
void rados_shutdown(void *c) {
    struct cluster *own = c;
    pthread_mutex_lock(&own->lock);
    while (own->calls)
        pthread_cond_wait(&own->quiet, &own->lock);
    pthread_mutex_unlock(&own->lock);
    free(own);
}

/* objects */
typedef void (*callback)(void *, void *);
struct landing { void *argument; callback back; ssize_t result; struct cluster *cluster; };
struct change { uint64_t offset, bytes, size; };

void rados_version(int *a, int *b, int *c) { *a = 4; *b = 5; *c = 6; }
int rados_stat(void *io, const char *name, uint64_t *bytes, time_t *changed) {
    struct stat s;
    (void)io;
    if (stat(name, &s) < 0)
        return -errno;
    *bytes = s.st_size;
    *changed = s.st_mtime;
    return 0;
}
int rados_write(void *io, const char *name, const char *from, size_t bytes, uint64_t offset) {
    (void)io;
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ssize_t moved = fd < 0 ? -1 : pwrite(fd, from, bytes, offset);
    int error = errno;
    close(fd);
    return moved < 0 ? -error : 0;
}
int rados_trunc(void *io, const char *name, uint64_t bytes) { (void)io; return truncate(name, bytes) < 0 ? -errno : 0; }
/* Attributes are files beside the objects: not every file system has attributes. */
static char *beside(const char *name, char *room) { return sprintf(room, "%s.mark", name), room; }
int rados_getxattr(void *io, const char *name, const char *attribute, char *to, size_t room) {
    char path[4096];
    (void)io; (void)attribute; (void)to; (void)room;
    return access(beside(name, path), F_OK) < 0 ? -ENODATA : 1;
}
int rados_setxattr(void *io, const char *name, const char *attribute, const char *from, size_t bytes) {
    char path[4096];
    (void)attribute;
    return rados_write(io, beside(name, path), from, bytes, 0);
}
int rados_aio_create_completion2(void *argument, callback back, struct landing **made) {
    *made = calloc(1, sizeof **made);
    (*made)->argument = argument;
    (*made)->back = back;
    return 0;
}
static void *call(void *argument) {
    struct landing *l = argument;
    struct cluster *c = l->cluster;
    l->back(l, l->argument);
    pthread_mutex_lock(&c->lock);
    if (!--c->calls)
        pthread_cond_signal(&c->quiet);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}
static int land(struct pool *p, struct landing *l, ssize_t moved, ssize_t good) {
    pthread_t thread;
    if (!strcmp(p->mode, "refused"))
        return -EBUSY;
    l->result = !strcmp(p->mode, "error") ? -EIO : moved < 0 ? -errno : good;
    if (!strcmp(p->mode, "twice"))
        return l->back(l, l->argument), l->back(l, l->argument), 0;
    l->cluster = p->cluster;
    pthread_mutex_lock(&p->cluster->lock);
    p->cluster->calls++;
    pthread_mutex_unlock(&p->cluster->lock);
    if (pthread_create(&thread, NULL, call, l) != 0)
        abort();
    pthread_detach(thread);
    return 0;
}
int rados_aio_read(void *io, const char *name, struct landing *l, char *to, size_t bytes, uint64_t offset) {
    struct pool *p = io;
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t moved = fd < 0 ? -1 : pread(fd, to, !strcmp(p->mode, "short") ? bytes / 2 : bytes, offset);
    int error = errno;
    close(fd);
    errno = error;
    return land(p, l, moved, !strcmp(p->mode, "huge") ? 1 << 30 : moved);
}
int rados_aio_write(void *io, const char *name, struct landing *l, const char *from, size_t bytes, uint64_t offset) {
    int status = rados_write(io, name, from, bytes, offset);
    errno = -status;
    return land(io, l, status, 0);
}
int rados_aio_flush_async(void *io, struct landing *l) { return land(io, l, 0, 0); }
void *rados_create_write_op(void) { return calloc(1, sizeof(struct change)); }
void rados_write_op_zero(struct change *c, uint64_t offset, uint64_t bytes) { c->offset = offset, c->bytes = bytes; }
void rados_write_op_truncate(struct change *c, uint64_t size) { c->size = size; }
int rados_aio_write_op_operate(struct change *c, void *io, struct landing *l, const char *name, void *time, int flags) {
    struct stat s;
    char *zeroes = calloc(1, c->bytes);
    (void)time; (void)flags;
    /* As Ceph does: what is zeroed to its end is cut. */
    int cuts = stat(name, &s) == 0 && c->offset + c->bytes >= (uint64_t)s.st_size;
    int status = cuts ? rados_trunc(io, name, c->offset) : rados_write(io, name, zeroes, c->bytes, c->offset);
    if (!status && c->size)
        status = rados_trunc(io, name, c->size);
    errno = -status;
    free(zeroes);
    return land(io, l, status, 0);
}
void rados_release_write_op(struct change *c) { free(c); }
int rados_aio_get_return_value(struct landing *l) { return l->result; }
/* Nothing is freed: its callback may not have returned. */
void rados_aio_release(struct landing *l) { (void)l; }

/* librbd */
void rbd_version(int *a, int *b, int *c) { *a = 1; *b = 2; *c = 3; }
int rbd_open(void *io, const char *name, void **image, const char *snapshot) {
    (void)io; (void)snapshot;
    const char *path = strchr(name, ':');
    struct image *i = calloc(1, sizeof *i);
    if (!path || (i->fd = open(path + 1, O_RDWR | O_CLOEXEC)) < 0)
        return free(i), -ENOENT;
    memcpy(i->mode, name, path - name);
    i->bell = -1;
    *image = i;
    return 0;
}
int rbd_open_read_only(void *io, const char *name, void **image, const char *snapshot) {
    return rbd_open(io, name, image, snapshot);
}
int rbd_close(void *image) {
    struct image *i = image;
    close(i->fd);
    free(i);
    return 0;
}
int rbd_get_size(void *image, uint64_t *bytes) {
    struct stat s;
    if (fstat(((struct image *)image)->fd, &s) < 0)
        return -errno;
    *bytes = s.st_size;
    return 0;
}
ssize_t rbd_read(void *image, uint64_t offset, size_t bytes, char *to) {
    return pread(((struct image *)image)->fd, to, bytes, offset);
}
int rbd_set_image_notification(void *image, int fd, int type) {
    (void)type;
    ((struct image *)image)->bell = fd;
    return 0;
}
int rbd_aio_create_completion(void *argument, void *callback, void **made) {
    (void)callback;
    struct completion *c = calloc(1, sizeof *c);
    c->argument = argument;
    *made = c;
    return 0;
}
static int end(struct image *i, struct completion *c, ssize_t moved, ssize_t good) {
    uint64_t one = 1;
    if (!strcmp(i->mode, "refused"))
        return -EBUSY;
    c->result = moved < 0 ? -errno : good;
    if (!strcmp(i->mode, "error"))
        c->result = -EIO;
    c->next = i->last;
    i->last = c;
    return write(i->bell, &one, 8) == 8 ? 0 : -EIO;
}
int rbd_aio_read(void *image, uint64_t offset, size_t bytes, char *to, struct completion *c) {
    struct image *i = image;
    int is_short = !strcmp(i->mode, "short"), is_huge = !strcmp(i->mode, "huge");
    ssize_t moved = pread(i->fd, to, is_short ? bytes / 2 : bytes, offset);
    return end(i, c, moved, is_huge ? 1l << 40 : moved);
}
int rbd_aio_write(void *image, uint64_t offset, size_t bytes, const char *from, struct completion *c) {
    struct image *i = image;
    return end(i, c, pwrite(i->fd, from, bytes, offset), 0);
}
int rbd_aio_discard(void *image, uint64_t offset, uint64_t bytes, struct completion *c) {
    struct image *i = image;
    char *zeroes = calloc(1, bytes);
    ssize_t moved = pwrite(i->fd, zeroes, bytes, offset);
    free(zeroes);
    return end(i, c, moved, 0);
}
int rbd_aio_flush(void *image, struct completion *c) { return end(image, c, 0, 0); }
int rbd_poll_io_events(void *image, void **list, int room) {
    struct image *i = image;
    int count = 0;
    if (!strcmp(i->mode, "fails"))
        return -EBADF;
    while (i->last && count < room - 2) {
        struct completion *c = i->last;
        i->last = c->next;
        list[count++] = c;
        if (!strcmp(i->mode, "twice"))
            list[count++] = c;
        if (!strcmp(i->mode, "stranger")) {
            i->stranger.argument = (void *)(intptr_t)12345;
            list[count++] = &i->stranger;
        }
    }
    return count;
}
ssize_t rbd_aio_get_return_value(struct completion *c) { return c->result; }
void *rbd_aio_get_arg(struct completion *c) { return c->argument; }
/* Nothing is freed: a completion that came twice is looked at twice. */
void rbd_aio_release(struct completion *c) { c->released = 1; }
