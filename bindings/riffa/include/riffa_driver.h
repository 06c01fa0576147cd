/* SPDX-License-Identifier: Apache-2.0 */
/* The data types of RIFFA's calls, under the name by which RIFFA's programs include them. See riffa.h. */
#ifndef TOWPATH_RIFFA_DRIVER_H
#define TOWPATH_RIFFA_DRIVER_H

/* Cards that fpga_list() can list. */
#define NUM_FPGAS 5

/* What fpga_list() reports: the first num_fpgas places of each array. In the others, id is -1 and the rest is 0. */
struct fpga_info_list {
    int num_fpgas;
    int id[NUM_FPGAS];
    int num_chnls[NUM_FPGAS];
    char name[NUM_FPGAS][16];
    int vendor_id[NUM_FPGAS];
    int device_id[NUM_FPGAS];
};
typedef struct fpga_info_list fpga_info_list;

#endif
