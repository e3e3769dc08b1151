/* Readers of one broadcast: as many WebSockets as asked for, one of which sends, and all of which must
 * get every message in order.
 *
 *     fanout PORT PATH TOKEN READERS DEAF INFLIGHT SECONDS SIZE PID
 *
 * Every connection asks 127.0.0.1 for PATH, in which %d becomes a number; the first presents TOKEN as a bearer, if it
 * is not "-". DEAF more never read after their upgrade. Once all are connected and it was quiet for a while, INFLIGHT
 * messages of about SIZE bytes are kept under way for SECONDS: one counts as arrived when the last reader has
 * it. One JSON object goes to stdout: messages, deliveries, seconds, latencies of single deliveries in microseconds,
 * our own CPU seconds and those of process PID meanwhile. With INFLIGHT 0 it says "ready" instead, answers pings, and leaves when stdin ends.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define QUIET_MS 500
#define PATIENCE_MS 30000
#define MOST (1 << 22)
#define BUCKETS 4096
/* How what we send begins, around a number of twenty digits. */
#define BEFORE "{\"protocol\":\"mcpx/v0.1\",\"id\":\""
#define BEHIND "\",\"from\":\"sender\","
#define START (sizeof BEFORE - 1 + 20 + sizeof BEHIND - 1)

struct reader {
    int fd;
    uint8_t head[10];
    int held;
    uint64_t rest;
    int opcode;
    uint8_t start[125];
    int start_size;
    uint64_t count;
};

static struct reader *readers;
static int reader_count, alive;
static int measuring;
static int64_t *sent_at;
static uint32_t *missing;
static uint64_t sent, arrived, deliveries, texts;
static uint64_t histogram[BUCKETS];

static int64_t now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static void die(const char *why)
{
    fprintf(stderr, "fanout: %s: %s\n", why, strerror(errno));
    exit(1);
}

/* Buckets of 1/64 of a power of two: the error is below two of a hundred. */
static int bucket_of(int64_t ns)
{
    uint64_t value = ns < 64 ? 64 : (uint64_t)ns;
    int power = 63 - __builtin_clzll(value);
    int found = (power - 6) * 64 + (int)((value >> (power - 6)) & 63);
    return found < BUCKETS ? found : BUCKETS - 1;
}

static double micros_at(double part)
{
    uint64_t all = 0, seen = 0;
    for (int at = 0; at < BUCKETS; at++)
        all += histogram[at];
    for (int at = 0; at < BUCKETS; at++) {
        seen += histogram[at];
        if (all && seen >= part * all)
            return (double)((64ull + at % 64) << (at / 64)) / 1000.0;
    }
    return 0;
}

static void send_all(int fd, const void *data, size_t size)
{
    const char *from = data;
    while (size) {
        ssize_t put = send(fd, from, size, MSG_NOSIGNAL);
        if (put < 0) {
            if (errno != EAGAIN && errno != EINTR)
                die("send");
            struct pollfd one = {.fd = fd, .events = POLLOUT};
            poll(&one, 1, 1000);
            continue;
        }
        from += put;
        size -= put;
    }
}

/* Not that somebody was cut off, who did not read. */
static int is_ours(const struct reader *one)
{
    return one->start_size >= (int)START && !memcmp(one->start, BEFORE, sizeof BEFORE - 1) &&
           !memcmp(one->start + START - (sizeof BEHIND - 1), BEHIND, sizeof BEHIND - 1);
}

static void whole(struct reader *one)
{
    if (one->opcode == 9) {
        uint8_t pong[131] = {0x8a, 0x80 | one->start_size};
        memcpy(pong + 6, one->start, one->start_size);
        send_all(one->fd, pong, 6 + one->start_size);
    } else if (one->opcode == 8) {
        fprintf(stderr, "fanout: a reader was told to go\n");
        exit(1);
    } else if (one->opcode == 1 && !measuring) {
        texts++;
    } else if (one->opcode == 1 && is_ours(one)) {
        uint64_t number = one->count++;
        if (number >= sent) {
            fprintf(stderr, "fanout: a message too many\n");
            exit(1);
        }
        histogram[bucket_of(now_ns() - sent_at[number])]++;
        deliveries++;
        if (!--missing[number])
            arrived++;
    }
}

