// SPDX-License-Identifier: Apache-2.0
// The C library's calls for MATLAB and Octave: [status, text, results...] = towpath_mex(call, arguments...). It is for the class
// towpath.Card alone. `status` is '' after success, else a status' name; an argument of a wrong type is an error at once. A handle
// is a uint64, which the library itself checks.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mex.h>
#include <towpath.h>

static const char *const NAMES[] = {
    "",
    "INVALID",
    "UNKNOWN_SCHEME",
    "NO_SUCH_DEVICE",
    "CORE",
    "NOT_TOWPATH",
    "VERSION",
    "DISCOVERY",
    "NO_SUCH_CHANNEL",
    "WRONG_DIRECTION",
    "CHANNEL_IN_USE",
    "TIMEOUT",
    "PENDING",
    "CANCELLED",
    "RESET",
    "FAULT",
    "QUEUE_FULL",
    "UNKNOWN_TICKET",
    "BUFFER_IN_USE",
    "PROTOCOL",
    "REGISTER",
    "INTERRUPT_TIMEOUT",
    "MEMORY",
    "BUS",
    "UNAVAILABLE",
    "INTERNAL",
    "NOT_READY",
    "OTHER",
    "INTERRUPTED",
    "FORKED",
    "KIND",
    "WRONG_KIND",
};

// --- arguments and results --------------------------------------------------------------------------------------------------------

typedef struct {
    int results; // beyond status and text
    mxArray **result;
    const mxArray **argument;
} call;

static double number(const mxArray *of) {
    if (!(mxIsNumeric(of) || mxIsLogical(of)) || mxIsComplex(of) || mxGetNumberOfElements(of) != 1)
        mexErrMsgIdAndTxt("towpath:INVALID", "one real number is needed here");
    return mxGetScalar(of);
}

// A double has no more than 53 bits.
static uint64_t whole(const mxArray *of, uint64_t most) {
    uint64_t value = 0;
    if (mxIsUint64(of) && mxGetNumberOfElements(of) == 1) {
        memcpy(&value, mxGetData(of), sizeof value);
    } else {
        double given = number(of);
        if (!(given >= 0 && given < 0x1p63) || given != floor(given))
            mexErrMsgIdAndTxt("towpath:INVALID", "a whole number from 0 on is needed here, not %g", given);
        value = (uint64_t)given;
    }
    if (value > most) mexErrMsgIdAndTxt("towpath:INVALID", "%.0f is too large here: the most is %.0f", (double)value, (double)most);
    return value;
}

static uint32_t word(const mxArray *of) { return (uint32_t)whole(of, UINT32_MAX); }

static uint64_t handle(const mxArray *of) {
    if (!mxIsUint64(of) || mxGetNumberOfElements(of) != 1) mexErrMsgIdAndTxt("towpath:INVALID", "no handle");
    return whole(of, UINT64_MAX);
}

static towpath_device *card(const call *c) { return (towpath_device *)(uintptr_t)handle(c->argument[0]); }
static towpath_channel *channel(const call *c) { return (towpath_channel *)(uintptr_t)handle(c->argument[0]); }
static towpath_memory *memory(const call *c) { return (towpath_memory *)(uintptr_t)handle(c->argument[0]); }

// In seconds: [] is the channel's timeout, Inf is none.
static uint64_t limit(const mxArray *of) {
    if (mxIsEmpty(of)) return TOWPATH_CHANNEL_TIMEOUT;
    double seconds = number(of);
    if (!(seconds >= 0)) mexErrMsgIdAndTxt("towpath:INVALID", "a limit is in seconds, from 0 on");
    return seconds < 1e10 ? (uint64_t)llround(seconds * 1e9) : TOWPATH_FOREVER;
}

// Freed by MATLAB at the call's end.
static char *text(const mxArray *of) {
    char *found = mxIsChar(of) ? mxArrayToString(of) : NULL;
    if (found == NULL) mexErrMsgIdAndTxt("towpath:INVALID", "a text is needed here");
    return found;
}

