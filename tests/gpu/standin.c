/* SPDX-License-Identifier: Apache-2.0
 *
 * A STAND-IN for a GPU's driver, for tests without a GPU: the few calls of it that Towpath makes, over ordinary memory. No GPU is involved,
 * and nothing that is measured with it says anything about one.
 *
 * What it is strict about, so that tests find what a GPU would punish or hide:
 * - device addresses cannot be used by the processor (PROT_NONE): the bytes are elsewhere;
 * - a copy stays within one allocation, or one segment, and fails when that was freed;
 * - streams are threads. The legacy default stream waits for all streams that were made to wait for it, and these wait for it;
 * - calls that need a current context fail without one, and addresses to wait for must be pinned memory.
 *
 * Functions named standin_... are for tests: what a program's kernels would do, and faults.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, INVALID_HANDLE = 400 };
enum { LAUNCH_FAILED = 719, NOT_SUPPORTED = 801 };
enum { DEVICES = 2, CONTEXTS = 8, ALLOCATIONS = 65536, STREAMS = 256, PINNED = 1024, DEPTH = 16 };

#define SPACE ((size_t)4 << 30)
#define GAP ((size_t)64 << 10)

typedef uint64_t address_t;

struct stream;

struct context {
    int device;
    struct stream *legacy;
};

struct allocation {
    address_t base;
    size_t size;
    struct context *context; /* NULL: of no context, as memory from a pool or mapped by segments */
    int device;
    int managed;
    int live;
};

enum kind { FILL, ADD, COPY_OUT, COPY_IN, RECORD, WAIT_EVENT, WAIT_VALUE, WRITE_VALUE };

struct event {
    uint64_t recorded; /* how often, and how many of these were reached */
    uint64_t reached;
    struct context *context;
    struct event *next;
};

struct op {
    enum kind kind;
    address_t to, from;
    char *host;
    size_t bytes;
    uint32_t value;
    unsigned microseconds;
    struct event *event;
    uint64_t number; /* of a recording */
    uint64_t after[STREAMS]; /* by stream: it begins when that many of its ops are done */
    struct op *next;
};

