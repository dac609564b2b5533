//! Drawing fewer points than there are without losing what stands out.

use super::canvas::Point;

/// Of so many points that stay, two are extremes. More of them would draw edges into the picture
/// that the values do not have.
const IN_A_RUN: usize = 16;

/// The indices of at most `most` of `values`, ascending. Of every run of neighbours the smallest
/// and the largest stay, and others at equal distances.
pub fn thin(values: &[f64], most: usize) -> Vec<usize> {
    if values.len() <= most {
        return (0..values.len()).collect();
    }
    let runs = (most / IN_A_RUN).max(1);
    let mut kept = Vec::with_capacity(most);
    for run in 0..runs {
        let start = run * values.len() / runs;
        let end = (run + 1) * values.len() / runs;
        let by_value = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let even = IN_A_RUN - 2;
        let mut picks: Vec<usize> = (0..even)
            .map(|pick| start + pick * (end - start) / even)
            .collect();
        picks.extend((start..end).min_by(by_value));
        picks.extend((start..end).max_by(by_value));
        picks.sort_unstable();
        picks.dedup();
        kept.extend(picks);
    }
    kept
}

/// The line through `points`, x ascending, with at most four points in any column of `width`
/// pixels: the first, the extremes and the last, which look the same as all of them.
pub fn thin_line(points: &[Point], width: f64) -> Vec<Point> {
    let column = |point: &Point| (point.0 / width).floor();
    points
        .chunk_by(|a, b| column(a) == column(b))
        .flat_map(|chunk| {
            let ys: Vec<f64> = chunk.iter().map(|point| point.1).collect();
            let by_y = |a: &usize, b: &usize| ys[*a].total_cmp(&ys[*b]);
            let mut picks = vec![0, chunk.len() - 1];
            picks.extend((0..chunk.len()).min_by(by_y));
            picks.extend((0..chunk.len()).max_by(by_y));
            picks.sort_unstable();
            picks.dedup();
            picks.into_iter().map(|pick| chunk[pick])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_stay_as_they_are() {
        assert_eq!(thin(&[3.0, 1.0, 2.0], 10), [0, 1, 2]);
        assert_eq!(thin(&[], 10), [0usize; 0]);
    }

    #[test]
    fn extremes_survive_and_the_bound_holds() {
        let mut values: Vec<f64> = (0..100_000).map(|i| f64::from(i * 7919 % 1000)).collect();
        values[54_321] = 1e6;
        values[12_345] = -1.0;
        let kept = thin(&values, 2_000);
        assert!(kept.len() <= 2_000);
        assert!(kept.windows(2).all(|w| w[0] < w[1]));
        assert!(kept.contains(&54_321) && kept.contains(&12_345));
    }

    #[test]
    fn a_thinned_line_keeps_its_ends_and_peaks() {
        let mut line: Vec<Point> = (0..10_000)
            .map(|i| (f64::from(i) / 50.0, f64::from(i * 31 % 17)))
            .collect();
        line[7_777].1 = 99.0;
        let thinned = thin_line(&line, 1.0);
        assert!(thinned.len() <= 4 * 200);
        assert_eq!(thinned.first(), line.first());
        assert_eq!(thinned.last(), line.last());
        assert!(thinned.contains(&line[7_777]));
    }
}
