use wlanlens_core::{
    container, exchange,
    frame::Frame,
    notes::Notes,
    wire::{self, Sink},
};
struct S(Vec<(Frame, Vec<u8>)>);
impl Sink for S {
    fn packet(&mut self, _: &wlanlens_core::packet::Packet) {}
    fn frame(&mut self, f: &Frame, b: &[u8]) {
        self.0.push((*f, b[..b.len().min(64)].to_vec()));
    }
}
fn main() {
    for path in std::env::args().skip(1) {
        let mut src = container::open(Box::new(std::fs::File::open(&path).unwrap())).unwrap();
        let mut notes = Notes::default();
        let mut st = wire::State::default();
        let mut s = S(vec![]);
        let mut n = 0;
        while let Ok(Some(r)) = src.next_record(&mut notes) {
            n += 1;
            wire::decode(&r, n, &mut st, &mut notes, &mut s);
        }
        let mut best = f64::MAX;
        let span = s.0.last().unwrap().0.time_ns.unwrap_or(0) - s.0[0].0.time_ns.unwrap_or(0) + 1_000_000;
        for _ in 0..5 {
            let mut t = exchange::Tracker::default();
            let mut out = vec![];
            let t0 = std::time::Instant::now();
            let mut count = 0u64;
            for rep in 0..20i64 {
                for (f, b) in &s.0 {
                    let mut f = *f;
                    f.time_ns = f.time_ns.map(|t| t + rep * span);
                    t.observe(&f, b, None, 0);
                    count += 1;
                    if count % 16384 == 0 {
                        t.drain(&mut out);
                        out.clear();
                    }
                }
            }
            t.finish(&mut out);
            best = best.min(t0.elapsed().as_nanos() as f64 / count as f64);
        }
        println!("{path}: {} frames, {best:.0} ns a frame", s.0.len());
    }
}
