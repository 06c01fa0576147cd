// SPDX-License-Identifier: Apache-2.0
// Encipher standard input to standard output, AES-128 in counter mode on the card; the same again deciphers.
//
//     cc aes.c $(pkg-config --cflags --libs towpath) -o aes
//     ./aes sim:examples/fields/aes 2b7e151628aed2a6abf7158809cf4f3c f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff < text > cipher
//
// The arguments are the device, the key and the first block of the counter.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <towpath.h>

enum { PART = 4096, WORDS = 4 };

static void check(towpath_status status) {
    if (status == TOWPATH_OK) return;
    fprintf(stderr, "aes: %s: %s\n", towpath_status_name(status), towpath_last_error());
    exit(1);
}

// Exactly as many: a longer key is one of AES-192 or AES-256. A key is not repeated on the terminal.
static void check_digits(const char *what, const char *digits) {
    size_t count = strlen(digits);
    if (count == 8 * WORDS && strspn(digits, "0123456789abcdefABCDEF") == count) return;
    fprintf(stderr, "aes: the %s must have %d hexadecimal digits and nothing else; here are %zu characters\n", what, 8 * WORDS, count);
    exit(2);
}

// 32 hexadecimal digits into the register, whose words have the first byte lowest.
static void set_block(towpath_device *card, uint32_t offset, const char *digits) {
    for (uint32_t word = 0; word < WORDS; word++) {
        uint32_t value = 0;
        for (uint32_t byte = 0; byte < 4; byte++) {
            const char pair[] = {digits[0], digits[1], '\0'};
            value |= (uint32_t)strtoul(pair, NULL, 16) << (8 * byte);
            digits += 2;
        }
        check(towpath_write_register(card, offset + 4 * word, value));
    }
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "aes: the device, the key and the counter are needed: aes sim:examples/fields/aes KEY COUNTER\n");
        return 2;
    }
    check_digits("key", argv[2]);
    check_digits("counter", argv[3]);
    towpath_device *card;
    towpath_channel *in, *out;
    check(towpath_open(argv[1], NULL, &card));
    check(towpath_open_channel(card, "in", TOWPATH_H2C, NULL, &in));
    check(towpath_open_channel(card, "out", TOWPATH_C2H, NULL, &out));
    set_block(card, 0x00, argv[2]);  // the registers' places in towpath.toml
    set_block(card, 0x10, argv[3]);

    // Each part is a message of its own, which says where in the text it is: the core counts on from there. A part is as long as the card
    // can take in before anything is received.
    static unsigned char text[PART];
    towpath_message message = {.size = sizeof message};
    size_t bytes;
    while ((bytes = fread(text, 1, sizeof text, stdin)) > 0) {
        check(towpath_send(in, text, bytes, &message, NULL));
        towpath_received received = {.size = sizeof received};
        check(towpath_recv(out, text, sizeof text, &received));
        if (fwrite(text, 1, received.bytes, stdout) != received.bytes) {
            perror("aes: standard output");
            return 1;
        }
        message.offset += bytes;
    }
    if (ferror(stdin)) {
        perror("aes: standard input");
        return 1;
    }
    if (fclose(stdout) != 0) { // what is written last may fail here only
        perror("aes: standard output");
        return 1;
    }
    towpath_close_channel(in);
    towpath_close_channel(out);
    towpath_close(card);
}
