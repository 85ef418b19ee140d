//! [`Serving`]: requests from their arrival to their last token.
//!
//! A prompt goes to the prefill server that would be through with it first, and waits there for those before it. Its
//! cache goes to a decode server, in turn, layer by layer or when the prompt has been read. A decode server
//! computes a token for each of its requests at a time; a request joins when its cache is there, at the next token of the
//! others. Which server a request gets depends on arrivals and prompts alone, never on the network, so that a
//! slower network cannot win by luck.

use crate::layout::GpuId;
use crate::program::{Action, Queue, RequestId, Token, Traffic};
use crate::storage::parts;
use crate::training::Pace;
use std::collections::VecDeque;
use xoff_fabric::model::NicId;
use xoff_units::{Bytes, Instant, Span};

/// What a token says is done.
mod kind {
    pub(super) const COME: u8 = 0;
    pub(super) const LAYER: u8 = 1;
    pub(super) const SENT: u8 = 2;
    pub(super) const TOKEN: u8 = 3;
}

/// A request that comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prompt {
    /// So long after the one before.
    pub after: Span,
    /// Tokens of its prompt; not zero.
    pub input: u32,
    /// Tokens of its answer; not zero.
    pub output: u32,
}

/// A server that takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Its NICs; not none.
    pub nics: Vec<NicId>,
    /// A GPU of it, and how many it has.
    pub gpu: GpuId,
    /// How many.
    pub gpus: u32,
}

/// Which servers serve which requests, and how.
#[derive(Debug, Clone)]
pub struct ServingSettings {
    /// Requests in the order of coming.
    pub prompts: Vec<Prompt>,
    /// Servers that read prompts; not none.
    pub prefill: Vec<Instance>,
    /// Servers that answer; not none.
    pub decode: Vec<Instance>,
    /// How fast they are.
    pub pace: Pace,
    /// Whether caches are sent layer by layer.
    pub by_layer: bool,
    /// Most requests that a server answers at once; not zero.
    pub most: u32,
    /// Queue pairs between two NICs, used in turn.
    pub queues: u32,
}

/// What a request took, as far as it came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// From its arrival to its first token.
    pub first: Option<Span>,
    /// For each token after the first, on average, if it is through and has any.
    pub each: Option<Span>,
    /// Whether it is through.
    pub done: bool,
}

/// A request on its way.
#[derive(Debug, Clone, Copy)]
struct State {
    prompt: Prompt,
    prefill: u32,
    decode: u32,
    arrived: Instant,
    first: Instant,
    /// Layers that are not computed, and transfers that are not there.
    layers: u32,
    under_way: u32,
    /// Tokens that it has been answered.
    tokens: u32,
}

/// A prefill server: prompts in their order, the first of which it reads.
#[derive(Debug, Clone, Default)]
struct Reader {
    queue: VecDeque<u32>,
    /// When it would be through with all of them, from the start.
    free: Span,
}

/// A decode server.
#[derive(Debug, Clone, Default)]
struct Writer {
    /// Requests whose cache is there.
    ready: VecDeque<u32>,
    batch: Vec<u32>,
    busy: bool,
}

/// Requests from their arrival to their last token.
#[derive(Debug, Clone)]
pub struct Serving {
    settings: ServingSettings,
    states: Vec<State>,
    served: Vec<Served>,
    readers: Vec<Reader>,
    writers: Vec<Writer>,
    /// When the last request came, from the start.
    clock: Span,
    now: Instant,
    through: usize,
}

impl Serving {
    /// A program; what is asked for has been checked.
    pub fn new(settings: ServingSettings) -> Self {
        Self {
            states: Vec::with_capacity(settings.prompts.len()),
            served: Vec::with_capacity(settings.prompts.len()),
            readers: vec![Reader::default(); settings.prefill.len()],
            writers: vec![Writer::default(); settings.decode.len()],
            clock: Span::ZERO,
            now: Instant::ZERO,
            through: 0,
            settings,
        }
    }

    /// What each request moves over the network, in the order of coming.
    pub fn sizes(&self) -> impl Iterator<Item = Bytes> {
        self.settings.prompts.iter().map(|prompt| self.settings.pace.cache(prompt.input))
    }

    /// What the requests that have come took so far.
    pub fn served(&self) -> &[Served] {
        &self.served
    }

    pub(crate) fn at(&mut self, now: Instant) {
        self.now = now;
    }

    pub(crate) fn start(&mut self, out: &mut Vec<Action>) {
        self.wait(out);
    }

    pub(crate) fn done(&mut self, token: Token, out: &mut Vec<Action>) {
        let index = token.index() as u32;
        match token.kind() {
            kind::COME => {
                self.come(out);
                self.wait(out);
            }
            kind::LAYER => self.layer_done(index, out),
            kind::SENT => self.arrive(index, out),
            _ => self.tokens_done(index, out),
        }
    }

    /// Waits for the next request, or takes those that come at once.
    fn wait(&mut self, out: &mut Vec<Action>) {
        while let Some(next) = self.settings.prompts.get(self.states.len()) {
            if !next.after.is_zero() {
                let (token, span) = (Token::new(kind::COME, 0, 0), next.after);
                return out.push(Action::Wait { token, gpu: GpuId(0), span });
            }
            self.come(out);
        }
        if self.settings.prompts.is_empty() {
            out.push(Action::Finished);
        }
    }

