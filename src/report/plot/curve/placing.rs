//! Finds room for texts in the chart: never over another text, and off the lines where it can.

use super::super::canvas::Point;
use super::super::layout::Rect;

/// Distance between the points that stand for a line.
const POINT_DISTANCE: f64 = 4.0;
/// Space that a text keeps from lines.
const LINE_MARGIN: f64 = 3.0;
/// How many logical pixels of distance a text takes to avoid one point of a line.
const POINT_COST: f64 = 14.0;
/// The same, to avoid that the line from its mark to it crosses a text or another such line.
const LEADER_COST: f64 = 120.0;
/// The same, to avoid that it crosses one point of a line or of another mark.
const CROSSING_COST: f64 = 4.0;
/// Up to here from its mark, what that line crosses belongs to the mark.
const AT_MARK: f64 = 14.0;
/// How much further from a mark than asked a text is tried.
const RINGS: [f64; 7] = [0.0, 8.0, 20.0, 40.0, 70.0, 110.0, 160.0];
const DIRECTIONS: usize = 16;
/// Steps of the search over the whole area, for when there is no room near a mark.
const GRID: (f64, f64) = (24.0, 10.0);

/// What lies in an area.
pub struct Placing {
    area: Rect,
    texts: Vec<Rect>,
    lines: Vec<Point>,
}

