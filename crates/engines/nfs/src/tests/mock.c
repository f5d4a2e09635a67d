/* A library with libnfs's functions, on files of this machine, that misbehaves as the export says:
 *
 *   good       answers in reversed order         short      moves half of the bytes
 *   error      answers EIO with a text           twice      answers twice
 *   silent     answers when it is destroyed      closed     closes the connection, and forgets what it has
 *   huge       says that more came than was asked for
 *   refused    refuses to mount
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

typedef void (*answer_t)(int status, void *context, void *data, void *private);

struct question {
    answer_t answer;
    void *private, *data, *room;
    int status;
    int is_transfer;
    struct question *next;
};

struct context {
    char mode[32];
    int bell;
    struct question *last;
};

struct url { char *server, *path, *file; };

static int add(struct context *c, answer_t answer, void *private, int status, void *data, void *room, int is_transfer) {
    struct question *q = calloc(1, sizeof *q);
    *q = (struct question){answer, private, data, room, status, is_transfer, c->last};
    c->last = q;
    uint64_t one = 1;
    return write(c->bell, &one, 8) == 8 ? 0 : -1;
}

static void settle(struct context *c, int cut_off) {
    struct question *q = c->last;
    c->last = NULL;
    while (q) {
        struct question *next = q->next;
        if (cut_off)
            q->answer(-EINTR, c, "cut off", q->private);
        else
            q->answer(q->status, c, q->data, q->private);
        if (q->is_transfer && !strcmp(c->mode, "twice"))
            q->answer(q->status, c, q->data, q->private);
        free(q->room);
        free(q);
        q = next;
    }
}

void *nfs_init_context(void) {
    struct context *c = calloc(1, sizeof *c);
    c->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return c;
}
void nfs_destroy_context(struct context *c) {
    settle(c, 1);
    close(c->bell);
    free(c);
}
struct url *nfs_parse_url_dir(struct context *c, const char *text) {
    const char *path = strncmp(text, "nfs://mock/", 11) ? NULL : text + 10;
    if (!path || !path[1])
        return NULL;
    struct url *u = calloc(1, sizeof *u);
    u->server = strdup("mock");
    u->path = strdup(path);
    strncpy(c->mode, path + 1, sizeof c->mode - 1);
    return u;
}
void nfs_destroy_url(struct url *u) {
    free(u->server);
    free(u->path);
    free(u);
}
void nfs_set_autoreconnect(struct context *c, int times) { (void)c; (void)times; }
char *nfs_get_error(struct context *c) { (void)c; return "the mock's text"; }
int nfs_get_fd(struct context *c) { return c->bell; }
int nfs_which_events(struct context *c) { (void)c; return POLLIN; }
int nfs_service(struct context *c, int ready) {
    uint64_t count;
    int transfers = c->last && c->last->is_transfer;
    if (!(ready & POLLIN) || read(c->bell, &count, 8) != 8)
        return 0;
    if (transfers && !strcmp(c->mode, "silent"))
        return 0;
    if (transfers && !strcmp(c->mode, "closed")) {
        c->last = NULL;
        return -1;
    }
    settle(c, 0);
    return 0;
}
int nfs_mount_async(struct context *c, const char *server, const char *path, answer_t answer, void *private) {
    (void)server; (void)path;
    int is_refused = !strcmp(c->mode, "refused");
    return add(c, answer, private, is_refused ? -EACCES : 0, is_refused ? "planted refusal" : NULL, NULL, 0);
}
int nfs_open2_async(struct context *c, const char *path, int flags, int mode, answer_t answer, void *private) {
    int fd = open(path, flags | O_CLOEXEC, mode & 0777);
    if (fd < 0)
        return add(c, answer, private, -errno, "cannot be opened", NULL, 0);
    return add(c, answer, private, 0, (void *)(intptr_t)(fd + 1), NULL, 0);
}
int nfs_stat64_async(struct context *c, const char *path, answer_t answer, void *private) {
    struct stat s;
    if (stat(path, &s) < 0)
        return add(c, answer, private, -errno, "cannot be found", NULL, 0);
    uint64_t *facts = calloc(17, 8);
    facts[2] = s.st_mode;
    facts[7] = s.st_size;
    return add(c, answer, private, 0, facts, facts, 0);
}
static int transfer(struct context *c, ssize_t count, uint64_t asked, char *data, answer_t answer, void *private) {
    if (!strcmp(c->mode, "error"))
        return free(data), add(c, answer, private, -EIO, "planted error", NULL, 1);
    if (!strcmp(c->mode, "short"))
        count = count / 2;
    if (!strcmp(c->mode, "huge"))
        count = 1 << 30;
    (void)asked;
    return add(c, answer, private, count < 0 ? -errno : count, data, data, 1);
}
int nfs_pread_async(struct context *c, void *file, uint64_t offset, uint64_t count, answer_t answer, void *private) {
    char *data = malloc(count ? count : 1);
    return transfer(c, pread((int)(intptr_t)file - 1, data, count, offset), count, data, answer, private);
}
int nfs_pwrite_async(struct context *c, void *file, uint64_t offset, uint64_t count, const void *from, answer_t answer,
                     void *private) {
    return transfer(c, pwrite((int)(intptr_t)file - 1, from, count, offset), count, NULL, answer, private);
}
int nfs_fsync_async(struct context *c, void *file, answer_t answer, void *private) {
    (void)file;
    return transfer(c, 0, 0, NULL, answer, private);
}
