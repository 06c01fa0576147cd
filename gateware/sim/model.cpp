// SPDX-License-Identifier: Apache-2.0
// tp_model.h over a Verilated top: one shared object for each configuration and user core, built by host/cores.
//
// How the top's ports carry what tp_model.h tells is the affair of class Boundary in the tp_boundary.h that comes first on the include
// path: the one beside this file for tp_sim_top, whose ports are the neutral streams; an endpoint's own for the pins of its hard block.
//
// Promises: whatever the core does, the process goes on. $finish, $stop, $fatal, a failed assertion or a fault of Verilator's runtime are
// told through the callback once; from then on the model stands still, shows nothing valid and its waveform is complete. A model may be
// used from any thread, by one at a time; different models are independent. What the checker at the core's ports finds at a clock edge
// (tp_check_pkg.sv) is the reason that is told; what the gateware's own assertions say of the same fault at that edge is not.
//
// The builder defines TP_MODEL_DATA_WIDTH, TP_MODEL_CORE_CLOCK_KHZ, TP_MODEL_USER_CLOCKS_KHZ (a list) and, for waveforms, TP_MODEL_TRACE.
#include "tp_data.h"
#include "tp_model.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <tp_boundary.h>

#include "Vtp_model.h"
#include "verilated.h"
#ifdef TP_MODEL_TRACE
#include "verilated_fst_c.h"
#endif

#define TP_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kPrint = 0, kFinish = 1, kStop = 2;

// Thrown out of an evaluation that cannot go on (a loop that does not settle, an index out of range).
struct Fatal {};

struct Model {
    VerilatedContext context;
    std::unique_ptr<Vtp_model> top;
    Boundary boundary;
#ifdef TP_MODEL_TRACE
    std::unique_ptr<VerilatedFstC> trace;
    uint64_t dumped = 0;       // time of the last dump, plus one
    uint64_t trace_from = 0, trace_to = UINT64_MAX;
    uint64_t core_fall = 0, user_fall[TP_MODEL_USER_CLOCKS] = {};  // when a clock that is high falls
    std::timed_mutex step;                                         // held within a step
    std::atomic<bool> completed{false};                            // the process ends, and the waveform has
#endif
    tp_model_print print = nullptr;
    void *print_context = nullptr;
    std::string error;        // the last line that began an error
    std::string held;         // lines of errors at this edge: the gateware's, if the checker has no better reason
    std::string breach;       // what the checker has found at this edge
    std::string reason;       // why this edge ends the simulation
    int ending = 0;           // kind of the end, or 0
    uint64_t units_per_ps = 1, ps_per_unit = 1;
    uint64_t core_last = 0, user_last[TP_MODEL_USER_CLOCKS] = {};
    bool stopped = false;

    void tell(int kind, const std::string &text) const {
        if (print) print(print_context, kind, text.data(), text.size());
    }
};

thread_local Model *current = nullptr;

// Which model the runtime's free functions speak for.
class Entered {
public:
    explicit Entered(Model *model) : before(current) { current = model; }
    ~Entered() { current = before; }
    Entered(const Entered &) = delete;
    Entered &operator=(const Entered &) = delete;

private:
    Model *before;
};

#ifdef TP_MODEL_TRACE
// Models whose waveforms are open. Never destroyed: other threads may free models while the process ends.
struct Waveforms {
    std::mutex lock;
    std::set<Model *> models;
};
Waveforms &waveforms() {
    static Waveforms &only = *new Waveforms;
    return only;
}

// Completes them when the process ends without having freed its models. Another thread may be within a step still: it gets the time to
// leave it, and no step begins behind it.
struct AtExit {
    ~AtExit() {
        std::lock_guard<std::mutex> guard(waveforms().lock);
        for (Model *model : waveforms().models) {
            std::unique_lock<std::timed_mutex> step(model->step, std::defer_lock);
            const bool is_own = current == model;
            model->completed = true;
            // One that does not leave it, for it waits for this thread, has a waveform without its end.
            if (is_own || step.try_lock_for(std::chrono::seconds(1))) model->trace->close();
        }
        waveforms().models.clear();
    }
};
#endif