static uint64_t bytes_of(const mxArray *data) {
    if (!(mxIsNumeric(data) || mxIsLogical(data)) || mxIsComplex(data) || mxIsSparse(data))
        mexErrMsgIdAndTxt("towpath:INVALID", "data are real, full numbers; of a text, give uint8(text)");
    return (uint64_t)mxGetNumberOfElements(data) * mxGetElementSize(data);
}

static size_t element(mxClassID class) {
    switch (class) {
    case mxINT8_CLASS:
    case mxUINT8_CLASS:
        return 1;
    case mxINT16_CLASS:
    case mxUINT16_CLASS:
        return 2;
    case mxINT32_CLASS:
    case mxUINT32_CLASS:
    case mxSINGLE_CLASS:
        return 4;
    default:
        return 8;
    }
}

static mxClassID class_of(const mxArray *name) {
    static const struct {
        const char *name;
        mxClassID class;
    } classes[] = {{"uint8", mxUINT8_CLASS},   {"int8", mxINT8_CLASS},     {"uint16", mxUINT16_CLASS}, {"int16", mxINT16_CLASS},
                   {"uint32", mxUINT32_CLASS}, {"int32", mxINT32_CLASS},   {"uint64", mxUINT64_CLASS}, {"int64", mxINT64_CLASS},
                   {"single", mxSINGLE_CLASS}, {"double", mxDOUBLE_CLASS}, {NULL, mxUNKNOWN_CLASS}};
    const char *asked = text(name);
    int n = 0;
    while (classes[n].name != NULL && strcmp(classes[n].name, asked) != 0) n++;
    if (classes[n].name == NULL) mexErrMsgIdAndTxt("towpath:INVALID", "data of the class %s: none; uint8 to int64, single, double", asked);
    return classes[n].class;
}

// A column of zeros.
static mxArray *column(uint64_t count, mxClassID class) {
    if (count > (uint64_t)1 << 40) mexErrMsgIdAndTxt("towpath:MEMORY", "so many numbers have no place in memory");
    return mxCreateNumericMatrix((mwSize)count, 1, class, mxREAL);
}

// The same, where an error must not end the call: NULL then, and in `why` what it was. A function is called for it, which the program's
// path may have another of: what it returns is looked at.
static mxArray *column_or_null(uint64_t count, const mxArray *name, mxClassID class, char *why, size_t room) {
    mxArray *data = NULL, *asked[] = {mxCreateDoubleScalar((double)count), mxCreateDoubleScalar(1), mxDuplicateArray(name)};
    mxArray *error = mexCallMATLABWithTrap(1, &data, 3, asked, "zeros");
    for (int n = 0; n < 3; n++) mxDestroyArray(asked[n]);
    if (error != NULL) {
        // Octave has a structure, MATLAB an object, of which it gives a copy.
        mxArray *said = mxIsStruct(error) ? mxGetField(error, 0, "message") : mxGetProperty(error, 0, "message");
        if (said == NULL || mxGetString(said, why, room) != 0) snprintf(why, room, "zeros failed");
        if (said != NULL && !mxIsStruct(error)) mxDestroyArray(said);
        mxDestroyArray(error);
        return NULL;
    }
    if (data != NULL && mxGetClassID(data) == class && !mxIsComplex(data) && !mxIsSparse(data) && mxGetM(data) == count &&
        mxGetN(data) == 1)
        return data;
    snprintf(why, room, "the function zeros on the path returns something else");
    if (data != NULL) mxDestroyArray(data);
    return NULL;
}

// Shortens a column to where its bytes end; a last number that is not whole keeps zeros in its place.
static void shorten(mxArray *data, uint64_t bytes) {
    size_t size = mxGetElementSize(data);
    mxSetM(data, (mwSize)((bytes + size - 1) / size));
}

static void give(call *c, int n, mxArray *value) {
    if (n < c->results)
        c->result[n] = value;
    else
        mxDestroyArray(value);
}

