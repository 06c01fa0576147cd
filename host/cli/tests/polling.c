// SPDX-License-Identifier: Apache-2.0
// poll and epoll on the files of `towpath files`, in the current folder: the first argument tells which case, the second a seed.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MUST(what)                                                                                                                         \
    do {                                                                                                                                   \
        if (!(what)) {                                                                                                                     \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #what, strerror(errno));                                                        \
            _exit(1);                                                                                                                      \
        }                                                                                                                                  \
    } while (0)

enum { SIZE = 300000 };
static unsigned char out[SIZE], in[SIZE];
static unsigned long long seed;

static unsigned below(unsigned most) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % most;
}

static int ready(int file, short events, int timeout) {
    struct pollfd one = {.fd = file, .events = events};
    MUST(poll(&one, 1, timeout) >= 0);
    return one.revents;
}

// Linux tells `towpath files` of a close when the program goes on already.
static int opened(const char *name, int flags) {
    int file;
    while ((file = open(name, flags)) == -1 && errno == EBUSY) usleep(1000);
    MUST(file >= 0);
    return file;
}

static void open_both(int *writes, int *reads, const char *rx, const char *tx, int flags) {
    *writes = opened(rx, O_WRONLY | flags);
    *reads = opened(tx, O_RDONLY | flags);
}

// A message may come in parts, where the time of a read ends within it. None of them is empty.
static void reads(int file, unsigned char *into, long size) {
    for (long came = 0, one; came < size; came += one) {
        MUST(ready(file, POLLIN, -1) == POLLIN && (one = read(file, into + came, size - came)) > 0);
    }
}

// What is ready before and after data, and that a program which does not wait learns when there is room.
static void steps(void) {
    int rx, tx;
    open_both(&rx, &tx, "in", "out", O_NONBLOCK);
    MUST(ready(tx, POLLIN | POLLOUT, 0) == 0 && ready(tx, POLLIN, 50) == 0);
    MUST(ready(rx, POLLOUT | POLLIN, 0) == POLLOUT);
    MUST(write(rx, out, 100) == 100 && fsync(rx) == 0);
    MUST(ready(tx, POLLIN, -1) == POLLIN);
    // A part, and the rest is still there.
    long first = read(tx, in, 60);
    MUST(first > 0 && (first < 60 || ready(tx, POLLIN, 0) == POLLIN));
    reads(tx, in + first, 100 - first);
    MUST(memcmp(in, out, 100) == 0);
    MUST(ready(tx, POLLIN, 50) == 0 && read(tx, in, 1) == -1 && errno == EAGAIN);

    // A file that has something is not received ahead of, so no room comes from there.
    long taken = write(rx, out, 1000), one;
    MUST(taken == 1000 && ready(tx, POLLIN, -1) == POLLIN);
    while ((one = write(rx, out + taken, SIZE - taken)) > 0) taken += one;
    MUST(one == -1 && errno == EAGAIN && taken < SIZE);
    MUST(ready(rx, POLLOUT, 50) == 0);
    for (long came = 0; came < SIZE;) {
        struct pollfd both[] = {{.fd = taken < SIZE ? rx : -1, .events = POLLOUT}, {.fd = tx, .events = POLLIN}};
        MUST(poll(both, 2, -1) > 0);
        if (both[0].revents) {
            MUST(both[0].revents == POLLOUT && (one = write(rx, out + taken, SIZE - taken)) > 0);
            if ((taken += one) == SIZE) MUST(close(rx) == 0);
        }
        if (both[1].revents) {
            MUST(both[1].revents == POLLIN && (one = read(tx, in + came, SIZE - came)) >= 0);
            came += one;
        }
    }
    MUST(memcmp(in, out, SIZE) == 0);
}

