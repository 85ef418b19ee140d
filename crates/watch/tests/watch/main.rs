//! Views and what is drawn of them, from recordings made by hand.

mod drawing;
mod keys;
mod made;
mod model;
mod scale;