std::string place(const char *file, int line) {
    if (!file || !*file) return {};
    const char *slash = std::strrchr(file, '/');
    return std::string(slash ? slash + 1 : file) + ":" + std::to_string(line) + ": ";
}

void stop(int kind, const std::string &text) {
    Model *model = current;
    if (!model || model->stopped || model->ending) return;
    model->ending = kind;
    model->reason = text;
}

void set_time(Model *model, uint64_t picoseconds) { model->context.time(picoseconds * model->units_per_ps / model->ps_per_unit); }

void dump(Model *model, uint64_t picoseconds) {
#ifdef TP_MODEL_TRACE
    if (!model->trace || picoseconds < model->dumped) return;
    if (picoseconds < model->trace_from || picoseconds > model->trace_to) return;
    model->dumped = picoseconds + 1;
    model->trace->dump(picoseconds * model->units_per_ps / model->ps_per_unit);
#else
    (void)model;
    (void)picoseconds;
#endif
}

// Of the clocks in `clock`, those of these bits fall.
void fall(Model *model, CData &clock, CData bits, uint64_t when) {
    if (!(clock & bits)) return;
    clock &= ~bits;
    model->top->eval();
    dump(model, when);
}

// Clocks that are high and due fall before anything happens at `now`; the one that is about to rise falls in any case. `rising` is a user
// clock's number, or -1 for the core's.
void fall_due(Model *model, uint64_t now, int rising) {
    Vtp_model &top = *model->top;
#ifdef TP_MODEL_TRACE
    // Only a waveform can tell when a clock fell: what the gateware does at that edge it may do at any time before the next rise.
    if (model->trace) {
        for (;;) {
            int next = TP_MODEL_USER_CLOCKS;  // none is high and due
            uint64_t first = 0;
            for (int i = -1; i < TP_MODEL_USER_CLOCKS; i++) {
                const bool high = i < 0 ? top.clk : top.user_clk >> i & 1;
                const uint64_t when = i < 0 ? model->core_fall : model->user_fall[i];
                if (!high || (when > now && i != rising) || (next != TP_MODEL_USER_CLOCKS && when >= first)) continue;
                next = i;
                first = when;
            }
            if (next == TP_MODEL_USER_CLOCKS) return;
            fall(model, next < 0 ? top.clk : top.user_clk, next < 0 ? 1 : 1 << next, first < now ? first : now);
        }
    }
#endif
    fall(model, top.clk, 1, now);
    fall(model, top.user_clk, top.user_clk, now);
    (void)rising;
}

// Tells what was held back at this edge.
void settle(Model *model) {
    if (!model->ending && model->held.empty() && model->breach.empty()) return;
    std::string held, breach, reason;
    held.swap(model->held);
    breach.swap(model->breach);
    reason.swap(model->reason);
    const int kind = model->ending;
    model->ending = 0;
    if (breach.empty() && !held.empty()) model->tell(kPrint, held);
    if (!kind || model->stopped) return;
    model->stopped = true;
    model->tell(kind, breach.empty() ? reason : breach);
}

// Runs a step of the model; whatever is thrown ends the model, never the process.
template <typename Step> void guarded(Model *model, Step step) {
#ifdef TP_MODEL_TRACE
    std::unique_lock<std::timed_mutex> own(model->step, std::defer_lock);
    if (current != model) own.lock();
    if (model->completed) return;
#endif
    Entered entered(model);
    try {
        step();
    } catch (const Fatal &) {
        // vl_fatal has told the reason.
    } catch (const std::exception &e) {
        stop(kStop, e.what());
    } catch (...) {
        stop(kStop, "the model failed for an unknown reason");
    }
    settle(model);
#ifdef TP_MODEL_TRACE
    if (model->stopped && model->trace) model->trace->flush();
#endif
}

// Only the top of the neutral streams has these ports.
template <typename Top> auto show_beats(struct tp_model_beats &beats, const Top &top, int) -> decltype(top.beat_h2c_valid, void()) {
    beats = {top.beat_h2c_channels, top.beat_h2c_valid, top.beat_h2c_ready, top.beat_c2h_valid, top.beat_c2h_ready};
}
template <typename Top> void show_beats(struct tp_model_beats &beats, const Top &, long) { beats = {}; }

}  // namespace