static void give_number(call *c, int n, double value) { give(c, n, mxCreateDoubleScalar(value)); }

static void give_handle(call *c, int n, uint64_t value) {
    mxArray *array = mxCreateNumericMatrix(1, 1, mxUINT64_CLASS, mxREAL);
    memcpy(mxGetData(array), &value, sizeof value);
    give(c, n, array);
}

// --- cards ------------------------------------------------------------------------------------------------------------------------

static towpath_status do_open(call *c) {
    towpath_device *device = NULL;
    towpath_status status = towpath_open(text(c->argument[0]), NULL, &device);
    give_handle(c, 0, (uint64_t)(uintptr_t)device);
    return status;
}

static towpath_status do_close(call *c) { return towpath_close(card(c)); }

// Texts of C's own, for a callback must not end by an error of MATLAB's: names and descriptions in turn.
typedef struct {
    size_t count;
    char **texts;
} listing;

static void listed(void *context, const towpath_listing *device) {
    listing *all = context;
    char **texts = realloc(all->texts, (all->count + 2) * sizeof *texts);
    if (texts == NULL) return;
    all->texts = texts;
    texts[all->count++] = strdup(device->name);
    texts[all->count++] = strdup(device->description);
}

static towpath_status do_list(call *c) {
    listing all = {0, NULL};
    towpath_status status = towpath_list(listed, &all);
    mxArray *rows = mxCreateCellMatrix(2, (mwSize)(all.count / 2));
    for (size_t n = 0; n < all.count; n++) {
        mxSetCell(rows, (mwIndex)n, mxCreateString(all.texts[n] != NULL ? all.texts[n] : ""));
        free(all.texts[n]);
    }
    free(all.texts);
    give(c, 0, rows);
    return status;
}

static towpath_status do_info(call *c) {
    static const char *fields[] = {"name", "core", "serial", "core_version", "data_bits", "interrupts", "register_bytes", "channels"};
    towpath_info info = {.size = sizeof info};
    towpath_status status = towpath_get_info(card(c), &info);
    if (status != TOWPATH_OK) return status;
    mxArray *all = mxCreateStructMatrix(1, 1, 8, fields);
    mxArray *serial = mxCreateNumericMatrix(1, 1, mxUINT64_CLASS, mxREAL);
    memcpy(mxGetData(serial), &info.serial, sizeof info.serial);
    mxArray *channels = mxCreateCellMatrix(1, info.channels);
    for (uint32_t n = 0; n < info.channels && status == TOWPATH_OK; n++) {
        towpath_channel_info one = {.size = sizeof one};
        status = towpath_get_channel(card(c), n, &one);
        if (status == TOWPATH_OK) mxSetCell(channels, n, mxCreateString(one.name));
    }
    mxSetField(all, 0, "name", mxCreateString(info.name));
    mxSetField(all, 0, "core", mxCreateString(info.core));
    mxSetField(all, 0, "serial", serial);
    mxSetField(all, 0, "core_version", mxCreateDoubleScalar(info.core_version));
    mxSetField(all, 0, "data_bits", mxCreateDoubleScalar(info.data_bits));
    mxSetField(all, 0, "interrupts", mxCreateDoubleScalar(info.interrupts));
    mxSetField(all, 0, "register_bytes", mxCreateDoubleScalar(info.register_bytes));
    mxSetField(all, 0, "channels", channels);
    give(c, 0, all);
    return status;
}

static towpath_status do_reset(call *c) { return towpath_reset(card(c)); }

static towpath_status do_now(call *c) {
    uint64_t nanoseconds = 0;
    towpath_status status = towpath_now(card(c), &nanoseconds);
    give_number(c, 0, (double)nanoseconds / 1e9);
    return status;
}

static towpath_status do_read_register(call *c) {
    uint32_t value = 0;
    towpath_status status = mxIsChar(c->argument[1]) ? towpath_read_register_name(card(c), text(c->argument[1]), &value)
                                                     : towpath_read_register(card(c), word(c->argument[1]), &value);
    give_number(c, 0, value);
    return status;
}

