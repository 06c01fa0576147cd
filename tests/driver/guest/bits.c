// SPDX-License-Identifier: Apache-2.0
// A message through the core loopback by two queues, and the same through files: for 32 bits or 64, by the system's calls alone, so that no
// library of the other kind is needed. Its exit code is 0, or the line that failed.
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/towpath.h>

#define MUST(condition)                                                                                                                    \
    do {                                                                                                                                   \
        if (!(condition)) call(__NR_exit, __LINE__ & 0xff, 0, 0);                                                                          \
    } while (0)

static long call(long number, long a, long b, long c) {
    long result;

#ifdef __i386__
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
#else
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
#endif
    return result;
}

static long ioctl(long file, unsigned long number, void *argument) { return call(__NR_ioctl, file, (long)number, (long)argument); }

// Whatever is not set is zero.
static struct towpath_card_info card;
static struct towpath_channel_info channel;
static struct towpath_queue queue;
static struct towpath_piece pieces[2];
static struct towpath_transfer transfers[2];
static struct towpath_completion ends[2];
static struct towpath_exchange exchange;
static struct towpath_message_start start;
static const char sent[] = "a message";
static char got[64];

static long opened(const char *name, int flags) {
    long file = call(__NR_open, (long)name, flags, 0);

    MUST(file >= 0);
    return file;
}

static long as_queue(long file, long control, unsigned int flags) {
    queue.argsz = sizeof(queue);
    queue.control = (int)control;
    queue.eventfd = -1;
    queue.flags = flags;
    MUST(ioctl(file, TOWPATH_IOC_QUEUE, &queue) == 0);
    return file;
}

/* Submits the transfer at `which` if there is to be one, and waits for `wanted` ends. */
static void exchanged(long file, int which, unsigned int submits, unsigned int wanted) {
    exchange.argsz = sizeof(exchange);
    exchange.transfer = (unsigned long)&transfers[which];
    exchange.transfers = submits;
    exchange.completion = (unsigned long)&ends[which];
    exchange.completions = exchange.wanted = wanted;
    exchange.timeout_ns = 10000000000;
    MUST(ioctl(file, TOWPATH_IOC_EXCHANGE, &exchange) == 0);
    MUST(exchange.submitted == submits && exchange.collected == wanted);
}

static int same(void) {
    unsigned int at;

    for (at = 0; at < sizeof(sent); at++)
        if (got[at] != sent[at]) return 0;
    return 1;
}

static void through_queues(void) {
    long control = opened(FOLDER "/control", O_RDWR);
    long in, out;
    int which;

    card.argsz = sizeof(card);
    MUST(ioctl(control, TOWPATH_IOC_CARD_INFO, &card) == 0 && card.channels == 2 && card.core_name[0] == 'l');
    channel.argsz = sizeof(channel);
    channel.index = 1;
    MUST(ioctl(control, TOWPATH_IOC_CHANNEL_INFO, &channel) == 0 && channel.direction == 1 && channel.name[0] == 'o');
    in = as_queue(opened(FOLDER "/in", O_WRONLY), control, 0);
    out = as_queue(opened(FOLDER "/out", O_RDONLY), control, TOWPATH_QUEUE_ANNOUNCE);

    pieces[0].address = (unsigned long)sent;
    pieces[0].bytes = sizeof(sent);
    pieces[1].address = (unsigned long)got;
    pieces[1].bytes = sizeof(got);
    for (which = 0; which < 2; which++) {
        transfers[which].pieces = (unsigned long)&pieces[which];
        transfers[which].count = 1;
    }
    transfers[0].flags = TOWPATH_TRANSFER_END | TOWPATH_TRANSFER_ATTRIBUTES | TOWPATH_TRANSFER_LENGTH;
    transfers[0].length = sizeof(sent);
    transfers[0].offset = 0x1234;
    transfers[0].user = 42;
    exchanged(in, 0, 1, 1);
    start.argsz = sizeof(start);
    start.timeout_ns = 10000000000;
    MUST(ioctl(out, TOWPATH_IOC_MESSAGE_START, &start) == 0);
    MUST(start.length == sizeof(sent) && start.offset == 0x1234 && start.user == 42);
    exchanged(out, 1, 1, 0);
    exchanged(out, 1, 0, 1);
    MUST(ends[0].bytes == sizeof(sent) && ends[1].bytes == sizeof(sent) && ends[1].user == 42 && same());
    MUST(call(__NR_close, in, 0, 0) == 0 && call(__NR_close, out, 0, 0) == 0 && call(__NR_close, control, 0, 0) == 0);
}

static void through_files(void) {
    long out = opened(FOLDER "/out", O_RDONLY);
    long in = opened(FOLDER "/in", O_WRONLY);

    got[0] = 0;
    MUST(call(__NR_write, in, (long)sent, sizeof(sent)) == sizeof(sent) && call(__NR_close, in, 0, 0) == 0);
    MUST(call(__NR_read, out, (long)got, sizeof(got)) == sizeof(sent) && same());
}

__attribute__((force_align_arg_pointer)) void _start(void) {
    through_queues();
    through_files();
    call(__NR_exit, 0, 0, 0);
}