static void take(struct reader *one, const uint8_t *data, size_t size)
{
    while (size || (one->opcode >= 0 && !one->rest)) {
        if (one->opcode < 0) {
            one->head[one->held++] = *data++;
            size--;
            int need = one->held < 2 ? 2 : one->head[1] == 126 ? 4 : one->head[1] == 127 ? 10 : 2;
            if (one->held < need)
                continue;
            one->rest = need == 2 ? one->head[1] : 0;
            for (int at = 2; at < need; at++)
                one->rest = one->rest << 8 | one->head[at];
            one->opcode = one->head[0] & 15;
            one->held = one->start_size = 0;
        }
        size_t part = one->rest < size ? one->rest : size;
        size_t keep = sizeof one->start - one->start_size;
        if (keep > part)
            keep = part;
        memcpy(one->start + one->start_size, data, keep);
        one->start_size += keep;
        one->rest -= part;
        data += part;
        size -= part;
        if (one->rest)
            return;
        whole(one);
        one->opcode = -1;
    }
}

static int dial(int port, const char *path, const char *token, int number, int room)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    if (fd < 0)
        die("socket");
    if (room)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(fd, (void *)&at, sizeof at))
        die("connect");
    char place[512], ask[2048], bearer[1024] = "";
    snprintf(place, sizeof place, path, number);
    if (strcmp(token, "-"))
        snprintf(bearer, sizeof bearer, "Authorization: Bearer %s\r\n", token);
    int size = snprintf(ask, sizeof ask,
                        "GET %s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n%s\r\n",
                        place, bearer);
    send_all(fd, ask, size);
    /* The head alone, byte by byte at its end, so that the first frame stays in the socket. */
    char head[4096];
    int used = 0;
    while (used < 4 || memcmp(head + used - 4, "\r\n\r\n", 4)) {
        if (used == sizeof head || recv(fd, head + used, 1, 0) != 1)
            die("upgrade");
        used++;
    }
    if (strncmp(head, "HTTP/1.1 101", 12)) {
        fprintf(stderr, "fanout: refused: %.*s\n", used, head);
        exit(1);
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

/* What has come within `ms`; whether anything did. */
static int turn(int poller, int ms)
{
    static struct epoll_event events[1024];
    static uint8_t data[1 << 18];
    int found = epoll_wait(poller, events, 1024, ms);
    for (int at = 0; at < found; at++) {
        struct reader *one = events[at].data.ptr;
        if (!one)
            return -1;
        ssize_t size = recv(one->fd, data, sizeof data, 0);
        if (size > 0)
            take(one, data, size);
        else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
            fprintf(stderr, "fanout: a reader was cut off\n");
            exit(1);
        }
    }
    return found > 0;
}

static void say(int fd, const char *text, size_t size)
{
    static uint8_t frame[1 << 17];
    int head = 0;
    frame[head++] = 0x81;
    if (size < 126)
        frame[head++] = 0x80 | size;
    else {
        frame[head++] = 0x80 | 126;
        frame[head++] = size >> 8;
        frame[head++] = size & 255;
    }
    memset(frame + head, 0, 4);
    memcpy(frame + head + 4, text, size);
    send_all(fd, frame, head + 4 + size);
}

