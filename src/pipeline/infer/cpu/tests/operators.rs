//! Tiny models of every operator and fusion, with outputs of ONNX Runtime; `scripts/make_op_models.py` makes them.

use super::{Noise, run_everywhere};
use crate::pipeline::infer::graph::{GraphError, load_file};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Deserialize)]
struct Expected {
    ops: Vec<String>,
    outputs: Vec<f32>,
}

fn data(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/ops")).join(name)
}

#[test]
fn every_operator_gives_what_onnx_runtime_gives_and_fuses_as_it_should() {
    let text = std::fs::read_to_string(data("expected.json")).unwrap();
    let models: BTreeMap<String, Expected> = serde_json::from_str(&text).unwrap();
    assert!(models.len() >= 38, "{} models", models.len());
    for (name, expected) in models {
        let graph = load_file(&data(&format!("{name}.onnx")), None).unwrap();
        let ops: Vec<_> = graph.nodes.iter().map(|node| node.op.name()).collect();
        assert_eq!(ops, expected.ops, "{name}");
        assert_eq!(graph.probabilities, name == "softmax", "{name}");
        let pictures = Noise(1).values(2 * 3 * graph.side * graph.side);
        run_everywhere(&graph, &pictures, &expected.outputs, &name);
    }
}

#[test]
fn what_is_not_taken_is_named_with_its_node_and_why() {
    let text = std::fs::read_to_string(data("refused.json")).unwrap();
    let models: BTreeMap<String, Vec<String>> = serde_json::from_str(&text).unwrap();
    assert!(models.len() >= 6, "{} models", models.len());
    for (name, parts) in models {
        let error = load_file(&data(&format!("refused_{name}.onnx")), None).unwrap_err();
        let large = name == "no_memory_holds_it";
        assert_eq!(matches!(error, GraphError::TooLarge(_)), large, "{name}: {error}");
        assert!(large || matches!(error, GraphError::Unsupported { .. }), "{name}: {error}");
        for part in parts {
            assert!(error.to_string().contains(&part), "{name}: {error}");
        }
    }
}
