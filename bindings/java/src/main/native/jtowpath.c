// SPDX-License-Identifier: Apache-2.0
// The native side of the class Native: the C library's calls, and an exception where one fails. A handle is a long, which the library
// itself checks.
#include <jni.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <towpath.h>

#define METHOD(type, name) JNIEXPORT type JNICALL Java_io_towpath_Native_##name
#define CARD(handle) ((towpath_device *)(uintptr_t)(handle))
#define CHANNEL(handle) ((towpath_channel *)(uintptr_t)(handle))
#define RAM(handle) ((towpath_memory *)(uintptr_t)(handle))

// --- what all share ---------------------------------------------------------------------------------------------------------------

static jbyteArray text_of(JNIEnv *env, const char *text) {
    jsize bytes = (jsize)strlen(text);
    jbyteArray array = (*env)->NewByteArray(env, bytes);
    if (array != NULL) (*env)->SetByteArrayRegion(env, array, 0, bytes, (const jbyte *)text);
    return array;
}

static void no_memory(JNIEnv *env) {
    jclass class = (*env)->FindClass(env, "java/lang/OutOfMemoryError");
    if (class != NULL) (*env)->ThrowNew(env, class, "no memory for a copy outside of Java's heap");
}

// Throws what this thread's last call failed with. True: it succeeded.
static bool succeeded(JNIEnv *env, towpath_status status, uint64_t moved) {
    if (status == TOWPATH_OK) return true;
    int number = towpath_last_errno();
    jbyteArray text = text_of(env, towpath_last_error());
    jclass class = text == NULL ? NULL : (*env)->FindClass(env, "io/towpath/TowpathException");
    jmethodID make = class == NULL ? NULL : (*env)->GetMethodID(env, class, "<init>", "(IIJ[B)V");
    if (make == NULL) return false;
    jobject why = (*env)->NewObject(env, class, make, (jint)status, (jint)number, (jlong)moved, text);
    if (why != NULL) (*env)->Throw(env, why);
    return false;
}

// A text that ends with a zero; free() it. NULL stays NULL, and so does an exception.
static char *c_text(JNIEnv *env, jbyteArray array) {
    if (array == NULL) return NULL;
    jsize bytes = (*env)->GetArrayLength(env, array);
    char *text = malloc((size_t)bytes + 1);
    if (text == NULL) {
        no_memory(env);
        return NULL;
    }
    (*env)->GetByteArrayRegion(env, array, 0, bytes, (jbyte *)text);
    text[bytes] = 0;
    return text;
}

// The caller's memory: what stands at an address, or a copy of a part of an array, for Java may move arrays while a call waits.
typedef struct {
    void *data;
    void *copy; // free() it
} place;

static bool find(JNIEnv *env, jbyteArray array, jlong at, jlong bytes, bool filled, place *found) {
    found->copy = NULL;
    found->data = (void *)(uintptr_t)at;
    if (array == NULL) return true;
    found->data = found->copy = malloc(bytes > 0 ? (size_t)bytes : 1);
    if (found->copy == NULL) {
        no_memory(env);
        return false;
    }
    if (filled) (*env)->GetByteArrayRegion(env, array, (jsize)at, (jsize)bytes, found->copy);
    return true;
}

// The first `moved` bytes back into the array, if it is one.
static void leave(JNIEnv *env, jbyteArray array, jlong at, uint64_t moved, const place *found) {
    if (array != NULL && moved != 0) (*env)->SetByteArrayRegion(env, array, (jsize)at, (jsize)moved, found->copy);
    free(found->copy);
}

static void numbers(JNIEnv *env, jlongArray into, const jlong *values, jsize count) {
    (*env)->SetLongArrayRegion(env, into, 0, count, values);
}

// --- cards ------------------------------------------------------------------------------------------------------------------------

METHOD(jbyteArray, version)(JNIEnv *env, jclass class) {
    (void)class;
    return text_of(env, towpath_version());
}

typedef struct {
    JNIEnv *env;
    jclass class;
    jobject into;
    jmethodID listed;
} listing;

static void listed(void *context, const towpath_listing *card) {
    listing *to = context;
    JNIEnv *env = to->env;
    if ((*env)->ExceptionCheck(env)) return;
    jbyteArray name = text_of(env, card->name);
    jbyteArray description = name == NULL ? NULL : text_of(env, card->description);
    if (description == NULL) return;
    jboolean known = card->has_serial != 0;
    (*env)->CallStaticVoidMethod(env, to->class, to->listed, to->into, name, description, (jint)card->order, known, (jlong)card->serial);
    (*env)->DeleteLocalRef(env, name);
    (*env)->DeleteLocalRef(env, description);
}

