//! What a description must satisfy beyond its types.

use crate::application::Application;
use crate::config::{Cell, Fault, Flow, Holds, Node, Station, Tcp, Usb, Wire, World};
use crate::limits;
use crate::router::Discipline;

/// The first contradiction in a description, in words.
pub(super) fn check(c: &World) -> Result<(), Fault> {
    if !(c.duration_s > 0.0 && c.duration_s <= 1e6) {
        return Err(format!("duration_s must be above 0 and at most 1e6, not {}", c.duration_s));
    }
    let nodes = c.nodes.len();
    if nodes == 0 || nodes > limits::NODES {
        return Err(format!("a world must have 1 to {} nodes, not {nodes}", limits::NODES));
    }
    if c.flows.len() > limits::FLOWS {
        return Err(format!("a world must have at most {} flows, not {}", limits::FLOWS, c.flows.len()));
    }
    c.nodes.iter().try_for_each(check_node)?;
    c.nodes.iter().filter_map(|n| n.holds).try_for_each(check_holds)?;
    if let Some(tap) = &c.taps.usb {
        let stations = c.cell.iter().flat_map(|cell| &cell.stations);
        if !stations.filter(|s| s.node == tap.node).any(|s| s.usb.is_some()) {
            return Err(format!("the USB tap is at node {}, which has no USB adapter", tap.node));
        }
    }
    (0..c.flows.len()).try_for_each(|i| check_flow(&c.flows, i, nodes))?;
    c.wires.iter().try_for_each(|w| check_wire(w, nodes))?;
    c.cell.iter().try_for_each(|cell| check_cell(cell, nodes))
}

/// Whether a number is one, and greater.
fn above(x: f64, least: f64) -> bool {
    x > least
}

/// Whether a number is one, and from 0 to `most`.
fn within(x: f64, most: f64) -> bool {
    (0.0..=most).contains(&x)
}

fn check_node_number(node: usize, nodes: usize, what: &str) -> Result<(), Fault> {
    if node < nodes {
        return Ok(());
    }
    Err(format!("{what} is node {node}, but there are only {nodes} nodes, counted from 0"))
}

fn check_discipline(d: Discipline) -> Result<(), Fault> {
    let Discipline::Red(r) = d else { return Ok(()) };
    let (least, most) = (r.min_packets, r.max_packets);
    let ordered = above(most, least) || most == 0.0;
    if least >= 0.0 && ordered && within(r.weight, 1.0) && within(r.most_share, 1.0) {
        return Ok(());
    }
    Err(format!(
        "RED needs 0 <= min_packets < max_packets (or 0), weight and most_share 0 to 1, not {least}, {most}, {}, {}",
        r.weight, r.most_share
    ))
}

fn check_node(n: &Node) -> Result<(), Fault> {
    check_discipline(n.discipline)?;
    if n.drops_s.iter().any(|d| !(0.0..).contains(&d.0) || !(0.0..).contains(&d.1)) {
        return Err(format!("node {}: the times in drops_s must be 0 s or more", n.name));
    }
    Ok(())
}

fn check_holds(holds: Holds) -> Result<(), Fault> {
    let Holds { mean_gap_s, shortest_s, longest_s, run_probability } = holds;
    if !within(run_probability, 1.0) {
        return Err(format!("run_probability must be 0 to 1, not {run_probability}"));
    }
    if !above(mean_gap_s, 0.0) || !within(shortest_s, longest_s) || !within(longest_s, 1e6) {
        return Err(format!(
            "holds need mean_gap_s > 0 and 0 <= shortest_s <= longest_s, not {mean_gap_s}, {shortest_s}, {longest_s}"
        ));
    }
    Ok(())
}

fn check_flow(flows: &[Flow], i: usize, nodes: usize) -> Result<(), Fault> {
    let f = &flows[i];
    check_node_number(f.client, nodes, "a flow's client")?;
    check_node_number(f.server, nodes, "a flow's server")?;
    if f.client == f.server {
        return Err(format!("flow {i}: client and server must be different nodes"));
    }
    if !within(f.think_s, 1e6) {
        return Err(format!("think_s must be 0 to 1e6, not {}", f.think_s));
    }
    if let Some(after) = f.after.filter(|a| *a >= i || flows[*a].application.size().is_none()) {
        return Err(format!("flow {i}: after must be an earlier flow of limited size, not {after}"));
    }
    if let Some(fault) = f.application.size().and_then(|s| s.fault()) {
        return Err(fault);
    }
    match &f.tcp {
        Some(tcp) => check_tcp(tcp)?,
        None if matches!(f.application, Application::Udp { .. }) => {}
        None => return Err(format!("flow {i}: only the application udp can have no tcp")),
    }
    if let Some(r) = &f.reader {
        if r.bytes == 0 || !(1e-6..).contains(&r.every_s) {
            return Err(format!("a reader needs bytes >= 1 and every_s >= 1e-6, not {} and {}", r.bytes, r.every_s));
        }
    }
    check_application(&f.application)
}

