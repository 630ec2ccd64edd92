//! From usbmon and USBPcap records to transfers: submissions joined with completions.

use arrow_array::RecordBatch;
use rustc_hash::FxHashMap;

use crate::limits;
use crate::notes::{NoteKind, Notes};
use crate::packet::Stop;
use crate::table::urbs::UrbRows;
use crate::urb::{Event, Transfer, UrbEvent};

#[cfg(test)]
mod tests;

/// One endpoint in one direction, of one interface of the file.
type EndpointKey = u64;

/// An outstanding URB is identified by its id on its endpoint.
type UrbKey = (u64, EndpointKey);

/// What is outstanding on an endpoint.
#[derive(Debug, Default)]
struct Endpoint {
    outstanding: u32,
    /// Whether a completion was captured: old versions of USBPcap leave out records without data, so all those of some endpoints.
    completes: bool,
    last_complete_ns: Option<i64>,
}

/// A transfer whose end was not captured yet.
#[derive(Debug)]
struct Open {
    /// The submission, or the stages of a control transfer so far.
    first: UrbEvent,
    /// The submission itself was captured.
    submitted: bool,
    queue_depth: Option<u16>,
    /// Bytes of an earlier stage's completion.
    done: Option<u32>,
}

/// Joins the URBs of one capture.
#[derive(Debug, Default)]
pub struct Tracker {
    rows: UrbRows,
    len: usize,
    open: FxHashMap<UrbKey, Open>,
    endpoints: FxHashMap<EndpointKey, Endpoint>,
    start_ns: i64,
    notes: Notes,
}

impl Tracker {
    /// Process the next record of the capture; `start_ns` is the trace's start.
    pub fn observe(&mut self, e: &UrbEvent, start_ns: i64) {
        self.start_ns = start_ns;
        let endpoint = endpoint_key(e);
        let key = (e.id, endpoint);
        match e.event {
            Some(Event::Submit) if e.goes_on && self.open.contains_key(&key) => {}
            Some(Event::Submit) => self.submit(e, key),
            Some(Event::Complete) if e.goes_on => self.stage(e, key),
            Some(Event::Complete | Event::Error) => self.complete(e, key),
            None => self.push(None, Some(e), None),
        }
    }

    fn submit(&mut self, e: &UrbEvent, key: UrbKey) {
        if self.open.len() >= limits::OPEN_URBS {
            self.evict();
        }
        if self.endpoints.len() >= limits::USB_ENDPOINTS {
            self.endpoints.retain(|_, endpoint| endpoint.outstanding > 0);
        }
        let endpoint = self.endpoints.entry(key.1).or_default();
        endpoint.outstanding += 1;
        let queue_depth = Some(u16::try_from(endpoint.outstanding).unwrap_or(u16::MAX));
        let before = self.open.insert(key, Open { first: *e, submitted: true, queue_depth, done: None });
        if let Some(before) = before {
            // The id is reused: the end of its earlier use was not captured.
            if let Some(open) = self.open.get_mut(&key) {
                open.queue_depth = queue_depth.map(|n| n - 1);
            }
            self.give_up(before, key.1);
        }
    }

    /// A stage of a control transfer ended, and the transfer continues.
    fn stage(&mut self, e: &UrbEvent, key: UrbKey) {
        if let Some(open) = self.open.get_mut(&key) {
            open.done = e.length.or(open.done);
            open.first.captured_bytes = open.first.captured_bytes.max(e.captured_bytes);
            return;
        }
        if self.open.len() >= limits::OPEN_URBS {
            self.evict();
        }
        self.open.insert(key, Open { first: *e, submitted: false, queue_depth: None, done: e.length });
    }

    fn complete(&mut self, e: &UrbEvent, key: UrbKey) {
        let open = self.open.remove(&key);
        if !open.as_ref().is_some_and(|o| o.submitted) {
            self.notes.add(NoteKind::UrbUnsubmitted, e.number, 0);
        }
        let mut service = None;
        // Not created here: completions alone must not grow the state.
        if let Some(endpoint) = self.endpoints.get_mut(&key.1) {
            if let Some(open) = open.as_ref().filter(|o| o.submitted) {
                endpoint.outstanding = endpoint.outstanding.saturating_sub(1);
                let since = open.first.time_ns.max(endpoint.last_complete_ns);
                service = e.time_ns.zip(open.first.time_ns.and(since)).and_then(|(to, from)| to.checked_sub(from));
            }
            endpoint.completes = true;
            endpoint.last_complete_ns = e.time_ns.or(endpoint.last_complete_ns);
        }
        self.push(open.as_ref(), Some(e), service);
    }

    /// A row without a completion.
    fn give_up(&mut self, mut open: Open, endpoint: EndpointKey) {
        if let Some(endpoint) = self.endpoints.get_mut(&endpoint).filter(|_| open.submitted) {
            endpoint.outstanding = endpoint.outstanding.saturating_sub(1);
            if !endpoint.completes {
                open.queue_depth = None;
            }
        }
        self.notes.add(NoteKind::UrbIncomplete, open.first.number, 0);
        self.push(Some(&open), None, None);
    }

    /// Drop the oldest quarter of the open transfers: their rows are written.
    #[cold]
    fn evict(&mut self) {
        self.notes.add_many(NoteKind::UrbEvicted, (limits::OPEN_URBS / 4) as u64, 0, 0);
        self.give_up_oldest(limits::OPEN_URBS / 4);
    }

