//! Outlines: lines and curves, in pixels, y downwards.

/// A point.
pub type Point = (f32, f32);

/// A quarter of a circle as one cubic curve: how far its control points lie from its ends, in radii.
const KAPPA: f32 = 0.552_284_8;

/// A piece of an outline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Segment {
    /// Begins a contour.
    Move(Point),
    /// A straight line.
    Line(Point),
    /// A curve with one control point.
    Quad(Point, Point),
    /// A curve with two control points.
    Cubic(Point, Point, Point),
    /// A straight line back to where the contour began.
    Close,
}

/// An outline: closed contours, of which the inside is filled (winding not zero).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path(pub Vec<Segment>);

impl Path {
    /// A polygon.
    pub fn polygon(points: &[Point]) -> Self {
        let segment = |(index, &point): (usize, &Point)| {
            if index == 0 { Segment::Move(point) } else { Segment::Line(point) }
        };
        Self(points.iter().enumerate().map(segment).chain([Segment::Close]).collect())
    }

    /// A disc.
    pub fn disc((x, y): Point, radius: f32) -> Self {
        let mut path = Self(vec![Segment::Move((x + radius, y))]);
        path.quarter((x + radius, y), (x, y + radius), true);
        path.quarter((x, y + radius), (x - radius, y), false);
        path.quarter((x - radius, y), (x, y - radius), true);
        path.quarter((x, y - radius), (x + radius, y), false);
        path.0.push(Segment::Close);
        path
    }

    /// Adds a quarter of an ellipse; at its start it runs up or down, or (`upright` false) sideways.
    pub fn quarter(&mut self, (x0, y0): Point, (x1, y1): Point, upright: bool) {
        let (dx, dy) = ((x1 - x0) * KAPPA, (y1 - y0) * KAPPA);
        let controls =
            if upright { ((x0, y0 + dy), (x1 - dx, y1)) } else { ((x0 + dx, y0), (x1, y1 - dy)) };
        self.0.push(Segment::Cubic(controls.0, controls.1, (x1, y1)));
    }

    /// The outline with each point moved.
    #[must_use]
    pub fn map(&self, to: impl Fn(Point) -> Point) -> Self {
        let moved = self.0.iter().map(|&segment| match segment {
            Segment::Move(a) => Segment::Move(to(a)),
            Segment::Line(a) => Segment::Line(to(a)),
            Segment::Quad(a, b) => Segment::Quad(to(a), to(b)),
            Segment::Cubic(a, b, c) => Segment::Cubic(to(a), to(b), to(c)),
            Segment::Close => Segment::Close,
        });
        Self(moved.collect())
    }
}
