"""The shelf of plots: each module defines one figure of a trace; modules with an underscore are shared."""
