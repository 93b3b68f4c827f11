// Generated from berth/plugin.h by tools/rust_abi.py: the plugin ABI of berth.

#![allow(dead_code)]

use std::os::raw::{c_char, c_int, c_uint, c_void};

pub const BERTH_ABI_MAJOR: u32 = 1;

pub const BERTH_ABI_MINOR: u32 = 0;

pub const BERTH_METRIC_MAX_LABELS: u32 = 8;

pub const BERTH_ABI: u32 = BERTH_ABI_MAJOR << 16 | BERTH_ABI_MINOR;

#[repr(C)]
pub struct Pod {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct Node {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct Object {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct Lister {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct Metric {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct QueuedPod {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct Cycle {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct Status {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct Handle {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct Registrar {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct WaitingPod {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct PodGroup {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct Placement {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct Placements {
    _opaque: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Str {
    pub p: *const c_char,
    pub n: usize,
}

pub type Code = c_uint;
pub const BERTH_SUCCESS: Code = 0;
pub const BERTH_ERROR: Code = 1;
pub const BERTH_UNSCHEDULABLE: Code = 2;
pub const BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE: Code = 3;
pub const BERTH_WAIT: Code = 4;
pub const BERTH_SKIP: Code = 5;
pub const BERTH_PENDING: Code = 6;
pub const BERTH_ASYNC: Code = 100;

pub type Reason = u32;

pub type StateKey = u32;

pub type Op = u64;

pub type Resource = c_uint;
pub const BERTH_RESOURCE_POD: Resource = 0;
pub const BERTH_RESOURCE_ASSIGNED_POD: Resource = 1;
pub const BERTH_RESOURCE_UNSCHEDULED_POD: Resource = 2;
pub const BERTH_RESOURCE_NODE: Resource = 3;
pub const BERTH_RESOURCE_PERSISTENT_VOLUME: Resource = 4;
pub const BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM: Resource = 5;
pub const BERTH_RESOURCE_CSI_NODE: Resource = 6;
pub const BERTH_RESOURCE_CSI_DRIVER: Resource = 7;
pub const BERTH_RESOURCE_CSI_STORAGE_CAPACITY: Resource = 8;
pub const BERTH_RESOURCE_STORAGE_CLASS: Resource = 9;
pub const BERTH_RESOURCE_VOLUME_ATTACHMENT: Resource = 10;
pub const BERTH_RESOURCE_RESOURCE_CLAIM: Resource = 11;
pub const BERTH_RESOURCE_RESOURCE_SLICE: Resource = 12;
pub const BERTH_RESOURCE_DEVICE_CLASS: Resource = 13;
pub const BERTH_RESOURCE_POD_GROUP: Resource = 14;
pub const BERTH_RESOURCE_ALL: Resource = 15;
pub const BERTH_RESOURCE_COUNT: Resource = 16;

pub type Action = c_uint;
pub const BERTH_ACTION_ADD: Action = 1;
pub const BERTH_ACTION_DELETE: Action = 2;
pub const BERTH_ACTION_UPDATE_NODE_ALLOCATABLE: Action = 4;
pub const BERTH_ACTION_UPDATE_NODE_LABEL: Action = 8;
pub const BERTH_ACTION_UPDATE_NODE_TAINT: Action = 16;
pub const BERTH_ACTION_UPDATE_NODE_CONDITION: Action = 32;
pub const BERTH_ACTION_UPDATE_NODE_ANNOTATION: Action = 64;
pub const BERTH_ACTION_UPDATE_NODE_DECLARED_FEATURE: Action = 128;
pub const BERTH_ACTION_UPDATE_POD_LABEL: Action = 256;
pub const BERTH_ACTION_UPDATE_POD_SCALE_DOWN: Action = 512;
pub const BERTH_ACTION_UPDATE_POD_TOLERATION: Action = 1024;
pub const BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED: Action = 2048;
pub const BERTH_ACTION_UPDATE_POD_GENERATED_RESOURCE_CLAIM: Action = 4096;
pub const BERTH_ACTION_UPDATE_OTHER: Action = 8192;
pub const BERTH_ACTION_UPDATE: Action = 16380;
pub const BERTH_ACTION_ALL: Action = 16383;

pub type Hint = c_uint;
pub const BERTH_QUEUE_SKIP: Hint = 0;
pub const BERTH_QUEUE: Hint = 1;

pub type HintFn = unsafe extern "C" fn(self_: *mut c_void, pod: *const Pod, before: *const Object, after: *const Object) -> Hint;

pub type ApiVerb = c_uint;
pub const BERTH_API_GET: ApiVerb = 0;
pub const BERTH_API_CREATE: ApiVerb = 1;
pub const BERTH_API_PATCH: ApiVerb = 2;
pub const BERTH_API_DELETE: ApiVerb = 3;

pub type Patch = c_uint;
pub const BERTH_PATCH_MERGE: Patch = 0;
pub const BERTH_PATCH_STRATEGIC: Patch = 1;
pub const BERTH_PATCH_JSON: Patch = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ApiCall {
    pub struct_size: usize,
    pub verb: ApiVerb,
    pub patch: Patch,
    pub api_version: Str,
    pub resource: Str,
    pub subresource: Str,
    pub namespace_name: Str,
    pub name: Str,
    pub body: Str,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ApiResult {
    pub struct_size: usize,
    pub status: c_int,
    pub reason: Str,
    pub message: Str,
    pub object: *const Object,
}

pub type ApiDoneFn = unsafe extern "C" fn(ctx: *mut c_void, result: *const ApiResult);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct HttpGet {
    pub struct_size: usize,
    pub url: Str,
    pub authorization: Str,
    pub timeout_ns: i64,
    pub max_body: usize,
    pub insecure_skip_verify: bool,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct HttpResult {
    pub struct_size: usize,
    pub status: c_int,
    pub message: Str,
    pub body: Str,
}

pub type HttpDoneFn = unsafe extern "C" fn(ctx: *mut c_void, result: *const HttpResult);

pub type BerthFn = unsafe extern "C" fn(ctx: *mut c_void);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct SharedType {
    pub struct_size: usize,
    pub name: *const c_char,
    pub make: Option<unsafe extern "C" fn(host: *const Host, h: *mut Handle) -> *mut c_void>,
    pub free: Option<unsafe extern "C" fn(data: *mut c_void)>,
    pub changed: Option<unsafe extern "C" fn(data: *mut c_void, resource: Resource, before: *const Object, after: *const Object)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Columns {
    pub struct_size: usize,
    pub n: usize,
    pub nodes: *const *const Node,
    pub present: *const u64,
    pub unschedulable: *const u64,
    pub allocatable_cpu: *const i64,
    pub allocatable_memory: *const i64,
    pub allocatable_ephemeral_storage: *const i64,
    pub allocatable_pods: *const i64,
    pub requested_cpu: *const i64,
    pub requested_memory: *const i64,
    pub requested_ephemeral_storage: *const i64,
    pub nonzero_cpu: *const i64,
    pub nonzero_memory: *const i64,
    pub pod_count: *const i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct FilterBatch {
    pub struct_size: usize,
    pub columns: *const Columns,
    pub feasible: *mut u64,
    pub codes: *mut u8,
    pub reasons: *mut Reason,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ScoreBatch {
    pub struct_size: usize,
    pub columns: *const Columns,
    pub slots: *const u32,
    pub n: usize,
    pub scores: *mut i64,
}

pub type ValueKind = c_uint;
pub const BERTH_VALUE_ABSENT: ValueKind = 0;
pub const BERTH_VALUE_STRING: ValueKind = 1;
pub const BERTH_VALUE_INT: ValueKind = 2;
pub const BERTH_VALUE_BOOL: ValueKind = 3;
pub const BERTH_VALUE_DOUBLE: ValueKind = 4;
pub const BERTH_VALUE_LIST: ValueKind = 5;
pub const BERTH_VALUE_OBJECT: ValueKind = 6;
pub const BERTH_VALUE_MAP: ValueKind = 7;
pub const BERTH_VALUE_QUANTITY: ValueKind = 8;
pub const BERTH_VALUE_TIME: ValueKind = 9;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Value {
    pub kind: ValueKind,
    pub str: Str,
    pub i: i64,
    pub d: f64,
    pub spare: [*const c_void; 4],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Error {
    pub text: [c_char; 256],
}

pub type ArgKind = c_uint;
pub const BERTH_ARG_BOOL: ArgKind = 0;
pub const BERTH_ARG_INT: ArgKind = 1;
pub const BERTH_ARG_DOUBLE: ArgKind = 2;
pub const BERTH_ARG_STRING: ArgKind = 3;
pub const BERTH_ARG_DURATION: ArgKind = 4;
pub const BERTH_ARG_QUANTITY: ArgKind = 5;
pub const BERTH_ARG_OBJECT: ArgKind = 6;
pub const BERTH_ARG_LIST: ArgKind = 7;
pub const BERTH_ARG_JSON: ArgKind = 8;

pub type ArgFlags = c_uint;
pub const BERTH_ARG_REQUIRED: ArgFlags = 1;
pub const BERTH_ARG_BOUNDED: ArgFlags = 2;
pub const BERTH_ARG_NOT_EMPTY: ArgFlags = 4;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct List {
    pub v: *mut c_void,
    pub n: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Arg {
    pub name: *const c_char,
    pub kind: ArgKind,
    pub flags: c_uint,
    pub offset: usize,
    pub value: *const c_char,
    pub min: i64,
    pub max: i64,
    pub choices: *const c_char,
    pub fields: *const Arg,
    pub size: usize,
    pub item: ArgKind,
    pub spare: [*const c_void; 2],
}

pub const NO_ARG: Arg = Arg {
    name: std::ptr::null(),
    kind: 0,
    flags: 0,
    offset: 0,
    value: std::ptr::null(),
    min: 0,
    max: 0,
    choices: std::ptr::null(),
    fields: std::ptr::null(),
    size: 0,
    item: 0,
    spare: [std::ptr::null(); 2],
};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Kv {
    pub key: Str,
    pub kind: ValueKind,
    pub str: Str,
    pub i: i64,
    pub d: f64,
    pub pod: *const Pod,
    pub object: *const Object,
    pub spare: [*const c_void; 2],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Event {
    pub struct_size: usize,
    pub pod: *const Pod,
    pub object: *const Object,
    pub related: *const Object,
    pub warning: bool,
    pub reason: Str,
    pub action: Str,
    pub note: Str,
}

pub type MetricKind = c_uint;
pub const BERTH_METRIC_COUNTER: MetricKind = 0;
pub const BERTH_METRIC_GAUGE: MetricKind = 1;
pub const BERTH_METRIC_HISTOGRAM: MetricKind = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct MetricDesc {
    pub struct_size: usize,
    pub kind: MetricKind,
    pub name: *const c_char,
    pub help: *const c_char,
    pub labels: *const *const c_char,
    pub n_labels: usize,
    pub buckets: *const f64,
    pub n_buckets: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Watch {
    pub struct_size: usize,
    pub api_version: Str,
    pub kind: Str,
    pub resource: Str,
    pub cluster_scoped: bool,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Host {
    pub abi: u32,
    pub struct_size: usize,
    pub log: Option<unsafe extern "C" fn(h: *mut Handle, level: c_int, message: Str, kv: *const Kv, n: usize)>,
    pub log_enabled: Option<unsafe extern "C" fn(h: *mut Handle, level: c_int) -> bool>,
    pub reason: Option<unsafe extern "C" fn(h: *mut Handle, text: Str) -> Reason>,
    pub reason_list: Option<unsafe extern "C" fn(h: *mut Handle, reasons: *const Reason, n: usize) -> Reason>,
    pub status_reason: Option<unsafe extern "C" fn(status: *mut Status, reason: Reason)>,
    pub status_text: Option<unsafe extern "C" fn(status: *mut Status, text: Str)>,
    pub state_key: Option<unsafe extern "C" fn(h: *mut Handle, name: Str) -> StateKey>,
    pub state_write: Option<unsafe extern "C" fn(cycle: *mut Cycle, key: StateKey, data: *mut c_void, clone_fn: Option<unsafe extern "C" fn(data: *const c_void) -> *mut c_void>, free_fn: Option<unsafe extern "C" fn(data: *mut c_void)>)>,
    pub state_read: Option<unsafe extern "C" fn(cycle: *const Cycle, key: StateKey) -> *mut c_void>,
    pub state_delete: Option<unsafe extern "C" fn(cycle: *mut Cycle, key: StateKey)>,
    pub cycle_alloc: Option<unsafe extern "C" fn(cycle: *mut Cycle, size: usize) -> *mut c_void>,
    pub activate: Option<unsafe extern "C" fn(cycle: *mut Cycle, pod: *const Pod)>,
    pub limit_nodes: Option<unsafe extern "C" fn(cycle: *mut Cycle, names: *const Str, n: usize)>,
    pub columns: Option<unsafe extern "C" fn(cycle: *const Cycle) -> *const Columns>,
    pub nodes: Option<unsafe extern "C" fn(h: *mut Handle, ret_columns: *mut Columns)>,
    pub node_by_name: Option<unsafe extern "C" fn(h: *mut Handle, name: Str) -> *const Node>,
    pub nominated_pods: Option<unsafe extern "C" fn(h: *mut Handle, node_name: Str, fn_: Option<unsafe extern "C" fn(ctx: *mut c_void, pod: *const Pod)>, ctx: *mut c_void)>,
    pub node_verdict: Option<unsafe extern "C" fn(cycle: *const Cycle, node: *const Node) -> Code>,
    pub nominate: Option<unsafe extern "C" fn(cycle: *mut Cycle, node_name: Str)>,
    pub register_event: Option<unsafe extern "C" fn(r: *mut Registrar, resource: Resource, actions: c_uint, hint: Option<HintFn>)>,
    pub write_binding: Option<unsafe extern "C" fn(h: *mut Handle, op: Op, node_name: Str)>,
    pub op_done: Option<unsafe extern "C" fn(h: *mut Handle, op: Op, code: Code, reason: Str)>,
    pub waiting_pods: Option<unsafe extern "C" fn(h: *mut Handle, fn_: Option<unsafe extern "C" fn(ctx: *mut c_void, w: *mut WaitingPod)>, ctx: *mut c_void)>,
    pub waiting_pod_get: Option<unsafe extern "C" fn(h: *mut Handle, uid: Str) -> *mut WaitingPod>,
    pub waiting_pod: Option<unsafe extern "C" fn(w: *const WaitingPod) -> *const Pod>,
    pub waiting_node_name: Option<unsafe extern "C" fn(w: *const WaitingPod) -> Str>,
    pub waiting_allow: Option<unsafe extern "C" fn(h: *mut Handle, w: *mut WaitingPod) -> bool>,
    pub waiting_reject: Option<unsafe extern "C" fn(h: *mut Handle, w: *mut WaitingPod, reason: Str) -> bool>,
    pub pod_namespace: Option<unsafe extern "C" fn(pod: *const Pod) -> Str>,
    pub pod_name: Option<unsafe extern "C" fn(pod: *const Pod) -> Str>,
    pub pod_uid: Option<unsafe extern "C" fn(pod: *const Pod) -> Str>,
    pub pod_node_name: Option<unsafe extern "C" fn(pod: *const Pod) -> Str>,
    pub pod_priority: Option<unsafe extern "C" fn(pod: *const Pod) -> i32>,
    pub pod_label: Option<unsafe extern "C" fn(pod: *const Pod, key: Str, ret: *mut Str) -> bool>,
    pub pod_request: Option<unsafe extern "C" fn(pod: *const Pod, resource: Str) -> i64>,
    pub pod_field: Option<unsafe extern "C" fn(pod: *const Pod, path: Str, ret_value: *mut Value) -> bool>,
    pub pod_object: Option<unsafe extern "C" fn(pod: *const Pod) -> *const Object>,
    pub node_name: Option<unsafe extern "C" fn(node: *const Node) -> Str>,
    pub node_label: Option<unsafe extern "C" fn(node: *const Node, key: Str, ret: *mut Str) -> bool>,
    pub node_allocatable: Option<unsafe extern "C" fn(node: *const Node, resource: Str) -> i64>,
    pub node_requested: Option<unsafe extern "C" fn(node: *const Node, resource: Str) -> i64>,
    pub node_pod_count: Option<unsafe extern "C" fn(node: *const Node) -> usize>,
    pub node_pod: Option<unsafe extern "C" fn(node: *const Node, i: usize) -> *const Pod>,
    pub node_field: Option<unsafe extern "C" fn(node: *const Node, path: Str, ret_value: *mut Value) -> bool>,
    pub node_object: Option<unsafe extern "C" fn(node: *const Node) -> *const Object>,
    pub object_field: Option<unsafe extern "C" fn(object: *const Object, path: Str, ret_value: *mut Value) -> bool>,
    pub value_get: Option<unsafe extern "C" fn(value: *const Value, path: Str, ret_value: *mut Value) -> bool>,
    pub value_at: Option<unsafe extern "C" fn(value: *const Value, i: usize, ret_key: *mut Str, ret_value: *mut Value) -> bool>,
    pub value_json: Option<unsafe extern "C" fn(value: *const Value, buf: *mut c_char, size: usize) -> usize>,
    pub parse_quantity: Option<unsafe extern "C" fn(text: Str, ret_thousandths: *mut i64) -> bool>,
    pub object_namespace: Option<unsafe extern "C" fn(object: *const Object) -> Str>,
    pub object_name: Option<unsafe extern "C" fn(object: *const Object) -> Str>,
    pub object_uid: Option<unsafe extern "C" fn(object: *const Object) -> Str>,
    pub object_label: Option<unsafe extern "C" fn(object: *const Object, key: Str, ret: *mut Str) -> bool>,
    pub object_ref: Option<unsafe extern "C" fn(object: *const Object) -> *const Object>,
    pub object_unref: Option<unsafe extern "C" fn(object: *const Object)>,
    pub watch: Option<unsafe extern "C" fn(h: *mut Handle, watch: *const Watch) -> *mut Lister>,
    pub lister_synced: Option<unsafe extern "C" fn(lister: *const Lister) -> bool>,
    pub lister_get: Option<unsafe extern "C" fn(lister: *const Lister, namespace_name: Str, name: Str) -> *const Object>,
    pub lister_each: Option<unsafe extern "C" fn(lister: *const Lister, namespace_name: Str, fn_: Option<unsafe extern "C" fn(ctx: *mut c_void, object: *const Object) -> bool>, ctx: *mut c_void)>,
    pub lister_resource: Option<unsafe extern "C" fn(lister: *const Lister) -> Resource>,
    pub queued_pod: Option<unsafe extern "C" fn(q: *const QueuedPod) -> *const Pod>,
    pub queued_since: Option<unsafe extern "C" fn(q: *const QueuedPod) -> i64>,
    pub pod_group_name: Option<unsafe extern "C" fn(g: *const PodGroup) -> Str>,
    pub pod_group_field: Option<unsafe extern "C" fn(g: *const PodGroup, path: Str, ret_value: *mut Value) -> bool>,
    pub placement_add: Option<unsafe extern "C" fn(out: *mut Placements, name: Str, node_names: *const Str, n: usize)>,
    pub placement_nodes: Option<unsafe extern "C" fn(p: *const Placement) -> usize>,
    pub placement_node: Option<unsafe extern "C" fn(p: *const Placement, i: usize) -> *const Node>,
    pub placement_pods: Option<unsafe extern "C" fn(p: *const Placement) -> usize>,
    pub placement_pod: Option<unsafe extern "C" fn(p: *const Placement, i: usize, ret_node_name: *mut Str) -> *const Pod>,
    pub api_call: Option<unsafe extern "C" fn(h: *mut Handle, call: *const ApiCall, done: Option<ApiDoneFn>, ctx: *mut c_void) -> u64>,
    pub api_forget: Option<unsafe extern "C" fn(h: *mut Handle, id: u64)>,
    pub now: Option<unsafe extern "C" fn(h: *const Handle) -> i64>,
    pub timer: Option<unsafe extern "C" fn(h: *mut Handle, delay_ns: i64, fn_: Option<BerthFn>, ctx: *mut c_void) -> u64>,
    pub timer_cancel: Option<unsafe extern "C" fn(h: *mut Handle, id: u64)>,
    pub event: Option<unsafe extern "C" fn(h: *mut Handle, event: *const Event)>,
    pub shared: Option<unsafe extern "C" fn(h: *mut Handle, type_: *const SharedType) -> *mut c_void>,
    pub post: Option<unsafe extern "C" fn(h: *mut Handle, fn_: Option<BerthFn>, ctx: *mut c_void)>,
    pub parallel: Option<unsafe extern "C" fn(h: *mut Handle, n: usize, fn_: Option<unsafe extern "C" fn(ctx: *mut c_void, begin: usize, end: usize)>, ctx: *mut c_void)>,
    pub args: Option<unsafe extern "C" fn(h: *mut Handle, args: Str, table: *const Arg, ret_args: *mut c_void, error: *mut Error) -> c_int>,
    pub metric: Option<unsafe extern "C" fn(h: *mut Handle, desc: *const MetricDesc) -> *mut Metric>,
    pub metric_add: Option<unsafe extern "C" fn(metric: *mut Metric, labels: *const Str, value: f64)>,
    pub metric_set: Option<unsafe extern "C" fn(metric: *mut Metric, labels: *const Str, value: f64)>,
    pub metric_observe: Option<unsafe extern "C" fn(metric: *mut Metric, labels: *const Str, value: f64)>,
    pub http_get: Option<unsafe extern "C" fn(h: *mut Handle, get: *const HttpGet, done: Option<HttpDoneFn>, ctx: *mut c_void) -> u64>,
}

pub type PluginFlags = c_uint;
pub const BERTH_PLUGIN_NONBLOCKING: PluginFlags = 1;
pub const BERTH_PLUGIN_PARALLEL_PRE_BIND: PluginFlags = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Plugin {
    pub abi: u32,
    pub struct_size: usize,
    pub name: *const c_char,
    pub version: *const c_char,
    pub flags: c_uint,
    pub args: *const Arg,
    pub create: Option<unsafe extern "C" fn(host: *const Host, h: *mut Handle, args: Str, ret_self: *mut *mut c_void, error: *mut Error) -> c_int>,
    pub destroy: Option<unsafe extern "C" fn(self_: *mut c_void)>,
    pub events: Option<unsafe extern "C" fn(self_: *mut c_void, r: *mut Registrar)>,
    pub pre_enqueue: Option<unsafe extern "C" fn(self_: *mut c_void, pod: *const Pod, status: *mut Status) -> Code>,
    pub less: Option<unsafe extern "C" fn(self_: *mut c_void, a: *const QueuedPod, b: *const QueuedPod) -> bool>,
    pub pre_filter: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *mut Cycle, pod: *const Pod, status: *mut Status) -> Code>,
    pub add_pod: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *mut Cycle, pod: *const Pod, other: *const Pod, node: *const Node, status: *mut Status) -> Code>,
    pub remove_pod: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *mut Cycle, pod: *const Pod, other: *const Pod, node: *const Node, status: *mut Status) -> Code>,
    pub filter: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *const Cycle, pod: *const Pod, node: *const Node, status: *mut Status) -> Code>,
    pub filter_many: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *const Cycle, pod: *const Pod, batch: *mut FilterBatch, status: *mut Status) -> Code>,
    pub post_filter: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *mut Cycle, pod: *const Pod, status: *mut Status) -> Code>,
    pub pre_score: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *mut Cycle, pod: *const Pod, slots: *const u32, n: usize, status: *mut Status) -> Code>,
    pub score: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *const Cycle, pod: *const Pod, node: *const Node, ret_score: *mut i64, status: *mut Status) -> Code>,
    pub score_many: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *const Cycle, pod: *const Pod, batch: *mut ScoreBatch, status: *mut Status) -> Code>,
    pub normalize: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *const Cycle, pod: *const Pod, slots: *const u32, scores: *mut i64, n: usize, status: *mut Status) -> Code>,
    pub reserve: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *mut Cycle, pod: *const Pod, node_name: Str, status: *mut Status) -> Code>,
    pub unreserve: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *mut Cycle, pod: *const Pod, node_name: Str)>,
    pub permit: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *mut Cycle, pod: *const Pod, node_name: Str, ret_timeout_ns: *mut i64, status: *mut Status) -> Code>,
    pub pre_bind_preflight: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *mut Cycle, pod: *const Pod, node_name: Str, status: *mut Status) -> Code>,
    pub pre_bind: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *mut Cycle, pod: *const Pod, node_name: Str, op: Op, status: *mut Status) -> Code>,
    pub bind: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *mut Cycle, pod: *const Pod, node_name: Str, op: Op, status: *mut Status) -> Code>,
    pub post_bind: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *mut Cycle, pod: *const Pod, node_name: Str)>,
    pub generate_placements: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *mut Cycle, group: *const PodGroup, out: *mut Placements, status: *mut Status) -> Code>,
    pub score_placement: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *const Cycle, group: *const PodGroup, placement: *const Placement, ret_score: *mut i64, status: *mut Status) -> Code>,
    pub normalize_placements: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *const Cycle, group: *const PodGroup, scores: *mut i64, n: usize, status: *mut Status) -> Code>,
    pub pre_bind_cancel: Option<unsafe extern "C" fn(self_: *mut c_void, cycle: *mut Cycle, pod: *const Pod, op: Op)>,
}

pub const NO_PLUGIN: Plugin = Plugin {
    abi: 0,
    struct_size: 0,
    name: std::ptr::null(),
    version: std::ptr::null(),
    flags: 0,
    args: std::ptr::null(),
    create: None,
    destroy: None,
    events: None,
    pre_enqueue: None,
    less: None,
    pre_filter: None,
    add_pod: None,
    remove_pod: None,
    filter: None,
    filter_many: None,
    post_filter: None,
    pre_score: None,
    score: None,
    score_many: None,
    normalize: None,
    reserve: None,
    unreserve: None,
    permit: None,
    pre_bind_preflight: None,
    pre_bind: None,
    bind: None,
    post_bind: None,
    generate_placements: None,
    score_placement: None,
    normalize_placements: None,
    pre_bind_cancel: None,
};
