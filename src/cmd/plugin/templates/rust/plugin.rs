//! @PLUGIN@: pods and nodes with the same label belong together.
mod berth;
use berth::*;
use std::os::raw::{c_int, c_void};

/// pluginConfig[].args of this plugin.
#[repr(C)]
#[derive(Clone, Copy)]
struct Args {
    label: Str,
}

struct ArgTable([Arg; 2]);
unsafe impl Sync for ArgTable {}

static ARGS: ArgTable = ArgTable([
    Arg {
        name: b"label\0".as_ptr() as *const _,
        kind: BERTH_ARG_STRING,
        flags: BERTH_ARG_NOT_EMPTY,
        offset: 0,
        value: b"\"disk\"\0".as_ptr() as *const _,
        ..NO_ARG
    },
    NO_ARG, // the end
]);

/// An instance: one for each profile that enables the plugin.
struct @PLUGIN@ {
    host: &'static Host,
    args: Args,
    mismatch: Reason,
}

const fn text(s: &'static str) -> Str {
    Str { p: s.as_ptr() as *const _, n: s.len() }
}

/// The bytes of a text that berth has lent for this call.
unsafe fn bytes<'a>(s: Str) -> &'a [u8] {
    if s.n == 0 { &[] } else { std::slice::from_raw_parts(s.p as *const u8, s.n) }
}

impl @PLUGIN@ {
    unsafe fn pod_label<'a>(&self, pod: *const Pod) -> Option<&'a [u8]> {
        let mut value = text("");
        self.host.pod_label.unwrap()(pod, self.args.label, &mut value).then(|| bytes(value))
    }

    unsafe fn node_label<'a>(&self, node: *const Node) -> Option<&'a [u8]> {
        let mut value = text("");
        self.host.node_label.unwrap()(node, self.args.label, &mut value).then(|| bytes(value))
    }
}

unsafe extern "C" fn create(
    host: *const Host,
    h: *mut Handle,
    args: Str,
    ret_self: *mut *mut c_void,
    error: *mut Error,
) -> c_int {
    let host = &*host;
    let mut own = Args { label: text("") };
    let to = &mut own as *mut Args as *mut c_void;
    if host.args.unwrap()(h, args, ARGS.0.as_ptr(), to, error) != 0 {
        return 1;
    }
    let mismatch = host.reason.unwrap()(h, text("node(s) had another label"));
    let instance = @PLUGIN@ { host, args: own, mismatch };
    *ret_self = Box::into_raw(Box::new(instance)) as *mut c_void;
    0
}

unsafe extern "C" fn destroy(this: *mut c_void) {
    drop(Box::from_raw(this as *mut @PLUGIN@));
}

/// Runs for each node, on several threads at once: it must not change anything.
unsafe extern "C" fn filter(
    this: *mut c_void,
    _cycle: *const Cycle,
    pod: *const Pod,
    node: *const Node,
    status: *mut Status,
) -> Code {
    let this = &*(this as *const @PLUGIN@);
    let wanted = this.pod_label(pod);
    if wanted.is_none() || wanted == this.node_label(node) {
        return BERTH_SUCCESS;
    }
    this.host.status_reason.unwrap()(status, this.mismatch);
    BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE
}

/// 0 to 100. Nodes without the label are best for pods without it.
unsafe extern "C" fn score(
    this: *mut c_void,
    _cycle: *const Cycle,
    pod: *const Pod,
    node: *const Node,
    ret_score: *mut i64,
    _status: *mut Status,
) -> Code {
    let this = &*(this as *const @PLUGIN@);
    let alike = this.pod_label(pod).is_some() == this.node_label(node).is_some();
    *ret_score = if alike { 100 } else { 0 };
    BERTH_SUCCESS
}

/// What may make a pod schedulable that filter refused: new nodes, and changed labels.
unsafe extern "C" fn events(this: *mut c_void, r: *mut Registrar) {
    let register = (*(this as *const @PLUGIN@)).host.register_event.unwrap();
    let nodes = BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL;
    register(r, BERTH_RESOURCE_NODE, nodes, None);
    register(r, BERTH_RESOURCE_UNSCHEDULED_POD, BERTH_ACTION_UPDATE_POD_LABEL, None);
}

