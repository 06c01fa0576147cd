// SPDX-License-Identifier: Apache-2.0
// A beat's dwords into and out of a port of the Verilated top, whatever its width.
#ifndef TP_LANES_H
#define TP_LANES_H
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "verilated.h"

inline void take(QData &to, const uint32_t *from) { to = from[0] | static_cast<QData>(from[1]) << 32; }
template <std::size_t N> inline void take(VlWide<N> &to, const uint32_t *from) { std::memcpy(to.data(), from, N * sizeof *from); }
inline void give(uint32_t *to, const QData &from) {
    to[0] = static_cast<uint32_t>(from);
    to[1] = static_cast<uint32_t>(from >> 32);
}
template <std::size_t N> inline void give(uint32_t *to, const VlWide<N> &from) { std::memcpy(to, from.data(), N * sizeof *to); }

#endif
