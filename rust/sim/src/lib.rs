//! wlanlens-sim: TCP over a wireless LAN, simulated event by event in whole nanoseconds.
//!
//! Deterministic: one random stream per component, ties by order of scheduling, no wall clock. It writes real capture
//! bytes and the ground truth, and shares no code with the decoder.

pub mod application;
pub mod channel;
pub mod config;
pub mod dcf;
pub mod engine;
pub mod limits;
pub mod packet;
pub mod phy;
pub mod rate;
pub mod rng;
pub mod router;
pub mod taps;
pub mod tcp;
pub mod truth;
pub mod usb_host;
pub mod world;
