/* A closed-loop HTTP load generator: as many keep-alive connections as there are requests in the
 * file, one request in flight on each, every answer checked, every latency kept.
 *
 *     load HOST PORT SECONDS WARMUP FILE
 *
 * FILE holds the requests, each as "LENGTH\n" and LENGTH bytes. Wherever the ten digits 1000000000
 * stand in a request they are replaced by the number of the call; the answer has to be HTTP 200 and
 * carry `"id":NUMBER`, where the request does, and `"hello NUMBER"` and no error. One JSON object goes to stdout.
 * It runs a little longer than SECONDS + WARMUP, until what was in flight is answered; what counts
 * is answered between the two. The Python twin is load/generate.py.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PLACE "1000000000"
#define DIGITS 10
#define PATIENCE_MS 20000
#define PLACES 4

struct connection {
    int fd;
    char *request;
    size_t length;
    size_t places[PLACES];
    int place_count;
    int has_id; /* a request of JSON-RPC; what is no such has none */
    char *held;
    size_t used, room;
    uint64_t number;
    int64_t sent;
    int busy;
};

static uint64_t next_number = 1000000000ull;
static uint64_t errors;
static char first_error[400];

static int64_t now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static void die(const char *why)
{
    fprintf(stderr, "load: %s: %s\n", why, strerror(errno));
    exit(1);
}

static void *grow(void *old, size_t size)
{
    void *fresh = realloc(old, size);
    if (!fresh) die("out of memory");
    return fresh;
}

/* One request of the file; 0 at its end. */
static int read_request(FILE *file, struct connection *one)
{
    if (fscanf(file, "%zu", &one->length) != 1) return 0;
    if (fgetc(file) != '\n') die("a request has no length line");
    one->request = grow(NULL, one->length);
    if (fread(one->request, 1, one->length, file) != one->length) die("a request is cut short");
    char *at = one->request, *end = one->request + one->length;
    while ((at = memmem(at, (size_t)(end - at), PLACE, DIGITS)) && one->place_count < PLACES) {
        one->places[one->place_count++] = (size_t)(at - one->request);
        at += DIGITS;
    }
    one->has_id = memmem(one->request, one->length, "\"id\":" PLACE, 5 + DIGITS) != NULL;
    return 1;
}

static void open_connection(struct connection *one, const struct sockaddr_in *where)
{
    int yes = 1;
    one->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (one->fd < 0 || connect(one->fd, (const struct sockaddr *)where, sizeof *where)) die("connect");
    setsockopt(one->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    fcntl(one->fd, F_SETFL, O_NONBLOCK);
    one->room = 1 << 16;
    one->held = grow(NULL, one->room + 1);
}

static void send_request(struct connection *one)
{
    char digits[DIGITS + 1];
    size_t done = 0;
    one->number = ++next_number;
    snprintf(digits, sizeof digits, "%010llu", (unsigned long long)one->number);
    for (int i = 0; i < one->place_count; i++) memcpy(one->request + one->places[i], digits, DIGITS);
    one->used = 0;
    one->busy = 1;
    one->sent = now_ns();
    while (done < one->length) {
        ssize_t wrote = write(one->fd, one->request + done, one->length - done);
        if (wrote > 0) done += (size_t)wrote;
        else if (errno != EAGAIN && errno != EINTR) die("write");
    }
}

/* Where the body of a whole answer starts, or NULL while bytes are missing. Chunks are joined. */
static char *whole_body(struct connection *one, size_t *size)
{
    one->held[one->used] = 0;
    char *body = memmem(one->held, one->used, "\r\n\r\n", 4);
    if (!body) return NULL;
    *body = 0;
    char *length = strcasestr(one->held, "\r\ncontent-length:");
    int chunked = strcasestr(one->held, "\r\ntransfer-encoding: chunked") != NULL;
    *body = '\r';
    body += 4;
    size_t have = one->used - (size_t)(body - one->held);
    if (!chunked) {
        *size = length ? strtoul(length + 17, NULL, 10) : 0;
        return have >= *size ? body : NULL;
    }
    char *at = body, *end = body + have;
    for (;;) { /* first see whether the last chunk is there */
        char *line = memmem(at, (size_t)(end - at), "\r\n", 2);
        if (!line) return NULL;
        size_t part = strtoul(at, NULL, 16);
        if ((size_t)(end - line) < part + 4) return NULL;
        at = line + 2 + part + 2;
        if (!part) break;
    }
    char *to = body;
    for (at = body;;) {
        char *line = memmem(at, (size_t)(end - at), "\r\n", 2);
        size_t part = strtoul(at, NULL, 16);
        if (!part) break;
        memmove(to, line + 2, part);
        to += part;
        at = line + 2 + part + 2;
    }
    *size = (size_t)(to - body);
    *to = 0;
    return body;
}

/* Whether `key`, a colon, perhaps blanks, and then `value` stand in the body. */
static int says(const char *body, size_t size, const char *key, const char *value)
{
    const char *at = body, *end = body + size;
    size_t key_size = strlen(key), value_size = strlen(value);
    while ((at = memmem(at, (size_t)(end - at), key, key_size))) {
        at += key_size;
        const char *look = at;
        while (look < end && (*look == ':' || *look == ' ')) look++;
        if ((size_t)(end - look) > value_size && !memcmp(look, value, value_size)
            && (look[value_size] < '0' || look[value_size] > '9'))
            return 1;
    }
    return 0;
}

static void check(const struct connection *one, const char *body, size_t size)
{
    char id[32], text[48];
    snprintf(id, sizeof id, "%llu", (unsigned long long)one->number);
    snprintf(text, sizeof text, "\"hello %s\"", id);
    int status = atoi(one->held + 9);
    if (status == 200 && (!one->has_id || says(body, size, "\"id\"", id)) && says(body, size, "\"text\"", text)
        && !says(body, size, "\"isError\"", "true") && !memmem(body, size, "\"error\":", 8))
        return;
    if (!errors++) {
        int shown = size > 250 ? 250 : (int)size;
        snprintf(first_error, sizeof first_error, "call %s: HTTP %d, %.*s", id, status, shown, body);
    }
}

static int by_size(const void *one, const void *other)
{
    int64_t left = *(const int64_t *)one, right = *(const int64_t *)other;
    return (left > right) - (left < right);
}

static void print_text(const char *text)
{
    putchar('"');
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\') printf("\\%c", *at);
        else if (*at < 32 || *at > 126) printf("\\u%04x", *at);
        else putchar(*at);
    }
    putchar('"');
}

