// SPDX-License-Identifier: Apache-2.0
// A program as those for RIFFA are written: it lists the cards, opens one, and in each round one thread sends while the other receives.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <riffa.h>

struct job {
    fpga_t *fpga;
    unsigned int *data;
    int len;
    int done;
};

static void *sender(void *of) {
    struct job *job = of;
    job->done = fpga_send(job->fpga, 0, job->data, job->len, 0, 1, 25000);
    return NULL;
}

static void *receiver(void *of) {
    struct job *job = of;
    job->done = fpga_recv(job->fpga, 0, job->data, job->len, 25000);
    return NULL;
}

int main(void) {
    fpga_info_list info;
    if (fpga_list(&info) != 0 || info.num_fpgas == 0) return 1;
    printf("%d: %s, channels: %d\n", info.id[0], info.name[0], info.num_chnls[0]);
    fpga_t *fpga = fpga_open(info.id[0]);
    if (fpga == NULL) return 1;
    fpga_reset(fpga);
    for (int words = 4; words <= 1 << 16; words *= 8) {
        unsigned int *out = malloc(4 * (size_t)words), *in = calloc((size_t)words, 4);
        if (out == NULL || in == NULL) return 1;
        for (int n = 0; n < words; n++) out[n] = (unsigned int)(n + 1);
        struct job jobs[] = {{fpga, out, words, 0}, {fpga, in, words, 0}};
        pthread_t threads[2];
        pthread_create(&threads[0], NULL, sender, &jobs[0]);
        pthread_create(&threads[1], NULL, receiver, &jobs[1]);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        int wrong = 0;
        for (int n = 0; n < words; n++) wrong += in[n] != out[n];
        printf("%d words sent, %d received, %d wrong\n", jobs[0].done, jobs[1].done, wrong);
        free(out);
        free(in);
    }
    fpga_close(fpga);
    return 0;
}
