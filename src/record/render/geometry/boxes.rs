//! Boxes: light, heavy, double, dashed and rounded lines, and diagonals.

use super::super::path::{Path, Segment};
use super::{CellSize, Shape};

/// The four arms of U+2500 to U+257F, by their names in Unicode: up, right, down, left; 0 none,
/// 1 light, 2 heavy, 3 double. Dashes, arcs and diagonals have none here.
#[rustfmt::skip]
const ARMS: [u16; 128] = [
    0x0101, 0x0202, 0x1010, 0x2020, 0x0000, 0x0000, 0x0000, 0x0000, // ─━│┃┄┅┆┇
    0x0000, 0x0000, 0x0000, 0x0000, 0x0110, 0x0210, 0x0120, 0x0220, // ┈┉┊┋┌┍┎┏
    0x0011, 0x0012, 0x0021, 0x0022, 0x1100, 0x1200, 0x2100, 0x2200, // ┐┑┒┓└┕┖┗
    0x1001, 0x1002, 0x2001, 0x2002, 0x1110, 0x1210, 0x2110, 0x1120, // ┘┙┚┛├┝┞┟
    0x2120, 0x2210, 0x1220, 0x2220, 0x1011, 0x1012, 0x2011, 0x1021, // ┠┡┢┣┤┥┦┧
    0x2021, 0x2012, 0x1022, 0x2022, 0x0111, 0x0112, 0x0211, 0x0212, // ┨┩┪┫┬┭┮┯
    0x0121, 0x0122, 0x0221, 0x0222, 0x1101, 0x1102, 0x1201, 0x1202, // ┰┱┲┳┴┵┶┷
    0x2101, 0x2102, 0x2201, 0x2202, 0x1111, 0x1112, 0x1211, 0x1212, // ┸┹┺┻┼┽┾┿
    0x2111, 0x1121, 0x2121, 0x2112, 0x2211, 0x1122, 0x1221, 0x2212, // ╀╁╂╃╄╅╆╇
    0x1222, 0x2122, 0x2221, 0x2222, 0x0000, 0x0000, 0x0000, 0x0000, // ╈╉╊╋╌╍╎╏
    0x0303, 0x3030, 0x0310, 0x0130, 0x0330, 0x0013, 0x0031, 0x0033, // ═║╒╓╔╕╖╗
    0x1300, 0x3100, 0x3300, 0x1003, 0x3001, 0x3003, 0x1310, 0x3130, // ╘╙╚╛╜╝╞╟
    0x3330, 0x1013, 0x3031, 0x3033, 0x0313, 0x0131, 0x0333, 0x1303, // ╠╡╢╣╤╥╦╧
    0x3101, 0x3303, 0x1313, 0x3131, 0x3333, 0x0000, 0x0000, 0x0000, // ╨╩╪╫╬╭╮╯
    0x0000, 0x0000, 0x0000, 0x0000, 0x0001, 0x1000, 0x0100, 0x0010, // ╰╱╲╳╴╵╶╷
    0x0002, 0x2000, 0x0200, 0x0020, 0x0201, 0x1020, 0x0102, 0x2010, // ╸╹╺╻╼╽╾╿
];

/// How thick an arm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    None,
    Light,
    Heavy,
    Double,
}

/// The four arms of a character, in the order up, right, down, left.
fn arms(c: char) -> [Weight; 4] {
    let bits = ARMS.get((c as usize).wrapping_sub(0x2500)).copied().unwrap_or_default();
    [12, 8, 4, 0].map(|shift| match bits >> shift & 15 {
        0 => Weight::None,
        1 => Weight::Light,
        2 => Weight::Heavy,
        _ => Weight::Double,
    })
}