static towpath_status do_write_register(call *c) {
    uint32_t value = word(c->argument[2]);
    return mxIsChar(c->argument[1]) ? towpath_write_register_name(card(c), text(c->argument[1]), value)
                                    : towpath_write_register(card(c), word(c->argument[1]), value);
}

static towpath_status do_wait_interrupt(call *c) {
    uint32_t events = 0;
    towpath_status status = towpath_wait_interrupt(card(c), word(c->argument[1]), limit(c->argument[2]), &events);
    give_number(c, 0, events);
    return status;
}

// --- channels ---------------------------------------------------------------------------------------------------------------------

static towpath_status do_open_channel(call *c) {
    towpath_channel *opened = NULL;
    towpath_status status = towpath_open_channel(card(c), text(c->argument[1]), word(c->argument[2]), NULL, &opened);
    give_handle(c, 0, (uint64_t)(uintptr_t)opened);
    return status;
}

static towpath_status do_close_channel(call *c) { return towpath_close_channel(channel(c)); }

static towpath_status do_reset_channel(call *c) { return towpath_reset_channel(channel(c)); }

static towpath_status do_set_timeout(call *c) { return towpath_set_timeout(channel(c), limit(c->argument[1])); }

// channel, data, whether it goes on, length or [], offset, user word, limit; moved
static towpath_status do_send(call *c) {
    towpath_message message = {.size = sizeof message};
    if (number(c->argument[2]) != 0) message.flags |= TOWPATH_MORE;
    if (!mxIsEmpty(c->argument[3])) {
        message.flags |= TOWPATH_LENGTH;
        message.length = whole(c->argument[3], UINT64_MAX);
    }
    message.offset = whole(c->argument[4], UINT64_MAX);
    message.user = word(c->argument[5]);
    struct iovec piece = {mxGetData(c->argument[1]), (size_t)bytes_of(c->argument[1])};
    uint64_t moved = 0;
    towpath_status status = towpath_sendv(channel(c), &piece, 1, &message, limit(c->argument[6]), &moved);
    give_number(c, 0, (double)moved);
    return status;
}

// channel, most numbers, class, limit; data, bytes, whether the message ended, offset, user word
static towpath_status do_recv(call *c) {
    mxClassID class = class_of(c->argument[2]);
    mxArray *data = column(whole(c->argument[1], UINT64_MAX), class);
    struct iovec piece = {mxGetData(data), (size_t)bytes_of(data)};
    towpath_received received = {.size = sizeof received};
    towpath_status status = towpath_recvv(channel(c), &piece, 1, limit(c->argument[3]), &received);
    shorten(data, received.bytes);
    give(c, 0, data);
    give_number(c, 1, (double)received.bytes);
    give_number(c, 2, received.end_of_message);
    give_number(c, 3, received.offset);
    give_number(c, 4, received.user);
    return status;
}

// channel, class, limit; data, bytes, offset, user word
static towpath_status do_recv_message(call *c) {
    mxClassID class = class_of(c->argument[1]);
    towpath_received_message *message = NULL;
    towpath_status status = towpath_recv_message(channel(c), limit(c->argument[2]), &message);
    if (status != TOWPATH_OK) return status;
    char why[200];
    mxArray *data = column_or_null((message->bytes + element(class) - 1) / element(class), c->argument[1], class, why, sizeof why);
    if (data == NULL) {
        double bytes = (double)message->bytes;
        towpath_unread_message(channel(c), message);
        mexErrMsgIdAndTxt("towpath:MEMORY", "there is no place for a message of %.0f bytes (%s); it is kept for the next call", bytes, why);
    }
    if (message->bytes > 0) memcpy(mxGetData(data), message->data, message->bytes);
    give(c, 0, data);
    give_number(c, 1, (double)message->bytes);
    give_number(c, 2, message->offset);
    give_number(c, 3, message->user);
    return towpath_free_message(message);
}

