//! From logits to the best classes.

/// A class with its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Index of the class.
    pub class: usize,
    /// Its probability, 0 to 1.
    pub p: f32,
}

/// The `k` likeliest classes of one image's logits, best first; see [`top_k_into`].
pub fn softmax_top(logits: &[f32], k: usize) -> Vec<Prediction> {
    let mut top = Vec::with_capacity(k.min(logits.len()));
    top_k_into(logits, k, false, &mut top);
    top
}

/// Writes the `k` likeliest classes of one image into `top`, best first, equal ones by lower index;
/// what `top` held is dropped, its memory kept.
///
/// `scores` are logits, or probabilities already where `probabilities` says so
/// ([`Engine::outputs_probabilities`](super::infer::Engine::outputs_probabilities)). A class whose
/// score is NaN or −∞ is never named; several at +∞ share the whole. `top` is empty where no class
/// has a score.
pub fn top_k_into(scores: &[f32], k: usize, probabilities: bool, top: &mut Vec<Prediction>) {
    top.clear();
    if k == 0 {
        return;
    }
    for (class, &score) in scores.iter().enumerate() {
        if score.is_nan() || score == f32::NEG_INFINITY {
            continue;
        }
        if top.len() == k {
            if top.last().is_some_and(|worst| worst.p >= score) {
                continue;
            }
            top.pop();
        }
        // Behind its equals, whose indices are lower.
        let place = top.partition_point(|better| better.p >= score);
        top.insert(place, Prediction { class, p: score });
    }
    let Some(best) = top.first().map(|first| first.p) else { return };
    if probabilities {
        return;
    }
    if best == f32::INFINITY {
        let infinite = scores.iter().filter(|&&score| score == f32::INFINITY).count() as f32;
        for one in top {
            one.p = if one.p == f32::INFINITY { 1.0 / infinite } else { 0.0 };
        }
        return;
    }
    // Against the largest logit no exponential overflows, and the sum is at least 1.
    let sum: f64 = scores
        .iter()
        .filter(|score| !score.is_nan())
        .map(|&score| f64::from((score - best).exp()))
        .sum();
    for one in top {
        one.p = (f64::from((one.p - best).exp()) / sum) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f32, b: f32) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn agrees_with_the_definition() {
        let logits = [1.0_f32, 3.0, 2.0, -1.0];
        let sum: f32 = logits.iter().map(|x| x.exp()).sum();
        let top = softmax_top(&logits, 3);
        assert_eq!(top.iter().map(|t| t.class).collect::<Vec<_>>(), [1, 2, 0]);
        for one in &top {
            assert!(close(one.p, logits[one.class].exp() / sum), "{one:?}");
        }
    }

    #[test]
    fn large_logits_do_not_overflow() {
        let top = softmax_top(&[1e30, 1e30, -1e30], 5);
        assert_eq!(top.len(), 3);
        assert!(close(top[0].p, 0.5) && close(top[1].p, 0.5) && close(top[2].p, 0.0), "{top:?}");
        assert_eq!((top[0].class, top[1].class), (0, 1));
        let top = softmax_top(&[f32::INFINITY, 0.0, f32::INFINITY], 3);
        assert!(close(top[1].p, 0.5) && top[1].class == 2 && close(top[2].p, 0.0), "{top:?}");
    }

    #[test]
    fn ties_go_to_the_lower_index() {
        let classes =
            |logits: &[f32]| softmax_top(logits, 3).iter().map(|t| t.class).collect::<Vec<_>>();
        assert_eq!(classes(&[0.0; 10]), [0, 1, 2]);
        assert_eq!(classes(&[0.0, 1.0, 0.0, 1.0, 2.0, 2.0]), [4, 5, 1]);
    }

    #[test]
    fn nan_is_never_named() {
        let top = softmax_top(&[f32::NAN, 1.0, f32::NAN, 1.0], 4);
        assert_eq!(top.len(), 2);
        assert!(close(top[0].p, 0.5), "{top:?}");
        assert_eq!(softmax_top(&[f32::NAN; 4], 2), []);
        assert_eq!(softmax_top(&[f32::NEG_INFINITY; 4], 2), []);
        assert_eq!(softmax_top(&[], 2), []);
        assert_eq!(softmax_top(&[1.0], 0), []);
    }

    #[test]
    fn probabilities_stay_as_they_are_and_memory_is_kept() {
        let mut top = Vec::with_capacity(5);
        let room = top.as_ptr();
        for _ in 0..3 {
            top_k_into(&[0.1, 0.7, 0.2], 2, true, &mut top);
            assert_eq!(top, [Prediction { class: 1, p: 0.7 }, Prediction { class: 2, p: 0.2 }]);
        }
        assert_eq!(top.as_ptr(), room);
    }
}
