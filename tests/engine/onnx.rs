//! Tiny ONNX files, encoded by hand: field numbers are those of `onnx.proto`, 2 is the wire type of
//! bytes and messages, 0 of integers.

/// `TensorProto.DataType`.
pub(crate) const FLOAT: u64 = 1;
/// `TensorProto.DataType`.
pub(crate) const UINT8: u64 = 2;
/// `TensorProto.DataType`.
pub(crate) const INT64: u64 = 7;

/// A dimension of the input.
#[derive(Clone, Copy)]
pub(crate) enum Dim {
    /// Fixed.
    Is(u64),
    /// Open.
    Any,
}

/// A chain of nodes from the input `x` to the output `out`.
pub(crate) struct Net {
    dims: Vec<Dim>,
    input_type: u64,
    second_input: bool,
    ops: Vec<&'static str>,
}

impl Net {
    /// Three classes: the means of the three channels.
    pub(crate) fn classifier(dims: &[Dim]) -> Self {
        let ops = vec!["GlobalAveragePool", "Flatten"];
        Self { dims: dims.to_vec(), input_type: FLOAT, second_input: false, ops }
    }

    /// The input comes out.
    pub(crate) fn identity(dims: &[Dim]) -> Self {
        Self { ops: vec!["Identity"], ..Self::classifier(dims) }
    }

    pub(crate) fn input_type(self, input_type: u64) -> Self {
        Self { input_type, ..self }
    }

    pub(crate) fn second_input(self) -> Self {
        Self { second_input: true, ..self }
    }

    pub(crate) fn op(mut self, op: &'static str) -> Self {
        self.ops.push(op);
        self
    }

    pub(crate) fn softmax(self) -> Self {
        self.op("Softmax")
    }

    /// The file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut graph = Vec::new();
        let last = self.ops.len() - 1;
        for (index, op) in self.ops.iter().enumerate() {
            let name = |index: usize| format!("value_{index}");
            let from = if index == 0 { "x".into() } else { name(index - 1) };
            let to = if index == last { "out".into() } else { name(index) };
            let node = [text(1, &from), text(2, &to), text(3, op), text(4, op)].concat();
            graph.extend(field(1, &node));
        }
        graph.extend(text(2, "tiny"));
        graph.extend(field(11, &self.value("x", self.input_type)));
        if self.second_input {
            graph.extend(field(11, &self.value("y", self.input_type)));
        }
        let tensor = field(2, &field(1, &integer(1, FLOAT)));
        graph.extend(field(12, &[text(1, "out"), tensor].concat()));
        let opset = [text(1, ""), integer(2, 17)].concat();
        [integer(1, 8), field(7, &graph), field(8, &opset)].concat()
    }

    fn value(&self, name: &str, element: u64) -> Vec<u8> {
        let dims: Vec<u8> = self
            .dims
            .iter()
            .flat_map(|dim| match dim {
                Dim::Is(size) => field(1, &integer(1, *size)),
                Dim::Any => field(1, &text(2, "N")),
            })
            .collect();
        let tensor = [integer(1, element), field(2, &dims)].concat();
        [text(1, name), field(2, &field(1, &tensor))].concat()
    }
}

fn varint(mut n: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while n >= 0x80 {
        bytes.push((n & 0x7f) as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
    bytes
}

fn integer(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

fn field(number: u64, bytes: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn text(number: u64, text: &str) -> Vec<u8> {
    field(number, text.as_bytes())
}
