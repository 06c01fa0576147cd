// SPDX-License-Identifier: Apache-2.0
// A file that is included, so that the tests see its folder found.
`define BARE_JOIN(side) \
  assign out_t``side = in_t``side;
