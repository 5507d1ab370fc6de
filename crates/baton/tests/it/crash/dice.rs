//! Chance that can be repeated, and what a run is asked for.

use std::time::Duration;

/// Numbers that look random and are the same for the same seed (splitmix64).
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 0 to `below` - 1.
    pub fn number(&mut self, below: usize) -> usize {
        usize::try_from(self.roll() % below as u64).unwrap()
    }

    pub fn within(&mut self, most: Duration) -> Duration {
        Duration::from_micros(self.roll() % u64::try_from(most.as_micros()).unwrap())
    }
}

/// What the environment asks of a run.
pub fn asked(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}
