use super::*;

fn points(values: [f64; 3], noise: &[f64]) -> Vec<(f64, f64)> {
    let threads = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0];
    let noise = noise.iter().copied().cycle();
    threads.into_iter().zip(noise).map(|(n, e)| (n, throughput(values, n) * (1.0 + e))).collect()
}

fn near(value: f64, expected: f64, by: f64) {
    assert!((value - expected).abs() <= by, "{value} is not {expected} ± {by}");
}

#[test]
fn known_coefficients_are_found() {
    let exact = points([100.0, 0.05, 0.002], &[0.0]);
    let fit = Law::Usl.fit(&exact).unwrap();
    near(fit.lambda.value, 100.0, 1e-6);
    near(fit.sigma.value, 0.05, 1e-8);
    near(fit.kappa.value, 0.002, 1e-9);
    near(fit.peak().unwrap(), (0.95_f64 / 0.002).sqrt(), 1e-4);
    near(fit.residual, 0.0, 1e-9);
    near(fit.at(8.0), throughput([100.0, 0.05, 0.002], 8.0), 1e-6);
    let fit = Law::Amdahl.fit(&points([50.0, 0.2, 0.0], &[0.0])).unwrap();
    near(fit.lambda.value, 50.0, 1e-6);
    near(fit.sigma.value, 0.2, 1e-8);
    near(fit.most().unwrap(), 5.0, 1e-6);
    assert_eq!((fit.kappa, fit.note), (Coefficient::default(), None));
}

#[test]
fn noise_moves_them_by_about_their_standard_errors() {
    // Two per cent up and down, in no order that a law could follow.
    let noise = [0.02, -0.02, -0.02, 0.02, 0.02, -0.02, 0.02, -0.02];
    let fit = Law::Usl.fit(&points([100.0, 0.05, 0.002], &noise)).unwrap();
    for (got, truth) in [(fit.lambda, 100.0), (fit.sigma, 0.05), (fit.kappa, 0.002)] {
        let error = got.error.unwrap();
        assert!(error > 0.0 && (got.value - truth).abs() < 2.5 * error, "{got:?} of {truth}");
        assert!(error < 0.5 * truth, "{got:?}: an error of that size says nothing");
    }
    near(fit.residual, 0.02, 0.006);
    assert_eq!(fit.note, None);
    let blurred = noise.map(|e| e * 4.0);
    let fit = Law::Usl.fit(&points([100.0, 0.05, 0.001], &blurred)).unwrap();
    assert_eq!(fit.peak(), None, "{fit:?}");
    assert!(fit.note.unwrap().starts_with('κ'));
}

/// A straight line through the ideal points is Amdahl's law with σ = 0, a flat one that with σ = 1.
#[test]
fn all_and_nothing_in_parallel_are_the_ends() {
    let flat = Law::Amdahl.fit(&points([100.0, 1.0, 0.0], &[0.01, -0.01])).unwrap();
    near(flat.sigma.value, 1.0, 0.03);
    let ideal = Law::Amdahl.fit(&points([100.0, 0.0, 0.0], &[0.01, -0.01])).unwrap();
    near(ideal.sigma.value, 0.0, 0.01);
    near(ideal.lambda.value, 100.0, 1.5);
}

#[test]
fn a_coefficient_a_little_below_0_is_held_there_and_that_is_said() {
    let noise = [0.01, -0.01, -0.01, 0.0, 0.0, 0.01, 0.012, 0.02];
    let fit = Law::Usl.fit(&points([100.0, 0.1, 0.0], &noise)).unwrap();
    assert_eq!(fit.kappa, Coefficient { value: 0.0, error: None });
    let note = fit.note.unwrap();
    assert!(note.starts_with("κ came out at -0.0") && note.ends_with("held at 0"), "{note}");
    near(fit.sigma.value, 0.1, 0.02);
}

#[test]
fn a_coefficient_far_below_0_is_no_truth() {
    let error = Law::Amdahl.fit(&points([100.0, -0.03, 0.0], &[0.001, -0.001])).unwrap_err();
    assert!(error.contains("σ comes out at -0.0") && error.contains("means nothing"), "{error}");
}

#[test]
fn falling_throughput_is_not_amdahls() {
    let falling = points([100.0, 1.2, 0.0], &[0.001, -0.001]);
    let error = Law::Amdahl.fit(&falling).unwrap_err();
    assert!(error.contains("above 1"), "{error}");
    assert!(
        Law::Usl.fit(&points([100.0, 0.9, 0.05], &[0.001, -0.001])).unwrap().kappa.value > 0.03
    );
}

#[test]
fn errors_are_written_to_two_digits() {
    assert_eq!(written(0.009_312, 0.000_44), "0.00931 ± 0.00044");
    assert_eq!(written(84.739, 0.3), "84.74 ± 0.30");
    assert_eq!(written(1186.7, 23.4), "1187 ± 23");
    assert_eq!(written(1.0, 0.0), "1.00000 ± 0.00000");
}

#[test]
fn too_few_points_are_told() {
    let all = points([100.0, 0.1, 0.0], &[0.0]);
    assert!(Law::Amdahl.fit(&all[..3]).unwrap_err().contains("3 points"));
    assert!(Law::Amdahl.fit(&all[..1]).unwrap_err().contains("1 point with"));
    assert!(Law::Usl.fit(&all[..4]).unwrap_err().contains("it takes 5"));
    assert!(Law::Usl.fit(&all[..5]).is_ok());
    assert!(Law::Usl.fit(&[(2.0, 100.0); 6]).is_err(), "one place determines nothing");
}