/// The picture of a box character.
pub(super) fn shapes(c: char, size: CellSize) -> Vec<Shape> {
    match c {
        '┄' => dashes(3, size.light, true, size),
        '┅' => dashes(3, size.heavy(), true, size),
        '┆' => dashes(3, size.light, false, size),
        '┇' => dashes(3, size.heavy(), false, size),
        '┈' => dashes(4, size.light, true, size),
        '┉' => dashes(4, size.heavy(), true, size),
        '┊' => dashes(4, size.light, false, size),
        '┋' => dashes(4, size.heavy(), false, size),
        '╌' => dashes(2, size.light, true, size),
        '╍' => dashes(2, size.heavy(), true, size),
        '╎' => dashes(2, size.light, false, size),
        '╏' => dashes(2, size.heavy(), false, size),
        '╭' => arc(true, true, size),
        '╮' => arc(false, true, size),
        '╯' => arc(false, false, size),
        '╰' => arc(true, false, size),
        '╱' => vec![diagonal(true, size)],
        '╲' => vec![diagonal(false, size)],
        '╳' => vec![diagonal(true, size), diagonal(false, size)],
        _ => lines(arms(c), size),
    }
}

/// Where the strands of an arm lie across it: one, or of a double line the nearer to 0 and the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Strands {
    weight: Weight,
    near: (i32, i32),
    far: (i32, i32),
}

impl Strands {
    /// Across `length` pixels.
    fn new(weight: Weight, length: i32, size: CellSize) -> Self {
        let light = size.light;
        let band = |thickness: i32| {
            let from = (length - thickness) / 2;
            (from, from + thickness)
        };
        let (near, far) = match weight {
            Weight::None => (band(0), band(0)),
            Weight::Light => (band(light), band(light)),
            Weight::Heavy => (band(size.heavy()), band(size.heavy())),
            Weight::Double => {
                // As wide as three lines: two strands with one line's room between them.
                let (from, to) = band(3 * light);
                ((from, from + light), (to - light, to))
            }
        };
        Self { weight, near, far }
    }

    fn is(self, weight: Weight) -> bool {
        self.weight == weight
    }
}

/// Straight arms from the edges to the middle, with their joints.
fn lines([up, right, down, left]: [Weight; 4], size: CellSize) -> Vec<Shape> {
    let (w, h) = (size.width, size.height);
    let upright = [up, down].map(|weight| Strands::new(weight, w, size));
    let level = [left, right].map(|weight| Strands::new(weight, h, size));
    let mut shapes = Vec::new();
    let mut rect = |along: (i32, i32), across: (i32, i32), turned: bool| {
        let corners = if turned {
            ((across.0, along.0), (across.1, along.1))
        } else {
            ((along.0, across.0), (along.1, across.1))
        };
        if along.0 < along.1 && across.0 < across.1 {
            shapes.push(Shape::Rect(corners.0, corners.1, 255));
        }
    };
    for (arms, sides, length, turned) in [(level, upright, w, false), (upright, level, h, true)] {
        for backwards in [false, true] {
            let (arm, opposite) = if backwards { (arms[1], arms[0]) } else { (arms[0], arms[1]) };
            if arm.is(Weight::None) {
                continue;
            }
            let strands = if arm.is(Weight::Double) { 2 } else { 1 };
            for strand in 0..strands {
                let across = if strand == 0 { arm.near } else { arm.far };
                // Of a double arm each strand looks at the side arm next to it first.
                let beside = (strands == 2).then(|| (sides[strand], sides[1 - strand]));
                let end = end(beside, sides, opposite, length, backwards);
                rect(if backwards { (end, length) } else { (0, end) }, across, turned);
            }
        }
    }
    shapes
}