struct stream {
    int index;
    struct context *context;
    int blocking; /* it waits for the legacy default stream */
    int capturing;
    uint64_t issued, done;
    unsigned error;
    struct op *first, *last;
    pthread_t thread;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int initialized, memory_file = -1;
static char *space, *bytes_at;
static size_t used;
static struct allocation allocations[ALLOCATIONS];
static int allocated;
static struct context primary[DEVICES], others[CONTEXTS];
static struct stream streams[STREAMS];
static int stream_count;
static struct {
    char *start;
    size_t bytes;
} pinned[PINNED];
static int pinned_count;
static struct event *events; /* all, for a stream may have one that was destroyed */
static _Thread_local struct context *stack[DEPTH];
static _Thread_local int depth;

/* Faults. */
static char failing[64];
static unsigned failing_code;
static int failing_after, failing_for;
static char planted[64];

static int is_planted(const char *name) { return strcmp(planted, name) == 0; }

/* Another thread's call may hold the driver's lock, and wait for a stream. */
static pthread_mutex_t drivers_lock = PTHREAD_MUTEX_INITIALIZER;

/* The code that this call is to fail with now. */
static unsigned fails(const char *call) {
    unsigned code = OK;
    pthread_mutex_lock(&drivers_lock);
    pthread_mutex_unlock(&drivers_lock);
    pthread_mutex_lock(&lock);
    if (strcmp(failing, call) == 0 && failing_for > 0 && failing_after-- <= 0) {
        failing_for--;
        code = failing_code;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

#define MAY_FAIL()                                                                                                                         \
    do {                                                                                                                                   \
        unsigned code_ = fails(__func__);                                                                                                  \
        if (code_) return code_;                                                                                                           \
    } while (0)

static struct context *current(void) { return depth ? stack[depth - 1] : NULL; }

static struct allocation *find(address_t at) {
    for (int i = 0; i < allocated; i++)
        if (allocations[i].live && at >= allocations[i].base && at < allocations[i].base + allocations[i].size) return &allocations[i];
    return NULL;
}

static char *backing(address_t at) { return bytes_at + (at - (address_t)space); }

static int is_device(const void *host, size_t size) {
    const char *at = host;
    return at < space + SPACE && at + size > space;
}

static void run(struct op *op) {
    char *from = backing(op->from), *to = backing(op->to);
    if (op->microseconds) usleep(op->microseconds);
    switch (op->kind) {
    case FILL:
        for (size_t i = 0; i < op->bytes; i++) to[i] = (char)(op->value + i * 7 + (i >> 8));
        break;
    case ADD:
        for (size_t i = 0; i < op->bytes; i++) to[i] = (char)(from[i] + op->value);
        break;
    case COPY_OUT:
        memcpy(op->host, from, is_planted("short copy") && op->bytes > 1 ? op->bytes - 1 : op->bytes);
        break;
    case COPY_IN:
        if (is_planted("slow copy back")) usleep(400000);
        memcpy(to, op->host, op->bytes);
        break;
    case WRITE_VALUE:
        __atomic_store_n((uint32_t *)op->host, op->value, __ATOMIC_RELEASE);
        break;
    default:
        break;
    }
}

static int reached(struct op *op) {
    for (int i = 0; i < stream_count; i++)
        if (streams[i].done < op->after[i]) return 0;
    if (op->kind == WAIT_EVENT) return op->event->reached >= op->number;
    if (op->kind == WAIT_VALUE && !is_planted("wait ignored"))
        return (int32_t)(__atomic_load_n((uint32_t *)op->host, __ATOMIC_ACQUIRE) - op->value) >= 0;
    return 1;
}

static void *serve(void *argument) {
    struct stream *stream = argument;
    pthread_mutex_lock(&lock);
    for (;;) {
        struct op *op = stream->first;
        if (!op) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        if (!reached(op)) {
            /* A word of memory changes without a signal. */
            pthread_mutex_unlock(&lock);
            usleep(50);
            pthread_mutex_lock(&lock);
            continue;
        }
        pthread_mutex_unlock(&lock);
        run(op);
        pthread_mutex_lock(&lock);
        if (op->kind == RECORD && op->event->reached < op->number) op->event->reached = op->number;
        stream->first = op->next;
        if (!stream->first) stream->last = NULL;
        stream->done++;
        free(op);
        pthread_cond_broadcast(&changed);
    }
    return NULL;
}

/* The lock is held. */
static struct stream *new_stream(struct context *context, int blocking) {
    if (stream_count == STREAMS) return NULL;
    struct stream *stream = &streams[stream_count];
    *stream = (struct stream){.index = stream_count, .context = context, .blocking = blocking};
    stream_count++;
    pthread_create(&stream->thread, NULL, serve, stream);
    pthread_detach(stream->thread);
    return stream;
}

static struct stream *stream_of(void *handle) {
    if ((uintptr_t)handle <= 1) {
        struct context *context = current();
        if (!context) return NULL;
        pthread_mutex_lock(&lock);
        if (!context->legacy) context->legacy = new_stream(context, 0);
        pthread_mutex_unlock(&lock);
        return context->legacy;
    }
    for (int i = 0; i < stream_count; i++)
        if (&streams[i] == handle) return handle;
    return NULL;
}

/* The lock is held. */
static void push(struct stream *stream, struct op op) {
    struct op *mine = malloc(sizeof op);
    *mine = op;
    for (int i = 0; i < stream_count; i++) {
        struct stream *other = &streams[i];
        int legacy = stream->context->legacy == stream && other->context == stream->context && other->blocking;
        int waits = stream->blocking && stream->context->legacy == other;
        if (legacy || waits) mine->after[i] = other->issued;
    }
    stream->issued++;
    if (stream->last)
        stream->last->next = mine;
    else
        stream->first = mine;
    stream->last = mine;
    pthread_cond_broadcast(&changed);
}

static unsigned enqueue(void *handle, struct op op) {
    struct stream *stream = stream_of(handle);
    if (!stream) return INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    if (op.kind == RECORD) op.number = ++op.event->recorded;
    if (op.kind == WAIT_EVENT) op.number = op.event->recorded;
    push(stream, op);
    pthread_mutex_unlock(&lock);
    return OK;
}

unsigned cuInit(unsigned flags) {
    if (flags) return INVALID_VALUE;
    pthread_mutex_lock(&lock);
    if (!initialized) {
        memory_file = memfd_create("stand-in for a GPU's memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (memory_file < 0 || ftruncate(memory_file, SPACE) || fcntl(memory_file, F_ADD_SEALS, F_SEAL_SHRINK)) {
            pthread_mutex_unlock(&lock);
            return OUT_OF_MEMORY;
        }
        bytes_at = mmap(NULL, SPACE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory_file, 0);
        space = mmap(NULL, SPACE + ((size_t)2 << 20), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        space = (char *)(((uintptr_t)space + 0x1fffff) & ~(uintptr_t)0x1fffff);
        for (int i = 0; i < DEVICES; i++) primary[i].device = i;
        initialized = 1;
    }
    pthread_mutex_unlock(&lock);
    return OK;
}

unsigned cuGetErrorName(unsigned code, const char **name) {
    switch (code) {
    case INVALID_VALUE:
        *name = "CUDA_ERROR_INVALID_VALUE";
        break;
    case OUT_OF_MEMORY:
        *name = "CUDA_ERROR_OUT_OF_MEMORY";
        break;
    case INVALID_DEVICE:
        *name = "CUDA_ERROR_INVALID_DEVICE";
        break;
    case INVALID_CONTEXT:
        *name = "CUDA_ERROR_INVALID_CONTEXT";
        break;
    case INVALID_HANDLE:
        *name = "CUDA_ERROR_INVALID_HANDLE";
        break;
    case LAUNCH_FAILED:
        *name = "CUDA_ERROR_LAUNCH_FAILED";
        break;
    case NOT_SUPPORTED:
        *name = "CUDA_ERROR_NOT_SUPPORTED";
        break;
    default:
        return INVALID_VALUE;
    }
    return OK;
}

unsigned cuDeviceGet(int *device, int ordinal) {
    if (ordinal < 0 || ordinal >= DEVICES) return INVALID_DEVICE;
    *device = ordinal;
    return OK;
}

unsigned cuDevicePrimaryCtxRetain(struct context **context, int device) {
    *context = &primary[device];
    return OK;
}

unsigned cuCtxPushCurrent_v2(struct context *context) {
    MAY_FAIL();
    if (!context || depth == DEPTH) return INVALID_CONTEXT;
    stack[depth++] = context;
    return OK;
}

unsigned cuCtxPopCurrent_v2(struct context **context) {
    if (!depth) return INVALID_CONTEXT;
    *context = stack[--depth];
    return OK;
}

unsigned cuCtxGetCurrent(struct context **context) {
    *context = current();
    return OK;
}

unsigned cuPointerGetAttribute(void *data, int attribute, address_t at) {
    MAY_FAIL();
    unsigned code = INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct allocation *found = find(at);
    int host = 0;
    for (int i = 0; i < pinned_count; i++) host |= (char *)at >= pinned[i].start && (char *)at < pinned[i].start + pinned[i].bytes;
    if (found || host) {
        code = OK;
        switch (attribute) {
        case 1:
            *(struct context **)data = found ? found->context : &primary[0];
            break;
        case 2:
            *(unsigned *)data = found ? 2 : 1;
            break;
        case 8:
            *(unsigned char *)data = found && found->managed;
            break;
        case 9:
            *(int *)data = found ? found->device : 0;
            break;
        default:
            code = INVALID_VALUE;
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}

unsigned cuMemGetAddressRange_v2(address_t *base, size_t *size, address_t at) {
    MAY_FAIL();
    if (!current()) return INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    struct allocation *found = find(at);
    if (found) {
        *base = found->base;
        *size = found->size;
    }
    pthread_mutex_unlock(&lock);
    return found ? OK : INVALID_VALUE;
}

static unsigned copy(enum kind kind, address_t at, void *host, size_t size, void *handle) {
    if (!current()) return INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    struct allocation *found = find(at);
    int inside = found && at + size <= found->base + found->size;
    pthread_mutex_unlock(&lock);
    if (!inside || is_device(host, size)) return INVALID_VALUE;
    return enqueue(is_planted("copies on the legacy stream") ? NULL : handle,
                   (struct op){.kind = kind, .to = at, .from = at, .host = host, .bytes = size});
}

unsigned cuMemcpyDtoHAsync_v2(void *host, address_t from, size_t size, void *stream) {
    MAY_FAIL();
    return copy(COPY_OUT, from, host, size, stream);
}

unsigned cuMemcpyHtoDAsync_v2(address_t to, const void *host, size_t size, void *stream) {
    MAY_FAIL();
    return copy(COPY_IN, to, (void *)host, size, stream);
}

unsigned cuMemHostAlloc(void **start, size_t size, unsigned flags) {
    MAY_FAIL();
    if (!current()) return INVALID_CONTEXT;
    if (flags & ~7u || posix_memalign(start, 4096, size)) return INVALID_VALUE;
    pthread_mutex_lock(&lock);
    int room = pinned_count < PINNED;
    if (room) {
        pinned[pinned_count].start = *start;
        pinned[pinned_count++].bytes = size;
    }
    pthread_mutex_unlock(&lock);
    return room ? OK : OUT_OF_MEMORY;
}

unsigned cuStreamCreate(void **stream, unsigned flags) {
    MAY_FAIL();
    if (!current()) return INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    *stream = new_stream(current(), !(flags & 1));
    pthread_mutex_unlock(&lock);
    return *stream ? OK : OUT_OF_MEMORY;
}

unsigned cuStreamSynchronize(void *handle) {
    MAY_FAIL();
    struct stream *stream = stream_of(is_planted("copies on the legacy stream") ? NULL : handle);
    if (!stream) return INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    uint64_t until = stream->issued;
    while (stream->done < until) pthread_cond_wait(&changed, &lock);
    unsigned error = stream->error;
    pthread_mutex_unlock(&lock);
    return error;
}

unsigned cuStreamGetCtx(void *handle, struct context **context) {
    struct stream *stream = stream_of(handle);
    if (!stream) return INVALID_HANDLE;
    *context = stream->context;
    return OK;
}

unsigned cuStreamIsCapturing(void *handle, int *status) {
    MAY_FAIL();
    struct stream *stream = stream_of(handle);
    if (!stream) return INVALID_HANDLE;
    *status = stream->capturing;
    return OK;
}

unsigned cuStreamWaitEvent(void *handle, struct event *event, unsigned flags) {
    MAY_FAIL();
    return flags ? INVALID_VALUE : enqueue(handle, (struct op){.kind = WAIT_EVENT, .event = event});
}

static unsigned value(enum kind kind, void *handle, address_t at, uint32_t value, unsigned flags) {
    int host = 0;
    for (int i = 0; i < pinned_count; i++) host |= (char *)at >= pinned[i].start && (char *)at < pinned[i].start + pinned[i].bytes;
    if (!host || flags || at & 3) return INVALID_VALUE;
    return enqueue(handle, (struct op){.kind = kind, .host = (char *)at, .value = value});
}

unsigned cuStreamWaitValue32_v2(void *handle, address_t at, uint32_t number, unsigned flags) {
    MAY_FAIL();
    return value(WAIT_VALUE, handle, at, number, flags);
}

unsigned cuStreamWriteValue32_v2(void *handle, address_t at, uint32_t number, unsigned flags) {
    MAY_FAIL();
    if (is_planted("start ignored")) __atomic_store_n((uint32_t *)at, number, __ATOMIC_RELEASE);
    return value(WRITE_VALUE, handle, at, number, flags);
}

unsigned cuEventCreate(struct event **event, unsigned flags) {
    MAY_FAIL();
    if (!current() || flags & ~7u) return INVALID_CONTEXT;
    *event = calloc(1, sizeof **event);
    (*event)->context = current();
    pthread_mutex_lock(&lock);
    (*event)->next = events;
    events = *event;
    pthread_mutex_unlock(&lock);
    return OK;
}

unsigned cuEventRecord(struct event *event, void *handle) {
    MAY_FAIL();
    struct stream *stream = stream_of(handle);
    if (!stream || stream->context != event->context) return INVALID_HANDLE;
    return enqueue(handle, (struct op){.kind = RECORD, .event = event});
}

unsigned cuEventSynchronize(struct event *event) {
    MAY_FAIL();
    pthread_mutex_lock(&lock);
    while (event->reached < event->recorded) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return OK;
}

unsigned cuEventDestroy_v2(struct event *event) { return event ? OK : INVALID_HANDLE; }

/* --- for tests ------------------------------------------------------------------------------------------------------------------- */

static struct context *context_of(int device, int primary_one) { return primary_one ? &primary[device] : &others[0]; }

/* Memory of a device: in its primary context (1), a context of its own (0), or none (2). A device's address, or 0. */
address_t standin_allocate(int device, size_t size, size_t misalignment, int where) {
    cuInit(0);
    pthread_mutex_lock(&lock);
    address_t base = 0;
    if (used + size + misalignment + 2 * GAP < SPACE && allocated < ALLOCATIONS) {
        others[0].device = device;
        base = (address_t)space + used + misalignment;
        struct context *context = where == 2 ? NULL : context_of(device, where);
        allocations[allocated++] = (struct allocation){base, size, context, device, 0, 1};
        used = (used + misalignment + size + GAP) & ~(GAP - 1);
    }
    pthread_mutex_unlock(&lock);
    return base;
}

/* As memory that grows by segments: one range, of which each segment counts for itself. */
address_t standin_segments(int device, size_t segment, int count) {
    cuInit(0);
    pthread_mutex_lock(&lock);
    address_t base = (address_t)space + used;
    for (int i = 0; i < count; i++) allocations[allocated++] = (struct allocation){base + i * segment, segment, NULL, device, 0, 1};
    used = (used + count * segment + GAP) & ~(GAP - 1);
    pthread_mutex_unlock(&lock);
    return base;
}

void standin_free(address_t at) {
    pthread_mutex_lock(&lock);
    find(at)->live = 0;
    pthread_mutex_unlock(&lock);
}

void standin_manage(address_t at) {
    pthread_mutex_lock(&lock);
    find(at)->managed = 1;
    pthread_mutex_unlock(&lock);
}

void standin_poke(address_t at, const void *host, size_t size) { memcpy(backing(at), host, size); }

void standin_peek(address_t at, void *host, size_t size) { memcpy(host, backing(at), size); }

/* A stream of a program's; it waits for the legacy default one, as those do that are made without a flag. */
void *standin_stream(int device, int primary_one) {
    cuInit(0);
    pthread_mutex_lock(&lock);
    others[0].device = device;
    struct stream *stream = new_stream(context_of(device, primary_one), 1);
    pthread_mutex_unlock(&lock);
    return stream;
}

/* The current context's legacy default stream. */
void *standin_legacy(void) { return stream_of(NULL); }

void standin_capture(struct stream *stream, int on) { stream->capturing = on; }

/* "Kernels": they take their time, then write. */
void standin_fill(void *stream, address_t to, size_t size, uint32_t value, unsigned microseconds) {
    enqueue(stream, (struct op){.kind = FILL, .to = to, .bytes = size, .value = value, .microseconds = microseconds});
}

void standin_add(void *stream, address_t to, address_t from, size_t size, uint32_t value, unsigned microseconds) {
    enqueue(stream, (struct op){.kind = ADD, .to = to, .from = from, .bytes = size, .value = value, .microseconds = microseconds});
}

/* Wait for a stream, for so long at most. */
int standin_wait(struct stream *stream, unsigned milliseconds) {
    for (unsigned i = 0; i < milliseconds; i++) {
        pthread_mutex_lock(&lock);
        int done = stream->done == stream->issued;
        pthread_mutex_unlock(&lock);
        if (done) return 1;
        usleep(1000);
    }
    return 0;
}

/* As standin_wait, with the driver's lock held: what a copy to pageable memory does, and the first use of a kernel. */
int standin_block(struct stream *stream, unsigned milliseconds) {
    pthread_mutex_lock(&drivers_lock);
    int done = standin_wait(stream, milliseconds);
    pthread_mutex_unlock(&drivers_lock);
    return done;
}

/* A context is current in this thread from now on, as a library's that the program uses. */
void standin_make_current(int device) {
    cuInit(0);
    depth = 0;
    stack[depth++] = &primary[device];
}

/* How many contexts this thread has made current: a call that pushed one has popped it. */
int standin_depth(void) { return depth; }

/* This call fails with this code, after so many that do not, so many times. */
void standin_fail(const char *call, unsigned code, int after, int times) {
    pthread_mutex_lock(&lock);
    strncpy(failing, call, sizeof failing - 1);
    failing_code = code;
    failing_after = after;
    failing_for = times;
    pthread_mutex_unlock(&lock);
}

/* A fault of the stand-in's own, by its name, from now on; "" is none. */
void standin_plant(const char *name) {
    pthread_mutex_lock(&lock);
    memset(planted, 0, sizeof planted);
    strncpy(planted, name, sizeof planted - 1);
    pthread_mutex_unlock(&lock);
}
