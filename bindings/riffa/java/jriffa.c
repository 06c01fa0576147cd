// SPDX-License-Identifier: Apache-2.0
// The native side of the class Fpga: libriffa's calls, on a direct buffer's memory.
#include <jni.h>
#include <stdint.h>

#include <riffa.h>

// See Fpga.NOT_DIRECT.
#define NOT_DIRECT INT32_MIN

#define METHOD(type, name) JNIEXPORT type JNICALL Java_edu_ucsd_cs_riffa_Fpga_##name

static fpga_t *of(jlong handle) { return (fpga_t *)(uintptr_t)handle; }

METHOD(jint, list)(JNIEnv *env, jclass class, jintArray numbers, jbyteArray names) {
    (void)class;
    fpga_info_list list;
    int result = fpga_list(&list);
    if (result != 0) return result;
    const jint count = list.num_fpgas;
    const jint *arrays[] = {list.id, list.num_chnls, list.vendor_id, list.device_id};
    (*env)->SetIntArrayRegion(env, numbers, 0, 1, &count);
    for (int n = 0; n < 4; n++) (*env)->SetIntArrayRegion(env, numbers, 1 + n * NUM_FPGAS, NUM_FPGAS, arrays[n]);
    (*env)->SetByteArrayRegion(env, names, 0, sizeof list.name, (const jbyte *)list.name);
    return 0;
}

METHOD(jlong, open0)(JNIEnv *env, jclass class, jint id) {
    (void)env, (void)class;
    return (jlong)(uintptr_t)fpga_open(id);
}

METHOD(void, close__J)(JNIEnv *env, jclass class, jlong handle) {
    (void)env, (void)class;
    fpga_close(of(handle));
}

METHOD(jint, send__JILjava_nio_ByteBuffer_2IIIJ)
(JNIEnv *env, jclass class, jlong handle, jint chnl, jobject data, jint len, jint destoff, jint last, jlong timeout) {
    (void)class;
    void *memory = data == NULL ? NULL : (*env)->GetDirectBufferAddress(env, data);
    if (memory == NULL && len != 0) return NOT_DIRECT;
    jlong words = memory == NULL ? 0 : (*env)->GetDirectBufferCapacity(env, data) / 4;
    return fpga_send(of(handle), chnl, memory, len < words ? len : (jint)words, destoff, last, timeout);
}

METHOD(jint, recv__JILjava_nio_ByteBuffer_2J)(JNIEnv *env, jclass class, jlong handle, jint chnl, jobject data, jlong timeout) {
    (void)class;
    void *memory = data == NULL ? NULL : (*env)->GetDirectBufferAddress(env, data);
    if (memory == NULL) return NOT_DIRECT;
    jlong words = (*env)->GetDirectBufferCapacity(env, data) / 4;
    return fpga_recv(of(handle), chnl, memory, (jint)words, timeout);
}

METHOD(void, reset__J)(JNIEnv *env, jclass class, jlong handle) {
    (void)env, (void)class;
    fpga_reset(of(handle));
}
