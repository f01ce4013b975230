//! Which GPUs the run may use: `CUDA_VISIBLE_DEVICES`, as CUDA reads it.

use super::source::Facts;

/// What the environment says of GPUs.
#[derive(Clone, Debug, Default)]
pub struct Visible {
    /// `CUDA_VISIBLE_DEVICES`.
    pub devices: Option<String>,
    /// `CUDA_DEVICE_ORDER`.
    pub order: Option<String>,
}

impl Visible {
    /// The process's environment.
    pub fn from_env() -> Self {
        let var = |name| std::env::var(name).ok();
        Self { devices: var("CUDA_VISIBLE_DEVICES"), order: var("CUDA_DEVICE_ORDER") }
    }

    /// For each GPU whether the run may use it; `None` where that cannot be told: numbers count in
    /// CUDA's order, fastest first, which the driver does not know where GPUs differ.
    pub fn usable(&self, gpus: &[Facts]) -> Vec<Option<bool>> {
        let Some(list) = &self.devices else { return vec![Some(true); gpus.len()] };
        let whole: Vec<usize> = (0..gpus.len()).filter(|&i| gpus[i].part.is_none()).collect();
        let alike = whole.windows(2).all(|pair| gpus[pair[0]].name == gpus[pair[1]].name);
        let in_order = alike || self.order.as_deref() == Some("PCI_BUS_ID");
        let mut usable = vec![Some(false); gpus.len()];
        for word in list.split(',').map(str::trim) {
            if let Ok(number) = word.parse::<i64>() {
                let place = usize::try_from(number).ok().filter(|&n| n < whole.len());
                // What follows a wrong number is not seen either.
                let Some(place) = place else { break };
                if in_order {
                    let index = gpus[whole[place]].index;
                    mark(&mut usable, gpus, |facts| facts.index == index);
                } else {
                    for &gpu in &whole {
                        usable[gpu] = usable[gpu].filter(|&yes| yes);
                    }
                }
            } else {
                let named = |facts: &Facts| !word.is_empty() && facts.uuid.starts_with(word);
                if !gpus.iter().any(named) {
                    break;
                }
                mark(&mut usable, gpus, named);
            }
        }
        usable
    }
}

fn mark(usable: &mut [Option<bool>], gpus: &[Facts], is: impl Fn(&Facts) -> bool) {
    for (usable, _) in usable.iter_mut().zip(gpus).filter(|(_, facts)| is(facts)) {
        *usable = Some(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpus(names: &[&str]) -> Vec<Facts> {
        let facts = |(index, name): (usize, &&str)| Facts {
            index: index as u32,
            name: (*name).into(),
            uuid: format!("GPU-{index}{index}{index}"),
            ..Facts::default()
        };
        names.iter().enumerate().map(facts).collect()
    }

    fn usable(devices: &str, order: Option<&str>, names: &[&str]) -> Vec<Option<bool>> {
        let visible = Visible { devices: Some(devices.into()), order: order.map(str::to_owned) };
        visible.usable(&gpus(names))
    }

    const YES: Option<bool> = Some(true);
    const NO: Option<bool> = Some(false);

    #[test]
    fn without_a_word_all_are_usable_and_with_an_empty_one_none() {
        assert_eq!(Visible::default().usable(&gpus(&["a", "a"])), [YES, YES]);
        assert_eq!(usable("", None, &["a", "a"]), [NO, NO]);
        assert_eq!(usable("-1", None, &["a", "a"]), [NO, NO]);
        assert_eq!(usable("none", None, &["a"]), [NO]);
    }

    #[test]
    fn numbers_count_where_all_gpus_are_alike_and_end_at_a_wrong_one() {
        assert_eq!(usable("1", None, &["a", "a", "a"]), [NO, YES, NO]);
        assert_eq!(usable(" 2, 0", None, &["a", "a", "a"]), [YES, NO, YES]);
        assert_eq!(usable("0,7,1", None, &["a", "a", "a"]), [YES, NO, NO]);
    }

    #[test]
    fn among_different_gpus_a_number_says_nothing_but_in_the_order_of_the_bus() {
        assert_eq!(usable("0", None, &["a", "b"]), [None, None]);
        assert_eq!(usable("0", Some("PCI_BUS_ID"), &["a", "b"]), [YES, NO]);
        // A UUID always does, also in part.
        assert_eq!(usable("GPU-11", None, &["a", "b"]), [NO, YES]);
    }

    #[test]
    fn a_part_of_a_gpu_is_named_by_its_own_uuid() {
        let mut all = gpus(&["a", "a"]);
        let part = super::super::source::Part { number: 0, instance: Some(3) };
        let facts = Facts { index: 0, uuid: "MIG-7".into(), part: Some(part), ..all[0].clone() };
        all.insert(1, facts);
        let visible = Visible { devices: Some("MIG-7".into()), order: None };
        assert_eq!(visible.usable(&all), [NO, YES, NO]);
    }
}
