//! From the description to the components' own configuration.

use super::time::{seconds, spans};
use super::{BurstClock, Bursts, Cell, Path, RateSpec, RecoveryName, RtoName, Station, Tcp, Usb};
use crate::channel::{self, BurstConfig, Clock, Fade, Floor, PathConfig, Place, Script};
use crate::dcf::MacConfig;
use crate::engine::Ns;
use crate::phy::{Preamble, Rate};
use crate::rate::{Arf, Fixed, Minstrel, Multiplicative, RateControl};
use crate::rng::Rng;
use crate::tcp::{Recovery, RtoFlavour, SendBuffer, TcpConfig, Wheel};
use crate::usb_host::UsbConfig;

fn rate(mbps: f64) -> Rate {
    Rate { kbps: (mbps * 1000.0).round() as u32 }
}

impl RateSpec {
    pub fn build(&self, rng: Rng) -> Box<dyn RateControl> {
        let all = |rates: &[f64]| rates.iter().map(|r| rate(*r)).collect::<Vec<_>>();
        match self {
            RateSpec::Fixed { rate_mbps } => Box::new(Fixed(rate(*rate_mbps))),
            RateSpec::Arf { rates_mbps } => Box::new(Arf::new(all(rates_mbps), false)),
            RateSpec::Aarf { rates_mbps } => Box::new(Arf::new(all(rates_mbps), true)),
            RateSpec::Minstrel { rates_mbps } => Box::new(Minstrel::new(all(rates_mbps), 1536, rng)),
            RateSpec::Multiplicative { ladder, low_mbps, up_after } => {
                let ladder: Vec<_> = ladder.iter().map(|(r, n)| (rate(*r), *n)).collect();
                Box::new(Multiplicative::new(&ladder, rate(*low_mbps), *up_after))
            }
        }
    }
}

impl Station {
    pub fn mac(&self) -> MacConfig {
        MacConfig {
            cw_min: self.cw_min,
            cw_max: self.cw_max,
            short_retry_limit: self.short_retry_limit,
            long_retry_limit: self.long_retry_limit,
            rts_threshold_bytes: self.rts_threshold_bytes,
            preamble: if self.short_preamble { Preamble::Short } else { Preamble::Long },
            control_rate: rate(self.control_rate_mbps),
            queue_frames: self.queue_frames,
            post_backoff: self.post_backoff,
        }
    }
}

impl Usb {
    pub fn build(&self, mut rng: Rng) -> UsbConfig {
        UsbConfig {
            depth_first: self.depth_first,
            reclamation: self.reclamation,
            // The bus started to count its frames at an unknown earlier time.
            phase: Ns::from(rng.below(1_000_000)),
            interrupt: seconds(self.interrupt_s),
            descriptor: seconds(self.descriptor_s),
            buffer_frames: self.buffer_frames,
        }
    }
}

impl Bursts {
    pub fn build(&self) -> BurstConfig {
        let (clock, unit) = match self.clock {
            BurstClock::Frames => (Clock::Frames, 1.0),
            // Lengths in time are seconds.
            BurstClock::Time => (Clock::Time, 1e9),
        };
        BurstConfig {
            clock,
            mean_gap: self.mean_gap * unit,
            mean_short: self.mean_short * unit,
            mean_long: self.mean_long * unit,
            long_share: self.long_share,
            error_rate: self.error_rate,
        }
    }
}

impl Path {
    pub fn build(&self) -> PathConfig {
        PathConfig {
            snr_db: self.snr_db,
            frame_error_rate: self.frame_error_rate,
            fades: fades(&self.fades_s),
            script: Script { frames: self.lose_frames.clone(), spans: spans(&self.blackouts_s) },
        }
    }
}

fn fades(list: &[(f64, f64, f64, f64)]) -> Vec<Fade> {
    let fade = |&(start, lasts, depth_db, every): &(f64, f64, f64, f64)| Fade {
        start: seconds(start),
        end: seconds(start + lasts),
        depth_db,
        every: seconds(every),
    };
    list.iter().map(fade).collect()
}

