//! The rows of the threads' table: filtered, grouped by stage, sorted in each group, folded.

use crate::pipeline::Stage;
use crate::profile::snapshot::{Group, LaneSample, ThreadSample, Wait};
use crate::profile::window::{SwitchRates, Window};
use crate::tui::app::ThreadsView;
use crate::tui::theme::State;
use crate::tui::widgets::bar::{self, Stack};

use super::columns::Column;

/// What tells a row from all others, for as long as it lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A group.
    Group(Group),
    /// A load lane, by its name.
    Lane(String),
    /// A thread, by the kernel's id and its name.
    Thread(i32, String),
}

/// A lane or a thread.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// A load lane.
    Lane(&'a LaneSample),
    /// A thread.
    Thread(&'a ThreadSample),
}

impl Subject<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Lane(lane) => &lane.name,
            Self::Thread(thread) => &thread.name,
        }
    }

    /// What tells it from all others.
    pub fn key(&self) -> Key {
        match self {
            Self::Lane(lane) => Key::Lane(lane.name.clone()),
            Self::Thread(thread) => Key::Thread(thread.tid, thread.name.clone()),
        }
    }
}

/// What a window tells of a lane or a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Whether it is a lane.
    pub lane: bool,
    /// Its states.
    pub states: Option<Stack>,
    /// CPU time as a share of the window.
    pub cpu: Option<f64>,
    /// Images a second.
    pub images: Option<f64>,
    /// Context switches a second.
    pub switches: Option<SwitchRates>,
    /// The core it ran on last.
    pub core: Option<u32>,
    /// The excess of its declared waits.
    pub overlap: Option<f64>,
}

impl Figures {
    /// The figures of a lane or a thread in `window`; its switches in `longer`, since they are looked
    /// at about once a second.
    pub fn of(subject: Subject<'_>, window: &Window<'_>, longer: &Window<'_>) -> Self {
        match subject {
            Subject::Lane(lane) => {
                let from = window.from().lanes.iter().find(|from| from.name == lane.name);
                Self {
                    lane: true,
                    states: Some(bar::lane_states(&window.lane(lane))),
                    images: window.rate(from.map_or(0, |from| from.items), lane.items),
                    ..Self::default()
                }
            }
            Subject::Thread(thread) => {
                let shares = window.thread(thread).map(|(_, shares)| shares);
                let pipeline = matches!(thread.group, Group::Stage(_));
                Self {
                    lane: false,
                    states: shares.as_ref().map(bar::states),
                    cpu: window.thread_cpu(thread),
                    images: window.thread_rate(thread).filter(|_| pipeline),
                    switches: longer.thread_switches(thread),
                    core: thread.core,
                    overlap: shares.map(|shares| shares.overlap),
                }
            }
        }
    }

    /// The share of a state; a lane is no thread and knows nothing of CPUs and locks.
    pub fn share(&self, state: State) -> Option<f64> {
        let of_threads =
            [State::Running, State::Runnable, State::Wait(Wait::Lock), State::Wait(Wait::Gpu)];
        if self.lane && of_threads.contains(&state) {
            return None;
        }
        self.states?.iter().find(|(s, _)| *s == state).map(|&(_, share)| share)
    }

    /// The figure in a column.
    pub fn get(&self, column: Column) -> Option<f64> {
        match column {
            Column::Name | Column::States | Column::LockName => None,
            Column::Cpu => self.cpu,
            Column::Share(state) => self.share(state),
            Column::Images => self.images,
            Column::Voluntary => self.switches.map(|switches| switches.voluntary),
            Column::Involuntary => self.switches.map(|switches| switches.involuntary),
            Column::Core => self.core.map(f64::from),
            Column::Overlap => self.overlap,
        }
    }
}

/// A lane or a thread with its figures.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Which.
    pub subject: Subject<'a>,
    /// To whom it belongs.
    pub group: Group,
    /// Its figures.
    pub figures: Figures,
}

impl Member<'_> {
    fn parked(&self) -> bool {
        self.figures.share(State::Wait(Wait::Parked)).is_some_and(|share| share >= 0.5)
    }
}

