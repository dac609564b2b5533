//! Who sends how many bytes to whom in an all-to-all that is not even.

/// Bytes from each rank to each other rank. What a rank has for itself does not travel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    ranks: u32,
    /// `bytes[from * ranks + to]`; zero where both are the same.
    bytes: Vec<u64>,
}

impl Traffic {
    /// Traffic from a table of `items[from][to]`, each of `item_bytes`. Sizes beyond 64 bits stay
    /// at the largest number, which no buffer fits.
    ///
    /// `None` when the table is not square.
    pub fn of_items(items: &[Vec<u64>], item_bytes: u64) -> Option<Traffic> {
        let ranks = items.len();
        if items.iter().any(|row| row.len() != ranks) {
            return None;
        }
        let bytes = items.iter().enumerate().flat_map(|(from, row)| {
            row.iter().enumerate().map(move |(to, count)| {
                if from == to {
                    0
                } else {
                    count.saturating_mul(item_bytes)
                }
            })
        });
        Some(Traffic {
            ranks: u32::try_from(ranks).ok()?,
            bytes: bytes.collect(),
        })
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Bytes from one rank to another.
    pub fn bytes(&self, from: u32, to: u32) -> u64 {
        self.bytes[from as usize * self.ranks as usize + to as usize]
    }

    /// Bytes that `rank` sends.
    pub fn sent_bytes(&self, rank: u32) -> u64 {
        self.sum((0..self.ranks).map(|to| self.bytes(rank, to)))
    }

    /// Bytes that `rank` receives.
    pub fn received_bytes(&self, rank: u32) -> u64 {
        self.sum((0..self.ranks).map(|from| self.bytes(from, rank)))
    }

    /// The mean over ranks of what a rank sends, rounded.
    pub fn mean_sent_bytes(&self) -> u64 {
        let ranks = u64::from(self.ranks.max(1));
        self.sum(self.bytes.iter().copied())
            .saturating_add(ranks / 2)
            / ranks
    }

    /// The most that any rank sends or receives.
    pub fn largest_side_bytes(&self) -> u64 {
        let sides = |rank| self.sent_bytes(rank).max(self.received_bytes(rank));
        (0..self.ranks).map(sides).max().unwrap_or(0)
    }

    /// Where `rank`'s part for each rank begins in its input, in bytes: the parts lie in the order
    /// of ranks.
    pub fn input_offset(&self, rank: u32, to: u32) -> u64 {
        self.sum((0..to).map(|before| self.bytes(rank, before)))
    }

    /// Where the part from each rank begins in `rank`'s output, in bytes.
    pub fn output_offset(&self, rank: u32, from: u32) -> u64 {
        self.sum((0..from).map(|before| self.bytes(before, rank)))
    }

    fn sum(&self, parts: impl Iterator<Item = u64>) -> u64 {
        parts.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_by_hand() {
        let traffic =
            Traffic::of_items(&[vec![9, 2, 3], vec![1, 9, 0], vec![4, 5, 9]], 10).unwrap();
        assert_eq!(traffic.bytes(0, 2), 30);
        assert_eq!(traffic.bytes(1, 1), 0, "what stays home does not travel");
        assert_eq!(traffic.sent_bytes(2), 90);
        assert_eq!(traffic.received_bytes(1), 70);
        assert_eq!(traffic.mean_sent_bytes(), 50);
        assert_eq!(traffic.largest_side_bytes(), 90);
        assert_eq!(
            (traffic.input_offset(2, 1), traffic.output_offset(0, 2)),
            (40, 10)
        );
        assert_eq!(Traffic::of_items(&[vec![1, 2]], 1), None);
    }

    proptest::proptest! {
        #[test]
        fn what_is_sent_is_received(items in proptest::collection::vec(proptest::collection::vec(0u64..1000, 5), 5)) {
            let traffic = Traffic::of_items(&items, 7).unwrap();
            let sent: u64 = (0..5).map(|rank| traffic.sent_bytes(rank)).sum();
            let received: u64 = (0..5).map(|rank| traffic.received_bytes(rank)).sum();
            proptest::prop_assert_eq!(sent, received);
        }

        #[test]
        fn no_size_wraps(count in proptest::num::u64::ANY, size in proptest::num::u64::ANY) {
            let traffic = Traffic::of_items(&[vec![0, count], vec![count, 0]], size).unwrap();
            proptest::prop_assert!(traffic.largest_side_bytes() >= count.saturating_mul(size));
        }
    }
}