    fn give_up_oldest(&mut self, many: usize) {
        let mut numbers: Vec<(u64, UrbKey)> = self.open.iter().map(|(key, open)| (open.first.number, *key)).collect();
        numbers.sort_unstable();
        for (_, key) in numbers.into_iter().take(many) {
            if let Some(open) = self.open.remove(&key) {
                self.give_up(open, key.1);
            }
        }
    }

    fn push(&mut self, open: Option<&Open>, end: Option<&UrbEvent>, service: Option<i64>) {
        let Some(e) = open.map(|o| &o.first).or(end) else {
            return;
        };
        if self.len == 0 {
            self.rows.reserve(limits::BATCH_ROWS);
        }
        self.len += 1;
        let start_ns = self.start_ns;
        let since_start = |e: &UrbEvent| e.time_ns.and_then(|t| t.checked_sub(start_ns));
        let submit = open.filter(|o| o.submitted).map(|o| &o.first);
        let ended = end.filter(|e| matches!(e.event, Some(Event::Complete | Event::Error)));
        let done = match ended {
            Some(e) if e.event == Some(Event::Complete) => e.length.or(open.and_then(|o| o.done)),
            _ => None,
        };
        let carrier = end.filter(|e| e.packets > 0).or(submit.filter(|e| e.packets > 0));
        let stopped = end.filter(|e| e.stop != Stop::None).unwrap_or(e);
        let setup = e.setup.or(end.and_then(|e| e.setup));
        let captured = end.map_or(0, |e| e.captured_bytes).max(e.captured_bytes);
        let iso = end.and_then(|e| e.iso).or(e.iso);
        let r = &mut self.rows;
        r.packet.push(end.unwrap_or(e).number);
        r.t_ns.push_opt(since_start(end.unwrap_or(e)));
        r.interface.push(e.interface);
        r.bus.push(e.bus);
        r.device.push(e.device);
        r.endpoint.push(e.endpoint);
        r.transfer.push_enum(e.transfer.map_or(-1, |t| t as i8));
        r.direction.push_enum(i8::from(!e.is_in));
        r.urb.push(e.id);
        r.submit_packet.push_opt(submit.map(|e| e.number));
        r.complete_packet.push_opt(ended.map(|e| e.number));
        let (from, to) = (submit.and_then(since_start), ended.and_then(since_start));
        r.t_submit_ns.push_opt(from);
        r.t_complete_ns.push_opt(to);
        r.latency_ns.push_opt(to.zip(from).and_then(|(to, from)| to.checked_sub(from)));
        r.service_ns.push_opt(service);
        r.asked_bytes.push_opt(submit.and_then(|e| e.length));
        r.done_bytes.push_opt(done.or_else(|| sent_whole(submit, ended)));
        r.captured_bytes.push(captured);
        r.outcome.push_enum(ended.map_or(-1, |e| i8::from(e.event == Some(Event::Error))));
        r.status.push_opt(end.and_then(|e| e.status));
        r.queue_depth.push_opt(open.and_then(|o| o.queue_depth));
        r.request_type.push_opt(setup.map(|s| s.request_type));
        r.request.push_opt(setup.map(|s| s.request));
        r.value.push_opt(setup.map(|s| s.value));
        r.index.push_opt(setup.map(|s| s.index));
        r.function.push_opt(e.function);
        r.iso_packets.push_opt(iso.map(|i| i.0));
        r.iso_errors.push_opt(iso.filter(|_| ended.is_some()).map(|i| i.1));
        r.framing.push_enum(carrier.and_then(|e| e.framing).map_or(-1, |f| f as i8));
        r.ip_packet.push_opt(carrier.map(|e| e.number));
        r.ip_packets.push(carrier.map_or(0, |e| e.packets));
        r.stop.push_enum(stopped.stop as i8);
    }

    /// Emit the rows of ended transfers.
    pub fn drain(&mut self, out: &mut Vec<(&'static str, RecordBatch)>) {
        if self.len > 0 {
            self.len = 0;
            out.push(("urbs", self.rows.finish()));
        }
    }

    /// The capture has ended: emit everything.
    pub fn finish(&mut self, out: &mut Vec<(&'static str, RecordBatch)>) {
        self.give_up_oldest(usize::MAX);
        self.drain(out);
    }

    pub fn notes(&self) -> &Notes {
        &self.notes
    }
}

/// USBPcap does not record how much an OUT transfer moved; success means all of it (USB 2.0 section 5.8.3).
fn sent_whole(submit: Option<&UrbEvent>, end: Option<&UrbEvent>) -> Option<u32> {
    let (submit, end) = submit.zip(end)?;
    let whole = end.event == Some(Event::Complete) && end.status == Some(0) && !submit.is_in;
    submit.length.filter(|_| whole)
}

/// The stages of a control transfer go in both directions over one endpoint.
fn endpoint_key(e: &UrbEvent) -> EndpointKey {
    let control = e.transfer == Some(Transfer::Control);
    let direction = u64::from(e.is_in && !control);
    u64::from(e.interface) << 37
        | u64::from(e.bus) << 21
        | u64::from(e.device) << 5
        | u64::from(e.endpoint & 0xf) << 1
        | direction
}
