/* The distance to the machine: a single-threaded server that does only what no broker can avoid.
 *
 * It frames requests, checks a batch's checksum, stamps its base offset, appends it to a file and answers; it sends
 * fetched bytes from the file without looking at them. No metadata, no validation, no recovery: its figures say how
 * fast any broker with one thread could be here, and nothing else. It knows Produce 8 and Fetch 11 as the load
 * generator sends them (one topic, one partition, batches of equal size) and answers ApiVersions so that one can see
 * that it is up.
 *
 *   floor PORT FOLDER
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTION_IN_BYTES = 4 * 1024 * 1024,
    CONNECTION_OUT_BYTES = 256 * 1024,
    REPLY_BYTES_MAX = 1024,
    LOGS_MAX = 4096,
    NAME_BYTES_MAX = 250,
    API_PRODUCE = 0,
    API_FETCH = 1,
    API_VERSIONS = 18,
    ERROR_CORRUPT = 2
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* ---- numbers and checksums ---------------------------------------------------------------------------------------- */

static int64_t get_int(const uint8_t *at, int width) {
    uint64_t value = 0;
    for (int i = 0; i < width; i++) value = value << 8 | at[i];
    int unused = 64 - 8 * width;
    return (int64_t)(value << unused) >> unused;
}

static uint8_t *put_int(uint8_t *at, uint64_t value, int width) {
    for (int i = 0; i < width; i++) at[i] = value >> (8 * (width - 1 - i));
    return at + width;
}

#if defined(__SSE4_2__)
static uint32_t crc32c(const uint8_t *bytes, size_t count) {
    uint64_t crc = 0xffffffff;
    for (; count >= 8; bytes += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        crc = __builtin_ia32_crc32di(crc, word);
    }
    uint32_t rest = crc;
    for (; count; bytes++, count--) rest = __builtin_ia32_crc32qi(rest, *bytes);
    return ~rest;
}
#else
static uint32_t crc32c(const uint8_t *bytes, size_t count) {
    static uint32_t table[256];
    if (!table[1])
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t crc = i;
            for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
            table[i] = crc;
        }
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < count; i++) crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
    return ~crc;
}
#endif

/* ---- logs ---------------------------------------------------------------------------------------------------------- */

struct log {
    char name[NAME_BYTES_MAX];
    size_t name_size;
    int32_t partition;
    int fd;
    int64_t next_offset, size, batch_bytes, batch_records;
};

static struct log logs[LOGS_MAX];
static int log_count;
static const char *folder;

static struct log *find_log(const uint8_t *name, size_t name_size, int32_t partition) {
    for (int i = 0; i < log_count; i++)
        if (logs[i].partition == partition && logs[i].name_size == name_size && !memcmp(logs[i].name, name, name_size))
            return &logs[i];
    if (log_count == LOGS_MAX || name_size >= NAME_BYTES_MAX) fail("too many logs");
    struct log *log = &logs[log_count++];
    memcpy(log->name, name, name_size);
    log->name_size = name_size;
    log->partition = partition;
    char path[4096];
    snprintf(path, sizeof path, "%s/%.*s-%d.log", folder, (int)name_size, log->name, partition);
    log->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0644);
    if (log->fd < 0) fail(path);
    return log;
}

static int append(struct log *log, uint8_t *batch, size_t size) {
    if (crc32c(batch + 21, size - 21) != (uint32_t)get_int(batch + 17, 4)) return ERROR_CORRUPT;
    put_int(batch, log->next_offset, 8);
    put_int(batch + 12, 0, 4);
    if (write(log->fd, batch, size) != (ssize_t)size) fail("append");
    log->batch_bytes = size;
    log->batch_records = get_int(batch + 57, 4);
    log->next_offset += log->batch_records;
    log->size += size;
    return 0;
}

/* ---- connections --------------------------------------------------------------------------------------------------- */

struct connection {
    int fd;
    size_t in_start, in_end, out_start, out_end;
    int file;                                       /* being sent after `out`, while file_left is not 0 */
    off_t file_position;
    size_t file_left;
    uint8_t in[CONNECTION_IN_BYTES], out[CONNECTION_OUT_BYTES];
};

static uint8_t *begin_reply(struct connection *c, const uint8_t *request) {
    uint8_t *at = c->out + c->out_end + 4;
    memcpy(at, request + 4, 4);                     /* correlation id */
    return at + 4;
}

static void end_reply(struct connection *c, uint8_t *end, size_t following_bytes) {
    uint8_t *start = c->out + c->out_end;
    put_int(start, end - start - 4 + following_bytes, 4);
    c->out_end = end - c->out;
}

static uint8_t *put_name(uint8_t *at, const uint8_t *name, size_t size) {
    at = put_int(at, size, 2);
    memcpy(at, name, size);
    return at + size;
}

