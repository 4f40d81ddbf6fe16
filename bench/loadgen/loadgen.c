/* A load generator that costs next to nothing, so that the broker is what gets measured.
 *
 * It speaks Kafka's protocol from prebuilt requests: N connections, each keeping D requests in flight, one thread,
 * epoll. Every reply is checked for its error code and its order; one error fails the run. Figures are printed as one
 * line of JSON: the time until the end of warm-up is not counted.
 *
 *   loadgen produce --port P --topic T [--partitions N] [--connections C] [--depth D] [--records R] [--value-bytes S]
 *   loadgen fetch   --port P --topic T --end-offset E [--fetch-bytes B] ... (the topic was filled with equal batches)
 *   both: [--acks A] [--warmup-s W] [--seconds T] [--volume-mb-max V] [--rotate] [--rate R]
 *   produce --transaction-ms M: each connection writes in transactions of its own, and commits every M milliseconds
 *
 * A transaction is that of the first protocol: its partition is added, one batch goes ahead and the others follow, and when
 * all of them are acknowledged it is ended. How long the end takes is counted by itself. A coordinator that is still busy
 * with the transaction before is asked again after 20 ms, as clients do.
 *
 * With --rate, R requests a second are due in all, evenly, and a request's time counts from when it was due, whether or
 * not a slow reply let it be sent then: a broker that stalls is charged for everyone who would have come meanwhile.
 */
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
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    DEPTH_MAX = 1024,
    SENT_AT_ONCE_MAX = 64,      /* requests in one call to the kernel */
    CONNECTIONS_MAX = 1024,
    HEAD_BYTES_MAX = 512,       /* as much of a reply as is looked at */
    READ_BYTES_MAX = 256 * 1024,
    LATENCIES_MAX = 64 * 1000 * 1000,
    API_PRODUCE = 0,
    API_FETCH = 1,
    API_FIND_COORDINATOR = 10,
    API_INIT_PRODUCER_ID = 22,
    API_ADD_PARTITIONS_TO_TXN = 24,
    API_END_TXN = 26,
    PRODUCE_VERSION = 8,
    FETCH_VERSION = 11,
    TRANSACTION_VERSION = 1,    /* of the four above; the last ones without tagged fields */
    CONCURRENT_TRANSACTIONS = 51,
    ASK_AGAIN_MS = 20,
    COMMITS_MAX = 1000 * 1000,
    BATCH_HEADER_BYTES = 61,
    CHECKSUM_AT = 17,
    CHECKED_FROM = 21,
    SEQUENCE_AT = 53,
    REPLY_TIMEOUT_MS = 10 * 1000
};

static const char CLIENT_ID[] = "loadgen";

/* ---- options ---------------------------------------------------------------------------------------------------- */

struct options {
    bool fetch;
    bool rotate;                /* spread a connection's requests over all partitions */
    int port, partitions, connections, depth, records, value_bytes, acks, fetch_bytes, transaction_ms;
    int schema_id;              /* stands in front of each value, unless it is 0 */
    double warmup_s, seconds, volume_mb_max, rate;  /* rate 0: as fast as replies come */
    int64_t end_offset;
    const char *topic;
};

static struct options options = {
    .partitions = 1, .connections = 1, .depth = 1, .records = 1, .value_bytes = 100, .acks = 1,
    .fetch_bytes = 1024 * 1024, .warmup_s = 1, .seconds = 5, .volume_mb_max = 1e9,
};