struct Exported(Plugin);
unsafe impl Sync for Exported {}

static PLUGIN: Exported = Exported(Plugin {
    abi: BERTH_ABI,
    struct_size: std::mem::size_of::<Plugin>(),
    name: b"@PLUGIN@\0".as_ptr() as *const _,
    version: b"0.1\0".as_ptr() as *const _,
    args: ARGS.0.as_ptr(),
    create: Some(create),
    destroy: Some(destroy),
    events: Some(events),
    filter: Some(filter),
    score: Some(score),
    ..NO_PLUGIN
});

#[repr(transparent)]
pub struct PluginList([*const Plugin; 2]);
unsafe impl Sync for PluginList {}

/// What berth looks for in a shared object.
#[no_mangle]
#[allow(non_upper_case_globals)]
pub static berth_plugins: PluginList = PluginList([&PLUGIN.0, std::ptr::null()]);

/// Unit tests on a fake host: no cluster, and no berth either.
#[cfg(test)]
mod tests {
    use super::*;

    /// The plugin does not know what is behind a pod or a node, so a test may choose.
    type Labelled = Option<&'static str>;

    unsafe fn give(object: *const c_void, key: Str, ret: *mut Str) -> bool {
        assert_eq!(bytes(key), b"disk");
        let label = *(object as *const Labelled);
        label.map(|value| *ret = text(value)).is_some()
    }

    unsafe extern "C" fn pod_label(pod: *const Pod, key: Str, ret: *mut Str) -> bool {
        give(pod as *const c_void, key, ret)
    }

    unsafe extern "C" fn node_label(node: *const Node, key: Str, ret: *mut Str) -> bool {
        give(node as *const c_void, key, ret)
    }

    unsafe extern "C" fn reason(_h: *mut Handle, _text: Str) -> Reason {
        7
    }

    unsafe extern "C" fn status_reason(status: *mut Status, reason: Reason) {
        *(status as *mut Reason) = reason;
    }

    unsafe extern "C" fn args(
        _h: *mut Handle,
        _args: Str,
        _table: *const Arg,
        ret_args: *mut c_void,
        _error: *mut Error,
    ) -> c_int {
        (*(ret_args as *mut Args)).label = text("disk");
        0
    }

    unsafe fn check(this: *mut c_void, pod: Labelled, node: Labelled, code: Code, wanted: i64) {
        let (pod, node) = (&pod as *const Labelled, &node as *const Labelled);
        let (mut status, mut got): (Reason, i64) = (0, -1);
        let to = &mut status as *mut Reason as *mut Status;
        let cycle = std::ptr::null();
        assert_eq!(filter(this, cycle, pod as *const Pod, node as *const Node, to), code);
        assert_eq!(status, if code == BERTH_SUCCESS { 0 } else { 7 });
        assert_eq!(
            score(this, cycle, pod as *const Pod, node as *const Node, &mut got, to),
            BERTH_SUCCESS
        );
        assert_eq!(got, wanted);
    }

    #[test]
    fn labels_belong_together() {
        unsafe {
            let mut host: Host = std::mem::zeroed();
            host.args = Some(args);
            host.reason = Some(reason);
            host.status_reason = Some(status_reason);
            host.pod_label = Some(pod_label);
            host.node_label = Some(node_label);
            let mut this: *mut c_void = std::ptr::null_mut();
            let mut error: Error = std::mem::zeroed();
            let handle = std::ptr::null_mut();
            assert_eq!(create(&host, handle, text(""), &mut this, &mut error), 0);
            check(this, None, None, BERTH_SUCCESS, 100);
            check(this, None, Some("ssd"), BERTH_SUCCESS, 0);
            check(this, Some("ssd"), Some("ssd"), BERTH_SUCCESS, 100);
            check(this, Some("ssd"), Some("hdd"), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, 100);
            check(this, Some("ssd"), None, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, 0);
            destroy(this);
        }
    }
}
