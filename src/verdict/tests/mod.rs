//! Curves whose truth is known.

mod answers;
mod by_hand;
mod rates;
mod synthetic;
mod whole;
