//! Moves labels along one side apart, each as little as the others allow.

/// The tops of labels of the given heights, `gap` apart and within `from` to `to`, as close to the
/// wanted tops as their squared distances say, in the order of the wanted tops. Where they do not
/// fit, they go beyond `to`.
pub fn spread(wanted: &[f64], heights: &[f64], gap: f64, from: f64, to: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    // With what stands above a label taken off its top, labels are apart where tops ascend: the
    // closest ascending tops come from averaging neighbours that do not.
    let mut above = Vec::with_capacity(order.len());
    let mut used = 0.0;
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for &label in &order {
        above.push(used);
        let mut block = (wanted[label] - used, 1);
        while let Some(&(mean, count)) = blocks.last()
            && mean > block.0
        {
            blocks.pop();
            let both = count + block.1;
            let sum = mean * count as f64 + block.0 * block.1 as f64;
            block = (sum / both as f64, both);
        }
        blocks.push(block);
        used += heights[label] + gap;
    }
    let highest = (to - (used - gap)).max(from);
    let mut tops = vec![0.0; wanted.len()];
    let bases = blocks
        .iter()
        .flat_map(|&(mean, count)| std::iter::repeat_n(mean, count));
    for ((&label, above), base) in order.iter().zip(above).zip(bases) {
        tops[label] = base.clamp(from, highest) + above;
    }
    tops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_with_room_stay_where_they_are() {
        let tops = spread(&[80.0, 10.0], &[20.0, 20.0], 4.0, 0.0, 100.0);
        assert_eq!(tops, [80.0, 10.0]);
    }

    #[test]
    fn labels_at_one_place_share_the_way() {
        let tops = spread(&[50.0; 3], &[20.0; 3], 4.0, 0.0, 200.0);
        assert_eq!(tops, [26.0, 50.0, 74.0]);
        let tops = spread(&[0.0; 3], &[20.0; 3], 4.0, 0.0, 200.0);
        assert_eq!(tops, [0.0, 24.0, 48.0]);
        let tops = spread(&[200.0; 3], &[20.0; 3], 4.0, 0.0, 200.0);
        assert_eq!(tops, [132.0, 156.0, 180.0]);
    }

    proptest::proptest! {
        #[test]
        fn labels_never_overlap(
            wanted in proptest::collection::vec(-100f64..600.0, 1..8),
            height in 5f64..50.0,
        ) {
            let heights: Vec<f64> = (0..wanted.len()).map(|i| height + i as f64).collect();
            let tops = spread(&wanted, &heights, 3.0, 0.0, 500.0);
            let mut rooms: Vec<(f64, f64)> = tops.iter().zip(&heights).map(|(t, h)| (*t, t + h)).collect();
            rooms.sort_by(|a, b| a.0.total_cmp(&b.0));
            proptest::prop_assert!(rooms[0].0 >= -1e-9);
            proptest::prop_assert!(rooms[rooms.len() - 1].1 <= 500.0 + 1e-9);
            for pair in rooms.windows(2) {
                proptest::prop_assert!(pair[0].1 + 3.0 <= pair[1].0 + 1e-9, "{rooms:?}");
            }
        }
    }
}