METHOD(void, list)(JNIEnv *env, jclass class, jobject into) {
    jmethodID method = (*env)->GetStaticMethodID(env, class, "listed", "(Ljava/util/List;[B[BIZJ)V");
    if (method == NULL) return;
    listing to = {env, class, into, method};
    towpath_status status = towpath_list(listed, &to);
    if (!(*env)->ExceptionCheck(env)) succeeded(env, status, 0);
}

METHOD(jlong, open)(JNIEnv *env, jclass class, jbyteArray name) {
    (void)class;
    char *text = c_text(env, name);
    if ((*env)->ExceptionCheck(env)) return 0;
    towpath_device *card = NULL;
    towpath_status status = towpath_open(text, NULL, &card);
    free(text);
    succeeded(env, status, 0);
    return (jlong)(uintptr_t)card;
}

METHOD(void, close)(JNIEnv *env, jclass class, jlong card) {
    (void)class;
    succeeded(env, towpath_close(CARD(card)), 0);
}

static jobjectArray texts(JNIEnv *env, jsize count) {
    jclass bytes = (*env)->FindClass(env, "[B");
    return bytes == NULL ? NULL : (*env)->NewObjectArray(env, count, bytes, NULL);
}

static bool put_text(JNIEnv *env, jobjectArray into, jsize at, const char *text) {
    jbyteArray array = text_of(env, text);
    if (array == NULL) return false;
    (*env)->SetObjectArrayElement(env, into, at, array);
    (*env)->DeleteLocalRef(env, array);
    return true;
}

METHOD(jobjectArray, info)(JNIEnv *env, jclass class, jlong card, jlongArray into) {
    (void)class;
    towpath_info info = {.size = sizeof info};
    if (!succeeded(env, towpath_get_info(CARD(card), &info), 0)) return NULL;
    const jlong values[] = {(jlong)info.serial, info.core_version, info.contract_major, info.contract_minor, info.data_bits,
                            info.tags,          info.interrupts,   info.register_bytes, info.features};
    numbers(env, into, values, sizeof values / sizeof *values);
    jobjectArray both = texts(env, 2);
    if (both != NULL && put_text(env, both, 0, info.name)) put_text(env, both, 1, info.core);
    return both;
}

METHOD(void, channels)(JNIEnv *env, jclass class, jlong card, jobject into) {
    towpath_info info = {.size = sizeof info};
    if (!succeeded(env, towpath_get_info(CARD(card), &info), 0)) return;
    jmethodID method = (*env)->GetStaticMethodID(env, class, "channel", "(Ljava/util/List;[B[BIIII)V");
    for (uint32_t n = 0; method != NULL && n < info.channels && !(*env)->ExceptionCheck(env); n++) {
        towpath_channel_info channel = {.size = sizeof channel};
        if (!succeeded(env, towpath_get_channel(CARD(card), n, &channel), 0)) return;
        jbyteArray name = text_of(env, channel.name);
        jbyteArray kind = name == NULL ? NULL : text_of(env, channel.kind);
        if (kind == NULL) return;
        (*env)->CallStaticVoidMethod(env, class, method, into, name, kind, (jint)channel.number, (jint)channel.direction,
                                     (jint)channel.queue_depth, (jint)channel.buffer_bytes);
        (*env)->DeleteLocalRef(env, name);
        (*env)->DeleteLocalRef(env, kind);
    }
}

METHOD(jobjectArray, registers)(JNIEnv *env, jclass class, jlong card) {
    (void)class;
    towpath_info info = {.size = sizeof info};
    if (!succeeded(env, towpath_get_info(CARD(card), &info), 0)) return NULL;
    jobjectArray all = texts(env, (jsize)info.registers);
    for (uint32_t n = 0; all != NULL && n < info.registers; n++) {
        const char *name = "";
        if (!succeeded(env, towpath_get_register(CARD(card), n, &name, NULL), 0)) return NULL;
        if (!put_text(env, all, (jsize)n, name)) return NULL;
    }
    return all;
}

METHOD(void, reset)(JNIEnv *env, jclass class, jlong card) {
    (void)class;
    succeeded(env, towpath_reset(CARD(card)), 0);
}