int tp_model_printf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, format, arguments);
    va_end(arguments);
    std::string text(length > 0 ? length : 0, '\0');
    if (length > 0) std::vsnprintf(&text[0], text.size() + 1, format, again);
    va_end(again);
    Model *model = current;
    if (!model) return static_cast<int>(text.size());
    const std::size_t mark = text.find("%Error: "), fatal = text.find("%Fatal: ");
    const std::size_t begin = mark < fatal ? mark : fatal;
    if (begin == std::string::npos) {
        model->tell(kPrint, text);
        return static_cast<int>(text.size());
    }
    // An error is printed by one call, with its line break.
    const std::size_t end = text.find('\n', begin);
    const std::string error = text.substr(begin + 8, end == std::string::npos ? end : end - begin - 8);
    model->error = error;
    if (error.compare(0, 10, "core port ")) {
        model->held += text;
    } else {
        if (!model->breach.empty()) model->breach += "; ";
        model->breach += error;
    }
    return static_cast<int>(text.size());
}

// The runtime's ends of the world. $stop, $fatal, $error and failed assertions come through vl_stop.
void vl_finish(const char *file, int line, const char *) VL_MT_UNSAFE {
    Verilated::threadContextp()->gotFinish(true);
    stop(kFinish, place(file, line) + "$finish");
}
void vl_stop(const char *file, int line, const char *) VL_MT_UNSAFE {
    Verilated::threadContextp()->gotFinish(true);
    Model *model = current;
    stop(kStop, model && !model->error.empty() ? model->error : place(file, line) + "$stop");
}
void vl_fatal(const char *file, int line, const char *, const char *message) VL_MT_UNSAFE {
    stop(kStop, place(file, line) + (message ? message : "fault of the simulation's runtime"));
    throw Fatal();
}

void vl_warn(const char *file, int line, const char *, const char *message) VL_MT_UNSAFE {
    const std::string text = message ? message : "";
    if (text == "$readmem file not found") {
        // The core would go on with what is in the memory, and its results would be wrong.
        stop(kStop, std::string("$readmem: the core has no data file \"") + file + "\": list it in core.data of its manifest");
        throw Fatal();
    }
    tp_model_printf("%%Warning: %s%s\n", place(file, line).c_str(), text.c_str());
}

// The linker leads all fopen of the model and of Verilator's runtime here: a core's data files are in the model.
extern "C" std::FILE *__real_fopen(const char *name, const char *mode);
extern "C" std::FILE *__wrap_fopen(const char *name, const char *mode) {
    if (mode[0] != 'r' || std::strchr(mode, '+')) return __real_fopen(name, mode);
    while (!std::strncmp(name, "./", 2)) name += 2;
    for (const tp_data_file *file = tp_data_files; file->name; file++) {
        const char *known = file->name;
        while (!std::strncmp(known, "./", 2)) known += 2;
        if (std::strcmp(known, name)) continue;
        const std::size_t length = file->end - file->begin;
        return length ? fmemopen(const_cast<char *>(file->begin), length, "r") : __real_fopen("/dev/null", "r");
    }
    return __real_fopen(name, mode);
}

TP_EXPORT void tp_model_info(struct tp_model_info *info) {
    info->abi = TP_MODEL_ABI;
    info->data_width = TP_MODEL_DATA_WIDTH;
    info->core_clock_khz = TP_MODEL_CORE_CLOCK_KHZ;
    const uint32_t user[TP_MODEL_USER_CLOCKS] = {TP_MODEL_USER_CLOCKS_KHZ};
    std::memcpy(info->user_clocks_khz, user, sizeof user);
}

