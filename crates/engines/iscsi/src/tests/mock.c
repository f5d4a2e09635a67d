/* A library with libiscsi's functions, on files of this machine: the target's name is a path. The host says how it misbehaves:
 *
 *   good       answers in reversed order          busy       answers BUSY
 *   sense      answers CHECK CONDITION            twice      answers twice
 *   lying      says that it went well by the callback, and BUSY in the task
 *   silent     answers when it is destroyed       closed     closes the session, and forgets what it has
 *   taskless   takes no task                      refused    does not log in
 *   blockless  has blocks of 1000 bytes
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

typedef void (*answer_t)(void *context, int status, void *task, void *private);
struct iovec_of_scsi { void *base; size_t bytes; };
struct range { uint64_t lba; uint32_t blocks; };
struct capacity { uint64_t last_lba; uint32_t block_bytes; };

struct task {
    int status;
    struct capacity capacity;
    answer_t answer;
    void *private;
    struct task *next;
};
struct context { char path[512], mode[16]; int fd, bell; struct task *last; };

void *iscsi_create_context(const char *name) {
    (void)name;
    struct context *c = calloc(1, sizeof *c);
    c->fd = -1;
    c->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return c;
}
static int is(struct context *c, const char *mode) { return !strcmp(c->mode, mode); }
static void settle(struct context *c, int cut_off) {
    struct task *t = c->last;
    c->last = NULL;
    while (t) {
        struct task *next = t->next;
        answer_t answer = t->answer;
        void *private = t->private;
        int status = cut_off ? 0x0f000000 : t->status;
        if (is(c, "lying"))
            t->status = 8, status = 0;
        answer(c, status, t, private);
        if (is(c, "twice") && !cut_off)
            answer(c, status, t, private);
        t = next;
    }
}
int iscsi_destroy_context(struct context *c) {
    settle(c, 1);
    close(c->bell);
    close(c->fd);
    free(c);
    return 0;
}
int iscsi_set_session_type(void *c, int type) { (void)c; (void)type; return 0; }
int iscsi_set_header_digest(void *c, int digest) { (void)c; (void)digest; return 0; }
int iscsi_set_targetname(struct context *c, const char *name) {
    strncpy(c->path, name, sizeof c->path - 1);
    return 0;
}
int iscsi_set_initiator_username_pwd(void *c, const char *name, const char *word) { (void)c; (void)name; (void)word; return 0; }
void iscsi_set_noautoreconnect(void *c, int on) { (void)c; (void)on; }
int iscsi_set_timeout(void *c, int seconds) { (void)c; (void)seconds; return 0; }
int iscsi_full_connect_sync(struct context *c, const char *portal, int lun) {
    (void)lun;
    const char *end = strchr(portal, ':');
    memcpy(c->mode, portal, end && end - portal < 15 ? end - portal : 15);
    if (is(c, "refused"))
        return -1;
    c->fd = open(c->path, O_RDWR | O_CLOEXEC);
    return c->fd < 0 ? -1 : 0;
}
int iscsi_logout_sync(void *c) { (void)c; return 0; }
const char *iscsi_get_error(struct context *c) { return is(c, "refused") ? "planted refusal" : "planted error"; }
int iscsi_get_fd(struct context *c) { return c->bell; }
int iscsi_which_events(void *c) { (void)c; return POLLIN; }
int iscsi_service(struct context *c, int ready) {
    uint64_t count;
    if (!(ready & POLLIN) || read(c->bell, &count, 8) != 8 || is(c, "silent"))
        return 0;
    if (is(c, "closed")) {
        c->last = NULL;
        return -1;
    }
    settle(c, 0);
    return 0;
}
void *iscsi_readcapacity16_sync(struct context *c, int lun) {
    (void)lun;
    struct stat s;
    struct task *t = calloc(1, sizeof *t);
    fstat(c->fd, &s);
    t->capacity = (struct capacity){s.st_size / 512 - 1, is(c, "blockless") ? 1000 : 512};
    return t;
}
static void *add(struct context *c, int failed, answer_t answer, void *private) {
    uint64_t one = 1;
    if (is(c, "taskless"))
        return NULL;
    struct task *t = calloc(1, sizeof *t);
    t->status = failed || is(c, "sense") ? 2 : is(c, "busy") ? 8 : 0;
    t->answer = answer;
    t->private = private;
    t->next = c->last;
    c->last = t;
    return write(c->bell, &one, 8) == 8 ? t : NULL;
}
void *iscsi_read16_iov_sync(struct context *c, int lun, uint64_t lba, uint32_t bytes, int block, int a, int b, int d, int e, int f,
                            struct iovec_of_scsi *to, int count) {
    (void)lun; (void)a; (void)b; (void)d; (void)e; (void)f; (void)count;
    struct task *t = calloc(1, sizeof *t);
    t->status = pread(c->fd, to->base, bytes, lba * block) == (ssize_t)bytes ? 0 : 2;
    return t;
}
void *iscsi_read16_iov_task(struct context *c, int lun, uint64_t lba, uint32_t bytes, int block, int a, int b, int d, int e, int f,
                            answer_t answer, void *private, struct iovec_of_scsi *to, int count) {
    (void)lun; (void)a; (void)b; (void)d; (void)e; (void)f; (void)count;
    int failed = pread(c->fd, to->base, bytes, lba * block) != (ssize_t)bytes;
    return add(c, failed, answer, private);
}
void *iscsi_write16_iov_task(struct context *c, int lun, uint64_t lba, void *data, uint32_t bytes, int block, int a, int b, int d,
                             int e, int f, answer_t answer, void *private, struct iovec_of_scsi *from, int count) {
    (void)lun; (void)data; (void)a; (void)b; (void)d; (void)e; (void)f; (void)count;
    int failed = pwrite(c->fd, from->base, bytes, lba * block) != (ssize_t)bytes;
    return add(c, failed, answer, private);
}
void *iscsi_synchronizecache16_task(struct context *c, int lun, uint64_t lba, uint32_t blocks, int a, int b, answer_t answer,
                                    void *private) {
    (void)lun; (void)lba; (void)blocks; (void)a; (void)b;
    return add(c, 0, answer, private);
}
void *iscsi_unmap_task(struct context *c, int lun, int anchor, int group, struct range *range, int count, answer_t answer,
                       void *private) {
    (void)lun; (void)anchor; (void)group; (void)count;
    char *zeroes = calloc(range->blocks, 512);
    int failed = pwrite(c->fd, zeroes, range->blocks * 512, range->lba * 512) < 0;
    free(zeroes);
    return add(c, failed, answer, private);
}
void *scsi_datain_unmarshall(struct task *t) { return &t->capacity; }
/* Nothing is freed: a task that came twice is looked at twice. */
void scsi_free_scsi_task(struct task *t) { (void)t; }