static void report(int64_t *times, size_t count, double seconds, uint64_t all)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec)
        + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    qsort(times, count, sizeof *times, by_size);
    const double parts[] = {0.5, 0.9, 0.99, 0.999, 1.0};
    const char *names[] = {"p50_us", "p90_us", "p99_us", "p999_us", "max_us"};
    printf("{\"generator\":\"c\",\"calls\":%zu,\"all_calls\":%llu,\"seconds\":%.6f,\"cpu_seconds\":%.4f",
           count, (unsigned long long)all, seconds, cpu);
    for (int i = 0; i < 5; i++) {
        size_t rank = (size_t)(parts[i] * (double)count + 0.999999);
        printf(",\"%s\":%.1f", names[i], count ? (double)times[(rank ? rank : 1) - 1] / 1000 : 0.0);
    }
    printf(",\"errors\":%llu,\"first_error\":", (unsigned long long)errors);
    print_text(first_error);
    puts("}");
}

static int64_t *taken;
static size_t kept, room = 1 << 16;
static uint64_t answered;

/* Read what has come. 1 once the answer is whole; it was checked and its latency kept then. */
static int take(struct connection *one, int64_t start, int64_t stop)
{
    if (one->used == one->room) {
        one->room *= 2;
        one->held = grow(one->held, one->room + 1);
    }
    ssize_t got = read(one->fd, one->held + one->used, one->room - one->used);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (got <= 0) {
        if (!got) errno = ECONNRESET;
        die("read");
    }
    if (!one->busy) return 0; /* bytes that nobody asked for */
    one->used += (size_t)got;
    size_t size = 0;
    char *body = whole_body(one, &size);
    if (!body) return 0;
    int64_t at = now_ns();
    check(one, body, size);
    one->busy = 0;
    answered++;
    if (at >= start && at <= stop) {
        if (kept == room) taken = grow(taken, (room *= 2) * sizeof *taken);
        taken[kept++] = at - one->sent;
    }
    return 1;
}

static struct connection *prepare(const char *path, int *count)
{
    struct connection *all = NULL;
    FILE *file = fopen(path, "rb");
    if (!file) die(path);
    for (*count = 0;; ++*count) {
        all = grow(all, (size_t)(*count + 1) * sizeof *all);
        memset(all + *count, 0, sizeof *all);
        if (!read_request(file, all + *count)) break;
    }
    fclose(file);
    return all;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: load HOST PORT SECONDS WARMUP FILE\n");
        return 2;
    }
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    if (inet_pton(AF_INET, argv[1], &where.sin_addr) != 1) die("HOST has to be an IPv4 address");
    int count = 0, poll = epoll_create1(0);
    struct connection *all = prepare(argv[5], &count);
    for (int i = 0; i < count; i++) {
        open_connection(all + i, &where);
        struct epoll_event want = {.events = EPOLLIN, .data.ptr = all + i};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, all[i].fd, &want)) die("epoll_ctl");
    }
    taken = grow(NULL, room * sizeof *taken);
    int64_t start = now_ns() + (int64_t)(atof(argv[4]) * 1e9);
    int64_t stop = start + (int64_t)(atof(argv[3]) * 1e9);
    int busy = count;
    for (int i = 0; i < count; i++) send_request(all + i);
    struct epoll_event ready[256];
    while (busy) {
        int many = epoll_wait(poll, ready, 256, PATIENCE_MS);
        if (many < 0 && errno == EINTR) continue;
        if (many <= 0) {
            errno = ETIMEDOUT;
            die("no answer");
        }
        for (int i = 0; i < many; i++) {
            struct connection *one = ready[i].data.ptr;
            if (!take(one, start, stop)) continue;
            if (now_ns() < stop) send_request(one);
            else busy--;
        }
    }
    report(taken, kept, (double)(stop - start) / 1e9, answered);
    return 0;
}
