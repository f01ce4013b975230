//! Text, CSV, JSON, SVG and PNG of made-up sweeps.

use insta::assert_snapshot;
use pipetop::export::sweep::{STATES, csv, json, png, svg, text};
use pipetop::export::text::Style;
use pipetop::tune::sweep::Sweep;
use serde_json::Value;

use crate::sweeps;

fn all() -> [(&'static str, Sweep); 5] {
    [
        ("gil", sweeps::gil()),
        ("under_way", sweeps::under_way()),
        ("interrupted", sweeps::interrupted()),
        ("map", sweeps::map()),
        ("words", sweeps::words()),
    ]
}

#[test]
fn the_text_tells_all_points_and_what_they_show() {
    for (name, sweep) in all() {
        let written = text::render(&sweep, Style::default());
        assert!(written.lines().all(|line| line.chars().count() <= 80), "{written}");
        assert_snapshot!(format!("text_{name}"), written);
    }
    let plain = text::render(&sweeps::gil(), Style { ascii: true });
    assert!(plain.is_ascii(), "{plain}");
}

#[test]
fn the_files_are_as_they_were() {
    assert_snapshot!("csv_interrupted", csv::to_string(&sweeps::interrupted()));
    assert_snapshot!("csv_map", csv::to_string(&sweeps::map()));
    assert_snapshot!("json_interrupted", json::to_string(&sweeps::interrupted()));
    assert_snapshot!("svg_interrupted", svg::to_string(&sweeps::interrupted()));
    assert_snapshot!("svg_map", svg::to_string(&sweeps::map()));
}

/// Splits a line of CSV; none of ours has quotes inside of quotes.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().unwrap().push(c),
        }
    }
    cells
}

#[test]
fn every_row_of_the_csv_has_every_column_and_gaps_are_empty() {
    for (name, sweep) in all() {
        let written = csv::to_string(&sweep);
        let mut lines = written.lines().map(cells);
        let head = lines.next().unwrap();
        let at = |column: &str| head.iter().position(|name| name == column).unwrap();
        let rows: Vec<_> = lines.collect();
        assert_eq!(rows.len(), sweep.points.len(), "{name}");
        for row in rows {
            assert_eq!(row.len(), head.len(), "{name}: {row:?}");
            let rate = &row[at("throughput_img_s")];
            assert_eq!(rate.is_empty(), row[at("status")] != "measured", "{name}: {row:?}");
            if !rate.is_empty() {
                let shares: f64 = STATES.iter().map(|s| row[at(s)].parse::<f64>().unwrap()).sum();
                assert!((shares - 1.0).abs() < 1e-4, "{name}: {shares}");
            }
        }
    }
}

#[test]
fn the_json_has_null_where_nothing_was_measured() {
    let sweep = sweeps::under_way();
    let root: Value = serde_json::from_str(&json::to_string(&sweep)).unwrap();
    assert_eq!(root["schema"], "pipetop.sweep/1");
    assert_eq!((&root["interrupted"], &root["measuring"]["seed"]), (&Value::Bool(true), &1.into()));
    let points: Vec<_> = root["works"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|w| w["points"].as_array().unwrap())
        .collect();
    assert_eq!(points.len(), sweep.points.len());
    let of = |status: &str| points.iter().filter(|p| p["status"] == status).count();
    assert_eq!((of("measured"), of("gap"), of("not-reached")), (7, 1, 4));
    for point in points {
        let measured = point["status"] == "measured";
        assert_eq!(point["throughput_img_s"].is_null(), !measured, "{point}");
        assert_eq!(point["share"].is_null(), !measured, "{point}");
    }
    let done: Value = serde_json::from_str(&json::to_string(&sweeps::gil())).unwrap();
    assert_eq!((&done["state"], &done["interrupted"]), (&"done".into(), &false.into()));
    let native = &done["works"][0];
    assert!(native["fits"]["amdahl"]["sigma"]["error"].as_f64() > Some(0.0), "{native}");
    assert!(native["fits"]["amdahl"]["kappa"].is_null());
}

/// A tag's attribute of every element that has it.
fn attributes<'a>(svg: &'a str, name: &'a str) -> impl Iterator<Item = f64> + 'a {
    let marker = format!(" {name}=\"");
    svg.match_indices(&marker.clone())
        .map(|(at, _)| at)
        .collect::<Vec<_>>()
        .into_iter()
        .filter_map(move |at| svg[at + marker.len()..].split('"').next()?.parse().ok())
}

#[test]
fn the_picture_is_told_in_words_and_stays_inside_of_its_frame() {
    for (name, sweep) in all() {
        let drawn = svg::to_string(&sweep);
        assert!(drawn.contains("<title id=\"title\">Throughput by"), "{name}");
        assert!(drawn.contains("<desc id=\"description\">"), "{name}");
        assert!(drawn.contains("synthetic"), "{name}: the labels are in the picture");
        assert!(!drawn.contains("NaN") && !drawn.contains("\"inf"), "{name}");
        let height = attributes(&drawn, "height").next().unwrap();
        for (axis, most) in [("x", 1080.0), ("y", height), ("cx", 1080.0), ("cy", height)] {
            let outside = attributes(&drawn, axis).find(|&at| at < 0.0 || at > most);
            assert_eq!(outside, None, "{name}: {axis}");
        }
        // Texts are in a font of fixed width, so that their length is known.
        for piece in drawn.split("<text ").skip(1) {
            let get = |name| attributes(piece, name).next();
            let piece = &format!(" {piece}");
            let at = |name: &str| attributes(piece, name).next().unwrap();
            let words = piece.split('>').nth(1).unwrap().split('<').next().unwrap();
            let words = words.replace("&gt;", ">").replace("&lt;", "<").replace("&quot;", "\"");
            let long = words.chars().count() as f64 * at("font-size") * 0.6;
            let begins = match piece {
                p if p.contains("\"end\"") => at("x") - long,
                p if p.contains("\"middle\"") => at("x") - long / 2.0,
                _ => at("x"),
            };
            let upright = get("font-size").is_some() && !piece.contains("images a second");
            let upright = upright && !words.starts_with('←');
            assert!(!upright || (begins >= 0.0 && begins + long <= 1080.5), "{name}: {words}");
        }
    }
    assert!(svg::to_string(&sweeps::gil()).contains("emulated"));
    assert!(svg::to_string(&sweeps::interrupted()).contains("INTERRUPTED after 3 of 4 points"));
}

#[test]
fn each_picture_can_be_drawn_as_png() {
    for (name, sweep) in all() {
        let bytes = png::render(&svg::to_string(&sweep)).unwrap();
        let image = image::load_from_memory(&bytes).unwrap().to_rgb8();
        assert_eq!(image.width(), 2160, "{name}");
        let inked = image.pixels().filter(|pixel| pixel.0 != [255; 3]).count();
        assert!(inked > 20_000, "{name}: {inked}");
        if let Some(folder) = std::env::var_os("SWEEP_PICTURES") {
            std::fs::write(std::path::Path::new(&folder).join(format!("{name}.png")), bytes)
                .unwrap();
        }
    }
}