METHOD(jlong, now)(JNIEnv *env, jclass class, jlong card) {
    (void)class;
    uint64_t nanoseconds = 0;
    succeeded(env, towpath_now(CARD(card), &nanoseconds), 0);
    return (jlong)nanoseconds;
}

METHOD(jint, readRegister)(JNIEnv *env, jclass class, jlong card, jint offset) {
    (void)class;
    uint32_t value = 0;
    succeeded(env, towpath_read_register(CARD(card), (uint32_t)offset, &value), 0);
    return (jint)value;
}

METHOD(void, writeRegister)(JNIEnv *env, jclass class, jlong card, jint offset, jint value) {
    (void)class;
    succeeded(env, towpath_write_register(CARD(card), (uint32_t)offset, (uint32_t)value), 0);
}

METHOD(jint, readRegisterName)(JNIEnv *env, jclass class, jlong card, jbyteArray name) {
    (void)class;
    uint32_t value = 0;
    char *text = c_text(env, name);
    if ((*env)->ExceptionCheck(env)) return 0;
    succeeded(env, towpath_read_register_name(CARD(card), text, &value), 0);
    free(text);
    return (jint)value;
}

METHOD(void, writeRegisterName)(JNIEnv *env, jclass class, jlong card, jbyteArray name, jint value) {
    (void)class;
    char *text = c_text(env, name);
    if ((*env)->ExceptionCheck(env)) return;
    succeeded(env, towpath_write_register_name(CARD(card), text, (uint32_t)value), 0);
    free(text);
}

METHOD(jint, waitInterrupt)(JNIEnv *env, jclass class, jlong card, jint number, jlong limit) {
    (void)class;
    uint32_t events = 0;
    succeeded(env, towpath_wait_interrupt(CARD(card), (uint32_t)number, (uint64_t)limit, &events), 0);
    return (jint)events;
}

METHOD(jint, countInterrupt)(JNIEnv *env, jclass class, jlong card, jint number) {
    (void)class;
    uint32_t count = 0;
    succeeded(env, towpath_count_interrupt(CARD(card), (uint32_t)number, &count), 0);
    return (jint)count;
}

// --- channels ---------------------------------------------------------------------------------------------------------------------

METHOD(jlong, openChannel)(JNIEnv *env, jclass class, jlong card, jbyteArray name, jint direction) {
    (void)class;
    towpath_channel *channel = NULL;
    char *text = c_text(env, name);
    if ((*env)->ExceptionCheck(env)) return 0;
    succeeded(env, towpath_open_channel(CARD(card), text, (uint32_t)direction, NULL, &channel), 0);
    free(text);
    return (jlong)(uintptr_t)channel;
}

METHOD(void, closeChannel)(JNIEnv *env, jclass class, jlong channel) {
    (void)class;
    succeeded(env, towpath_close_channel(CHANNEL(channel)), 0);
}

METHOD(void, cancel)(JNIEnv *env, jclass class, jlong channel) {
    (void)class;
    succeeded(env, towpath_cancel(CHANNEL(channel)), 0);
}

METHOD(void, resetChannel)(JNIEnv *env, jclass class, jlong channel) {
    (void)class;
    succeeded(env, towpath_reset_channel(CHANNEL(channel)), 0);
}

METHOD(void, setTimeout)(JNIEnv *env, jclass class, jlong channel, jlong nanoseconds) {
    (void)class;
    succeeded(env, towpath_set_timeout(CHANNEL(channel), (uint64_t)nanoseconds), 0);
}

METHOD(jlong, getTimeout)(JNIEnv *env, jclass class, jlong channel) {
    (void)class;
    uint64_t nanoseconds = 0;
    succeeded(env, towpath_get_timeout(CHANNEL(channel), &nanoseconds), 0);
    return (jlong)nanoseconds;
}

METHOD(jlong, send)
(JNIEnv *env, jclass class, jlong channel, jbyteArray array, jlong at, jlong bytes, jint flags, jlong length, jlong offset, jint user,
 jlong limit) {
    (void)class;
    place from;
    uint64_t moved = 0;
    if (!find(env, array, at, bytes, true, &from)) return 0;
    towpath_message message = {
        .size = sizeof message, .flags = (uint32_t)flags, .length = (uint64_t)length, .offset = (uint64_t)offset, .user = (uint32_t)user};
    struct iovec piece = {from.data, (size_t)bytes};
    towpath_status status = towpath_sendv(CHANNEL(channel), &piece, 1, &message, (uint64_t)limit, &moved);
    free(from.copy);
    succeeded(env, status, moved);
    return (jlong)moved;
}

