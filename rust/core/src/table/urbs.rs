//! `urbs`: one row per USB transfer.

pub const TRANSFERS: &[&str] = &["isochronous", "interrupt", "control", "bulk"];
pub const URB_DIRECTIONS: &[&str] = &["in", "out"];
pub const URB_ENDS: &[&str] = &["completed", "refused"];
pub const FRAMINGS: &[&str] =
    &["ethernet", "ncm", "mbim", "rndis", "asix", "ax88179", "r8152", "prism2", "ip", "qmap", "found"];

define_table! {
    UrbRows, URBS, "urbs",
    "One row a USB transfer: an URB's submission joined with its completion. Rows are in the order of completion; \
     submissions that never completed follow when they are given up.", {
    packet: U64, "", "Record that ended the row: the completion, or the submission where there is none.";
    t_ns: I64 ? null, "ns", "Timestamp of that record, since the trace's start.";
    interface: U32, "", "Interface of the capture file, from 0.";
    bus: U16, "", "USB bus number.";
    device: U16, "", "Device address on the bus.";
    endpoint: U8, "", "Endpoint number.";
    transfer: Enum(TRANSFERS) ? null, "", "Transfer type; null for one that USB does not define.";
    direction: Enum(URB_DIRECTIONS), "", "in: device to host; out: host to device.";
    urb: U64, "", "URB id as in the capture; ids are reused after completion.";
    submit_packet: U64 ? null, "", "Record of the submission; null when it was not captured.";
    complete_packet: U64 ? null, "", "Record of the completion; null when it was not captured.";
    t_submit_ns: I64 ? null, "ns", "Time of the submission, since the trace's start.";
    t_complete_ns: I64 ? null, "ns", "Time of the completion, since the trace's start.";
    latency_ns: I64 ? null, "ns", "Time from submission to completion.";
    service_ns: I64 ? null, "ns", "Service time: to the completion, from the submission or the previous completion on the endpoint, whichever is later.";
    asked_bytes: U32 ? null, "bytes", "Bytes to send, or size of the receive buffer; null where USBPcap does not record the size.";
    done_bytes: U32 ? null, "bytes", "Bytes transferred; for successful OUT transfers of USBPcap the bytes to send.";
    captured_bytes: U32, "bytes", "Bytes of the data that the capture holds.";
    outcome: Enum(URB_ENDS) ? null, "", "completed, or refused: the submission failed; null when no end was captured.";
    status: I64 ? null, "", "0, or a negative errno (usbmon), or a USBD_STATUS (USBPcap); null without a completion.";
    queue_depth: U16 ? null, "", "URBs outstanding on the endpoint just after this submission, itself included. URBs submitted before the capture began are not counted. Null where the capture shows no completion on the endpoint.";
    request_type: U8 ? null, "", "bmRequestType of a control transfer's setup packet (USB 2.0 section 9.3).";
    request: U8 ? null, "", "bRequest of the setup packet.";
    value: U16 ? null, "", "wValue of the setup packet.";
    index: U16 ? null, "", "wIndex of the setup packet.";
    function: U16 ? null, "", "USBPcap's URB function.";
    iso_packets: U32 ? null, "", "Packets of an isochronous transfer.";
    iso_errors: U32 ? null, "", "Packets of an isochronous transfer that failed.";
    framing: Enum(FRAMINGS) ? null, "", "Framing of the IP packets in the transfer; found: an IP header was found by search.";
    ip_packet: U64 ? null, "", "Number of the record in `packets` whose IP packets the transfer carried.";
    ip_packets: U16, "", "IP packets in the transfer.";
    stop: Enum(crate::table::packets::STOPS) ? null, "", "Why decoding of a header ended early; null when it did not.";
} }