/// A row of the table.
#[derive(Clone, Debug)]
pub enum Row<'a> {
    /// The head of a group, over its members.
    Head {
        /// Which group.
        group: Group,
        /// How many are listed below.
        members: usize,
        /// Of these, how many a knob has switched off.
        parked: usize,
    },
    /// A group in one row.
    Folded {
        /// Which group.
        group: Group,
        /// Those of which the row speaks: all that a knob has not switched off.
        open: Vec<Member<'a>>,
        /// How many there are in all.
        all: usize,
    },
    /// A lane or a thread.
    Member(Box<Member<'a>>),
}

impl Row<'_> {
    /// What tells the row from all others.
    pub fn key(&self) -> Key {
        match self {
            Self::Head { group, .. } | Self::Folded { group, .. } => Key::Group(*group),
            Self::Member(member) => member.subject.key(),
        }
    }

    /// The group that it is or belongs to.
    pub const fn group(&self) -> Group {
        match self {
            Self::Head { group, .. } | Self::Folded { group, .. } => *group,
            Self::Member(member) => member.group,
        }
    }
}

/// All groups, from source to sink, then those that are no stage's.
pub fn groups() -> impl Iterator<Item = Group> {
    let stages = Stage::ALL.into_iter().map(Group::Stage);
    stages.chain([Group::Runtime, Group::Own, Group::Foreign])
}

/// What a group is called.
pub const fn group_name(group: Group) -> &'static str {
    match group {
        Group::Stage(stage) => stage.name(),
        Group::Runtime => "runtime",
        Group::Own => "pipetop",
        Group::Foreign => "foreign",
    }
}

/// The rows of the table, and how many lanes and threads passed the filter of how many.
#[derive(Clone, Debug, Default)]
pub struct Rows<'a> {
    /// The rows, from top to bottom.
    pub rows: Vec<Row<'a>>,
    /// Lanes and threads that passed the filter.
    pub matched: usize,
    /// Lanes and threads in all.
    pub all: usize,
}

impl Rows<'_> {
    /// The rows' keys.
    pub fn keys(&self) -> Vec<Key> {
        self.rows.iter().map(Row::key).collect()
    }
}

/// Makes the rows; `longer` is the window for what is looked at about once a second.
pub fn rows<'a>(view: &ThreadsView, window: &Window<'a>, longer: &Window<'_>) -> Rows<'a> {
    let snapshot = window.to();
    let wanted = view.filter().to_lowercase();
    let mut made = Rows::default();
    for group in groups() {
        let threads = snapshot.threads.iter().filter(|thread| thread.group == group);
        let lanes = snapshot.lanes.iter().filter(|_| group == Group::Stage(Stage::Load));
        let subjects = lanes.map(Subject::Lane).chain(threads.map(Subject::Thread));
        let subjects: Vec<_> = subjects.collect();
        made.all += subjects.len();
        let whole = group_name(group).contains(&wanted);
        let passed = subjects
            .into_iter()
            .filter(|subject| whole || subject.name().to_lowercase().contains(&wanted));
        let mut members: Vec<_> = passed
            .map(|subject| Member { subject, group, figures: Figures::of(subject, window, longer) })
            .collect();
        if members.is_empty() {
            continue;
        }
        made.matched += members.len();
        let all = members.len();
        if view.folded(group) {
            if members.iter().any(|member| !member.parked()) {
                members.retain(|member| !member.parked());
            }
            made.rows.push(Row::Folded { group, open: members, all });
            continue;
        }
        let sort = view.sort();
        if sort.by == Column::Name {
            // They come in the order of their names.
            if sort.reversed {
                members.reverse();
            }
        } else {
            members.sort_by(|a, b| sort.order(a.figures.get(sort.by), b.figures.get(sort.by)));
        }
        let parked = members.iter().filter(|member| member.parked()).count();
        made.rows.push(Row::Head { group, members: all, parked });
        made.rows.extend(members.into_iter().map(|member| Row::Member(Box::new(member))));
    }
    made
}
