/* SPDX-License-Identifier: Apache-2.0 */
#include "berth/scheduler.h"

int main(int argc, char **argv)
{
    return berth_scheduler_main(argc, argv, NULL);
}
