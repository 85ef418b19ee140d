//! In which order a pipeline stage takes its micro-batches: 1F1B, with virtual stages interleaved (D. Narayanan et al.,
//! "Efficient large-scale language model training on GPU clusters using Megatron-LM", 2021, section 2.2).

use super::parallelism::Parallelism;

/// One micro-batch through one part of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) backward: bool,
    pub(super) chunk: u32,
    pub(super) micro: u32,
}

/// All passes of a stage, in order: some forward, then forward and backward by turns, then the
/// backward ones that are left.
pub(super) fn passes(spread: &Parallelism, stage: u32, micro_batches: u32) -> Vec<Pass> {
    let Parallelism { pipeline, chunks, .. } = *spread;
    let total = micro_batches * chunks;
    let after = pipeline - stage - 1;
    let ahead = match chunks {
        1 => after,
        // Later stages need a round of every earlier part first, and both ways are on the way.
        _ => after * 2 + (chunks - 1) * pipeline,
    };
    let ahead = ahead.min(total);
    let pass = |number: u32, backward: bool| {
        let (round, at) = match chunks {
            1 => return Pass { backward, chunk: 0, micro: number },
            _ => (number / (pipeline * chunks), number % (pipeline * chunks)),
        };
        let chunk = at / pipeline;
        let chunk = if backward { chunks - 1 - chunk } else { chunk };
        Pass { backward, chunk, micro: round * pipeline + at % pipeline }
    };
    let mut passes: Vec<Pass> = (0..ahead).map(|number| pass(number, false)).collect();
    for number in ahead..total {
        passes.push(pass(number, false));
        passes.push(pass(number - ahead, true));
    }
    passes.extend((total - ahead..total).map(|number| pass(number, true)));
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pass_once_and_backward_after_forward() {
        for (pipeline, chunks, micro_batches) in
            [(1, 1, 3), (4, 1, 2), (4, 1, 8), (4, 2, 4), (4, 3, 8), (2, 5, 2), (16, 8, 16)]
        {
            let spread = Parallelism { pipeline, chunks, ..Parallelism::default() };
            for stage in 0..pipeline {
                let passes = passes(&spread, stage, micro_batches);
                assert_eq!(passes.len() as u32, 2 * chunks * micro_batches);
                for chunk in 0..chunks {
                    for micro in 0..micro_batches {
                        let at = |backward| {
                            let wanted = Pass { backward, chunk, micro };
                            let mut places = passes.iter().zip(0..).filter(|p| *p.0 == wanted);
                            let place = places.next().map(|place| place.1);
                            assert!(places.next().is_none());
                            place.unwrap()
                        };
                        assert!(at(false) < at(true));
                    }
                }
            }
        }
    }
}
