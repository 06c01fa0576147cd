// SPDX-License-Identifier: Apache-2.0
// Files that a user core reads, inside its model. The builder generates the table, and `model.cpp` opens them by name.
#ifndef TP_DATA_H
#define TP_DATA_H

struct tp_data_file {
    const char *name;  // as the core's sources write it; null behind the last
    const char *begin, *end;
};

extern const struct tp_data_file tp_data_files[];

#endif
