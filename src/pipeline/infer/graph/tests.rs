//! Whole models through translation, passes and plan.

use super::{Activation, Op, load_bytes, reference};
use crate::pipeline::infer::graph::Graph;

fn builtin() -> Graph {
    load_bytes(include_bytes!("../../../../assets/models/efficientnet_lite0.onnx"), None).unwrap()
}

#[test]
fn the_built_in_model_is_49_fused_convolutions_and_little_else() {
    let graph = builtin();
    let count = |name: &str| graph.nodes.iter().filter(|node| node.op.name() == name).count();
    assert_eq!((graph.side, graph.classes, graph.probabilities), (224, 1000, false));
    assert_eq!(count("conv") + count("depthwise"), 49);
    assert_eq!((count("linear"), count("global average")), (1, 1));
    assert_eq!(graph.nodes.len(), 51);
    let six = Activation::Clip { min: 0.0, max: 6.0 };
    assert_eq!(graph.nodes.iter().filter(|node| node.epilogue.activation == six).count(), 33);
    assert_eq!(graph.nodes.iter().filter(|node| node.epilogue.residual.is_some()).count(), 9);
    let flop: usize = graph
        .nodes
        .iter()
        .map(|node| if let Op::Conv(conv) = &node.op { conv.flop() } else { 0 })
        .sum();
    assert!((760_000_000..800_000_000).contains(&flop), "{flop}");
}

#[test]
fn no_tensor_lies_where_another_is_still_needed() {
    let graph = builtin();
    let mut held: Vec<(usize, usize, usize)> = Vec::new();
    let range = |id: super::TensorId| {
        let start = graph.plan.offset(id).unwrap();
        (id.0, start, start + graph.tensor(id).len())
    };
    held.push(range(graph.input));
    for (at, node) in graph.nodes.iter().enumerate() {
        for read in node.reads() {
            assert!(held.contains(&range(read)), "{} reads what is gone", node.name);
        }
        let new = range(node.output);
        assert!(new.2 <= graph.plan.size);
        for old in &held {
            assert!(new.2 <= old.1 || old.2 <= new.1, "{} writes over tensor {}", node.name, old.0);
        }
        held.push(new);
        let later = |id: usize| {
            id == graph.output.0
                || graph.nodes[at + 1..].iter().any(|node| node.reads().any(|read| read.0 == id))
        };
        held.retain(|&(id, ..)| later(id));
    }
    let sum: usize = graph.tensors.iter().map(super::Tensor::len).sum();
    assert!(graph.plan.size * 4 < sum, "an arena of {} for {sum} values", graph.plan.size);
}

#[test]
fn the_reference_gives_logits_of_the_right_size() {
    let graph = builtin();
    let logits = reference::run(&graph, &vec![0.25; 224 * 224 * 3]);
    assert_eq!(logits.len(), 1000);
    assert!(logits.iter().all(|x| x.is_finite()));
    eprintln!("{:?}", &logits[..4]);
}