TP_EXPORT void *tp_model_new(const char *trace, tp_model_print print, void *context) try {
    std::unique_ptr<Model> model(new Model);
    model->print = print;
    model->print_context = context;
    if (trace) {
#ifdef TP_MODEL_TRACE
        // The writer does not say why it failed; this does.
        if (std::FILE *file = std::fopen(trace, "wb")) {
            std::fclose(file);
        } else {
            model->tell(kPrint, std::string("cannot write the waveform ") + trace + ": " + std::strerror(errno) + "\n");
            return nullptr;
        }
        model->context.traceEverOn(true);
#else
        model->tell(kPrint, "this model was built without waveforms\n");
        return nullptr;
#endif
    }
    guarded(model.get(), [&] {
        model->top.reset(new Vtp_model(&model->context, "top"));
        // $time counts in the finest precision that any source names.
        for (int p = model->context.timeprecision(); p < -12; p++) model->units_per_ps *= 10;
        for (int p = model->context.timeprecision(); p > -12; p--) model->ps_per_unit *= 10;
#ifdef TP_MODEL_TRACE
        if (trace) {
            model->trace.reset(new VerilatedFstC);
            model->top->trace(model->trace.get(), 99);
            model->trace->open(trace);
        }
#endif
        model->top->rst = 1;
        model->top->eval();
    });
    if (!model->top) return nullptr;
#ifdef TP_MODEL_TRACE
    if (model->trace) {
        std::lock_guard<std::mutex> guard(waveforms().lock);
        waveforms().models.insert(model.get());
        static AtExit at_exit;
    }
#endif
    return model.release();
} catch (const std::exception &) {
    return nullptr;
}

TP_EXPORT void tp_model_free(void *handle) {
    std::unique_ptr<Model> model(static_cast<Model *>(handle));
    if (!model) return;
#ifdef TP_MODEL_TRACE
    bool is_open;
    {
        std::lock_guard<std::mutex> guard(waveforms().lock);
        is_open = waveforms().models.erase(model.get());
    }
#endif
    guarded(model.get(), [&] {
#ifdef TP_MODEL_TRACE
        if (is_open) model->trace->close();
#endif
        // A `final` block's text still reaches the user; it can stop nothing any more.
        model->stopped = true;
        model->top->final();
        model->top.reset();
    });
}

TP_EXPORT void tp_model_core_clock(void *handle, uint64_t picoseconds, const struct tp_model_in *in, struct tp_model_out *out) {
    Model *model = static_cast<Model *>(handle);
    if (!model->stopped) {
        guarded(model, [&] {
            Vtp_model &top = *model->top;
            fall_due(model, picoseconds, -1);
            set_time(model, picoseconds);
            model->boundary.apply(top, *in);
            top.clk = 1;
            top.eval();
            dump(model, picoseconds);
#ifdef TP_MODEL_TRACE
            model->core_fall = picoseconds + (picoseconds - model->core_last) / 2;
#endif
            model->core_last = picoseconds;
            model->boundary.show(*out, top);
        });
    }
    if (model->stopped) {
        out->nonposted_credit = out->function_reset_done = out->hold = 0;
        out->posted.valid = out->read.valid = out->answer.valid = 0;
    }
}

TP_EXPORT void tp_model_user_clock(void *handle, uint32_t index, uint64_t picoseconds) {
    Model *model = static_cast<Model *>(handle);
    if (model->stopped || index >= TP_MODEL_USER_CLOCKS) return;
    guarded(model, [&] {
        Vtp_model &top = *model->top;
        fall_due(model, picoseconds, static_cast<int>(index));
        set_time(model, picoseconds);
        top.user_clk |= 1 << index;
        top.eval();
        dump(model, picoseconds);
#ifdef TP_MODEL_TRACE
        model->user_fall[index] = picoseconds + (picoseconds - model->user_last[index]) / 2;
#endif
        model->user_last[index] = picoseconds;
    });
}

TP_EXPORT void tp_model_beats(void *handle, struct tp_model_beats *beats) {
    const Model *model = static_cast<const Model *>(handle);
    *beats = {};
    if (!model->stopped) show_beats(*beats, *model->top, 0);
}

TP_EXPORT void tp_model_trace(void *handle, uint64_t from, uint64_t to) {
    Model *model = static_cast<Model *>(handle);
#ifdef TP_MODEL_TRACE
    model->trace_from = from;
    model->trace_to = to;
#else
    (void)model;
    (void)from;
    (void)to;
#endif
}
