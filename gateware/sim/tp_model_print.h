// SPDX-License-Identifier: Apache-2.0
// Forced into every file that Verilator's runtime is made of (with VL_PRINTF defined to this), so that what a core prints goes to the
// simulator's callback and never straight to a standard stream that belongs to the program.
#ifndef TP_MODEL_PRINT_H
#define TP_MODEL_PRINT_H
#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
int tp_model_printf(const char *format, ...);
#define VL_PRINTF tp_model_printf
#endif
