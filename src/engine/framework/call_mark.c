/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/framework/call_mark.h"

_Thread_local struct call_mark call_mark;