static void serve_produce(struct connection *c, uint8_t *request, uint8_t *body) {
    body += 2 + 2 + 4 + 4;                          /* transactional id (null), acks, timeout, one topic */
    size_t name_size = get_int(body, 2);
    uint8_t *name = body + 2;
    body = name + name_size + 4;
    int32_t partition = get_int(body, 4);
    struct log *log = find_log(name, name_size, partition);
    int64_t base_offset = log->next_offset;
    int error = append(log, body + 8, get_int(body + 4, 4));
    uint8_t *at = put_int(begin_reply(c, request), 1, 4);
    at = put_int(put_name(at, name, name_size), 1, 4);
    at = put_int(at, partition, 4);
    at = put_int(at, error, 2);
    at = put_int(at, base_offset, 8);
    at = put_int(at, -1, 8);                        /* log append time */
    at = put_int(at, 0, 8);                         /* log start offset */
    at = put_int(at, 0, 4);                         /* record errors */
    at = put_int(at, -1, 2);                        /* error message */
    end_reply(c, put_int(at, 0, 4), 0);
}

static void serve_fetch(struct connection *c, uint8_t *request, uint8_t *body) {
    body += 4 + 4 + 4 + 4 + 1 + 4 + 4 + 4;          /* up to the one topic */
    size_t name_size = get_int(body, 2);
    uint8_t *name = body + 2;
    body = name + name_size + 4;
    int32_t partition = get_int(body, 4);
    int64_t offset = get_int(body + 8, 8), bytes_max = get_int(body + 24, 4);
    struct log *log = find_log(name, name_size, partition);
    int64_t position = log->batch_records ? offset / log->batch_records * log->batch_bytes : 0;
    int64_t bytes = log->size - position < bytes_max ? log->size - position : bytes_max;
    uint8_t *at = put_int(begin_reply(c, request), 0, 4);
    at = put_int(at, 0, 2);
    at = put_int(at, 0, 4);                         /* no session */
    at = put_int(at, 1, 4);
    at = put_int(put_name(at, name, name_size), 1, 4);
    at = put_int(at, partition, 4);
    at = put_int(at, 0, 2);
    at = put_int(at, log->next_offset, 8);
    at = put_int(at, log->next_offset, 8);
    at = put_int(at, 0, 8);
    at = put_int(at, -1, 4);                        /* aborted transactions */
    at = put_int(at, -1, 4);                        /* preferred replica */
    end_reply(c, put_int(at, bytes, 4), bytes);
    c->file = log->fd;
    c->file_position = position;
    c->file_left = bytes;
}

static void serve(struct connection *c, uint8_t *request) {
    int api = get_int(request, 2);
    uint8_t *body = request + 10 + (get_int(request + 8, 2) > 0 ? get_int(request + 8, 2) : 0);
    if (api == API_PRODUCE) serve_produce(c, request, body);
    else if (api == API_FETCH) serve_fetch(c, request, body);
    else if (api == API_VERSIONS) end_reply(c, put_int(put_int(begin_reply(c, request), 0, 2), 0, 4), 0);
    else fail("a request of another kind");
}

/* False when the socket takes no more for now. */
static bool flush(struct connection *c) {
    while (c->out_start < c->out_end) {
        ssize_t sent = send(c->fd, c->out + c->out_start, c->out_end - c->out_start, c->file_left ? MSG_MORE : 0);
        if (sent < 0) return false;
        c->out_start += sent;
    }
    c->out_start = c->out_end = 0;
    while (c->file_left) {
        ssize_t sent = sendfile(c->fd, c->file, &c->file_position, c->file_left);
        if (sent <= 0) return false;
        c->file_left -= sent;
    }
    return true;
}

static void serve_waiting(struct connection *c) {
    for (;;) {
        bool full = c->file_left || c->out_end + REPLY_BYTES_MAX > CONNECTION_OUT_BYTES;
        if (full && !flush(c)) return;
        size_t waiting = c->in_end - c->in_start;
        if (waiting < 4) break;
        size_t size = get_int(c->in + c->in_start, 4);
        if (waiting < 4 + size) break;
        serve(c, c->in + c->in_start + 4);
        c->in_start += 4 + size;
    }
    flush(c);
    if (c->in_start == c->in_end) c->in_start = c->in_end = 0;
    else if (c->in_start > CONNECTION_IN_BYTES / 2) {
        memmove(c->in, c->in + c->in_start, c->in_end - c->in_start);
        c->in_end -= c->in_start;
        c->in_start = 0;
    }
}

static bool handle(struct connection *c, uint32_t events) {
    if (events & EPOLLOUT) flush(c);
    for (;;) {
        ssize_t count = recv(c->fd, c->in + c->in_end, CONNECTION_IN_BYTES - c->in_end, 0);
        if (count == 0 || (count < 0 && errno != EAGAIN)) return false;
        if (count < 0) break;
        c->in_end += count;
        serve_waiting(c);
    }
    serve_waiting(c);
    return true;
}

int main(int argc, char **argv) {
    if (argc != 3) { fprintf(stderr, "usage: floor PORT FOLDER\n"); return 2; }
    folder = argv[2];
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 128)) fail("listen");
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[64];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < count; i++) {
            struct connection *c = events[i].data.ptr;
            if (!c) {
                c = calloc(1, sizeof *c);
                c->fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
                setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                event = (struct epoll_event){.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
                epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event);
            } else if (!handle(c, events[i].events)) {
                close(c->fd);
                free(c);
            }
        }
    }
}
