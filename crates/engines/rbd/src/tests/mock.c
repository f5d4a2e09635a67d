/* A library with the functions of librados and of librbd, on files of this machine. An image is named MODE:PATH, and
 * misbehaves as the mode says:
 *
 *   good       answers in reversed order          short      moves half of the bytes
 *   error      answers EIO                        twice      hands completions out twice
 *   huge       says that more came than was asked for
 *   stranger   hands out a completion that is nobody's, too
 *   refused    takes no operation                 fails      cannot hand completions out
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct completion { void *argument; ssize_t result; int released; struct completion *next; };
struct image { char mode[16]; int fd, bell; struct completion *last; struct completion stranger; };

/* librados */
int rados_create2(void **cluster, const char *name, const char *user, uint64_t flags) {
    (void)name; (void)flags;
    if (!strcmp(user, "client.nobody"))
        return -EACCES;
    *cluster = malloc(1);
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
    (void)c;
    if (!strcmp(pool, "none"))
        return -ENOENT;
    *io = malloc(1);
    return 0;
}
void rados_ioctx_destroy(void *io) { free(io); }
void rados_shutdown(void *c) { free(c); }

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