static void fail(const char *what) {
    fprintf(stderr, "loadgen: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(2);
}

static void parse_options(int argc, char **argv) {
    if (argc < 2 || (strcmp(argv[1], "produce") && strcmp(argv[1], "fetch"))) fail("first argument: produce or fetch");
    options.fetch = !strcmp(argv[1], "fetch");
    for (int i = 2; i < argc; i++) {
        const char *name = argv[i];
        if (!strcmp(name, "--rotate")) { options.rotate = true; continue; }
        if (++i == argc) fail("an option lacks its value");
        const char *value = argv[i];
        if (!strcmp(name, "--port")) options.port = atoi(value);
        else if (!strcmp(name, "--topic")) options.topic = value;
        else if (!strcmp(name, "--partitions")) options.partitions = atoi(value);
        else if (!strcmp(name, "--connections")) options.connections = atoi(value);
        else if (!strcmp(name, "--depth")) options.depth = atoi(value);
        else if (!strcmp(name, "--records")) options.records = atoi(value);
        else if (!strcmp(name, "--value-bytes")) options.value_bytes = atoi(value);
        else if (!strcmp(name, "--acks")) options.acks = atoi(value);
        else if (!strcmp(name, "--fetch-bytes")) options.fetch_bytes = atoi(value);
        else if (!strcmp(name, "--end-offset")) options.end_offset = atoll(value);
        else if (!strcmp(name, "--warmup-s")) options.warmup_s = atof(value);
        else if (!strcmp(name, "--seconds")) options.seconds = atof(value);
        else if (!strcmp(name, "--volume-mb-max")) options.volume_mb_max = atof(value);
        else if (!strcmp(name, "--rate")) options.rate = atof(value);
        else if (!strcmp(name, "--transaction-ms")) options.transaction_ms = atoi(value);
        else if (!strcmp(name, "--schema-id")) options.schema_id = atoi(value);
        else fail(name);
    }
    if (!options.port || !options.topic) fail("--port and --topic are needed");
    if (strlen(options.topic) > 249) fail("the topic's name is too long");
    if (options.depth < 1 || options.depth > DEPTH_MAX) fail("--depth out of range");
    if (options.connections < 1 || options.connections > CONNECTIONS_MAX) fail("--connections out of range");
    if (options.schema_id && options.value_bytes < 5) fail("--value-bytes must hold the schema's id");
    if (options.partitions < 1 || options.records < 1) fail("--partitions and --records are at least 1");
    if (options.transaction_ms) {
        if (options.fetch || options.rotate || options.rate) fail("--transaction-ms goes with produce at full speed");
        if (options.connections > options.partitions) fail("each connection's transactions need a partition");
        options.acks = -1;
    }
    if (options.acks != 1 && options.acks != -1) fail("--acks must be 1 or -1: without replies there is no load to pace");
}

/* ---- big-endian writing ------------------------------------------------------------------------------------------- */

struct buffer {
    uint8_t *data;
    size_t size, capacity;
};

static void put_bytes(struct buffer *b, const void *bytes, size_t count) {
    if (b->size + count > b->capacity) {
        b->capacity = (b->size + count) * 2;
        b->data = realloc(b->data, b->capacity);
        if (!b->data) fail("out of memory");
    }
    memcpy(b->data + b->size, bytes, count);
    b->size += count;
}

static void put_int(struct buffer *b, uint64_t value, int width) {
    uint8_t bytes[8];
    for (int i = 0; i < width; i++) bytes[i] = value >> (8 * (width - 1 - i));
    put_bytes(b, bytes, width);
}

static void patch_int(uint8_t *at, uint64_t value, int width) {
    for (int i = 0; i < width; i++) at[i] = value >> (8 * (width - 1 - i));
}

static int64_t get_int(const uint8_t *at, int width) {
    uint64_t value = 0;
    for (int i = 0; i < width; i++) value = value << 8 | at[i];
    int unused = 64 - 8 * width;
    return (int64_t)(value << unused) >> unused;
}

static void put_string(struct buffer *b, const char *text) {
    put_int(b, strlen(text), 2);
    put_bytes(b, text, strlen(text));
}

static void put_varint(struct buffer *b, int32_t value) {
    uint32_t zigzag = ((uint32_t)value << 1) ^ (uint32_t)(value >> 31);
    while (zigzag >= 0x80) {
        put_int(b, (zigzag & 0x7f) | 0x80, 1);
        zigzag >>= 7;
    }
    put_int(b, zigzag, 1);
}

/* ---- one record batch, the same in every request ------------------------------------------------------------------ */

static uint32_t crc32c(const uint8_t *bytes, size_t count) {
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

static int64_t wall_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static struct buffer build_batch(int64_t producer_id, int epoch) {
    struct buffer records = {0}, batch = {0};
    uint8_t *value = malloc(options.value_bytes);
    uint32_t noise = 12345;
    for (int i = 0; i < options.value_bytes; i++) value[i] = (noise = noise * 1664525 + 1013904223) >> 24;
    if (options.schema_id) {
        value[0] = 0;
        patch_int(value + 1, options.schema_id, 4);
    }
    for (int i = 0; i < options.records; i++) {
        struct buffer record = {0};
        put_int(&record, 0, 1);                     /* attributes */
        put_varint(&record, 0);                     /* timestamp delta */
        put_varint(&record, i);                     /* offset delta */
        put_varint(&record, -1);                    /* no key */
        put_varint(&record, options.value_bytes);
        put_bytes(&record, value, options.value_bytes);
        put_varint(&record, 0);                     /* no headers */
        put_varint(&records, record.size);
        put_bytes(&records, record.data, record.size);
        free(record.data);
    }
    put_int(&batch, 0, 8);                          /* base offset, assigned by the broker */
    put_int(&batch, BATCH_HEADER_BYTES - 12 + records.size, 4);
    put_int(&batch, -1, 4);                         /* leader epoch, assigned by the broker */
    put_int(&batch, 2, 1);                          /* magic */
    put_int(&batch, 0, 4);                          /* checksum, below */
    put_int(&batch, options.transaction_ms ? 0x10 : 0, 2);      /* attributes: no compression, create time */
    put_int(&batch, options.records - 1, 4);
    put_int(&batch, wall_ms(), 8);
    put_int(&batch, get_int(batch.data + 27, 8), 8);
    put_int(&batch, producer_id, 8);
    put_int(&batch, epoch, 2);
    put_int(&batch, producer_id < 0 ? -1 : 0, 4);   /* sequence: none, or patched */
    put_int(&batch, options.records, 4);
    put_bytes(&batch, records.data, records.size);
    patch_int(batch.data + CHECKSUM_AT, crc32c(batch.data + CHECKED_FROM, batch.size - CHECKED_FROM), 4);
    free(value);
    free(records.data);
    return batch;
}

/* What each bit of a sequence changes in the checksum, wherever else the batch is the same: a checksum is linear. */
static uint32_t sequence_bits[32];

static void learn_sequence_bits(const struct buffer *batch) {
    uint8_t *copy = malloc(batch->size);
    if (!copy) fail("out of memory");
    memcpy(copy, batch->data, batch->size);
    uint32_t without = get_int(batch->data + CHECKSUM_AT, 4);
    for (int bit = 0; bit < 32; bit++) {
        patch_int(copy + SEQUENCE_AT, 1u << bit, 4);
        sequence_bits[bit] = crc32c(copy + CHECKED_FROM, batch->size - CHECKED_FROM) ^ without;
    }
    free(copy);
}

static uint32_t checksum_with(uint32_t without, uint32_t sequence) {
    for (; sequence; sequence &= sequence - 1) without ^= sequence_bits[__builtin_ctz(sequence)];
    return without;
}

/* ---- requests: built once per slot, patched per send --------------------------------------------------------------- */

struct layout {
    size_t correlation, partition, offset, batch;   /* where the fields that change are */
};

static struct layout layout;
static size_t batch_bytes;
static int64_t fetch_advance, offset_limit;         /* offsets per full reply; where reading starts over */

static struct buffer start_request(int api, int version) {
    struct buffer b = {0};
    put_int(&b, 0, 4);
    put_int(&b, api, 2);
    put_int(&b, version, 2);
    layout.correlation = b.size;
    put_int(&b, 0, 4);
    put_string(&b, CLIENT_ID);
    return b;
}

static void end_request(struct buffer *b) {
    patch_int(b->data, b->size - 4, 4);
}

static struct buffer build_produce(const struct buffer *batch, const char *transactional_id) {
    struct buffer b = start_request(API_PRODUCE, PRODUCE_VERSION);
    if (transactional_id) put_string(&b, transactional_id);
    else put_int(&b, -1, 2);
    put_int(&b, options.acks, 2);
    put_int(&b, 30000, 4);                          /* timeout */
    put_int(&b, 1, 4);
    put_string(&b, options.topic);
    put_int(&b, 1, 4);
    layout.partition = b.size;
    put_int(&b, 0, 4);
    put_int(&b, batch->size, 4);
    layout.batch = b.size;
    put_bytes(&b, batch->data, batch->size);
    end_request(&b);
    return b;
}

static struct buffer build_fetch(void) {
    struct buffer b = start_request(API_FETCH, FETCH_VERSION);
    put_int(&b, -1, 4);                             /* a consumer, not a replica */
    put_int(&b, 500, 4);                            /* max wait */
    put_int(&b, 1, 4);                              /* min bytes */
    put_int(&b, options.fetch_bytes, 4);
    put_int(&b, 0, 1);                              /* read uncommitted */
    put_int(&b, 0, 4);                              /* no session */
    put_int(&b, -1, 4);
    put_int(&b, 1, 4);
    put_string(&b, options.topic);
    put_int(&b, 1, 4);
    layout.partition = b.size;
    put_int(&b, 0, 4);
    put_int(&b, -1, 4);                             /* leader epoch unknown */
    layout.offset = b.size;
    put_int(&b, 0, 8);
    put_int(&b, -1, 8);                             /* log start: replicas only */
    put_int(&b, options.fetch_bytes, 4);
    put_int(&b, 0, 4);                              /* nothing forgotten */
    put_string(&b, "");
    end_request(&b);
    return b;
}

/* ---- connections --------------------------------------------------------------------------------------------------- */

enum stage { LOADING, ENDING, ADDING, RESTING };

/* What a connection's transactions are about. Whatever is no batch is asked alone, with nothing else in flight. */
struct transaction {
    enum stage stage;
    bool is_open;                                   /* a batch has been acknowledged: others may follow together */
    char id[300];
    int64_t producer_id;
    int epoch;
    uint32_t sequence, checksum;                    /* of the next batch; of one with sequence 0 */
    int64_t ends_ns, asked_ns, rests_until_ns;
    struct buffer end, add;                         /* requests */
    size_t sent;                                    /* bytes of the one that is asked */
};

struct connection {
    int fd;
    struct transaction transaction;
    uint32_t sent, answered;                        /* requests handed to the kernel in full, replies complete */
    size_t sent_of_current;                         /* bytes of the request after `sent` */
    int64_t fetch_offset;
    int64_t due_ns;                                 /* when the next request is due; only with a rate */
    int partition;
    struct buffer slots[DEPTH_MAX];
    int64_t started_ns[DEPTH_MAX];
    uint8_t head[HEAD_BYTES_MAX];
    size_t head_size, frame_size, frame_seen;       /* the reply being read; frame_size 0 until known */
    uint32_t prepared;                              /* requests whose slot is patched */
};

static struct connection connections[CONNECTIONS_MAX];
static uint32_t *latencies, *commits;               /* in tenths of a microsecond */
static size_t latency_count, commit_count;
static uint64_t requests, payload_bytes, all_bytes;
static bool measuring;
static int64_t last_reply_ns;
static int64_t gap_ns;                              /* between two requests that are due, whatever their connection */

static int64_t monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void prepare(struct connection *c, int64_t now_ns) {
    int slot = c->prepared % options.depth;
    uint8_t *request = c->slots[slot].data;
    patch_int(request + layout.correlation, c->prepared, 4);
    patch_int(request + layout.partition, c->partition, 4);
    if (options.rotate) c->partition = (c->partition + options.connections) % options.partitions;
    if (options.fetch) {
        patch_int(request + layout.offset, c->fetch_offset, 8);
        c->fetch_offset += fetch_advance;
        if (c->fetch_offset > offset_limit) c->fetch_offset = 0;
    }
    if (options.transaction_ms) {
        struct transaction *t = &c->transaction;
        patch_int(request + layout.batch + SEQUENCE_AT, t->sequence, 4);
        patch_int(request + layout.batch + CHECKSUM_AT, checksum_with(t->checksum, t->sequence), 4);
        t->sequence = (t->sequence + options.records) & 0x7fffffff;
    }
    c->started_ns[slot] = now_ns;
    c->prepared++;
}

static void ask_alone(struct transaction *t, enum stage stage, int64_t now_ns) {
    t->stage = stage;
    t->asked_ns = now_ns;
    t->sent = 0;
}

/* How many requests may be in flight in the transaction as it stands; its end is asked for when it is time. */
static uint32_t depth_of(struct connection *c, int64_t now_ns) {
    struct transaction *t = &c->transaction;
    if (!options.transaction_ms) return options.depth;
    if (t->stage != LOADING) return 0;
    if (now_ns < t->ends_ns) return t->is_open ? options.depth : 1;
    if (c->answered == c->prepared) ask_alone(t, ENDING, now_ns);
    return 0;
}

static void prepare_requests(struct connection *c) {
    int64_t now_ns = monotonic_ns();
    uint32_t depth = depth_of(c, now_ns);
    while (c->prepared - c->answered < depth) {
        if (!options.rate) {
            prepare(c, now_ns);
            continue;
        }
        if (c->due_ns > now_ns) return;
        prepare(c, c->due_ns);
        c->due_ns += options.connections * gap_ns;
    }
}

static void send_asked(struct connection *c) {
    struct transaction *t = &c->transaction;
    struct buffer *asked = t->stage == ENDING ? &t->end : t->stage == ADDING ? &t->add : NULL;
    if (!asked || t->sent == asked->size) return;
    ssize_t written = write(c->fd, asked->data + t->sent, asked->size - t->sent);
    if (written < 0 && errno != EAGAIN) fail("write");
    if (written > 0) t->sent += written;
}

static void send_requests(struct connection *c) {
    prepare_requests(c);
    send_asked(c);
    while (c->sent != c->prepared) {
        struct iovec parts[SENT_AT_ONCE_MAX];
        int count = 0;
        for (uint32_t id = c->sent; id != c->prepared && count < SENT_AT_ONCE_MAX; id++) {
            struct buffer *slot = &c->slots[id % options.depth];
            size_t skip = id == c->sent ? c->sent_of_current : 0;
            parts[count++] = (struct iovec){slot->data + skip, slot->size - skip};
        }
        ssize_t written = writev(c->fd, parts, count);
        if (written < 0) {
            if (errno == EAGAIN) return;
            fail("write");
        }
        c->sent_of_current += written;
        size_t request_bytes = c->slots[0].size;
        c->sent += c->sent_of_current / request_bytes;
        c->sent_of_current %= request_bytes;
    }
}

static void error_reply(int64_t code, const char *where) {
    printf("{\"errors\": 1, \"error_code\": %lld, \"where\": \"%s\"}\n", (long long)code, where);
    exit(1);
}

static size_t check_produce(const uint8_t *reply) {
    const uint8_t *at = reply + 4 + 4;
    at += 2 + get_int(at, 2) + 4 + 4;
    if (get_int(at, 2)) error_reply(get_int(at, 2), "partition");
    return batch_bytes;
}

static size_t check_fetch(const uint8_t *reply) {
    if (get_int(reply + 8, 2)) error_reply(get_int(reply + 8, 2), "fetch");
    const uint8_t *at = reply + 4 + 4 + 2 + 4 + 4;
    at += 2 + get_int(at, 2) + 4 + 4;
    if (get_int(at, 2)) error_reply(get_int(at, 2), "partition");
    at += 2 + 8 + 8 + 8;
    int64_t aborted = get_int(at, 4);
    at += 4 + (aborted > 0 ? aborted * 16 : 0) + 4;
    int64_t whole_batches = get_int(at, 4) / (int64_t)batch_bytes;
    if (whole_batches * options.records < fetch_advance) error_reply(-1, "a short reply");
    return fetch_advance / options.records * batch_bytes;
}

static uint32_t tenths_of_us(int64_t ns) {
    return ns / 100 > UINT32_MAX ? UINT32_MAX : ns / 100;
}

static void finish_asked(struct connection *c, int64_t now_ns) {
    struct transaction *t = &c->transaction;
    const uint8_t *at = c->head + 4 + 4;            /* behind correlation and throttling */
    if (t->stage == ENDING) {
        if (get_int(at, 2)) error_reply(get_int(at, 2), "end");
        if (measuring && commit_count < COMMITS_MAX) commits[commit_count++] = tenths_of_us(now_ns - t->asked_ns);
        ask_alone(t, ADDING, now_ns);
        return;
    }
    int64_t code = get_int(at + 4 + 2 + strlen(options.topic) + 4 + 4, 2);
    if (code == CONCURRENT_TRANSACTIONS) {
        t->stage = RESTING;
        t->rests_until_ns = now_ns + ASK_AGAIN_MS * 1000000LL;
        return;
    }
    if (code) error_reply(code, "add");
    t->stage = LOADING;
    t->is_open = false;
    t->ends_ns = now_ns + options.transaction_ms * 1000000LL;
}

static void finish_reply(struct connection *c, int64_t now_ns) {
    last_reply_ns = now_ns;
    if (options.transaction_ms && c->transaction.stage != LOADING) {
        finish_asked(c, now_ns);
        return;
    }
    c->transaction.is_open = true;
    if (get_int(c->head, 4) != c->answered) error_reply(-1, "correlation");
    size_t bytes = options.fetch ? check_fetch(c->head) : check_produce(c->head);
    all_bytes += bytes;
    if (measuring) {
        int64_t taken_ns = now_ns - c->started_ns[c->answered % options.depth];
        if (latency_count < LATENCIES_MAX) latencies[latency_count++] = tenths_of_us(taken_ns);
        requests++;
        payload_bytes += bytes;
    }
    c->answered++;
}

static void consume_bytes(struct connection *c, const uint8_t *bytes, size_t count, int64_t now_ns) {
    while (count) {
        size_t want = c->frame_size ? c->frame_size - c->frame_seen : 4 - c->head_size;
        size_t take = want < count ? want : count;
        size_t room = HEAD_BYTES_MAX - c->head_size;
        memcpy(c->head + c->head_size, bytes, take < room ? take : room);
        c->head_size += take < room ? take : room;
        bytes += take;
        count -= take;
        if (!c->frame_size) {
            if (c->head_size < 4) continue;
            c->frame_size = get_int(c->head, 4);
            c->frame_seen = c->head_size = 0;
            continue;
        }
        c->frame_seen += take;
        if (c->frame_seen == c->frame_size) {
            finish_reply(c, now_ns);
            c->frame_size = c->head_size = 0;
        }
    }
}

static void read_replies(struct connection *c) {
    static uint8_t bytes[READ_BYTES_MAX];
    for (;;) {
        ssize_t count = recv(c->fd, bytes, sizeof bytes, 0);
        if (count < 0 && errno == EAGAIN) return;
        if (count < 0) fail("read");
        if (count == 0) { errno = 0; fail("the broker closed a connection"); }
        consume_bytes(c, bytes, count, monotonic_ns());
        if ((size_t)count < sizeof bytes) return;
    }
}

/* ---- transactional ids --------------------------------------------------------------------------------------------- */

static void read_fully(int fd, uint8_t *bytes, size_t count) {
    for (size_t seen = 0; seen < count;) {
        ssize_t more = read(fd, bytes + seen, count - seen);
        if (more <= 0) fail("read");
        seen += more;
    }
}

/* Ask again and again until there is no error, and give what follows the error; nobody else is waited for meanwhile. */
static const uint8_t *ask_until_done(int fd, struct buffer *request, const char *what) {
    static uint8_t reply[HEAD_BYTES_MAX];
    end_request(request);
    for (int64_t until_ns = monotonic_ns() + REPLY_TIMEOUT_MS * 1000000LL; monotonic_ns() < until_ns;) {
        if (write(fd, request->data, request->size) != (ssize_t)request->size) fail("write");
        read_fully(fd, reply, 4);
        size_t size = get_int(reply, 4);
        if (size > sizeof reply) fail(what);
        read_fully(fd, reply, size);
        if (!get_int(reply + 8, 2)) {
            free(request->data);
            return reply + 10;
        }
        usleep(ASK_AGAIN_MS * 1000);
    }
    error_reply(get_int(reply + 8, 2), what);
    return NULL;
}

static void introduce(struct connection *c, int number) {
    struct transaction *t = &c->transaction;
    snprintf(t->id, sizeof t->id, "%s-%d", options.topic, number);
    struct buffer find = start_request(API_FIND_COORDINATOR, TRANSACTION_VERSION);
    put_string(&find, t->id);
    put_int(&find, 1, 1);                           /* of a transaction */
    ask_until_done(c->fd, &find, "coordinator");
    struct buffer init = start_request(API_INIT_PRODUCER_ID, TRANSACTION_VERSION);
    put_string(&init, t->id);
    put_int(&init, 60000, 4);                       /* timeout */
    const uint8_t *given = ask_until_done(c->fd, &init, "producer id");
    t->producer_id = get_int(given, 8);
    t->epoch = get_int(given + 8, 2);
}

static struct buffer start_about(const struct transaction *t, int api) {
    struct buffer b = start_request(api, TRANSACTION_VERSION);
    put_string(&b, t->id);
    put_int(&b, t->producer_id, 8);
    put_int(&b, t->epoch, 2);
    return b;
}

static struct buffer build_transactional(struct connection *c, int number) {
    struct transaction *t = &c->transaction;
    introduce(c, number);
    t->end = start_about(t, API_END_TXN);
    put_int(&t->end, 1, 1);                         /* commit */
    end_request(&t->end);
    t->add = start_about(t, API_ADD_PARTITIONS_TO_TXN);
    put_int(&t->add, 1, 4);
    put_string(&t->add, options.topic);
    put_int(&t->add, 1, 4);
    put_int(&t->add, number % options.partitions, 4);
    end_request(&t->add);
    struct buffer batch = build_batch(t->producer_id, t->epoch);
    t->checksum = get_int(batch.data + CHECKSUM_AT, 4);
    if (!number) learn_sequence_bits(&batch);
    t->stage = RESTING;                             /* until the first look at those who rest */
    struct buffer request = build_produce(&batch, t->id);
    free(batch.data);
    return request;
}

static void wake_the_rested(void) {
    int64_t now_ns = monotonic_ns();
    for (int i = 0; i < options.connections; i++) {
        struct connection *c = &connections[i];
        if (c->transaction.stage != RESTING || now_ns < c->transaction.rests_until_ns) continue;
        ask_alone(&c->transaction, ADDING, now_ns);
        send_requests(c);
    }
}

/* ---- the run ------------------------------------------------------------------------------------------------------ */

static void open_connection(struct connection *c, int number, int epoll, const struct buffer *request) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(options.port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    int on = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct buffer own = {0};
    if (options.transaction_ms) {
        own = build_transactional(c, number);
        request = &own;
    }
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event)) fail("epoll");
    c->partition = number % options.partitions;
    for (int i = 0; i < options.depth; i++) put_bytes(&c->slots[i], request->data, request->size);
    free(own.data);
}