/* CPU seconds of a process, as /proc has them. */
static double cpu_of(int pid)
{
    char path[64], line[2048];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    unsigned long user = 0, system = 0;
    if (file && fgets(line, sizeof line, file) && strrchr(line, ')'))
        sscanf(strrchr(line, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    if (file)
        fclose(file);
    return (double)(user + system) / sysconf(_SC_CLK_TCK);
}

int main(int count, char **words)
{
    if (count != 10) {
        fprintf(stderr, "fanout PORT PATH TOKEN READERS DEAF INFLIGHT SECONDS SIZE PID\n");
        return 2;
    }
    int port = atoi(words[1]), deaf = atoi(words[5]), inflight = atoi(words[6]);
    double seconds = atof(words[7]);
    int size = atoi(words[8]);
    reader_count = alive = atoi(words[4]);
    readers = calloc(reader_count, sizeof *readers);
    sent_at = calloc(MOST, sizeof *sent_at);
    missing = calloc(MOST, sizeof *missing);
    int poller = epoll_create1(0);
    int64_t began = now_ns();
    for (int at = 0; at < reader_count; at++) {
        readers[at].opcode = -1;
        readers[at].fd = dial(port, words[2], at ? "-" : words[3], at, 0);
        struct epoll_event wish = {.events = EPOLLIN, .data.ptr = &readers[at]};
        epoll_ctl(poller, EPOLL_CTL_ADD, readers[at].fd, &wish);
        if (at % 16 == 15)
            while (turn(poller, 0) > 0)
                ;
    }
    for (int at = 0; at < deaf; at++) {
        dial(port, words[2], "-", reader_count + at, 4096);
        while (turn(poller, 0) > 0)
            ;
    }
    double connected = (now_ns() - began) / 1e9;
    /* Pings of a thousand connections never end; what is said does. */
    uint64_t said = texts;
    for (int64_t calm = now_ns(); now_ns() - calm < QUIET_MS * 1000000ll;) {
        turn(poller, 50);
        if (texts != said) {
            said = texts;
            calm = now_ns();
        }
    }
    if (!inflight) {
        struct epoll_event wish = {.events = EPOLLIN, .data.ptr = NULL};
        if (epoll_ctl(poller, EPOLL_CTL_ADD, 0, &wish))
            die("stdin");
        printf("ready %.3f\n", connected);
        fflush(stdout);
        while (turn(poller, 1000) >= 0)
            ;
        return 0;
    }
    static char text[1 << 16];
    int pid = atoi(words[9]);
    double cpu_before = cpu_of(pid);
    measuring = 1;
    began = now_ns();
    int64_t until = began + (int64_t)(seconds * 1e9), last = began;
    uint64_t seen = 0;
    while (arrived < sent || now_ns() < until) {
        while (sent - arrived < (uint64_t)inflight && now_ns() < until && sent < MOST) {
            int used = snprintf(text, sizeof text,
                                BEFORE "%020llu" BEHIND "\"kind\":\"chat\","
                                "\"payload\":{\"text\":\"",
                                (unsigned long long)sent);
            while (used < size - 3 && used < (int)sizeof text - 8)
                text[used++] = 'x';
            used += snprintf(text + used, 8, "\"}}");
            missing[sent] = alive;
            sent_at[sent++] = now_ns();
            say(readers[0].fd, text, used);
        }
        turn(poller, 100);
        if (deliveries != seen) {
            seen = deliveries;
            last = now_ns();
        } else if (now_ns() - last > PATIENCE_MS * 1000000ll) {
            fprintf(stderr, "fanout: %llu of %llu messages came\n", (unsigned long long)arrived,
                    (unsigned long long)sent);
            return 1;
        }
    }
    double took = (now_ns() - began) / 1e9;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu = used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("{\"messages\": %llu, \"deliveries\": %llu, \"seconds\": %.6f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
           "\"cpu_seconds\": %.3f, \"server_cpu_seconds\": %.3f, \"connect_seconds\": %.3f}\n",
           (unsigned long long)sent, (unsigned long long)deliveries, took, micros_at(0.5), micros_at(0.99), cpu,
           cpu_of(pid) - cpu_before, connected);
    return 0;
}