fn check_tcp(t: &Tcp) -> Result<(), Fault> {
    if !(88..=65_000).contains(&t.mss_bytes) {
        return Err(format!("mss_bytes must be 88 to 65000, not {}", t.mss_bytes));
    }
    if t.receive_window_bytes < t.mss_bytes || t.receive_window_bytes > 1 << 30 {
        return Err(format!("receive_window_bytes must be one MSS to 2^30, not {}", t.receive_window_bytes));
    }
    Ok(())
}

fn check_application(application: &Application) -> Result<(), Fault> {
    match *application {
        Application::Udp { payload_bytes, rate_bps }
            if !above(rate_bps, 0.0) || payload_bytes == 0 || payload_bytes > 65_000 =>
        {
            Err(format!("udp needs rate_bps > 0 and payload_bytes 1 to 65000, not {rate_bps} and {payload_bytes}"))
        }
        Application::Paced { every_s, .. } if !(1e-6..).contains(&every_s) => {
            Err(format!("every_s must be at least 1e-6, not {every_s}"))
        }
        _ => Ok(()),
    }
}

fn check_wire(w: &Wire, nodes: usize) -> Result<(), Fault> {
    check_discipline(w.discipline)?;
    let times = |b: &(f64, f64, f64, f64)| [b.0, b.1, b.3].iter().all(|t| (0.0..).contains(t));
    if !w.bursts_s.iter().all(|b| times(b) && within(b.2, 1.0)) {
        return Err("a wire's bursts_s need times of 0 s or more and a probability of 0 to 1".into());
    }
    check_node_number(w.a, nodes, "a wire's end")?;
    check_node_number(w.b, nodes, "a wire's end")?;
    if !within(w.jitter_share, 1.0) || !within(w.jitter_s, 1e6) {
        return Err(format!(
            "a wire's jitter_share must be 0 to 1 and jitter_s 0 to 1e6, not {}, {}",
            w.jitter_share, w.jitter_s
        ));
    }
    let chances = [w.loss_rate, w.back_loss_rate.unwrap_or(0.0)];
    if !above(w.rate_bps, 0.0) || !(0.0..).contains(&w.delay_s) || !chances.iter().all(|p| within(*p, 1.0)) {
        return Err(format!(
            "a wire needs rate_bps > 0, delay_s >= 0 and loss_rate 0 to 1, not {}, {}, {}",
            w.rate_bps, w.delay_s, w.loss_rate
        ));
    }
    Ok(())
}

fn check_cell(cell: &Cell, nodes: usize) -> Result<(), Fault> {
    for s in &cell.stations {
        check_node_number(s.node, nodes, "a station's node")?;
        if s.cw_min > s.cw_max || s.queue_frames == 0 || !above(s.control_rate_mbps, 0.0) {
            return Err("a station needs cw_min <= cw_max, queue_frames >= 1 and control_rate_mbps > 0".into());
        }
        if let Some(usb) = &s.usb {
            check_usb(usb, s)?;
        }
    }
    let multipath = cell.multipath.unwrap_or_default();
    let exponent = cell.path_loss.map_or(0.0, |p| p.exponent);
    if !within(multipath.0, 1e6) || !within(multipath.1, 1e6) || !within(exponent, 20.0) {
        return Err("multipath needs two numbers of 0 to 1e6, path_loss an exponent of 0 to 20".into());
    }
    let stations = cell.stations.len();
    for p in &cell.paths {
        if p.from >= stations || p.to >= stations {
            return Err(format!(
                "a path is from station {} to {}, but there are only {stations} stations, counted from 0",
                p.from, p.to
            ));
        }
        if !within(p.frame_error_rate, 1.0) {
            return Err(format!("frame_error_rate must be 0 to 1, not {}", p.frame_error_rate));
        }
    }
    Ok(())
}

fn check_usb(usb: &Usb, s: &Station) -> Result<(), Fault> {
    if s.access_point {
        return Err("an access point cannot have a USB adapter".into());
    }
    if !(1..=64).contains(&usb.urbs_out) || !(1..=64).contains(&usb.urbs_in) {
        return Err(format!("urbs_out and urbs_in must be 1 to 64, not {} and {}", usb.urbs_out, usb.urbs_in));
    }
    if usb.buffer_frames == 0 || usb.buffer_frames as usize > s.queue_frames || usb.receive_buffer_frames == 0 {
        return Err(format!(
            "a USB adapter needs buffer_frames 1 to its station's queue_frames ({}) and receive_buffer_frames >= 1",
            s.queue_frames
        ));
    }
    if !within(usb.descriptor_s, 1.0) || !within(usb.interrupt_s, 0.1) {
        return Err(format!(
            "descriptor_s must be 0 to 1 and interrupt_s 0 to 0.1, not {} and {}",
            usb.descriptor_s, usb.interrupt_s
        ));
    }
    if !within(usb.driver_s, 1e-3) {
        return Err(format!("driver_s must be 0 to 0.001, not {}", usb.driver_s));
    }
    Ok(())
}
