//! `urbs`: one row a USB transfer.

pub const TRANSFERS: &[&str] = &["isochronous", "interrupt", "control", "bulk"];
pub const URB_DIRECTIONS: &[&str] = &["in", "out"];

define_table! {
    UrbRows, URBS, "urbs",
    "One row a USB transfer: an URB's submission joined with its completion.", {
    bus: U16, "", "USB bus number.";
    device: U16, "", "Device address on the bus.";
    endpoint: U8, "", "Endpoint number.";
    transfer: Enum(TRANSFERS) ? null, "", "Transfer type; null for one that USB does not have.";
    direction: Enum(URB_DIRECTIONS), "", "in: device to host; out: host to device.";
    urb: U64, "", "URB id as in the capture; ids are used again after completion.";
    submit_packet: U64 ? null, "", "Record of the submission; null when it was not captured.";
    complete_packet: U64 ? null, "", "Record of the completion; null when it was not captured.";
    t_submit_ns: I64 ? null, "ns", "When the URB was submitted, since the trace's start.";
    t_complete_ns: I64 ? null, "ns", "When it was completed.";
    latency_ns: I64 ? null, "ns", "From submission to completion.";
    asked_bytes: U32 ? null, "bytes", "Bytes to send, or room to receive.";
    done_bytes: U32 ? null, "bytes", "Bytes transferred.";
    status: I64 ? null, "", "0, or a negative errno (usbmon), or a USBD_STATUS (USBPcap).";
    queue_depth: U16 ? null, "", "URBs outstanding on the endpoint just after this submission, itself included.";
    ip_packet: U64 ? null, "", "Number of the record in `packets` whose IP packet the transfer carried.";
} }
