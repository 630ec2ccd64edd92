//! Sums per station: frames, retries, signal, rates, and airtime by purpose.

use rustc_hash::FxHashMap;

use super::purpose::PURPOSES;

/// Data rates told apart; further rates are left out. 802.11ax has about 300 over all widths.
const RATES: usize = 256;
/// Rows before the first station: frames without a transmitter address (ACK, CTS, damaged), and stations beyond the limit.
pub const UNNAMED: u32 = 0;
pub const REST: u32 = 1;
/// Numbers of the rows above.
const UNSTATIONED: usize = 2;
/// Signals by dBm + 128.
const SIGNALS: usize = 256;

/// What one station sent.
#[derive(Debug, Clone)]
pub struct Station {
    pub frames: u64,
    pub bytes: u64,
    pub data_frames: u64,
    pub retry_frames: u64,
    pub no_airtime_frames: u64,
    pub exchanges: u64,
    pub attempts: u64,
    /// Exchanges by outcome: delivered, dropped, unknown.
    pub outcomes: [u64; 3],
    pub ns: [i64; PURPOSES],
    pub uses: [u64; PURPOSES],
    /// Frames by signal, from -128 dBm.
    pub signals: [u64; SIGNALS],
    /// Frames by number of the rate.
    pub rates: Vec<u64>,
    pub is_ap: bool,
    /// Number of the access point of its network.
    pub bssid: Option<u32>,
}

impl Default for Station {
    fn default() -> Self {
        Station {
            frames: 0,
            bytes: 0,
            data_frames: 0,
            retry_frames: 0,
            no_airtime_frames: 0,
            exchanges: 0,
            attempts: 0,
            outcomes: [0; 3],
            ns: [0; PURPOSES],
            uses: [0; PURPOSES],
            signals: [0; SIGNALS],
            rates: Vec::new(),
            is_ap: false,
            bssid: None,
        }
    }
}

impl Station {
    /// Add a frame whose purpose is known.
    #[inline]
    pub fn settle(&mut self, purpose: u8, airtime_ns: i64) {
        self.ns[usize::from(purpose)] += airtime_ns.max(0);
        self.uses[usize::from(purpose)] += 1;
    }

    #[inline]
    pub fn heard(&mut self, dbm: i8) {
        self.signals[(i32::from(dbm) + 128) as usize] += 1;
    }

    #[inline]
    pub fn sent_at(&mut self, rate: usize) {
        if self.rates.len() <= rate {
            self.rates.resize(rate + 1, 0);
        }
        self.rates[rate] += 1;
    }

    fn absorb(&mut self, other: &Station) {
        fn add(sums: &mut [u64], more: &[u64]) {
            sums.iter_mut().zip(more).for_each(|(a, b)| *a += b);
        }
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.data_frames += other.data_frames;
        self.retry_frames += other.retry_frames;
        self.no_airtime_frames += other.no_airtime_frames;
        self.exchanges += other.exchanges;
        self.attempts += other.attempts;
        self.ns.iter_mut().zip(other.ns).for_each(|(a, b)| *a += b);
        add(&mut self.outcomes, &other.outcomes);
        add(&mut self.uses, &other.uses);
        add(&mut self.signals, &other.signals);
        self.rates.resize(self.rates.len().max(other.rates.len()), 0);
        add(&mut self.rates, &other.rates);
    }
}

/// Every transmitter that was heard, by number.
#[derive(Debug)]
pub struct Stations {
    numbers: FxHashMap<String, u32>,
    /// Addresses by number from `UNSTATIONED`.
    addresses: Vec<String>,
    pub sums: Vec<Station>,
    rate_numbers: FxHashMap<u64, usize>,
    pub rates: Vec<f64>,
}

impl Default for Stations {
    fn default() -> Self {
        Stations {
            numbers: FxHashMap::default(),
            addresses: Vec::new(),
            sums: vec![Station::default(); UNSTATIONED],
            rate_numbers: FxHashMap::default(),
            rates: Vec::new(),
        }
    }
}

impl Stations {
    /// Stations told apart.
    pub fn named(&self) -> usize {
        self.addresses.len()
    }

    pub fn address(&self, number: u32) -> Option<&str> {
        (number as usize).checked_sub(UNSTATIONED).map(|at| &*self.addresses[at])
    }

    /// The number of an address, which gets one if it has none.
    pub fn number(&mut self, address: &str) -> u32 {
        if let Some(number) = self.numbers.get(address) {
            return *number;
        }
        let number = self.sums.len() as u32;
        self.numbers.insert(address.to_owned(), number);
        self.addresses.push(address.to_owned());
        self.sums.push(Station::default());
        number
    }

    /// The number of an address that has one.
    pub fn known(&self, address: &str) -> Option<u32> {
        self.numbers.get(address).copied()
    }

    /// The number of a data rate; None beyond the limit.
    #[inline]
    pub fn rate(&mut self, mbps: f64) -> Option<usize> {
        if let Some(number) = self.rate_numbers.get(&mbps.to_bits()) {
            return Some(*number);
        }
        if mbps.is_nan() || self.rates.len() >= RATES {
            return None;
        }
        self.rates.push(mbps);
        self.rate_numbers.insert(mbps.to_bits(), self.rates.len() - 1);
        Some(self.rates.len() - 1)
    }

    /// Merge all but the `most` stations with most frames into one row; returns the new number of each old one.
    pub fn prune(&mut self, most: usize) -> Vec<u32> {
        let mut kept: Vec<usize> = (UNSTATIONED..self.sums.len()).collect();
        kept.sort_by_key(|at| std::cmp::Reverse(self.sums[*at].frames));
        kept.truncate(most);
        kept.sort_unstable();
        let mut new = vec![REST; self.sums.len()];
        new[UNNAMED as usize] = UNNAMED;
        for (number, at) in (UNSTATIONED as u32..).zip(&kept) {
            new[*at] = number;
        }
        let mut old: Vec<Station> = std::mem::take(&mut self.sums);
        let mut rest = std::mem::take(&mut old[REST as usize]);
        for at in (UNSTATIONED..old.len()).filter(|at| new[*at] == REST) {
            rest.absorb(&old[at]);
        }
        rest.bssid = None;
        let unnamed = Station { bssid: None, ..std::mem::take(&mut old[UNNAMED as usize]) };
        self.sums = vec![unnamed, rest];
        let mut addresses = Vec::with_capacity(kept.len());
        for at in kept {
            let mut station = std::mem::take(&mut old[at]);
            station.bssid = station.bssid.map(|bssid| new[bssid as usize]).filter(|bssid| *bssid != REST);
            self.sums.push(station);
            addresses.push(std::mem::take(&mut self.addresses[at - UNSTATIONED]));
        }
        self.numbers = addresses.iter().cloned().zip(UNSTATIONED as u32..).collect();
        self.addresses = addresses;
        new
    }
}