static int timer;

static struct timespec timespec_of(int64_t ns) {
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* Rings at the very moments at which requests are due, or else each would be late by as much as the two are apart. A
 * rate above 20,000 a second sends several per ring. */
static void start_pacing(int epoll) {
    gap_ns = 1e9 / options.rate;
    int64_t began_ns = monotonic_ns() + gap_ns;
    for (int i = 0; i < options.connections; i++) connections[i].due_ns = began_ns + i * gap_ns;
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct itimerspec rings = {
        .it_interval = timespec_of(gap_ns > 50000 ? gap_ns : 50000), .it_value = timespec_of(began_ns)};
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};
    if (timer < 0 || timerfd_settime(timer, TFD_TIMER_ABSTIME, &rings, NULL)) fail("timer");
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event)) fail("epoll");
}

static void run_until(int epoll, int64_t deadline_ns, uint64_t volume_max) {
    struct epoll_event events[64];
    while (monotonic_ns() < deadline_ns && all_bytes < volume_max) {
        int count = epoll_wait(epoll, events, 64, options.transaction_ms ? 1 : REPLY_TIMEOUT_MS);
        if (count < 0 && errno != EINTR) fail("epoll");
        if (monotonic_ns() - last_reply_ns >= REPLY_TIMEOUT_MS * 1000000LL) {
            errno = 0;
            fail("no reply for ten seconds");
        }
        for (int i = 0; i < count; i++) {
            struct connection *c = events[i].data.ptr;
            if (!c) {
                uint64_t rings;                     /* a timer that is not read does not ring again */
                if (read(timer, &rings, sizeof rings) < 0 && errno != EAGAIN) fail("timer");
                for (int k = 0; k < options.connections; k++) send_requests(&connections[k]);
                continue;
            }
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_replies(c);
            send_requests(c);
        }
        if (options.transaction_ms) wake_the_rested();
    }
}

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double quantile_ms(const uint32_t *sorted, size_t count, double q) {
    if (!count) return 0;
    size_t index = q * count;
    return sorted[index < count ? index : count - 1] / 10000.0;
}