impl Placing {
    /// Room within `area` only.
    pub fn new(area: Rect) -> Placing {
        Placing {
            area,
            texts: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Keeps texts off a line where there is room elsewhere.
    pub fn avoid(&mut self, line: &[Point]) {
        self.lines.extend(line.first());
        for pair in line.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            self.lines.extend(points_between(from, to));
        }
    }

    /// Keeps texts off a mark more than off a line.
    pub fn avoid_mark(&mut self, (x, y): Point, radius: f64) {
        let ring = [(-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0), (0.0, 0.0)];
        let around = ring.map(|(right, down)| (x + right * radius, y + down * radius));
        self.lines.extend(around);
        self.lines.extend(around);
    }

    /// Takes room for a text of `size` (width, height) near a mark, `distance` from its middle at
    /// least. `None` where there is no room at all.
    pub fn beside(&mut self, mark: Point, distance: f64, size: (f64, f64)) -> Option<Rect> {
        let rings = RINGS.iter().flat_map(|more| {
            (0..DIRECTIONS).map(move |number| (mark, around(mark, distance + more, number, size)))
        });
        self.among(rings, distance)
            .or_else(|| self.anywhere(mark, size))
    }

    /// Takes the best of some rooms, each with the mark that a text there belongs to; the earlier
    /// one of equals. Rooms closer to the mark than `near` are equally close.
    pub fn among(&mut self, rooms: impl Iterator<Item = (Point, Rect)>, near: f64) -> Option<Rect> {
        let mut best: Option<(f64, Point, Rect)> = None;
        for (mark, room) in rooms {
            if !within(room, self.area) || self.texts.iter().any(|text| overlap(*text, room)) {
                continue;
            }
            let least = best.map_or(f64::INFINITY, |(least, ..)| least);
            // What is quickly known first: most rooms are too far away.
            let mut cost = distance(mark, nearest(mark, room)).max(near);
            for more in [Self::cost_of_place, Self::cost_of_way] {
                if cost < least {
                    cost += more(self, mark, room);
                }
            }
            if cost < least {
                best = Some((cost, mark, room));
            }
        }
        let (_, mark, room) = best?;
        self.texts.push(room);
        self.avoid(&[mark, nearest(mark, room)]);
        Some(room)
    }

    /// Takes the best room of the whole area.
    pub fn anywhere(&mut self, mark: Point, (width, height): (f64, f64)) -> Option<Rect> {
        let area = self.area;
        let steps = |length: f64, step: f64| (length.max(-step) / step).floor() as i64;
        let columns = steps(area.width() - width, GRID.0);
        let lines = steps(area.height() - height, GRID.1);
        let rooms = (0..=lines).flat_map(move |line| {
            (0..=columns).map(move |column| {
                let left = area.left + column as f64 * GRID.0;
                let top = area.top + line as f64 * GRID.1;
                (mark, Rect::new(left, top, left + width, top + height))
            })
        });
        self.among(rooms, 0.0)
    }

    /// Whether a line runs through a room, rather than up to it.
    pub fn is_crossed(&self, room: Rect) -> bool {
        self.covered(room, -1.0) > 0
    }

    /// Number of points of lines in a room with a margin around it.
    fn covered(&self, room: Rect, margin: f64) -> usize {
        let wide = Rect::new(
            room.left - margin,
            room.top - margin,
            room.right + margin,
            room.bottom + margin,
        );
        let covered = self.lines.iter().filter(|point| holds(wide, **point));
        covered.count()
    }

    /// What covering lines costs.
    fn cost_of_place(&self, _: Point, room: Rect) -> f64 {
        POINT_COST * self.covered(room, LINE_MARGIN) as f64
    }

    /// What crossing texts, lines and marks on the way to the mark costs.
    fn cost_of_way(&self, mark: Point, room: Rect) -> f64 {
        let end = nearest(mark, room);
        let crossed = self
            .texts
            .iter()
            .filter(|text| points_between(mark, end).any(|point| holds(**text, point)));
        let is_beside = |line: &&Point| {
            distance(mark, **line) > AT_MARK && from_segment(**line, mark, end) < LINE_MARGIN
        };
        let passed = self.lines.iter().filter(is_beside);
        LEADER_COST * crossed.count() as f64 + CROSSING_COST * passed.count() as f64
    }
}

/// The room of a text at a distance from a mark, in one of [`DIRECTIONS`], the first to the right.
fn around(mark: Point, distance: f64, number: usize, (width, height): (f64, f64)) -> Rect {
    let angle = number as f64 / DIRECTIONS as f64 * std::f64::consts::TAU;
    let (right, up) = (angle.cos(), angle.sin());
    // To the sides of a mark the text is centred on it; from the diagonals on, its corner is.
    let side = |along: f64| (1.45 * along).clamp(-1.0, 1.0) / 2.0;
    let x = mark.0 + distance * right + side(right) * width;
    let y = mark.1 - distance * up - side(up) * height;
    Rect::new(
        x - width / 2.0,
        y - height / 2.0,
        x + width / 2.0,
        y + height / 2.0,
    )
}

/// The point of a rectangle that is closest to a point.
pub fn nearest((x, y): Point, room: Rect) -> Point {
    (
        x.clamp(room.left, room.right),
        y.clamp(room.top, room.bottom),
    )
}

pub fn distance(from: Point, to: Point) -> f64 {
    (to.0 - from.0).hypot(to.1 - from.1)
}

/// How far a point is from the straight way between two others.
fn from_segment(point: Point, from: Point, to: Point) -> f64 {
    let along = (to.0 - from.0, to.1 - from.1);
    let length_squared = along.0 * along.0 + along.1 * along.1;
    let dot = (point.0 - from.0) * along.0 + (point.1 - from.1) * along.1;
    let share = if length_squared > 0.0 {
        (dot / length_squared).clamp(0.0, 1.0)
    } else {
        0.0
    };
    distance(point, (from.0 + share * along.0, from.1 + share * along.1))
}

/// Points on the way to `to`, which is the last.
fn points_between(from: Point, to: Point) -> impl Iterator<Item = Point> {
    let steps = (distance(from, to) / POINT_DISTANCE).ceil().max(1.0) as u32;
    (1..=steps).map(move |step| {
        let share = f64::from(step) / f64::from(steps);
        (
            from.0 + (to.0 - from.0) * share,
            from.1 + (to.1 - from.1) * share,
        )
    })
}

fn holds(room: Rect, (x, y): Point) -> bool {
    (room.left..=room.right).contains(&x) && (room.top..=room.bottom).contains(&y)
}

fn within(room: Rect, area: Rect) -> bool {
    holds(area, (room.left, room.top)) && holds(area, (room.right, room.bottom))
}

fn overlap(one: Rect, other: Rect) -> bool {
    one.left < other.right
        && other.left < one.right
        && one.top < other.bottom
        && other.top < one.bottom
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Rect = Rect::new(0.0, 0.0, 400.0, 300.0);

    #[test]
    fn a_text_stands_right_of_its_mark_where_nothing_is() {
        let mut placing = Placing::new(AREA);
        let room = placing.beside((100.0, 100.0), 10.0, (60.0, 20.0)).unwrap();
        assert_eq!(room, Rect::new(110.0, 90.0, 170.0, 110.0));
    }

    #[test]
    fn texts_keep_off_lines() {
        let mut placing = Placing::new(AREA);
        placing.avoid(&[(0.0, 100.0), (400.0, 100.0)]);
        let room = placing.beside((100.0, 100.0), 10.0, (60.0, 20.0)).unwrap();
        assert!(room.bottom < 100.0 || room.top > 100.0, "{room:?}");
    }

    #[test]
    fn texts_fill_the_area_without_overlap_and_then_there_is_no_room() {
        let mut placing = Placing::new(AREA);
        let mut rooms: Vec<Rect> = Vec::new();
        while let Some(room) = placing.beside((399.0, 299.0), 10.0, (90.0, 30.0)) {
            assert!(within(room, AREA), "{room:?}");
            assert!(rooms.iter().all(|other| !overlap(*other, room)), "{room:?}");
            rooms.push(room);
        }
        assert!(rooms.len() > 12, "{}", rooms.len());
        assert_eq!(placing.beside((0.0, 0.0), 1.0, (401.0, 10.0)), None);
    }
}
