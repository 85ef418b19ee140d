//! A fabric from a number of GPUs: parts, cables, racks, and the designs that compete with it.