// The endpoint's reset, by VerCoLib's call, whose number has the size of a pointer, or another register.
static int resets(unsigned number) {
    struct {
        unsigned channel, number, value;
    } set = {0, number, 1};
    int card = opened("vcl_0", O_RDWR);
    MUST(ioctl(card, _IOR(0xff, 0, void *), &set) == -1 && errno == ENOTTY);
    int result = ioctl(card, _IOW(0xff, 4, void *), &set), error = errno;
    MUST(close(card) == 0);
    errno = error;
    return result;
}

// A reset ends the message that is open: its end is not sent at the close.
static void reset_and_close(void) {
    int rx, tx;
    open_both(&rx, &tx, "vcl_0_rx_0", "vcl_0_tx_0", 0);
    memset(in, 0xee, sizeof in);
    MUST(write(rx, in, 1 + below(5000)) > 0 && resets(7) == 0 && close(rx) == 0);
    rx = opened("vcl_0_rx_0", O_WRONLY);
    MUST(write(rx, out, 100) == 100 && close(rx) == 0);
    reads(tx, in, 100);
    MUST(memcmp(in, out, 100) == 0);
    // What has been received ahead is not the next program's.
    memset(in, 0xee, sizeof in);
    rx = opened("vcl_0_rx_0", O_WRONLY);
    MUST(write(rx, in, 2000) == 2000 && ready(tx, POLLIN, -1) == POLLIN && close(tx) == 0 && resets(7) == 0 && close(rx) == 0);
    open_both(&rx, &tx, "vcl_0_rx_0", "vcl_0_tx_0", 0);
    MUST(write(rx, out, 100) == 100 && close(rx) == 0);
    reads(tx, in, 100);
    MUST(memcmp(in, out, 100) == 0);
}

// One thread, files that wait, and both directions at once: as VerCoLib's programs do it. An epoll tells of each file once for each change.
static void one_thread(int edges) {
    int rx, tx, both = epoll_create1(0);
    open_both(&rx, &tx, "vcl_0_rx_0", "vcl_0_tx_0", edges ? O_NONBLOCK : 0);
    struct epoll_event of_rx = {.events = EPOLLOUT | (edges ? EPOLLET : 0), .data.fd = rx};
    struct epoll_event of_tx = {.events = EPOLLIN | (edges ? EPOLLET : 0), .data.fd = tx};
    MUST(epoll_ctl(both, EPOLL_CTL_ADD, rx, &of_rx) == 0 && epoll_ctl(both, EPOLL_CTL_ADD, tx, &of_tx) == 0);
    // What was written before a reset is gone, also what has been received ahead.
    MUST(write(rx, in, 1 + below(2000)) > 0 && (below(2) || ready(tx, POLLIN, 20) >= 0) && resets(7) == 0);
    MUST(write(rx, in, 2000) == 2000 && ready(tx, POLLIN, -1) == POLLIN && resets(7) == 0);
    MUST(resets(6) == -1 && errno == ENOTTY);
    long taken = 0, came = 0, one;
    while (came < SIZE) {
        struct epoll_event told[2];
        int count = epoll_wait(both, told, 2, -1);
        MUST(count > 0);
        for (int n = 0; n < count; n++) {
            do {
                long most = below(4) ? SIZE : 1 + below(5000);
                if (told[n].data.fd == rx) {
                    MUST(told[n].events == EPOLLOUT);
                    one = write(rx, out + taken, most < SIZE - taken ? most : SIZE - taken);
                    if (one > 0 && (taken += one) == SIZE) {
                        MUST(close(rx) == 0);
                        break;
                    }
                } else {
                    MUST(told[n].events == EPOLLIN);
                    one = read(tx, in + came, most < SIZE - came ? most : SIZE - came);
                    if (one >= 0) came += one;
                }
                MUST(one >= 0 || (edges && errno == EAGAIN));
            } while (edges && one > 0 && came < SIZE);
        }
    }
    MUST(memcmp(in, out, SIZE) == 0);
}

