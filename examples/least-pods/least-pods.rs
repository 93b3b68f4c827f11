// SPDX-License-Identifier: Apache-2.0
//! LeastPods: nodes with fewer pods are better. In Rust.
#[path = "../berth.rs"]
mod berth;
use berth::*;
use std::os::raw::{c_int, c_void};

const MAX_SCORE: i64 = 100;

/// The host is all that an instance needs.
struct LeastPods {
    host: &'static Host,
}

unsafe extern "C" fn create(
    host: *const Host,
    _h: *mut Handle,
    _args: Str,
    ret_self: *mut *mut c_void,
    _error: *mut Error,
) -> c_int {
    *ret_self = Box::into_raw(Box::new(LeastPods { host: &*host })) as *mut c_void;
    0
}

unsafe extern "C" fn destroy(this: *mut c_void) {
    drop(Box::from_raw(this as *mut LeastPods));
}

unsafe extern "C" fn score(
    this: *mut c_void,
    _cycle: *const Cycle,
    _pod: *const Pod,
    node: *const Node,
    ret_score: *mut i64,
    _status: *mut Status,
) -> Code {
    let this = &*(this as *const LeastPods);
    *ret_score = this.host.node_pod_count.unwrap()(node) as i64;
    BERTH_SUCCESS
}

/// The node with the most pods gets 0, an empty one 100.
unsafe extern "C" fn normalize(
    _this: *mut c_void,
    _cycle: *const Cycle,
    _pod: *const Pod,
    _slots: *const u32,
    scores: *mut i64,
    n: usize,
    _status: *mut Status,
) -> Code {
    if n > 0 {
        let scores = std::slice::from_raw_parts_mut(scores, n);
        let most = scores.iter().copied().max().unwrap_or(0).max(1);
        for score in scores {
            *score = MAX_SCORE - *score * MAX_SCORE / most;
        }
    }
    BERTH_SUCCESS
}

struct Exported(Plugin);
unsafe impl Sync for Exported {}

static PLUGIN: Exported = Exported(Plugin {
    abi: BERTH_ABI,
    struct_size: std::mem::size_of::<Plugin>(),
    name: b"LeastPods\0".as_ptr() as *const _,
    version: b"1.0\0".as_ptr() as *const _,
    create: Some(create),
    destroy: Some(destroy),
    score: Some(score),
    normalize: Some(normalize),
    ..NO_PLUGIN
});

#[repr(transparent)]
pub struct PluginList([*const Plugin; 2]);
unsafe impl Sync for PluginList {}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static berth_plugins: PluginList = PluginList([&PLUGIN.0, std::ptr::null()]);