// --- memories ---------------------------------------------------------------------------------------------------------------------

static towpath_status do_open_memory(call *c) {
    towpath_memory *opened = NULL;
    uint64_t bytes = 0;
    towpath_status status = towpath_open_memory(card(c), text(c->argument[1]), NULL, &opened, &bytes);
    give_handle(c, 0, (uint64_t)(uintptr_t)opened);
    give_number(c, 1, (double)bytes);
    return status;
}

static towpath_status do_close_memory(call *c) { return towpath_close_memory(memory(c)); }

// memory, address, numbers, class, limit; data, moved
static towpath_status do_read_memory(call *c) {
    mxClassID class = class_of(c->argument[3]);
    mxArray *data = column(whole(c->argument[2], UINT64_MAX), class);
    uint64_t moved = 0, address = whole(c->argument[1], UINT64_MAX);
    towpath_status status = towpath_read_memory(memory(c), address, mxGetData(data), bytes_of(data), limit(c->argument[4]), &moved);
    give(c, 0, data);
    give_number(c, 1, (double)moved);
    return status;
}

// memory, address, data, limit; moved
static towpath_status do_write_memory(call *c) {
    const mxArray *data = c->argument[2];
    uint64_t moved = 0, address = whole(c->argument[1], UINT64_MAX);
    towpath_status status = towpath_write_memory(memory(c), address, mxGetData(data), bytes_of(data), limit(c->argument[3]), &moved);
    give_number(c, 0, (double)moved);
    return status;
}

// ----------------------------------------------------------------------------------------------------------------------------------

static const struct {
    const char *name;
    int arguments;
    towpath_status (*run)(call *);
} CALLS[] = {
    {"open", 1, do_open},
    {"close", 1, do_close},
    {"list", 0, do_list},
    {"info", 1, do_info},
    {"reset", 1, do_reset},
    {"now", 1, do_now},
    {"read_register", 2, do_read_register},
    {"write_register", 3, do_write_register},
    {"wait_interrupt", 3, do_wait_interrupt},
    {"open_channel", 3, do_open_channel},
    {"close_channel", 1, do_close_channel},
    {"reset_channel", 1, do_reset_channel},
    {"set_timeout", 2, do_set_timeout},
    {"send", 7, do_send},
    {"recv", 4, do_recv},
    {"recv_message", 3, do_recv_message},
    {"open_memory", 2, do_open_memory},
    {"close_memory", 1, do_close_memory},
    {"read_memory", 5, do_read_memory},
    {"write_memory", 4, do_write_memory},
};

void mexFunction(int results, mxArray *result[], int arguments, const mxArray *argument[]) {
    const char *name = arguments > 0 ? text(argument[0]) : "";
    size_t n = 0, count = sizeof CALLS / sizeof *CALLS;
    while (n < count && strcmp(CALLS[n].name, name) != 0) n++;
    if (n == count || arguments - 1 != CALLS[n].arguments)
        mexErrMsgIdAndTxt("towpath:INVALID", "towpath_mex is for the class towpath.Card: no call \"%s\" with %d arguments", name,
                          arguments - 1);

    enum { MOST = 5 };
    mxArray *given[MOST] = {NULL};
    call c = {MOST, given, argument + 1};
    towpath_status status = CALLS[n].run(&c);
    const char *named = (size_t)status < sizeof NAMES / sizeof *NAMES ? NAMES[status] : "OTHER";
    result[0] = mxCreateString(named);
    if (results > 1) result[1] = mxCreateString(status == TOWPATH_OK ? "" : towpath_last_error());
    for (int k = 0; k < MOST; k++) {
        mxArray *value = given[k] != NULL ? given[k] : mxCreateDoubleMatrix(0, 0, mxREAL);
        if (2 + k < results)
            result[2 + k] = value;
        else
            mxDestroyArray(value);
    }
}
