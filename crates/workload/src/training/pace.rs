//! [`Pace`]: how fast servers read prompts and answer them.

use super::gpu::Gpu;
use super::model::Model;
use xoff_units::{Bytes, Ratio, Span};

/// How fast servers read prompts and answer them. A server is one instance of the model: its GPUs share everything
/// evenly, and what they send each other over NVLink is part of their efficiency.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The model.
    pub model: Model,
    /// The GPUs.
    pub gpu: Gpu,
    /// The share of their memory's rate that answers are computed at.
    pub memory: Ratio,
    /// Bytes of a number in the cache.
    pub cache_element: u32,
    /// Bytes of a weight.
    pub weight_element: u32,
}

impl Pace {
    /// What a layer takes for a prompt: two operations for every parameter and token, and causal attention. It is
    /// computed at the GPU's efficiency.
    pub(crate) fn layer(&self, tokens: u32, gpus: u32) -> Span {
        let model = &self.model;
        let tokens = f64::from(tokens);
        let inner = model.active_parameters() as f64 - self.embeddings() as f64;
        let attention = tokens * tokens * model.attention().widths as f64;
        let operations = 2.0 * tokens * inner / f64::from(model.layers.max(1)) + attention;
        self.gpu.time(operations / f64::from(gpus.max(1)))
    }

    /// What a prompt takes: all its layers. The output matrix is left to the server that answers.
    pub fn prompt(&self, tokens: u32, gpus: u32) -> Span {
        self.layer(tokens, gpus) * u64::from(self.model.layers)
    }

    /// What a token of each of so many requests takes, which look back at `context` tokens together: as long as memory takes
    /// for all weights that are needed and all caches, or as computing takes, whichever is longer.
    pub fn tokens(&self, requests: u32, context: u64, gpus: u32) -> Span {
        let model = &self.model;
        let gpus = f64::from(gpus.max(1));
        let embedding = model.embedding_parameters() as f64;
        let used = model.active_parameters() as f64 - self.embeddings() as f64 + embedding;
        let layers = f64::from(model.layers);
        let attention = 2.0 * layers * context as f64 * model.attention().widths as f64;
        let computing = self.gpu.time((2.0 * f64::from(requests) * used + attention) / gpus);
        let bytes = self.weights(requests) as f64 * f64::from(self.weight_element)
            + context as f64 * model.cache_per_token(self.cache_element).get() as f64;
        let reading = self.gpu.memory_time(Bytes::new((bytes / gpus) as u64), self.memory);
        computing.max(reading)
    }

    /// Weights that are read for a token of each of so many requests: all, without the input's embedding and without
    /// experts that none of them goes to at best.
    fn weights(&self, requests: u32) -> u64 {
        let model = &self.model;
        let all = model.parameters() - self.embeddings() + model.embedding_parameters();
        let Some(experts) = model.experts else { return all };
        let met = u64::from(requests).saturating_mul(experts.active.into());
        let unused = u64::from(experts.count).saturating_sub(met);
        let mixed = u64::from(model.layers - model.leading_layers());
        all - mixed * unused * model.block_parameters()
    }

    fn embeddings(&self) -> u64 {
        let copies = if self.model.tied { 1 } else { 2 };
        copies * self.model.embedding_parameters()
    }

    /// What a layer keeps of a prompt.
    pub(crate) fn layer_cache(&self, tokens: u32) -> Bytes {
        let numbers = self.model.kept_numbers() * u64::from(self.cache_element);
        Bytes::new(numbers.saturating_mul(tokens.into()))
    }

    /// What all layers keep of a prompt.
    pub fn cache(&self, tokens: u32) -> Bytes {
        let token = self.model.cache_per_token(self.cache_element).get();
        Bytes::new(token.saturating_mul(tokens.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::MEMORY_EFFICIENCY;

    fn pace(name: &str) -> Pace {
        Pace {
            model: Model::named(name).unwrap().model,
            gpu: Gpu::named("h100").unwrap().gpu,
            memory: MEMORY_EFFICIENCY,
            cache_element: 2,
            weight_element: 2,
        }
    }

    fn near(is: Span, seconds: f64) {
        let off = is.as_s_f64() / seconds - 1.0;
        assert!(off.abs() < 0.01, "{is} for {seconds} s");
    }

    /// 2 x 68.5 billion x 2,048 and 80 layers of attention, over 8 GPUs at 52 % of 989 TFLOP/s.
    #[test]
    fn a_prompt_takes_its_operations() {
        let operations = 2.0 * 68.45e9 * 2_048.0 + 80.0 * 2_048.0 * 2_048.0 * 2.0 * 8_192.0;
        near(pace("llama-3-70b").prompt(2_048, 8), operations / (8.0 * 989e12 * 0.52));
    }

    /// Weights of 2 bytes and 320 KiB for each token looked back at, over 8 GPUs at 70 % of 3.35 TB/s.
    #[test]
    fn an_answer_takes_its_bytes() {
        let pace = pace("llama-3-70b");
        let weights = 69.5e9 * 2.0;
        let seconds = |caches: f64| (weights + caches) / (8.0 * 3.35e12 * 0.7);
        near(pace.tokens(1, 2_048, 8), seconds(2_048.0 * 327_680.0));
        near(pace.tokens(64, 64 * 2_048, 8), seconds(64.0 * 2_048.0 * 327_680.0));
        assert_eq!(pace.cache(1).get(), 327_680);
        assert_eq!(pace.layer_cache(3).get() * 80, pace.cache(3).get());
    }

    #[test]
    fn experts_are_read_as_far_as_tokens_go_to_them() {
        let pace = pace("mixtral-8x7b");
        let dense = pace.weights(0);
        let block = 32 * 3 * 4_096 * 14_336;
        assert_eq!(pace.weights(1) - dense, 2 * block);
        assert_eq!(pace.weights(4) - dense, 8 * block);
        assert_eq!(pace.weights(400) - dense, 8 * block);
    }

    #[test]
    fn more_is_never_faster() {
        for name in ["llama-3-8b", "deepseek-v3", "gpt-3-175b"] {
            let pace = pace(name);
            let mut last = Span::ZERO;
            for requests in 1..200 {
                let own = pace.tokens(requests, u64::from(requests) * 1_000, 8);
                assert!(own >= last, "{name} {requests}");
                last = own;
            }
            assert!(pace.prompt(1_001, 8) > pace.prompt(1_000, 8));
            assert!(pace.prompt(1_000, 4) > pace.prompt(1_000, 8));
        }
    }
}
