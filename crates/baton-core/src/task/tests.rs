//! The transition matrix as a snapshot, and the properties that hold for every sequence of inputs.