// Two threads take what comes, beside each other: what one has taken is not there for the other, and each is woken for what is left.
static int shared;
static volatile long sum, count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
enum { ALL = 20000 };

static void *takes(void *unused) {
    (void)unused;
    while (count < ALL) {
        unsigned char some[700];
        if (ready(shared, POLLIN, 50) == 0) continue;
        long one = read(shared, some, sizeof some);
        MUST(one >= 0 || errno == EAGAIN);
        pthread_mutex_lock(&lock);
        for (long n = 0; n < one; n++) sum += some[n];
        if (one > 0) count += one;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void two_threads(void) {
    int rx;
    pthread_t threads[2];
    open_both(&rx, &shared, "in", "out", 0);
    MUST(fcntl(shared, F_SETFL, O_NONBLOCK) == 0);
    for (int n = 0; n < 2; n++) MUST(pthread_create(&threads[n], NULL, takes, NULL) == 0);
    long wanted = 0;
    for (long sent = 0, one; sent < ALL; sent += one) {
        one = 1 + below(2000);
        if (one > ALL - sent) one = ALL - sent;
        MUST(write(rx, out + sent, one) == one && (below(2) || fsync(rx) == 0));
    }
    MUST(close(rx) == 0);
    for (int n = 0; n < 2; n++) MUST(pthread_join(threads[n], NULL) == 0);
    for (long n = 0; n < ALL; n++) wanted += out[n];
    MUST(count == ALL && sum == wanted);
}

// One descriptor for both directions, of which a thread reads while another writes: Linux holds no lock meanwhile.
static void *reads_four(void *file) {
    MUST(read(*(int *)file, in, 4) == 4);
    return NULL;
}

static void one_descriptor(void) {
    pthread_t reader;
    int both = opened("xillybus_both", O_RDWR);
    MUST(pthread_create(&reader, NULL, reads_four, &both) == 0);
    usleep(100000); // so that it waits already, most often
    MUST(write(both, "abcd", 4) == 4 && pthread_join(reader, NULL) == 0 && memcmp(in, "abcd", 4) == 0);
    // The end of a file stays until it is opened again, also for a program that does not wait.
    MUST(fcntl(both, F_SETFL, O_NONBLOCK) == 0 && write(both, "efgh\377\377", 6) == 6);
    long came = 0, one;
    do {
        MUST(ready(both, POLLIN, -1) & POLLIN && (one = read(both, in + came, 100)) >= 0);
        came += one;
    } while (one > 0);
    MUST(came == 4 && memcmp(in, "efgh", 4) == 0 && read(both, in, 100) == 0 && read(both, in, 100) == 0 && close(both) == 0);
    both = opened("xillybus_both", O_RDWR);
    MUST(write(both, "ij", 2) == 2 && read(both, in, 2) == 2 && memcmp(in, "ij", 2) == 0 && close(both) == 0);
}

// The files end while a program waits.
static void hang_up(void) {
    int rx, tx;
    open_both(&rx, &tx, "in", "out", 0);
    MUST(close(creat(getenv("WAITS"), 0600)) == 0);
    MUST(ready(tx, POLLIN, -1) == (POLLERR | POLLHUP));
    MUST(read(tx, in, 1) == -1 && errno == ENODEV);
}

int main(int count, char **arguments) {
    MUST(count == 3);
    alarm(200); // a lost wake-up
    seed = strtoull(arguments[2], NULL, 0);
    for (int n = 0; n < SIZE; n++) out[n] = (unsigned char)(n * 13 + n / 257);
    switch (arguments[1][0]) {
    case 's':
        steps();
        break;
    case 'l':
        one_thread(0);
        break;
    case 'e':
        one_thread(1);
        break;
    case 'r':
        reset_and_close();
        break;
    case 'b':
        one_descriptor();
        break;
    case 't':
        two_threads();
        break;
    case 'h':
        hang_up();
        return 0;
    default:
        return 2;
    }
    return puts("right") < 0;
}