    /// The next request has come: it goes to the prefill server that would be through with it first.
    fn come(&mut self, out: &mut Vec<Action>) {
        let number = self.states.len() as u32;
        let Some(&prompt) = self.settings.prompts.get(self.states.len()) else { return };
        self.clock += prompt.after;
        let (clock, settings) = (self.clock, &self.settings);
        let through = |place: usize| {
            let own = settings.pace.prompt(prompt.input, settings.prefill[place].gpus);
            self.readers[place].free.max(clock) + own
        };
        let place = (0..self.readers.len()).min_by_key(|&place| through(place)).unwrap_or(0);
        let end = through(place);
        self.readers[place].free = end;
        self.states.push(State {
            prompt,
            prefill: place as u32,
            decode: number % self.writers.len() as u32,
            arrived: self.now,
            first: self.now,
            layers: self.settings.pace.model.layers,
            under_way: 0,
            tokens: 0,
        });
        self.served.push(Served::default());
        out.push(Action::Begins { request: RequestId(number) });
        self.readers[place].queue.push_back(number);
        if self.readers[place].queue.len() == 1 {
            self.read(place as u32, out);
        }
    }

    /// A prefill server computes the next layer of its first prompt.
    fn read(&mut self, place: u32, out: &mut Vec<Action>) {
        let Some(&number) = self.readers[place as usize].queue.front() else { return };
        let instance = &self.settings.prefill[place as usize];
        let tokens = self.states[number as usize].prompt.input;
        let span = self.settings.pace.layer(tokens, instance.gpus).max(Span::from_ps(1));
        let token = Token::new(kind::LAYER, 0, place);
        out.push(Action::Wait { token, gpu: instance.gpu, span });
    }

    fn layer_done(&mut self, place: u32, out: &mut Vec<Action>) {
        let Some(&number) = self.readers[place as usize].queue.front() else {
            debug_assert!(false, "a token of another program");
            return;
        };
        let state = &mut self.states[number as usize];
        state.layers -= 1;
        let (last, tokens) = (state.layers == 0, state.prompt.input);
        if self.settings.by_layer {
            self.send(number, self.settings.pace.layer_cache(tokens), out);
        } else if last {
            self.send(number, self.settings.pace.cache(tokens), out);
        }
        if last {
            self.readers[place as usize].queue.pop_front();
        }
        self.read(place, out);
    }

    /// Sends a cache or a layer of it, in equal parts from NIC to NIC.
    fn send(&mut self, number: u32, bytes: Bytes, out: &mut Vec<Action>) {
        let state = &mut self.states[number as usize];
        let from = &self.settings.prefill[state.prefill as usize].nics;
        let to = &self.settings.decode[state.decode as usize].nics;
        let pairs = from.len().min(to.len());
        let token = Token::new(kind::SENT, 0, number);
        let (queue, traffic) = (Queue(number % self.settings.queues.max(1)), Traffic::Data);
        for ((&from, &to), bytes) in from.iter().zip(to).zip(parts(bytes, pairs)) {
            if !bytes.is_zero() {
                state.under_way += 1;
                out.push(Action::Network { token, from, to, queue, traffic, bytes });
            }
        }
    }

    /// A part of a cache is there; with the last of them the request can be answered.
    fn arrive(&mut self, number: u32, out: &mut Vec<Action>) {
        let Some(state) = self.states.get_mut(number as usize) else {
            debug_assert!(false, "a token of another program");
            return;
        };
        state.under_way = state.under_way.saturating_sub(1);
        if state.under_way > 0 || state.layers > 0 {
            return;
        }
        let place = state.decode;
        self.writers[place as usize].ready.push_back(number);
        if !self.writers[place as usize].busy {
            self.write(place, out);
        }
    }

    /// A decode server computes a token for each of its requests, with those that have become ready.
    fn write(&mut self, place: u32, out: &mut Vec<Action>) {
        let most = self.settings.most.max(1) as usize;
        let writer = &mut self.writers[place as usize];
        while writer.batch.len() < most
            && let Some(next) = writer.ready.pop_front()
        {
            writer.batch.push(next);
        }
        writer.busy = !writer.batch.is_empty();
        if !writer.busy {
            return;
        }
        let context = |&number: &u32| {
            let state = &self.states[number as usize];
            u64::from(state.prompt.input) + u64::from(state.tokens)
        };
        let context = writer.batch.iter().map(context).sum();
        let instance = &self.settings.decode[place as usize];
        let requests = writer.batch.len() as u32;
        let span = self.settings.pace.tokens(requests, context, instance.gpus);
        let (token, span) = (Token::new(kind::TOKEN, 0, place), span.max(Span::from_ps(1)));
        out.push(Action::Wait { token, gpu: instance.gpu, span });
    }

    fn tokens_done(&mut self, place: u32, out: &mut Vec<Action>) {
        let Some(writer) = self.writers.get_mut(place as usize) else {
            debug_assert!(false, "a token of another program");
            return;
        };
        let mut batch = std::mem::take(&mut writer.batch);
        batch.retain(|&number| !self.answered(number, out));
        self.writers[place as usize].batch = batch;
        self.write(place, out);
        if self.through == self.settings.prompts.len() {
            out.push(Action::Finished);
        }
    }

    /// A request has got a token; whether it was the last.
    fn answered(&mut self, number: u32, out: &mut Vec<Action>) -> bool {
        let now = self.now;
        let (state, served) =
            (&mut self.states[number as usize], &mut self.served[number as usize]);
        state.tokens += 1;
        if state.tokens == 1 {
            state.first = now;
            served.first = Some(now - state.arrived);
        }
        if state.tokens < state.prompt.output {
            return false;
        }
        served.done = true;
        let gaps = u64::from(state.prompt.output) - 1;
        served.each = (now - state.first).as_ps().checked_div(gaps).map(Span::from_ps);
        out.push(Action::Ends { request: RequestId(number) });
        self.through += 1;
        true
    }
}

#[cfg(test)]
mod tests;
