//! A small seeded source of random numbers: the same seed gives the same figures on every machine.

/// SplitMix64: 64 bits of state, a period of 2⁶⁴, passes BigCrush. Not for secrets.
///
/// Written out because no crate in the normal dependency tree brings a generator, and because a
/// result must be repeatable from its seed whatever a crate's next version does.
/// Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
    /// The other half of the last pair of normals.
    spare: Option<f64>,
}

impl SplitMix64 {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        SplitMix64 {
            state: seed,
            spare: None,
        }
    }

    /// A stream of its own for each name and number below one seed, so that the figures of a part
    /// do not depend on which other parts are there, nor on their order.
    pub fn named(seed: u64, name: &str, number: u64) -> Self {
        let mut stream = SplitMix64::new(seed);
        for value in name.bytes().map(u64::from).chain([u64::MAX, number]) {
            stream.state ^= value;
            stream.state = stream.next_u64();
        }
        stream
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in the open interval (0, 1): its logarithm is finite.
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Standard normal, by the Box-Muller transform, which makes two at a time.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }

    /// Gamma with `shape` ≥ 1 and scale 1.
    /// Source: Marsaglia and Tsang, A Simple Method for Generating Gamma Variables, ACM TOMS 2000.
    fn gamma(&mut self, shape: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v <= 0.0 {
                continue;
            }
            let u = self.uniform();
            // The first condition implies the second and spares the logarithms.
            if u < 1.0 - 0.0331 * x.powi(4) || u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// Beta with both shapes ≥ 1: the `a`-th smallest of `a + b − 1` uniform values.
    pub fn beta(&mut self, a: f64, b: f64) -> f64 {
        let x = self.gamma(a);
        x / (x + self.gamma(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_splitmix64() {
        // First outputs of the authors' C code for the seed 1234567.
        let mut stream = SplitMix64::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn names_and_numbers_part_the_streams() {
        let first = |name: &str, number| SplitMix64::named(7, name, number).next_u64();
        assert_eq!(first("TP", 1), first("TP", 1));
        assert_ne!(first("TP", 1), first("TP", 2));
        assert_ne!(first("TP", 1), first("EP", 1));
        assert_ne!(first("TP", 1), SplitMix64::named(8, "TP", 1).next_u64());
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut stream = SplitMix64::new(1);
        let mut moments = |draw: &mut dyn FnMut(&mut SplitMix64) -> f64| {
            let n = 100_000;
            let values: Vec<f64> = (0..n).map(|_| draw(&mut stream)).collect();
            let mean = values.iter().sum::<f64>() / n as f64;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64;
            (mean, variance)
        };
        let (mean, variance) = moments(&mut |s| s.normal());
        assert!(mean.abs() < 0.015 && (variance - 1.0).abs() < 0.02);
        for (a, b) in [(1.0, 1.0), (3.0, 4.0), (500.0, 501.0)] {
            let (mean, variance) = moments(&mut |s| s.beta(a, b));
            let expected = a * b / ((a + b) * (a + b) * (a + b + 1.0));
            assert!((mean - a / (a + b)).abs() < 5.0 * (expected / 1e5).sqrt());
            assert!((variance / expected - 1.0).abs() < 0.03, "{a} {b}");
        }
    }
}
