use super::*;

#[test]
fn the_table_stands_in_the_order_of_the_ids() {
    for (index, spec) in KNOBS.iter().enumerate() {
        assert_eq!(spec.id as usize, index, "{}", spec.name);
    }
}

#[test]
fn every_default_is_written_and_read_back_and_lies_on_its_gauge() {
    for cores in [1, 2, 16, 500] {
        for (id, value) in KnobValues::defaults(cores).iter() {
            let spec = id.spec();
            assert_eq!(spec.parse(&value.to_string()), Ok(value), "{}", spec.name);
            let position = spec.position(value);
            assert!((0.0..=1.0).contains(&position), "{} at {position}", spec.name);
            assert_eq!(spec.at(position), value, "{} at {position}", spec.name);
        }
    }
}

#[test]
fn steps_go_up_to_the_top_and_down_to_the_bottom() {
    for (id, start) in KnobValues::defaults(4).iter() {
        let spec = id.spec();
        for (up, end) in [(true, 1.0), (false, 0.0)] {
            let mut value = start;
            for _ in 0..500 {
                value = spec.step(value, up, false);
                assert_eq!(spec.parse(&value.to_string()), Ok(value), "{}", spec.name);
            }
            // A typed delay may lie above the ladder's last rung.
            assert!((spec.position(value) - end).abs() < 1e-9, "{}: {value}", spec.name);
        }
    }
}

#[test]
fn doubling_meets_the_powers_of_two() {
    let spec = KnobId::InferBatch.spec();
    let up = |n| spec.step(KnobValue::Int(n), true, false);
    let down = |n| spec.step(KnobValue::Int(n), false, false);
    assert_eq!((up(1), up(8), up(9)), (KnobValue::Int(2), KnobValue::Int(16), KnobValue::Int(16)));
    assert_eq!(
        (down(16), down(9), down(1)),
        (KnobValue::Int(8), KnobValue::Int(8), KnobValue::Int(1))
    );
}

#[test]
fn errors_name_the_nearest() {
    let error = KnobId::by_name("preproces.thread").unwrap_err().to_string();
    assert!(error.contains("did you mean `preprocess.threads`?"), "{error}");
    let error = KnobId::PreprocessFilter.spec().parse("cubik").unwrap_err().to_string();
    assert!(error.contains("did you mean `cubic`?"), "{error}");
    let error = KnobId::PreprocessThreads.spec().parse("900").unwrap_err().to_string();
    assert!(error.contains("1 to 64 threads") && error.contains("`64`"), "{error}");
    for text in ["", "x", "-1", "nan", "inf", "1e99"] {
        for id in
            [KnobId::LoadDelay, KnobId::ArrivalRate, KnobId::InferBatch, KnobId::PreprocessGilHold]
        {
            assert!(id.spec().parse(text).is_err(), "{} = {text}", id.spec().name);
        }
    }
}

#[test]
fn units_may_be_written() {
    assert_eq!(KnobId::LoadDelay.spec().parse("20ms"), Ok(KnobValue::Millis(20.0)));
    assert_eq!(KnobId::ArrivalRate.spec().parse("500 img/s"), Ok(KnobValue::Rate(Some(500.0))));
    assert_eq!(KnobId::ArrivalRate.spec().parse("unlimited"), Ok(KnobValue::Rate(None)));
    for text in ["12.5", "12.5µs", "12.5 µs", "12.5us"] {
        assert_eq!(KnobId::PreprocessGilHold.spec().parse(text), Ok(KnobValue::Number(12.5)));
    }
    assert_eq!(KnobId::PreprocessLoopRate.spec().parse("50 loops/s"), Ok(KnobValue::Number(50.0)));
}

#[test]
fn live_knobs_return_what_was_set_and_count_epochs() {
    let live = LiveKnobs::new(&KnobValues::defaults(2));
    assert_eq!(live.values(), KnobValues::defaults(2));
    assert_eq!(live.set(KnobId::ArrivalRate, KnobValue::Rate(Some(250.0))), 1);
    assert_eq!(live.arrival_rate(), Some(250.0));
    assert_eq!(live.set(KnobId::SourceCache, KnobValue::Choice(1, "bytes")), 2);
    assert_eq!(live.values().get(KnobId::SourceCache), KnobValue::Choice(1, "bytes"));
    assert_eq!(live.set(KnobId::PreprocessGilHold, KnobValue::Number(2.5)), 3);
    assert!((live.number(KnobId::PreprocessGilHold) - 2.5).abs() < 1e-12);
    assert_eq!(live.values().get(KnobId::PreprocessGilHold), KnobValue::Number(2.5));
    assert_eq!(live.epoch(), 3);
}

#[test]
fn values_survive_json() {
    let mut values = KnobValues::defaults(3);
    values.set_from("load.delay=2.5").unwrap();
    values.set_from("source.cache=batches").unwrap();
    values.set_from("preprocess.gil=hold").unwrap();
    values.set_from("preprocess.gil_hold=37").unwrap();
    let text = serde_json::to_string(&values).unwrap();
    assert!(text.contains(r#""arrival.rate":"unlimited""#), "{text}");
    assert_eq!(serde_json::from_str::<KnobValues>(&text).unwrap(), values);
}
