//! Why an image came to nothing: a fixed word to count by, and a sentence for the person.

use std::fmt;

/// Why an image failed; the words under which failures are counted in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// No file of that name.
    NotFound,
    /// The file exists and may not or cannot be read.
    Unreadable,
    /// A folder, a pipe, a socket or a device.
    NotAFile,
    /// Zero bytes.
    Empty,
    /// Bytes that are no image of any known kind.
    NotAnImage,
    /// An image of a kind that is not decoded here.
    Unsupported,
    /// More pixels or bytes than the limits allow.
    TooLarge,
    /// An image that ends before its pixels do.
    Truncated,
    /// An image whose data contradict themselves.
    Corrupt,
    /// A decoder panicked: a bug, not the image's fault alone.
    Internal,
    /// The engine failed on the batch in which the image was.
    Engine,
}

impl Reason {
    /// All reasons, in the order of reports.
    pub const ALL: [Self; 11] = [
        Self::NotFound,
        Self::Unreadable,
        Self::NotAFile,
        Self::Empty,
        Self::NotAnImage,
        Self::Unsupported,
        Self::TooLarge,
        Self::Truncated,
        Self::Corrupt,
        Self::Internal,
        Self::Engine,
    ];

    /// The word in reports: `not-found`, `truncated` …
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::Unreadable => "unreadable",
            Self::NotAFile => "not-a-file",
            Self::Empty => "empty",
            Self::NotAnImage => "not-an-image",
            Self::Unsupported => "unsupported",
            Self::TooLarge => "too-large",
            Self::Truncated => "truncated",
            Self::Corrupt => "corrupt",
            Self::Internal => "internal",
            Self::Engine => "engine",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An image that failed: the reason, and what exactly was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {detail}")]
pub struct ImageError {
    reason: Reason,
    detail: String,
}

impl ImageError {
    /// A failure for `reason`; `detail` says what exactly was found, without the reason's word.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }

    /// The word under which it is counted.
    pub fn reason(&self) -> &'static str {
        self.reason.name()
    }

    /// The reason itself.
    pub fn kind(&self) -> Reason {
        self.reason
    }

    /// What exactly was found.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}
