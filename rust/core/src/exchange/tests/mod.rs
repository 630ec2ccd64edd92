//! Rules, each by hand-made frames.
