// SPDX-License-Identifier: Apache-2.0
// libriffa's calls for the class Riffa, in MATLAB and Octave: riffa_mex(call, arguments...). The class has checked the arguments.
#include <stdint.h>
#include <string.h>

#include <mex.h>
#include <riffa.h>

static fpga_t *of(const mxArray *handle) {
    uint64_t value = 0;
    if (!mxIsUint64(handle) || mxGetNumberOfElements(handle) != 1) mexErrMsgTxt("no handle of riffa_mex");
    memcpy(&value, mxGetData(handle), sizeof value);
    return (fpga_t *)(uintptr_t)value;
}

static mxArray *row(const int *values) {
    mxArray *array = mxCreateDoubleMatrix(1, NUM_FPGAS, mxREAL);
    for (int n = 0; n < NUM_FPGAS; n++) mxGetPr(array)[n] = values[n];
    return array;
}

static mxArray *list(void) {
    static const char *fields[] = {"num_fpgas", "id", "num_chnls", "name", "vendor_id", "device_id"};
    fpga_info_list found;
    if (fpga_list(&found) != 0) mexErrMsgTxt("fpga_list: the cards cannot be listed");
    mxArray *all = mxCreateStructMatrix(1, 1, 6, fields);
    mxArray *names = mxCreateNumericMatrix(1, sizeof found.name, mxINT8_CLASS, mxREAL);
    memcpy(mxGetData(names), found.name, sizeof found.name);
    mxSetField(all, 0, "num_fpgas", mxCreateDoubleScalar(found.num_fpgas));
    mxSetField(all, 0, "id", row(found.id));
    mxSetField(all, 0, "num_chnls", row(found.num_chnls));
    mxSetField(all, 0, "name", names);
    mxSetField(all, 0, "vendor_id", row(found.vendor_id));
    mxSetField(all, 0, "device_id", row(found.device_id));
    return all;
}

void mexFunction(int results, mxArray *result[], int arguments, const mxArray *argument[]) {
    (void)results;
    const char *call = arguments > 0 && mxIsChar(argument[0]) ? mxArrayToString(argument[0]) : "";
    if (strcmp(call, "list") == 0 && arguments == 1) {
        result[0] = list();
    } else if (strcmp(call, "open") == 0 && arguments == 2) {
        uint64_t handle = (uint64_t)(uintptr_t)fpga_open((int)mxGetScalar(argument[1]));
        result[0] = mxCreateNumericMatrix(1, 1, mxUINT64_CLASS, mxREAL);
        memcpy(mxGetData(result[0]), &handle, sizeof handle);
    } else if (strcmp(call, "close") == 0 && arguments == 2) {
        fpga_close(of(argument[1]));
    } else if (strcmp(call, "reset") == 0 && arguments == 2) {
        fpga_reset(of(argument[1]));
    } else if (strcmp(call, "send") == 0 && arguments == 8) {
        // Of an array that is shorter than the length, as many words as it has.
        double words = (double)(mxGetNumberOfElements(argument[3]) * mxGetElementSize(argument[3]) / 4), length = mxGetScalar(argument[4]);
        int sent = fpga_send(of(argument[1]), (int)mxGetScalar(argument[2]), mxGetData(argument[3]), (int)(length < words ? length : words),
                             (int)mxGetScalar(argument[5]), (int)mxGetScalar(argument[6]), (long long)mxGetScalar(argument[7]));
        result[0] = mxCreateDoubleScalar(sent);
    } else if (strcmp(call, "recv") == 0 && arguments == 5) {
        int length = (int)mxGetScalar(argument[3]);
        mxArray *data = mxCreateNumericMatrix(1, (mwSize)length, mxINT32_CLASS, mxREAL);
        int received =
            fpga_recv(of(argument[1]), (int)mxGetScalar(argument[2]), mxGetData(data), length, (long long)mxGetScalar(argument[4]));
        result[0] = mxCreateDoubleScalar(received);
        if (results > 1)
            result[1] = data;
        else
            mxDestroyArray(data);
    } else {
        mexErrMsgTxt("riffa_mex is for the class Riffa");
    }
}
