/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * From a card's resources on a bus to its device files, and back. All that is allocated here
 * belongs to the bus's device (devres), which releases it in the reverse order: that takes the card
 * away.
 */
#ifndef TOWPATH_CORE_H
#define TOWPATH_CORE_H

#include "file.h"
#include "power.h"
#include "queue.h"
#include "ram.h"

/* core.c */
int tp_core_init(void);
void tp_core_exit(void);
/* Take over a card: read its discovery table, and stop what an earlier driver left running. */
struct tp_card *tp_card_create(const struct tp_resources *bus);
/* How many interrupt vectors the card is good for. */
u32 tp_card_vectors(const struct tp_card *card);
/* Serve programs, with so many vectors. The card may reach memory from now on. */
int tp_card_start(struct tp_card *card, u32 vectors);

/* interrupts.c */
int tp_interrupts_request(struct tp_card *card, u32 count);

/* discovery.c */
/* Take over the discovery table, for the rest of the driver relies on it; or report its fault. */
int tp_discover(struct tp_card *card);

/* attributes.c */
extern const struct attribute_group *tp_card_groups[];
extern const struct attribute_group *tp_channel_groups[];

/* nodes.c */
int tp_nodes_init(void);
void tp_nodes_exit(void);
/* A card without a table or files, which put_device() releases. */
struct tp_card *tp_card_allocate(const struct tp_resources *bus);
int tp_nodes_add(struct tp_card *card);
void tp_nodes_remove(struct tp_card *card);
/* Give a card's files other names besides their own. ENODEV: the card goes. */
int tp_nodes_name(struct tp_card *card, enum tp_names names);
/* By value of enum tp_names, as users write them. */
extern const char *const tp_names_words[];
#define TP_NAMES_COUNT 3

/* latency.c; not linked without CONFIG_TOWPATH_LATENCY */
void tp_latency_init(void);
void tp_latency_exit(void);
void tp_latency_add(struct tp_card *card);
void tp_latency_remove(struct tp_card *card);

#endif
