/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <poll.h>

#include "base/mailbox.h"
#include "base/time.h"

struct letter {
    struct mail mail;
    size_t sender, number;
};

static bool readable(const struct mailbox *box, int timeout_ms)
{
    struct pollfd p = {.fd = box->event_fd, .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1;
}

static void in_order(void **state)
{
    (void)state;
    struct mailbox box;
    assert_int_equal(mailbox_init(&box, true), 0);
    struct letter letters[3] = {0};
    assert_null(mailbox_take(&box));
    for (int round = 0; round < 3; round++) {
        assert_false(readable(&box, 0));
        for (int i = 0; i < 3; i++) {
            mailbox_post(&box, &letters[i].mail);
            assert_true(readable(&box, 0));
        }
        struct mail *m = round % 2 ? mailbox_take(&box) : mailbox_wait(&box, INT64_MAX);
        for (int i = 0; i < 3; i++, m = m->next)
            assert_ptr_equal(m, &letters[i].mail);
        assert_null(m);
        assert_null(mailbox_take(&box));
    }
    mailbox_release(&box);
}

static void timeouts(void **state)
{
    (void)state;
    struct mailbox box;
    assert_int_equal(mailbox_init(&box, false), 0);
    assert_int_equal(box.event_fd, -1);
    int64_t until = time_mono() + 5 * NSEC_PER_MSEC;
    assert_null(mailbox_wait(&box, until));
    assert_true(time_mono() >= until);
    assert_null(mailbox_wait(&box, 0));
    assert_null(mailbox_wait(&box, INT64_MIN));
    mailbox_release(&box);
}

static void closing(void **state)
{
    (void)state;
    struct mailbox box;
    assert_int_equal(mailbox_init(&box, true), 0);
    assert_false(mailbox_closed(&box));
    mailbox_close(&box);
    assert_true(mailbox_closed(&box));
    assert_true(readable(&box, 0));
    assert_null(mailbox_wait(&box, INT64_MAX));
    /* Later posts still arrive. */
    struct letter late = {0};
    mailbox_post(&box, &late.mail);
    assert_ptr_equal(mailbox_wait(&box, INT64_MAX), &late.mail);
    mailbox_release(&box);
}

#define SENDERS 4
#define LETTERS ((size_t)5000)

struct sender {
    struct mailbox *box;
    size_t index;
    pthread_t thread;
};

static void *send_all(void *arg)
{
    struct sender *s = arg;
    for (size_t i = 0; i < LETTERS; i++) {
        struct letter *l = xnew(struct letter);
        l->sender = s->index;
        l->number = i;
        mailbox_post(s->box, &l->mail);
    }
    return NULL;
}

/* The next batch, by one of the three ways an owner may wait. */
static struct mail *receive(struct mailbox *box, size_t round)
{
    if (round % 3 == 0 && readable(box, 10))
        return mailbox_take(box);
    return mailbox_wait(box, round % 3 == 1 ? INT64_MAX : time_mono() + NSEC_PER_MSEC);
}

/* From several threads all messages arrive once, those of one sender in order. */
static void many_senders(void **state)
{
    (void)state;
    struct mailbox box;
    assert_int_equal(mailbox_init(&box, true), 0);
    struct sender senders[SENDERS];
    for (size_t i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){.box = &box, .index = i};
        assert_int_equal(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]), 0);
    }
    size_t next[SENDERS] = {0}, total = 0;
    for (size_t round = 0; total < SENDERS * LETTERS; round++) {
        struct mail *m = receive(&box, round);
        while (m) {
            struct letter *l = CONTAINER_OF(m, struct letter, mail);
            m = m->next;
            assert_int_equal(l->number, next[l->sender]);
            next[l->sender]++;
            total++;
            free(l);
        }
    }
    for (size_t i = 0; i < SENDERS; i++)
        pthread_join(senders[i].thread, NULL);
    assert_null(mailbox_take(&box));
    assert_false(readable(&box, 0));
    mailbox_release(&box);
}

static void *close_it(void *arg)
{
    mailbox_close(arg);
    return NULL;
}

static void closed_while_waiting(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct mailbox box;
        assert_int_equal(mailbox_init(&box, false), 0);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, close_it, &box), 0);
        assert_null(mailbox_wait(&box, INT64_MAX));
        pthread_join(thread, NULL);
        mailbox_release(&box);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order),
        cmocka_unit_test(timeouts),
        cmocka_unit_test(closing),
        cmocka_unit_test(many_senders),
        cmocka_unit_test(closed_while_waiting),
    };
    return cmocka_run_group_tests_name("mailbox", tests, NULL, NULL);
}