impl Cell {
    pub fn floor(&self) -> Floor {
        let path_loss = self.path_loss.map(|p| channel::PathLoss {
            sent_dbm: p.sent_dbm,
            first_metre_db: p.first_metre_db,
            exponent: p.exponent,
        });
        let stations = self.stations.iter().map(|s| Place { at_m: s.at_m, walks_m_per_s: s.walks_m_per_s });
        let sniffer = Place { at_m: self.sniffer_m, walks_m_per_s: (0.0, 0.0) };
        Floor {
            path_loss,
            multipath: self.multipath,
            noise_dbm: self.noise_dbm,
            places: stations.chain([sniffer]).collect(),
            fades: self.stations.iter().map(|s| fades(&s.fades_s)).collect(),
        }
    }
}

impl Tcp {
    pub fn build(&self) -> TcpConfig {
        let floor = seconds(self.rto_min_s);
        TcpConfig {
            mss_bytes: self.mss_bytes,
            initial_window_segments: self.initial_window_segments,
            receive_window_bytes: self.receive_window_bytes,
            sack: self.sack,
            dsack: self.dsack,
            fack: self.fack,
            timestamps: self.timestamps,
            recovery: match self.recovery {
                RecoveryName::Reno => Recovery::Reno,
                RecoveryName::Newreno => Recovery::NewReno,
                RecoveryName::NewrenoCareless => Recovery::NewRenoCareless,
            },
            prr: self.prr,
            rate_halving: self.rate_halving,
            lost_retransmissions: self.lost_retransmissions,
            linux24_scoreboard: self.linux24_scoreboard,
            burst_segments: self.burst_segments,
            limited_transmit: self.limited_transmit,
            dupack_threshold: self.dupack_threshold.max(1),
            repairs_all_first: self.repairs_all_first,
            nagle: self.nagle,
            delayed_ack_segments: self.delayed_ack_segments,
            delayed_ack_steps: self.delayed_ack_steps.clone(),
            delayed_ack_timer: seconds(self.delayed_ack_timer_s),
            quick_acks: self.quick_acks,
            rto: match self.rto {
                RtoName::Rfc6298 => RtoFlavour::Rfc6298 { floor, granularity: 1_000_000 },
                RtoName::Linux => RtoFlavour::Linux { floor, tick: seconds(self.rto_tick_s) },
                RtoName::Linux24 => RtoFlavour::Linux24,
                RtoName::Linux22 => RtoFlavour::Linux22 { keeps_backoff: true },
                RtoName::Linux22Reset => RtoFlavour::Linux22 { keeps_backoff: false },
            },
            wheel: Wheel { tick: seconds(self.rto_tick_s), phase: seconds(self.timer_phase_s) },
            eifel: self.eifel,
            eifel_first_stamp_defect: self.eifel_first_stamp_defect,
            frto: self.frto,
            tail_loss_probe: self.tail_loss_probe,
            counts_segments: self.counts_segments,
            cwnd_validation: self.cwnd_validation,
            minshall: self.minshall,
            silly_window_avoidance: self.silly_window_avoidance,
            stale_dupacks: self.stale_dupacks,
            keep_alive: seconds(self.keep_alive_s),
            ack_pushed: self.ack_pushed,
            receive_window_first_bytes: self.receive_window_first_bytes,
            receive_window_steps: self.receive_window_steps.clone(),
            receive_window_script: self.receive_window_script.clone(),
            send_buffer: self.send_buffer.as_ref().map_or_else(SendBuffer::default, |b| SendBuffer {
                bytes: b.size_bytes,
                grows_by_bytes: b.grows_by_bytes,
                overhead_bytes: b.overhead_bytes,
                write_bytes: b.write_bytes,
                wakeup: seconds(b.wakeup_s),
                first_write: seconds(b.first_write_s),
            }),
            ..TcpConfig::default()
        }
    }
}