static void print_figures(double seconds) {
    qsort(latencies, latency_count, sizeof *latencies, compare);
    qsort(commits, commit_count, sizeof *commits, compare);
    double records = options.fetch ? (double)requests * fetch_advance : (double)requests * options.records;
    printf("{\"errors\": 0, \"seconds\": %.3f, \"requests\": %llu, \"requests_per_s\": %.0f, \"mb_per_s\": %.1f, "
           "\"records_per_s\": %.0f, \"batch_bytes\": %zu, \"volume_mb\": %.0f, "
           "\"p50_ms\": %.4f, \"p99_ms\": %.4f, \"p999_ms\": %.4f, \"max_ms\": %.4f, "
           "\"commits\": %zu, \"commit_p50_ms\": %.4f, \"commit_p99_ms\": %.4f}\n",
           seconds, (unsigned long long)requests, requests / seconds, payload_bytes / seconds / 1e6,
           records / seconds, batch_bytes, all_bytes / 1e6,
           quantile_ms(latencies, latency_count, 0.5), quantile_ms(latencies, latency_count, 0.99),
           quantile_ms(latencies, latency_count, 0.999), quantile_ms(latencies, latency_count, 1),
           commit_count, quantile_ms(commits, commit_count, 0.5), quantile_ms(commits, commit_count, 0.99));
}