/// Where an arm that comes from the edge ends, along itself.
///
/// `beside` is the side arm next to this strand of a double arm and the one on its other side;
/// `sides` are both; `opposite` is the arm that goes on.
fn end(
    beside: Option<(Strands, Strands)>,
    sides: [Strands; 2],
    opposite: Strands,
    length: i32,
    backwards: bool,
) -> i32 {
    // The edge of a band that is met first, or last.
    let first = |band: Strands| if backwards { band.far } else { band.near };
    let last = |band: Strands| if backwards { band.near } else { band.far };
    let over = |band: (i32, i32)| if backwards { band.0 } else { band.1 };
    let goes_on = !opposite.is(Weight::None);
    if let Some((near, other)) = beside {
        if !near.is(Weight::None) {
            return over(first(near));
        }
        if !goes_on && !other.is(Weight::None) {
            return over(last(other));
        }
        return length / 2;
    }
    let doubles = sides.iter().filter(|side| side.is(Weight::Double)).count();
    match (doubles, goes_on) {
        (2, false) => over(first(sides[0])),
        (1, false) => {
            let double = sides.iter().find(|side| side.is(Weight::Double));
            double.map_or(length / 2, |&double| over(last(double)))
        }
        (_, true) if sides.iter().all(|side| side.is(Weight::None)) => length / 2,
        _ => {
            let ends = sides.iter().filter(|side| !side.is(Weight::None)).map(|&s| over(last(s)));
            let furthest = if backwards { ends.min() } else { ends.max() };
            furthest.unwrap_or(length / 2)
        }
    }
}

/// A line in `n` dashes, each with a gap after it, so that the pattern goes on in the next cell.
fn dashes(n: i32, thickness: i32, level: bool, size: CellSize) -> Vec<Shape> {
    let length = if level { size.width } else { size.height };
    let gap = (length / (n * 3)).max(1);
    let at = |index: i32| (length * index * 2 + n) / (n * 2);
    let dash = |index: i32| {
        let (from, to) = (at(index), (at(index + 1) - gap).max(at(index) + 1));
        if level {
            let (top, bottom) = size.level(thickness);
            Shape::Rect((from, top), (to, bottom), 255)
        } else {
            let (left, right) = size.upright(thickness);
            Shape::Rect((left, from), (right, to), 255)
        }
    };
    (0..n).map(dash).collect()
}

/// A rounded corner from the right (or left) edge to the lower (or upper) one.
fn arc(right: bool, down: bool, size: CellSize) -> Vec<Shape> {
    let thickness = size.light;
    let (left, right_edge) = size.upright(thickness);
    let (top, bottom) = size.level(thickness);
    let f = |at: i32| at as f32;
    // Along each axis: the band's edge on the outside of the bend, the one inside, and the cell's edge.
    let (x_out, x_in, x_end) =
        if right { (f(left), f(right_edge), f(size.width)) } else { (f(right_edge), f(left), 0.0) };
    let (y_out, y_in, y_end) =
        if down { (f(top), f(bottom), f(size.height)) } else { (f(bottom), f(top), 0.0) };
    // A pixel short of the edge, so that a straight line is what meets the neighbour.
    let radius = (x_end - x_out).abs().min((y_end - y_out).abs()) - 1.0;
    let (dx, dy) = (if right { radius } else { -radius }, if down { radius } else { -radius });
    let mut path = Path(vec![Segment::Move((x_out, y_end)), Segment::Line((x_out, y_out + dy))]);
    path.quarter((x_out, y_out + dy), (x_out + dx, y_out), true);
    path.0.push(Segment::Line((x_end, y_out)));
    path.0.push(Segment::Line((x_end, y_in)));
    path.0.push(Segment::Line((x_out + dx, y_in)));
    path.quarter((x_out + dx, y_in), (x_in, y_out + dy), false);
    path.0.push(Segment::Line((x_in, y_end)));
    path.0.push(Segment::Close);
    vec![Shape::Path(path)]
}

/// From corner to corner, cut off at the cell's edges: the next cell's diagonal goes on from there.
fn diagonal(rising: bool, size: CellSize) -> Shape {
    let (w, h) = (size.width as f32, size.height as f32);
    // A little thicker than a light line, since no pixel of it is covered whole.
    let reach = size.light as f32 * 0.6 * (w * w + h * h).sqrt();
    let (along, down) = (reach / h, reach / w);
    let points = [(0.0, h), (0.0, h - down), (w - along, 0.0), (w, 0.0), (w, down), (along, h)];
    let path = Path::polygon(&points);
    Shape::Path(if rising { path } else { path.map(|(x, y)| (w - x, y)) })
}