METHOD(void, receive)
(JNIEnv *env, jclass class, jlong channel, jbyteArray array, jlong at, jlong bytes, jlong limit, jlongArray result) {
    (void)class;
    place to;
    if (!find(env, array, at, bytes, false, &to)) return;
    towpath_received received = {.size = sizeof received};
    struct iovec piece = {to.data, (size_t)bytes};
    towpath_status status = towpath_recvv(CHANNEL(channel), &piece, 1, (uint64_t)limit, &received);
    leave(env, array, at, received.bytes, &to);
    if (!succeeded(env, status, received.bytes)) return;
    const jlong values[] = {(jlong)received.bytes, received.end_of_message, received.offset, received.user};
    numbers(env, result, values, 4);
}

METHOD(jbyteArray, receiveMessage)(JNIEnv *env, jclass class, jlong channel, jlong limit, jlongArray result) {
    (void)class;
    towpath_received_message *message = NULL;
    if (!succeeded(env, towpath_recv_message(CHANNEL(channel), (uint64_t)limit, &message), 0)) return NULL;
    jbyteArray data = NULL;
    if (message->bytes > INT32_MAX - 8)
        no_memory(env); // no array is that long
    else
        data = (*env)->NewByteArray(env, (jsize)message->bytes);
    if (data != NULL) {
        (*env)->SetByteArrayRegion(env, data, 0, (jsize)message->bytes, message->data);
        const jlong values[] = {message->offset, message->user};
        numbers(env, result, values, 2);
        towpath_free_message(message);
    } else {
        towpath_unread_message(CHANNEL(channel), message);
    }
    return data;
}

METHOD(jboolean, waitMessageStart)(JNIEnv *env, jclass class, jlong channel, jlong limit, jlongArray result) {
    (void)class;
    towpath_message_start start = {.size = sizeof start};
    towpath_status status = towpath_wait_message_start(CHANNEL(channel), (uint64_t)limit, &start);
    if (status == TOWPATH_PENDING || !succeeded(env, status, 0)) return JNI_FALSE;
    const jlong values[] = {start.has_length, (jlong)start.length, start.offset, start.user};
    numbers(env, result, values, 4);
    return JNI_TRUE;
}

// --- memories ---------------------------------------------------------------------------------------------------------------------

METHOD(jlong, openMemory)(JNIEnv *env, jclass class, jlong card, jbyteArray name, jlongArray size) {
    (void)class;
    towpath_memory *memory = NULL;
    uint64_t bytes = 0;
    char *text = c_text(env, name);
    if ((*env)->ExceptionCheck(env)) return 0;
    if (succeeded(env, towpath_open_memory(CARD(card), text, NULL, &memory, &bytes), 0)) {
        const jlong value = (jlong)bytes;
        numbers(env, size, &value, 1);
    }
    free(text);
    return (jlong)(uintptr_t)memory;
}

METHOD(void, closeMemory)(JNIEnv *env, jclass class, jlong memory) {
    (void)class;
    succeeded(env, towpath_close_memory(RAM(memory)), 0);
}

METHOD(jlong, readMemory)
(JNIEnv *env, jclass class, jlong memory, jlong address, jbyteArray array, jlong at, jlong bytes, jlong limit) {
    (void)class;
    place to;
    uint64_t moved = 0;
    if (!find(env, array, at, bytes, false, &to)) return 0;
    towpath_status status = towpath_read_memory(RAM(memory), (uint64_t)address, to.data, (uint64_t)bytes, (uint64_t)limit, &moved);
    leave(env, array, at, moved, &to);
    succeeded(env, status, moved);
    return (jlong)moved;
}

METHOD(jlong, writeMemory)
(JNIEnv *env, jclass class, jlong memory, jlong address, jbyteArray array, jlong at, jlong bytes, jlong limit) {
    (void)class;
    place from;
    uint64_t moved = 0;
    if (!find(env, array, at, bytes, true, &from)) return 0;
    towpath_status status = towpath_write_memory(RAM(memory), (uint64_t)address, from.data, (uint64_t)bytes, (uint64_t)limit, &moved);
    free(from.copy);
    succeeded(env, status, moved);
    return (jlong)moved;
}

METHOD(jlong, address)(JNIEnv *env, jclass class, jobject direct) {
    (void)class;
    return (jlong)(uintptr_t)(*env)->GetDirectBufferAddress(env, direct);
}