int main(int argc, char **argv) {
    parse_options(argc, argv);
    struct buffer batch = build_batch(-1, -1);      /* not idempotent */
    batch_bytes = batch.size;
    fetch_advance = options.fetch_bytes / batch_bytes * options.records;
    offset_limit = options.end_offset - fetch_advance;
    if (options.fetch && (fetch_advance < 1 || offset_limit < 0)) fail("the topic holds less than one full reply");
    struct buffer request = options.fetch ? build_fetch() : build_produce(&batch, NULL);
    latencies = malloc(sizeof *latencies * LATENCIES_MAX);
    int epoll = epoll_create1(0);
    commits = malloc(sizeof *commits * COMMITS_MAX);
    if (epoll < 0 || !latencies || !commits) fail("setup");
    for (int i = 0; i < options.connections; i++) open_connection(&connections[i], i, epoll, &request);

    if (options.rate) start_pacing(epoll);
    last_reply_ns = monotonic_ns();

    uint64_t volume_max = options.volume_mb_max * 1e6;
    run_until(epoll, monotonic_ns() + options.warmup_s * 1e9, volume_max / 2);
    measuring = true;
    int64_t started_ns = monotonic_ns();
    run_until(epoll, started_ns + options.seconds * 1e9, volume_max);
    print_figures((monotonic_ns() - started_ns) / 1e9);
    return 0;
}
